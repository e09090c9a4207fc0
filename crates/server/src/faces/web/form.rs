//! Parameters as HTML forms and most web frameworks have them: of the query, and of a form in the body.

use std::borrow::Cow;

use super::head::Head;

/// The parameters of a request; of two with one name the first counts, unless they are asked for together.
#[derive(Debug)]
pub struct Form<'r> {
    query: &'r str,
    /// The body, where it is a form.
    body: &'r [u8],
}

impl<'r> Form<'r> {
    /// Those of the query alone.
    pub fn of_query(head: &Head<'r>) -> Form<'r> {
        Form {
            query: head.query,
            body: &[],
        }
    }

    /// Those of the query, and of a body that says that it is a form.
    pub fn of(head: &Head<'r>, body: &'r [u8]) -> Form<'r> {
        let is_form = head.content_type.is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
        });
        Form {
            query: head.query,
            body: if is_form { body } else { &[] },
        }
    }

    /// Every parameter, decoded: `+` and `%20` are blanks, bytes that are no UTF-8 are replaced.
    pub fn pairs(&self) -> impl Iterator<Item = (Cow<'r, str>, Cow<'r, str>)> + use<'r> {
        form_urlencoded::parse(self.query.as_bytes()).chain(form_urlencoded::parse(self.body))
    }

    /// A parameter's value.
    pub fn get(&self, wanted: &str) -> Option<Cow<'r, str>> {
        self.pairs()
            .find_map(|(name, value)| (name == wanted).then_some(value))
    }

    /// The values of all parameters with one name, a comma between, as Spring reads a text.
    pub fn joined(&self, wanted: &str) -> Option<Cow<'r, str>> {
        let mut all = self
            .pairs()
            .filter_map(|(name, value)| (name == wanted).then_some(value));
        let first = all.next()?;
        Some(all.fold(first, |joined, value| format!("{joined},{value}").into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_counts_and_the_query_stands_before_the_body() {
        let head = Head {
            query: "a=1&b=x+y%20z&a=2&c",
            content_type: Some("Application/X-WWW-Form-Urlencoded; charset=utf-8"),
            ..Head::default()
        };
        let form = Form::of(&head, b"a=3&d=%zz&e=%ff");
        let got = ["a", "b", "c", "d", "e", "f"].map(|name| form.get(name).map(Cow::into_owned));
        let expected = [
            Some("1"),
            Some("x y z"),
            Some(""),
            Some("%zz"),
            Some("\u{fffd}"),
            None,
        ];
        assert_eq!(got, expected.map(|text| text.map(str::to_string)));
        assert_eq!(Form::of_query(&head).get("d"), None);
        assert_eq!(form.joined("a").as_deref(), Some("1,2,3"));
        assert_eq!((form.joined("c").as_deref(), form.joined("f")), (Some(""), None));
        let json = Head {
            content_type: Some("application/json"),
            ..head
        };
        assert_eq!(Form::of(&json, b"d=1").get("d"), None);
    }
}
