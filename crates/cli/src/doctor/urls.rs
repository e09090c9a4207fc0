//! Where to look: URLs, files that hold URLs, and names of the configuration.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::config::load;
use crate::errors::Failure;
use crate::out::Out;

/// How large a file of URLs may be.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// A URL, which may hold a password, and what it is called in messages.
pub(crate) struct Url {
    text: String,
    named: String,
}

impl Url {
    /// As it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What messages say for it.
    pub(crate) fn named(&self) -> &str {
        &self.named
    }
}

/// Every URL that was given, in the order of the command line.
pub(crate) fn all(given: &[String], files: &[impl AsRef<Path>], out: &Out) -> Result<Vec<Url>, Failure> {
    let mut urls = Vec::new();
    let mut config = None;
    for (at, word) in given.iter().enumerate() {
        // No name holds a colon, and no URL lacks one.
        if word.contains(':') {
            urls.push(Url {
                text: word.clone(),
                // Told by its place: it may hold a password.
                named: match given.len() {
                    1 => "the URL".to_string(),
                    _ => format!("URL {}", at + 1),
                },
            });
            continue;
        }
        if config.is_none() {
            config = Some(load(None, Vec::new())?.config);
        }
        let sources = &config.as_ref().expect("it is there now").sources;
        let url = sources.url(word).ok_or_else(|| unknown(word, sources.names()))?;
        urls.push(Url {
            text: url.to_string(),
            named: format!("sources.{word}"),
        });
    }
    for file in files {
        of_file(file.as_ref(), out, &mut urls)?;
    }
    Ok(urls)
}

fn unknown<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    let names: Vec<_> = names.collect();
    let hint = match names.is_empty() {
        true => "give a URL such as postgres://USER@HOST/DB".to_string(),
        false => format!("the configuration names {}", names.join(", ")),
    };
    Failure::usage(format_args!(
        "{word:?} is no URL, and no [sources.NAME] of the configuration"
    ))
    .with_hint(hint)
}

/// The URLs of a file: one a line; lines that begin with `#` say something to people.
fn of_file(path: &Path, out: &Out, into: &mut Vec<Url>) -> Result<(), Failure> {
    let shown = path.display();
    let cannot = |error: std::io::Error| Failure::usage(format_args!("--url-file {shown}: {error}"));
    let mut text = String::new();
    let mut file = File::open(path).map_err(cannot)?.take(FILE_MAX_BYTES + 1);
    file.read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > FILE_MAX_BYTES {
        return Err(Failure::usage(format_args!(
            "--url-file {shown} has more than {FILE_MAX_BYTES} bytes: it is no file of URLs"
        )));
    }
    if is_open_to_others(path) {
        out.note(format!(
            "warning: --url-file {shown} can be read by others: chmod 600 {shown}"
        ));
    }
    let before = into.len();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            into.push(Url {
                text: line.to_string(),
                named: format!("{shown}, line {}", at + 1),
            });
        }
    }
    match into.len() > before {
        true => Ok(()),
        false => Err(Failure::usage(format_args!("--url-file {shown} holds no URL"))),
    }
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let out = Out::new(false, true, false).unwrap();
        let urls = all(&[], &[file.path()], &out).map_err(|failure| format!("{failure:?}"))?;
        let shown = file.path().display().to_string();
        Ok(urls
            .into_iter()
            .map(|url| (url.text, url.named.replace(&shown, "FILE")))
            .collect())
    }

    #[test]
    fn files_hold_a_url_a_line() {
        let urls = read("# the shop\npostgres://u:p@db/shop\n\n  redis://cache\n").unwrap();
        let text = |text: &str| text.to_string();
        assert_eq!(
            urls,
            [
                (text("postgres://u:p@db/shop"), text("FILE, line 2")),
                (text("redis://cache"), text("FILE, line 4")),
            ]
        );
        assert!(read("# nothing\n").unwrap_err().contains("holds no URL"));
        let long = "#".repeat(FILE_MAX_BYTES as usize + 1);
        assert!(read(&long).unwrap_err().contains("more than"));
    }

    #[test]
    fn a_url_is_not_shown_in_messages() {
        let out = Out::new(false, true, false).unwrap();
        let given = ["postgres://u:secret@db/shop".to_string()];
        let urls = all(&given, &[] as &[&Path], &out).unwrap();
        assert_eq!((urls[0].named(), urls[0].text()), ("the URL", given[0].as_str()));
    }
}
