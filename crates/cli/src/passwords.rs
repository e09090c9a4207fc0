//! Passwords on the command line: a warning, and their absence from what is printed.

use mintage_ledger::{STORES, holds_password, shown_url};

/// What is on the command line is in the list of processes, which every user of the machine can read.
pub(crate) fn warn_of_passwords(say: impl FnOnce(&str)) {
    if urls_given().any(|url| holds_password(&url)) {
        let is_of_source = std::env::args()
            .nth(1)
            .is_some_and(|word| word == "doctor" || word == "import");
        let instead = match is_of_source {
            true => {
                "--url-file names, or into [sources.NAME] of the configuration and give NAME (that of a store: into \
                 store.url_file, and give --config)"
            }
            false => "store.url_file or MINT_STORE__URL_FILE names, or into MINT_STORE__URL",
        };
        say(&format!(
            "the password on the command line is in the list of processes: put the URL into a file that {instead}"
        ));
    }
}

/// The same text with no password of a URL that was given.
pub(crate) fn hidden(text: String) -> String {
    urls_given().fold(text, |text, url| text.replace(&url, &shown_url(&url)))
}

/// What may be a store's URL on the command line.
fn urls_given() -> impl Iterator<Item = String> {
    let words = std::env::args_os()
        .skip(1)
        .filter_map(|word| word.into_string().ok());
    words.filter_map(|word| {
        let value = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => value.to_string(),
            _ => word,
        };
        let scheme = value.split(':').next().unwrap_or_default();
        let is_scheme = value.contains(':') && STORES.iter().any(|kind| scheme.starts_with(kind.scheme));
        (is_scheme || value.contains("://") || value.contains('@')).then_some(value)
    })
}
