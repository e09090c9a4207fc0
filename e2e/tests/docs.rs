//! What the documentation shows is what happens: every `console` block of every page, run in order.
#![allow(clippy::unwrap_used)]

use std::fs;

use mintage_e2e::{binary, console, need};

#[test]
fn every_console_block_gives_what_it_shows() {
    if !need::redis() || !need::curl() {
        return;
    }
    let root = binary::root();
    let mut pages = vec![root.join("README.md")];
    let docs = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|e| e == "md")));
    pages.sort();
    for page in pages {
        let name = page.strip_prefix(root).unwrap().display().to_string();
        console::run_page(&name, &fs::read_to_string(&page).unwrap());
    }
}
