//! Tables of the documentation that are those of the code.

/// Checks that the rows under a `head` of a page of docs/ are `rows`; `MINT_TEST_UPDATE=1` writes them.
#[track_caller]
pub(crate) fn check_table(page: &str, head: &str, rows: &str) {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the page is in the tree");
    let columns = head.matches(" |").count();
    let head = format!("{head}|{}\n", " --- |".repeat(columns));
    let begin = text.find(&head).expect("the table is on the page") + head.len();
    let end = text[begin..]
        .split_inclusive('\n')
        .take_while(|line| line.starts_with('|'))
        .map(str::len)
        .sum::<usize>()
        + begin;
    if text[begin..end] != *rows {
        let update = std::env::var_os("MINT_TEST_UPDATE").is_some();
        assert!(
            update,
            "docs/{page} is out of date: MINT_TEST_UPDATE=1 rewrites it"
        );
        let written = [&text[..begin], rows, &text[end..]].concat();
        std::fs::write(path, written).expect("the page is writable");
    }
}
