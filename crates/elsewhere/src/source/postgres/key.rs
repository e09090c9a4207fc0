//! Names of sequences as SQL has them: `orders_id_seq`, `shop.orders_id_seq`, `"My shop"."a.b"`.

/// Schema, if it says one, and name; `None`: it is no name. As in SQL, what is not quoted is in small letters.
pub(super) fn parse(key: &str) -> Option<(Option<String>, String)> {
    let (first, rest) = part(key)?;
    if rest.is_empty() {
        return Some((None, first));
    }
    let (second, rest) = part(rest.strip_prefix('.')?)?;
    rest.is_empty().then_some((Some(first), second))
}

/// One name and what follows it.
fn part(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find('.').unwrap_or(text.len());
        let name = &text[..end];
        let is_name = !name.is_empty() && !name.contains('"');
        return is_name.then(|| (name.to_lowercase(), &text[end..]));
    };
    let mut name = String::new();
    let mut left = quoted;
    loop {
        let (before, after) = left.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                left = after;
            }
            None => return (!name.is_empty()).then_some((name, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_reads_them() {
        let read =
            |key: &str| parse(key).map(|(schema, name)| format!("{}/{name}", schema.unwrap_or_default()));
        for (key, found) in [
            ("orders", Some("/orders")),
            ("Shop.Orders", Some("shop/orders")),
            ("\"Shop\".\"a.b\"", Some("Shop/a.b")),
            ("\"a\"\"b\"", Some("/a\"b")),
            ("shop.\"Übung\"", Some("shop/Übung")),
            ("a.b.c", None),
            ("", None),
            ("a.", None),
            (".a", None),
            ("\"a", None),
            ("\"\"", None),
            ("a\"b", None),
            ("\"a\"b", None),
        ] {
            assert_eq!(read(key).as_deref(), found, "{key}");
        }
    }
}
