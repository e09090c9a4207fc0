//! Every command that a hint, an error or a page names, parsed by the command's own definition.
//!
//! What is collected: `mint …` in backquotes anywhere, lines of console blocks that begin with `$ mint`, and lines of
//! shell blocks that begin with `mint`. In the sources, texts of comments and of string literals, which may go on
//! over several lines.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::args::Cli;

/// Placeholders, and what a person might put in.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("STORE_ID", "0"),
    ("PATH", "./mint-data"),
    ("FOLDER", "./mint-data"),
    ("FILE", "ids.jsonl"),
    ("URL", "http://127.0.0.1:7600"),
    ("OLD", "file:./mint-data"),
    ("NEW", "file:./new"),
    ("NAME", "orders"),
    ("POOL", "default"),
    ("WORKER", "7"),
    ("HEX32", "00112233445566778899aabbccddeeff"),
    ("NAMESPACE", "dns"),
    ("NAME...", "www.example.com"),
    ("TIME", "now-1h"),
    ("v{version}{flags}", "v5"),
    ("SHELL", "bash"),
    ("FORMAT", "uuid7"),
    ("ROUNDS", "1"),
    ("KEY", "server.http.listen"),
    ("ID", "2124091546788761600"),
    ("A", "file:./a"),
    ("B", "file:./b"),
    ("N", "1000"),
    ("X", "x"),
];

/// A command that a user may type, and where it was found.
struct Named {
    place: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder whose names end like this.
fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                files(&path, ending, into);
            }
        } else if path.to_string_lossy().ends_with(ending) {
            into.push(path);
        }
    }
}

/// `mint …` in backquotes.
fn in_backquotes(place: &str, text: &str, into: &mut Vec<Named>) {
    let mut rest = text;
    while let Some(at) = rest.find("`mint ") {
        rest = &rest[at + 1..];
        let Some(end) = rest.find('`') else { return };
        // Longer than any command: a quote that was never closed.
        if end <= 400 {
            into.push(Named {
                place: place.to_string(),
                text: rest[..end].to_string(),
            });
        }
        rest = &rest[end + 1..];
    }
}

/// `mint store …` in a text of the program outside backquotes: up to the end of its sentence.
fn in_literals(place: &str, text: &str, into: &mut Vec<Named>) {
    for start in ["\"", " ", "("] {
        for command in Cli::command().get_subcommands() {
            let wanted = format!("{start}mint {} ", command.get_name());
            for (at, _) in text.match_indices(&wanted) {
                let rest = &text[at + start.len()..];
                let end = rest
                    .find(['"', ',', ';', '(', ')', '`', '\n'])
                    .unwrap_or(rest.len());
                let whole = rest[..end].split_whitespace();
                // What a synopsis leaves to choose.
                let words: Vec<&str> = whole.take_while(|word| !word.starts_with('[')).collect();
                if words.len() < 2 {
                    continue;
                }
                let options = words
                    .iter()
                    .rposition(|word| word.starts_with("--"))
                    .map_or(2, |at| at + 1);
                // Where the command ends and the sentence goes on only the definition knows.
                let parses = (options..=words.len()).find(|len| wrong(&words[..*len].join(" ")).is_none());
                if parses.is_none() {
                    into.push(Named {
                        place: place.to_string(),
                        text: words.join(" "),
                    });
                }
            }
        }
    }
}

/// Commands of blocks of a page: lines after `$ ` in any, all lines that begin with `mint` in those of a shell.
fn in_blocks(place: &str, text: &str, into: &mut Vec<Named>) {
    let mut block: Option<&str> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = match block {
                Some(_) => None,
                None => Some(kind),
            };
            continue;
        }
        let Some(kind) = block else { continue };
        let typed = line.strip_prefix("$ ");
        let shell = matches!(kind, "sh" | "bash");
        let Some(command) = typed
            .or(shell.then_some(line))
            .filter(|line| line.starts_with("mint "))
        else {
            continue;
        };
        let mut whole = command.to_string();
        while whole.ends_with('\\') {
            whole.pop();
            whole += lines.next().unwrap_or_default().trim_start();
        }
        into.push(Named {
            place: place.to_string(),
            text: whole,
        });
    }
}

/// A source's text as people read it: comments without their marks, string literals without their line breaks.
fn as_read(source: &str) -> String {
    let mut read = String::with_capacity(source.len());
    for line in source.lines() {
        let bare = line.trim_start();
        let bare = ["//! ", "/// ", "// "]
            .iter()
            .find_map(|mark| bare.strip_prefix(mark))
            .unwrap_or(bare);
        match bare.strip_suffix('\\') {
            Some(goes_on) => read += goes_on,
            None => {
                read += bare;
                read.push('\n');
            }
        }
    }
    read.replace("\\\"", "\"").replace("\\n", "\n")
}

