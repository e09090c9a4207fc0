//! How the server fares, in words that name nothing: for who may not read every name.

/// What a text says before it names a sequence, a pool or a source, and that it named one.
pub fn unnamed(text: &str) -> String {
    let begins_word = |at: usize| at == 0 || text[..at].ends_with([' ', '(']);
    let first = |(mark, thing): &(&str, &'static str)| {
        let mut found = text.match_indices(mark).map(|(at, _)| at);
        found.find(|at| begins_word(*at)).map(|at| (at, *thing))
    };
    let Some((at, thing)) = MARKS.iter().filter_map(first).min() else {
        return text.to_string();
    };
    let before = text[..at]
        .trim_end_matches(" and ")
        .trim_end_matches([' ', '(', ',', ':']);
    let what = format!("a {thing} whose name is not told");
    match before.is_empty() {
        true => what,
        false => format!("{before}: {what}"),
    }
}

/// What stands before a name in the ledger's words, and in its registers.
const MARKS: [(&str, &str); 7] = [
    ("sequence ", "sequence"),
    ("seq/", "sequence"),
    ("pool ", "pool"),
    ("pool/", "pool"),
    ("source ", "source"),
    ("move ", "move"),
    ("move/", "move"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_left() {
        for (text, shown) in [
            ("store down for 12 s", "store down for 12 s"),
            (
                "store down for 12 s, and sequence acme.orders has run out",
                "store down for 12 s: a sequence whose name is not told",
            ),
            (
                "store down for 12 s, budget left 5 s (pool acme)",
                "store down for 12 s, budget left 5 s: a pool whose name is not told",
            ),
            (
                "source shop down for 3 s: no route to sequence a",
                "a source whose name is not told",
            ),
            (
                "stopped for good: seq/acme went back",
                "stopped for good: a sequence whose name is not told",
            ),
            (
                "no two clocks agree: resource a",
                "no two clocks agree: resource a",
            ),
        ] {
            assert_eq!(unnamed(text), shown);
        }
    }
}
