//! Which standbys of a PostgreSQL must have confirmed a write before it is acknowledged, and whether one that
//! need not have could be promoted instead (`synchronous_standby_names`, PostgreSQL's documentation 20.6.2).

/// `[FIRST | ANY] k (name, …)`, or a bare list, which is `FIRST 1`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct Wanted {
    /// How many must confirm.
    confirmations: usize,
    /// Who may: in lower case, as the server compares them; `*` is everybody.
    names: Vec<String>,
}

/// Names under which PostgreSQL's own tools take a copy of the log. Nobody promotes them.
const TOOLS: [&str; 2] = ["pg_basebackup", "pg_receivewal"];

impl Wanted {
    /// Reads the setting; `None` when it is empty, or nothing that this program understands.
    pub(in super::super) fn read(setting: &str) -> Option<Wanted> {
        let tokens = tokens(setting)?;
        let mut rest = &tokens[..];
        let word = |token: Option<&Token>, word: &str| matches!(token, Some(Token::Name { text, quoted: false }) if text == word);
        let listed = |rest: &[Token]| rest.get(1) == Some(&Token::Open);
        // A standby may itself be called "any": it is the keyword only before a number.
        if (word(rest.first(), "any") || word(rest.first(), "first")) && rest.len() > 2 && listed(&rest[1..])
        {
            rest = &rest[1..];
        }
        let mut confirmations = 1;
        if listed(rest) {
            let Token::Name { text, quoted: false } = &rest[0] else {
                return None;
            };
            confirmations = text.parse().ok().filter(|count| *count > 0)?;
            let Some((Token::Close, inside)) = rest[2..].split_last() else {
                return None;
            };
            rest = inside;
        }
        let mut names = Vec::new();
        for (at, token) in rest.iter().enumerate() {
            match (at % 2, token) {
                (0, Token::Name { text, .. }) => names.push(text.clone()),
                (1, Token::Comma) => {}
                _ => return None,
            }
        }
        (rest.len() % 2 == 1).then_some(Wanted { confirmations, names })
    }

    /// Why the promotion of some standby could lose an acknowledged write, given the names of those `attached` now;
    /// `None` where each that is named has every one of them.
    pub(in super::super) fn gap(&self, attached: &[&str]) -> Option<String> {
        let k = self.confirmations;
        if self.names.iter().any(|name| name == "*") {
            return Some(format!("{k} of any number of standbys confirm a write"));
        }
        let mut names = self.names.clone();
        names.sort_unstable();
        names.dedup();
        if k < names.len() {
            let all = names.len();
            return Some(format!("only {k} of {all} standbys confirm a write"));
        }
        let attached: Vec<String> = attached.iter().map(|name| name.to_ascii_lowercase()).collect();
        let attached = attached.iter().filter(|name| !TOOLS.contains(&name.as_str()));
        let (named, others): (Vec<&String>, Vec<&String>) = attached.partition(|name| names.contains(name));
        if let Some(other) = others.first() {
            return Some(format!("the standby {other:?} confirms nothing"));
        }
        // Two that share a name: one of them is enough.
        let twice = names
            .iter()
            .find(|name| named.iter().filter(|standby| *standby == name).count() > 1);
        twice.map(|name| format!("several standbys are called {name:?}, and one of them confirms"))
    }

    /// For whom every write waits now, given the names of those `attached`; `None` where enough are there.
    pub(in super::super) fn waits_for(&self, attached: &[&str]) -> Option<String> {
        let is_there = |name: &&String| attached.iter().any(|one| one.eq_ignore_ascii_case(name));
        let (there, away): (Vec<&String>, Vec<&String>) = self.names.iter().partition(is_there);
        let confirming = match self.names.iter().any(|name| name == "*") {
            true => attached.len(),
            false => there.len(),
        };
        (confirming < self.confirmations).then(|| {
            let away: Vec<&str> = away.into_iter().map(String::as_str).collect();
            format!(
                "{}, of which {} must confirm it and {confirming} can",
                away.join(", "),
                self.confirmations
            )
        })
    }

