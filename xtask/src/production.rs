//! The files for production that the documentation shows: none makes a store where one is missing, nor a sequence of a
//! name that is misspelt. Quick starts on this machine may.

use std::fs;

use crate::step;

/// A fenced block of a page.
struct Block<'a> {
    /// The line of its fence.
    line: usize,
    language: &'a str,
    text: String,
}

pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    let folder = fs::read_dir(step::root().join("docs")).map_err(|e| format!("docs: {e}"))?;
    let pages = folder.flatten().map(|entry| entry.path());
    for path in pages.chain([step::root().join("README.md")]) {
        if path.extension().is_some_and(|extension| extension == "md") {
            let page = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let shown = path.strip_prefix(step::root()).unwrap_or(&path).display();
            wrong.extend(faults(&page).into_iter().map(|fault| format!("{shown}:{fault}")));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut all, mut open) = (Vec::new(), None::<Block<'_>>);
    for (at, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, Some(language)) => {
                open = Some(Block {
                    line: at + 1,
                    language,
                    text: String::new(),
                });
            }
            (None, None) => {}
        }
    }
    all
}

/// What is wrong with a page's blocks, each after its line.
fn faults(page: &str) -> Vec<String> {
    let all = blocks(page);
    let told = all
        .iter()
        .filter_map(|block| Some(format!("{}: {}", block.line, fault(block, &all)?)));
    told.collect()
}

/// What a file needs that says where the store is.
const BOTH: &str =
    "a file for production sets create = false under [store] and auto_create = false under [sequences]";

fn fault(block: &Block<'_>, all: &[Block<'_>]) -> Option<String> {
    let text = &*block.text;
    let names = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let serves = names(&["mint serve", r#""mint", "serve""#]);
    match block.language {
        "toml" => (is_for_production(text) && !sets_both(text)).then(|| BOTH.to_string()),
        "ini" if serves => {
            let file = text
                .split_once("--config ")
                .and_then(|(_, rest)| rest.split_whitespace().next());
            let is_shown = file.is_some_and(|file| all.iter().any(|other| begins_with_its_name(other, file)));
            (!is_shown)
                .then(|| "a unit names the file that it serves by, and the page shows that".to_string())
        }
        "yaml" | "yml" | "dockerfile" if serves => {
            let both = names(&["MINT_STORE__CREATE"]) && names(&["MINT_SEQUENCES__AUTO_CREATE"]);
            (!both).then(|| {
                "MINT_STORE__CREATE and MINT_SEQUENCES__AUTO_CREATE are false in production".to_string()
            })
        }
        "sh" | "text" if serves => {
            let shared = ["postgres", "mysql", "redis", "etcd", "zookeeper"];
            let shared = shared
                .iter()
                .any(|scheme| text.contains(&format!("serve --store {scheme}")));
            if shared
                || names(&["MINT_STORE__URL=", "MINT_STORE__URL_FILE="]) && !names(&["mint serve --config"])
            {
                return Some(
                    "a server of a shared store is shown with its file: mint serve --config".to_string(),
                );
            }
            let reached = names(&["0.0.0.0"]) && !names(&["--insecure"]);
            // The one is the end of the other.
            let both = names(&["auto_create = false"]) && text.matches("create = false").count() > 1;
            (reached && !both).then(|| BOTH.to_string())
        }
        _ => None,
    }
}

fn begins_with_its_name(block: &Block<'_>, file: &str) -> bool {
    block.language == "toml" && block.text.lines().next() == Some(&format!("# {file}"))
}

/// Whether a configuration says where the store is, or lies where the system's are.
fn is_for_production(text: &str) -> bool {
    let table: toml::Table = text.parse().unwrap_or_default();
    let store = table.get("store").and_then(|store| store.as_table());
    let has_place = store.is_some_and(|store| store.keys().any(|key| key.starts_with("url")));
    has_place || text.starts_with("# /etc/")
}

fn sets_both(text: &str) -> bool {
    let table: toml::Table = text.parse().unwrap_or_default();
    let is_off = |section: &str, key: &str| {
        let value = table.get(section).and_then(|section| section.get(key));
        value.and_then(toml::Value::as_bool) == Some(false)
    };
    is_off("store", "create") && is_off("sequences", "auto_create")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_for_production_makes_nothing_by_itself() {
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn a_file_without_either_is_told_and_a_quick_start_is_not() {
        let told = |language: &str, text: &str| faults(&format!("# Page\n```{language}\n{text}```\n"));
        let both = "[store]\nurl = \"file:/ids\"\ncreate = false\n[sequences]\nauto_create = false\n";
        for (language, text) in [
            ("toml", both),
            ("toml", "[server.http]\norigins = []\n"),
            ("toml", "[sources.old]\nurl = \"redis://a\"\n"),
            ("sh", "mint serve\n"),
            ("sh", "mint serve --http tls:0.0.0.0:7600 --insecure\n"),
            (
                "sh",
                "MINT_STORE__URL_FILE=owner.url mint init\nmint serve --config mint.toml\n",
            ),
            ("text", "$ mint serve --store file:./ids\n"),
            (
                "console",
                "$ mint serve --http 0.0.0.0:7600\nerror: it is reachable by others\n",
            ),
            ("yaml", "http:\n  services: mint\n"),
        ] {
            assert_eq!(told(language, text), Vec::<String>::new(), "{text}");
        }
        let place = "[store]\nurl_file = \"/etc/mint/store.url\"\n";
        for (language, text) in [
            ("toml", place),
            (
                "toml",
                "# /etc/mint/mint.toml\n[auth]\ntoken_file = \"tokens.toml\"\n",
            ),
            ("toml", &both.replace("auto_create = false", "auto_create = true")),
            ("toml", &both.replace("create = false\n[", "[")),
            ("ini", "[Service]\nExecStart=/usr/bin/mint serve\n"),
            (
                "ini",
                "[Service]\nExecStart=/usr/bin/mint serve --config /etc/mint/mint.toml\n",
            ),
            ("sh", "mint serve --http tls:0.0.0.0:7600\n"),
            ("sh", "MINT_STORE__URL_FILE=store.url mint serve\n"),
            ("text", "$ mint serve --store postgres://db/ids\n"),
            ("yaml", "services:\n  ids:\n    command: mint serve\n"),
            ("dockerfile", "CMD [\"mint\", \"serve\"]\n"),
        ] {
            let told = told(language, text);
            assert!(told.len() == 1 && told[0].starts_with("2: "), "{text}: {told:?}");
        }
        let unit = "```ini\nExecStart=mint serve --config /etc/mint/mint.toml\n```\n";
        let page = format!("{unit}```toml\n# /etc/mint/mint.toml\n{both}```\n");
        assert_eq!(faults(&page), Vec::<String>::new());
    }
}
