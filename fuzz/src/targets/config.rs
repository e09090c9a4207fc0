//! Configuration: a file, the environment and flags.

use mintage_server::config::{Override, Sources, default_file, keys, load};

use crate::{Target, saw, scratch};

pub(super) fn targets() -> [Target; 2] {
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
            .cost(50)
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
            .cost(200)
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

fn judge(sources: &Sources) {
    match load(sources) {
        Ok(loaded) => {
            let valid = loaded.config.validate().is_ok();
            let shown: usize = loaded.rows().map(|(_, value, _)| value.len()).sum();
            saw((valid, shown));
        }
        Err(error) => {
            assert!(!error.message.is_empty());
            saw(error.message.split_whitespace().map(str::len).collect::<Vec<_>>());
        }
    }
}

fn check_file(input: &[u8]) {
    judge(&Sources {
        file: Some(scratch::file("mint.toml", input)),
        ..Sources::default()
    });
}

/// `path=value`, as a flag and as a variable.
fn check_text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (path, value) = text.split_once('=').unwrap_or((&text, ""));
    judge(&Sources {
        overrides: vec![Override {
            path: path.to_string(),
            value: value.to_string(),
            flag: "--set".into(),
        }],
        ..Sources::default()
    });
    judge(&Sources {
        environment: vec![(
            format!("MINT_{}", path.to_uppercase().replace('.', "__")),
            value.to_string(),
        )],
        ..Sources::default()
    });
}