    /// Those whose promotion loses nothing, for people.
    pub(in super::super) fn who(&self) -> String {
        self.names.join(" or ")
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    /// A name, a keyword or a number.
    Name {
        text: String,
        quoted: bool,
    },
    Open,
    Close,
    Comma,
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '"' => quoted(rest)?,
            _ => {
                let end = rest.find(|c: char| c.is_ascii_whitespace() || "(),\"".contains(c));
                let end = end.unwrap_or(rest.len());
                let text = rest[..end].to_ascii_lowercase();
                (Token::Name { text, quoted: false }, end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_ascii_start();
    }
    Some(tokens)
}

/// A name in double quotes, in which two of them stand for one, and its length with quotes.
fn quoted(text: &str) -> Option<(Token, usize)> {
    let mut name = String::new();
    let mut at = 1;
    loop {
        let end = at + text[at..].find('"')?;
        name.push_str(&text[at..end]);
        at = end + 1;
        if !text[at..].starts_with('"') {
            let text = name.to_ascii_lowercase();
            return Some((Token::Name { text, quoted: true }, at));
        }
        name.push('"');
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_read(setting: &str, confirmations: usize, names: &[&str]) {
        let names = names.iter().map(|name| name.to_string()).collect();
        let wanted = Some(Wanted { confirmations, names });
        assert_eq!(Wanted::read(setting), wanted, "{setting:?}");
    }

    #[test]
    fn every_form_of_the_setting_is_read() {
        check_read("a", 1, &["a"]);
        check_read(" s1 , S2 ", 1, &["s1", "s2"]);
        check_read("*", 1, &["*"]);
        check_read("2 (a, b,c)", 2, &["a", "b", "c"]);
        check_read("FIRST 2(a,b)", 2, &["a", "b"]);
        check_read("first 1 (*)", 1, &["*"]);
        check_read("ANY 2 (a, \"b, c\", \"d\"\"e\")", 2, &["a", "b, c", "d\"e"]);
        check_read("any", 1, &["any"]);
        check_read("any, first", 1, &["any", "first"]);
        check_read("\"ANY\"", 1, &["any"]);
    }

    #[test]
    fn what_is_no_such_setting_is_not_read() {
        for setting in [
            "",
            " ",
            ",",
            "a,",
            "a b",
            "ANY (a)",
            "ANY 0 (a)",
            "2 (a",
            "2 ()",
            "\"a",
            "(a)",
            "ANY 1 (a) b",
        ] {
            assert_eq!(Wanted::read(setting), None, "{setting:?}");
        }
    }

    #[track_caller]
    fn check_gap(setting: &str, attached: &[&str], gap: Option<&str>) {
        let found = Wanted::read(setting).unwrap().gap(attached);
        assert_eq!(
            found.is_some(),
            gap.is_some(),
            "{setting:?} {attached:?}: {found:?}"
        );
        assert!(
            found.unwrap_or_default().contains(gap.unwrap_or_default()),
            "{setting:?}"
        );
    }

    #[test]
    fn a_standby_that_need_not_confirm_is_a_gap() {
        check_gap("a", &["a"], None);
        check_gap("a", &[], None);
        check_gap("A", &["a"], None);
        check_gap("ANY 2 (a, b)", &["a", "b"], None);
        check_gap("FIRST 2 (a, b)", &["b"], None);
        check_gap("a", &["a", "pg_basebackup"], None);
        check_gap("ANY 1 (a, b)", &["a", "b"], Some("1 of 2"));
        check_gap("ANY 1 (a, b)", &[], Some("1 of 2"));
        check_gap("a, b", &["a", "b"], Some("1 of 2"));
        check_gap("FIRST 2 (a, b, c)", &[], Some("2 of 3"));
        check_gap("2 (a, a)", &["a", "a"], Some("called \"a\""));
        check_gap("*", &["walreceiver"], Some("any number"));
        check_gap("a", &["a", "other"], Some("\"other\" confirms nothing"));
        check_gap("a", &["a", "A"], Some("called \"a\""));
    }
}
