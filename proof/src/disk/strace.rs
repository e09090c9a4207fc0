//! The calls by which a process changed its folder, from `strace`, in order, with every byte written and every line
//! said between them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A name now leads to a new, empty file.
    Create {
        name: String,
        file: usize,
    },
    Write {
        file: usize,
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: usize,
        length: u64,
    },
    Sync {
        file: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Unlink {
        name: String,
    },
    SyncFolder,
    /// Standard output.
    Said(String),
}

/// The calls that are listened to.
const CALLS: &str = "openat,creat,close,write,pwrite64,writev,pwritev,lseek,ftruncate,fallocate,fsync,fdatasync,\
                     sync_file_range,rename,renameat,renameat2,unlink,unlinkat,link,linkat,copy_file_range,sendfile";

/// Whether strace can be had here.
pub(crate) fn available() -> bool {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    probe.is_ok_and(|status| status.success())
}

/// Runs `command` under strace and reads what it did in `folder`; files that were there are numbered first, in the
/// order of `known`.
pub(crate) fn record(command: &[String], folder: &Path, known: &[String]) -> Result<Vec<Step>, String> {
    let out = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    let run = Command::new("strace")
        .args(["-f", "-xx", "-s", "16777216", "-e", "signal=none", "-e"])
        .arg(format!("trace={CALLS}"))
        .arg("-o")
        .arg(out.path())
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    let run = run.map_err(|e| format!("cannot start strace: {e}"))?;
    if !run.status.success() {
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(format!("the worker failed under strace: {}: {said}", run.status));
    }
    let text = std::fs::read_to_string(out.path()).map_err(|e| e.to_string())?;
    let mut reader = Reader::new(folder, known);
    let mut unfinished: HashMap<&str, &str> = HashMap::new();
    for line in text.lines() {
        let Some((pid, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(pid, begun);
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((_, end)) = resumed.split_once(" resumed>") else {
                continue;
            };
            let begun = unfinished.remove(pid).unwrap_or_default();
            reader.call(&format!("{begun}{end}"))?;
        } else {
            reader.call(rest)?;
        }
    }
    Ok(reader.steps)
}

/// An open file.
#[derive(Clone)]
enum Open {
    File { file: usize, at: u64 },
    Folder,
    Other,
}

struct Reader {
    folder: PathBuf,
    /// By name in the folder.
    names: HashMap<String, usize>,
    files: usize,
    open: HashMap<i64, Open>,
    lengths: Vec<u64>,
    steps: Vec<Step>,
}

impl Reader {
    fn new(folder: &Path, known: &[String]) -> Reader {
        let lengths = known.iter().map(|name| {
            let found = std::fs::metadata(folder.join(name));
            found.map_or(0, |found| found.len())
        });
        Reader {
            lengths: lengths.collect(),
            names: known
                .iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), at))
                .collect(),
            files: known.len(),
            folder: folder.to_path_buf(),
            open: HashMap::new(),
            steps: Vec::new(),
        }
    }

    /// The name in the folder that a path leads to; the empty one for the folder itself.
    fn name(&self, path: &[u8]) -> Option<String> {
        let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
        let inside = path.strip_prefix(&self.folder).ok()?;
        Some(inside.to_string_lossy().into_owned())
    }

    fn call(&mut self, line: &str) -> Result<(), String> {
        let Some((name, rest)) = line.split_once('(') else {
            return Ok(());
        };
        let Some((arguments, result)) = rest.rsplit_once(") = ").or_else(|| rest.rsplit_once(")  = ")) else {
            return Ok(());
        };
        let result: i64 = result
            .split_whitespace()
            .next()
            .and_then(|r| r.parse().ok())
            .unwrap_or(-1);
        if result < 0 {
            return Ok(());
        }
        let arguments = split(arguments.trim_end().trim_end_matches(')'));
        let number = |at: usize| {
            arguments
                .get(at)
                .and_then(|a| a.trim().parse::<i64>().ok())
                .unwrap_or(-1)
        };
        let text = |at: usize| arguments.get(at).map(|a| unquote(a)).unwrap_or_default();
        match name {
            "openat" => self.opened(&text(1), arguments.get(2).map_or("", |flags| flags), result),
            "close" => drop(self.open.remove(&number(0))),
            "write" => self.written(number(0), text(1), None, result),
            "pwrite64" => self.written(number(0), text(1), u64::try_from(number(3)).ok(), result),
            "lseek" => {
                if let Some(Open::File { at, .. }) = self.open.get_mut(&number(0)) {
                    *at = result as u64;
                }
            }
            "ftruncate" => self.truncated(number(0), number(1) as u64),
            "fallocate" => {
                let end = (number(2) + number(3)) as u64;
                if let Some(Open::File { file, .. }) = self.open.get(&number(0)).cloned()
                    && self.lengths[file] < end
                {
                    self.truncated(number(0), end);
                }
            }
            "fsync" | "fdatasync" => match self.open.get(&number(0)) {
                Some(Open::File { file, .. }) => self.steps.push(Step::Sync { file: *file }),
                Some(Open::Folder) => self.steps.push(Step::SyncFolder),
                _ => {}
            },
            "rename" => self.renamed(&text(0), &text(1)),
            "renameat" | "renameat2" => self.renamed(&text(1), &text(3)),
            "unlink" => self.unlinked(&text(0)),
            "unlinkat" => self.unlinked(&text(1)),
            "writev" | "pwritev" | "creat" | "link" | "linkat" | "copy_file_range" | "sendfile"
            | "sync_file_range" => {
                let ours = matches!(self.open.get(&number(0)), Some(Open::File { .. } | Open::Folder));
                if ours || name == "creat" {
                    return Err(format!(
                        "the store uses {name}, which this reading of it does not know"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn opened(&mut self, path: &[u8], flags: &str, fd: i64) {
        let Some(name) = self.name(path) else {
            self.open.insert(fd, Open::Other);
            return;
        };
        if name.is_empty() {
            self.open.insert(fd, Open::Folder);
            return;
        }
        let known = self.names.get(&name).copied();
        let file = match known {
            Some(file) => file,
            None if flags.contains("O_CREAT") => {
                let file = self.files;
                self.files += 1;
                self.lengths.push(0);
                self.names.insert(name.clone(), file);
                self.steps.push(Step::Create { name, file });
                file
            }
            // A folder within, or a name of a kind that is not ours.
            None => {
                self.open.insert(fd, Open::Other);
                return;
            }
        };
        self.open.insert(fd, Open::File { file, at: 0 });
        if flags.contains("O_TRUNC") && self.lengths[file] > 0 {
            self.truncated(fd, 0);
        }
    }

    fn written(&mut self, fd: i64, mut bytes: Vec<u8>, offset: Option<u64>, count: i64) {
        bytes.truncate(count as usize);
        if fd == 1 && !self.open.contains_key(&1) {
            self.steps
                .push(Step::Said(String::from_utf8_lossy(&bytes).trim_end().to_string()));
            return;
        }
        let Some(Open::File { file, at }) = self.open.get_mut(&fd) else {
            return;
        };
        let start = offset.unwrap_or(*at);
        if offset.is_none() {
            *at += bytes.len() as u64;
        }
        let file = *file;
        self.lengths[file] = self.lengths[file].max(start + bytes.len() as u64);
        self.steps.push(Step::Write {
            file,
            offset: start,
            bytes,
        });
    }

    fn truncated(&mut self, fd: i64, length: u64) {
        if let Some(Open::File { file, .. }) = self.open.get(&fd) {
            self.lengths[*file] = length;
            self.steps.push(Step::Truncate { file: *file, length });
        }
    }

    fn renamed(&mut self, from: &[u8], to: &[u8]) {
        if let (Some(from), Some(to)) = (self.name(from), self.name(to))
            && let Some(file) = self.names.remove(&from)
        {
            self.names.insert(to.clone(), file);
            self.steps.push(Step::Rename { from, to });
        }
    }

    fn unlinked(&mut self, path: &[u8]) {
        if let Some(name) = self.name(path)
            && self.names.remove(&name).is_some()
        {
            self.steps.push(Step::Unlink { name });
        }
    }
}

/// The arguments of a call; commas within quotes do not count.
fn split(arguments: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let (mut quoted, mut begin) = (false, 0);
    for (at, byte) in arguments.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                parts.push(arguments[begin..at].trim().to_string());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[begin..].trim().to_string());
    parts
}

/// A string that strace printed with `-xx`.
fn unquote(text: &str) -> Vec<u8> {
    let inner = text.trim().trim_start_matches('"');
    let inner = inner.split('"').next().unwrap_or_default();
    let digits: Vec<u8> = inner.bytes().filter(|b| *b != b'\\' && *b != b'x').collect();
    digits
        .chunks_exact(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_taken_apart() {
        assert_eq!(unquote(r#""\x61\x2c\x62""#), b"a,b");
        assert_eq!(split(r#"5, "\x61, b", 3, 0"#), ["5", r#""\x61, b""#, "3", "0"]);
        let mut reader = Reader::new(Path::new("/d"), &[]);
        for line in [
            r#"openat(AT_FDCWD, "\x2f\x64\x2f\x66", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 5"#,
            r#"write(5, "\x61\x62", 2) = 2"#,
            r#"pwrite64(5, "\x63", 1, 7) = 1"#,
            r#"write(5, "\x64", 1) = 1"#,
            r#"fdatasync(5)  = 0"#,
            r#"write(1, "\x68\x69\x0a", 3) = 3"#,
            r#"rename("\x2f\x64\x2f\x66", "\x2f\x64\x2f\x67") = 0"#,
            r#"write(5, "\x64", 1) = -1 EIO (Input/output error)"#,
        ] {
            reader.call(line).unwrap();
        }
        let shown: Vec<String> = reader.steps.iter().map(|step| format!("{step:?}")).collect();
        assert_eq!(
            shown,
            [
                r#"Create { name: "f", file: 0 }"#,
                "Write { file: 0, offset: 0, bytes: [97, 98] }",
                "Write { file: 0, offset: 7, bytes: [99] }",
                "Write { file: 0, offset: 2, bytes: [100] }",
                "Sync { file: 0 }",
                r#"Said("hi")"#,
                r#"Rename { from: "f", to: "g" }"#,
            ]
        );
    }
}