fn all() -> Vec<Named> {
    let mut named = Vec::new();
    let mut pages = vec![root().join("README.md"), root().join("SECURITY.md")];
    files(&root().join("docs"), ".md", &mut pages);
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let place = page.strip_prefix(root()).unwrap().display().to_string();
        in_backquotes(&place, &text.replace('\n', " "), &mut named);
        in_blocks(&place, &text, &mut named);
    }
    let mut sources = Vec::new();
    for crate_of_ours in [
        "core",
        "store",
        "drivers",
        "elsewhere",
        "ledger",
        "server",
        "cli",
        "bulk",
    ] {
        files(
            &root().join("crates").join(crate_of_ours).join("src"),
            ".rs",
            &mut sources,
        );
    }
    for source in sources {
        if source.ends_with("commands_named.rs") {
            continue;
        }
        let text = fs::read_to_string(&source).unwrap();
        let place = source.strip_prefix(root()).unwrap().display().to_string();
        let text = as_read(&text);
        in_backquotes(&place, &text.replace('\n', " "), &mut named);
        in_literals(&place, &text, &mut named);
    }
    named
}

/// The words of a command up to where the shell would end it, quotes taken off; `None` for what no shell parses.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut fresh = true;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => words.last_mut()?.push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                fresh = false;
            }
            (None, '|' | '<' | '>' | ';' | '&') => break,
            (None, '#') if fresh => break,
            (None, ' ') => {
                if !fresh {
                    words.push(String::new());
                    fresh = true;
                }
            }
            (None, '\\') => words.last_mut()?.extend(chars.next()),
            (None, c) => {
                words.last_mut()?.push(c);
                fresh = false;
            }
        }
    }
    if fresh {
        words.pop();
    }
    quote.is_none().then_some(words)
}

/// A word with something that fits in place of its placeholders, of `{}` in the sources, and of `…`.
fn filled(word: &str) -> String {
    if let Some((_, fits)) = PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == word) {
        return (*fits).to_string();
    }
    if let Some((scheme, rest)) = word.split_once(':')
        && PLACEHOLDERS.iter().any(|(placeholder, _)| *placeholder == rest)
    {
        return format!("{scheme}:{}", filled(rest));
    }
    match word.find('{').zip(word.rfind('}')) {
        Some((from, to)) if from < to => format!("{}x{}", &word[..from], &word[to + 1..]),
        _ => word.to_string(),
    }
}

/// What is wrong with a command, if anything is.
///
/// One that is only spoken of (`mint serve`, `mint store restore`) may lack what it needs, and may end in `…`; nothing
/// may stand there that the command does not know.
fn wrong(text: &str) -> Option<String> {
    let words = words(text)?;
    let mut words: Vec<String> = words.iter().map(|word| filled(word)).collect();
    // `mint seq next|show`: only the first is taken; the rest is for the reader.
    let open = words.last().is_some_and(|word| word == "…");
    words.retain(|word| word != "…");
    let words = crate::help::rewritten(words.into_iter().map(OsString::from).collect(), Cli::command);
    let parsed = Cli::command().try_get_matches_from(&words);
    match parsed.map_err(|error| (error.kind(), error)) {
        Ok(_) => None,
        Err((ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _)) => None,
        Err((ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand, _)) => None,
        Err((ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _)) => None,
        Err((ErrorKind::InvalidValue | ErrorKind::TooFewValues, _)) if open => None,
        // An option that is spoken of, without its value.
        Err((ErrorKind::InvalidValue, _))
            if words
                .last()
                .is_some_and(|word| word.to_string_lossy().starts_with("--")) =>
        {
            None
        }
        Err((_, error)) => Some(error.to_string().lines().next().unwrap_or_default().to_string()),
    }
}

#[test]
fn every_command_that_we_name_parses() {
    let named = all();
    let mut report = String::new();
    for Named { place, text } in &named {
        if let Some(why) = wrong(text) {
            let _ = writeln!(report, "{place}: `{text}`: {why}");
        }
    }
    assert!(named.len() > 150, "{} commands were found", named.len());
    assert!(report.is_empty(), "{report}");
}

#[test]
fn the_command_of_every_format_parses() {
    for row in mintage::FORMATS {
        let command = mintage_wire::command_of(row);
        assert_eq!(wrong(&command), None, "{command}");
    }
}

#[test]
fn what_does_not_parse_is_found() {
    for (text, parses) in [
        ("mint store adopt --store file:PATH", true),
        ("mint store adopt PATH", false),
        ("mint store restore --advance N --store file:{path}", true),
        ("mint store restore", true),
        ("mint store restroe", false),
        ("mint seq next orders | head", true),
        ("mint seq nxt orders", false),
        ("mint serve --htp x", false),
    ] {
        assert_eq!(wrong(text).is_none(), parses, "{text}");
    }
}

/// `mint store restore --advance N PATH` takes PATH for a backup, so that it parses and is wrong all the same.
#[test]
fn a_restore_in_place_names_its_store_with_the_option() {
    for Named { place, text } in all() {
        let Some(words) = words(&text) else { continue };
        let restores = words.len() > 2 && words[1..3] == ["store", "restore"];
        let folder = |word: &String| word.starts_with('{') || word == "PATH" || word == "FOLDER";
        let mut pairs = words.windows(2).filter(|pair| pair[0] != "--store");
        if restores && let Some(pair) = pairs.find(|pair| folder(&pair[1])) {
            panic!("{place}: `{text}`: {} is taken for a backup file", pair[1]);
        }
    }
}
