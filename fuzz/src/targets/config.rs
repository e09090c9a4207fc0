//! Configuration: a file, the environment and flags.

use std::path::Path;

use mintage_server::config::{ConfigError, Loaded, Override, Sources, default_file, keys, load};

use crate::{Target, saw};

pub(super) fn targets() -> [Target; 2] {
    mintage_server::install(mintage_faces::FACES);
    let file = default_file();
    let mut sections: Vec<String> = file
        .split("\n\n")
        .map(|part| part.replace("\n# ", "\n"))
        .collect();
    sections.push("[store]\nurl = \"file:./data\"\n[server.http]\nlisten = [\"127.0.0.1:0\"]\n".into());
    sections.push("server.threads = 2\nserver = 1\n".into());
    let settings: Vec<String> = keys().iter().map(|key| format!("{}=1", key.path)).collect();
    [
        Target::new("config-file", sections, check_file)
            .longest(512)
            .words(&[
                "[",
                "]",
                " = ",
                "\"",
                "true",
                "1s",
                "64k",
                "[[",
                "'''",
                "\n",
                "9223372036854775808",
            ]),
        Target::new("config-text", settings, check_text)
            .longest(96)
            .words(&[
                "=",
                "1s",
                "10ms",
                "1MiB",
                "64k",
                "off",
                "none",
                "127.0.0.1:0",
                "file:/a",
                "postgres://u:p@h/d",
                "18446744073709551616",
                "-1",
                ",",
            ]),
    ]
}

/// A file of any content loads or is refused in words; what it comes to can be shown.
fn check_file(input: &[u8]) {
    let mut loaded = Loaded::default();
    match loaded.read_text(&String::from_utf8_lossy(input), Path::new(FILE)) {
        Ok(()) => {
            let valid = loaded.config.validate().is_ok();
            let shown: usize = loaded.rows().map(|(_, value, _)| value.len()).sum();
            saw((valid, shown));
        }
        Err(error) => refused(&error),
    }
}

/// `path=value`, as a flag and as a variable: both say the same, and what is shown of it reads as the same again.
fn check_text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (path, value) = text.split_once('=').unwrap_or((&text, ""));
    // A path that is no setting's stands for some setting: names are tried by the files.
    let at = keys().iter().position(|key| key.path == path);
    let at = at.unwrap_or_else(|| path.bytes().map(usize::from).sum::<usize>() % keys().len());
    let key = &keys()[at];
    let flag = load(&Sources {
        overrides: vec![Override {
            path: key.path.to_string(),
            value: value.to_string(),
            flag: "--set".into(),
        }],
        ..Sources::default()
    });
    let variable = load(&Sources {
        environment: vec![(key.environment(), value.to_string())],
        ..Sources::default()
    });
    match (flag, variable) {
        (Ok(flag), Ok(variable)) => {
            assert_eq!(flag.config, variable.config);
            let shown = (key.show)(&flag.config);
            saw((at, flag.config.validate().is_ok(), shown.len()));
            if !shown.contains("***") {
                // With the default folder's path in it, as both have it.
                let mut again = load(&Sources::default()).expect("the defaults load");
                let read = again.read_text(&format!("{} = {shown}", key.path), Path::new(FILE));
                assert_eq!(read, Ok(()), "{shown}");
                assert_eq!(again.config, flag.config, "{shown}");
            }
        }
        (Err(flag), Err(variable)) => {
            refused(&flag);
            refused(&variable);
        }
        (flag, variable) => panic!("{flag:?} is not {variable:?}"),
    }
}

fn refused(error: &ConfigError) {
    assert!(!error.message.is_empty());
    saw(error.message.split_whitespace().map(str::len).collect::<Vec<_>>());
}

const FILE: &str = "mint.toml";
