//! No command shows a password, however the URL that holds it is written, wherever it is given.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use mintage_e2e::run::{self, Said};
use mintage_e2e::{binary, server::Start};
use mintage_testing::no_secret_in;

/// What must be in no output; in two parts, for the URLs that cut it.
const SECRETS: [&str; 2] = ["s3cr3t", "h1dd3n"];

/// URLs with a password where it belongs, beside it, and cut by a character that ought to be escaped.
const URLS: [&str; 35] = [
    "postgres://u:s3cr3t@127.0.0.1:1/db",
    "postgres://u:s3cr3t%2Fh1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t/h1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t#h1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t?h1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t?h1dd3n=x@127.0.0.1:1/db",
    "postgres://u:s3cr3t@h1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t%zzh1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t h1dd3n@127.0.0.1:1/db",
    "postgres://u:s3cr3t@127.0.0.1:1/db\n",
    "postgres://u:s3cr3t\n@127.0.0.1:1/db",
    "postgres://u:s3cr3t@",
    "postgres://u:s3cr3t",
    "postgres:/u:s3cr3t@127.0.0.1:1/db",
    "postgres:u:s3cr3t@127.0.0.1:1/db",
    "postgres://127.0.0.1:1/db?password=s3cr3t",
    "postgres://127.0.0.1:1/db?pasword=s3cr3t",
    "postgres://127.0.0.1:1/db?s3cr3t",
    "postgres://127.0.0.1:1/u:s3cr3t@db",
    "postgresql://u:s3cr3t@127.0.0.1:1",
    "mysql://u:s3cr3t@127.0.0.1:1/db",
    "mysql://u:s3cr3t/h1dd3n@127.0.0.1:1/db",
    "mysql://u:s3cr3t#h1dd3n@127.0.0.1:1/db",
    "mysql://u:s3cr3t?h1dd3n@127.0.0.1:1/db",
    "redis://s3cr3t@127.0.0.1:1",
    "redis://:s3cr3t@127.0.0.1:1/0",
    "redis://127.0.0.1:1?auth=s3cr3t",
    "redis://:s3cr3t/h1dd3n@127.0.0.1:1/0",
    "redis://:s3cr3t",
    "rediss://:s3cr3t@127.0.0.1:1/0",
    "etcd://u:s3cr3t@127.0.0.1:1,127.0.0.1:2",
    "etcd://u:s3cr3t?h1dd3n@127.0.0.1:1",
    "zookeeper://u:s3cr3t@127.0.0.1:1/ids",
    "zookeeper://u:s3cr3t/h1dd3n@127.0.0.1:1/ids",
    "u:s3cr3t@127.0.0.1/db",
];

/// Every command that takes a store's URL; `{}` is the URL.
const COMMANDS: [&[&str]; 20] = [
    &["serve", "--check", "--store", "{}"],
    &["serve", "--stor", "{}"],
    &["serve", "{}"],
    &["init", "--store", "{}"],
    &["snowflake", "--store", "{}"],
    &["seq", "next", "a", "--store", "{}"],
    &["seq", "list", "--store", "{}"],
    &["seq", "show", "a", "--store", "{}"],
    &["seq", "create", "a", "--store", "{}"],
    &["pool", "list", "--store", "{}"],
    &["pool", "show", "a", "--store", "{}"],
    &["store", "check", "--store", "{}"],
    &["store", "backup", "b.jsonl", "--store", "{}"],
    &["store", "restore", "b.jsonl", "--store", "{}"],
    &["store", "restore", "--advance", "1", "--store", "{}"],
    &["store", "repair", "--store", "{}"],
    &["store", "adopt", "--store", "{}"],
    &["store", "migrate", "--store", "{}", "--to", "memory:"],
    &["store", "migrate", "--store", "memory:", "--to", "{}"],
    &["store", "migrate", "--store", "{}", "--to", "{}"],
];

#[track_caller]
fn shows_nothing(said: &Said, what: &str) {
    for secret in SECRETS {
        for text in [&said.out, &said.err] {
            no_secret_in(format_args!("{what:?}"), text, secret);
        }
    }
}

fn mint(folder: &Path, environment: &[(&str, &str)], args: &[&str]) -> Said {
    let mut command = Command::new(binary::mint());
    run::isolate(&mut command);
    run::at_home(&mut command, folder)
        .args(args)
        .env("MINT_STORE__CONNECT_TIMEOUT", "100ms")
        .env("MINT_STORE__REQUEST_TIMEOUT", "100ms")
        .envs(environment.iter().copied());
    run::with_input(command, b"")
}

/// Nothing before the last `@` and no option's value, in errors, hints, warnings and lists.
#[test]
fn no_command_shows_a_password() {
    let folder = tempfile::tempdir().unwrap();
    for url in URLS {
        for command in COMMANDS {
            let args: Vec<&str> = command
                .iter()
                .map(|word| word.replace("{}", url).leak() as &str)
                .collect();
            let said = mint(folder.path(), &[], &args);
            shows_nothing(&said, &format!("{args:?}"));
        }
    }
}

/// The same from the environment, a file, a configuration, and as the server itself says it.
#[test]
fn no_source_of_a_url_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, config) = (folder.path().join("url"), folder.path().join("c.toml"));
    for url in URLS {
        std::fs::write(&file, url).unwrap();
        std::fs::write(&config, format!("[store]\nurl = {url:?}\n")).unwrap();
        for environment in [
            &[("MINT_STORE__URL", url)][..],
            &[("MINT_STORE__URL_FILE", file.to_str().unwrap())],
            &[("MINT_STORE__URLS", url)],
        ] {
            for args in [
                &["config", "show"][..],
                &["config", "check"],
                &["--json", "config", "show"],
                &["store", "check"],
            ] {
                shows_nothing(
                    &mint(folder.path(), environment, args),
                    &format!("{environment:?} {args:?}"),
                );
            }
        }
        for args in [
            ["config", "show", "--config", "c.toml"],
            ["config", "check", "--config", "c.toml"],
        ] {
            shows_nothing(&mint(folder.path(), &[], &args), &format!("{url:?} {args:?}"));
        }
        if url.contains("127.0.0.1:1") {
            let said = mint(
                folder.path(),
                &[],
                &["serve", "--http", "127.0.0.1:0", "--resp", "off", "--store", url],
            );
            assert_ne!(said.code, 0, "{url:?}");
            shows_nothing(&said, url);
        }
    }
}

/// What stands on a command line is in the list of processes; in a file or the environment it is not.
#[test]
fn a_password_on_the_command_line_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let url = "redis://:s3cr3t@127.0.0.1:1/0";
    let warning = "warning: the password on the command line is in the list of processes";
    let given = mint(folder.path(), &[], &["store", "check", "--store", url]);
    assert!(
        given.err.contains(warning) && given.err.contains("MINT_STORE__URL_FILE"),
        "{given:?}"
    );
    std::fs::write(folder.path().join("url"), format!("{url}\n")).unwrap();
    for environment in [("MINT_STORE__URL", url), ("MINT_STORE__URL_FILE", "url")] {
        let said = mint(folder.path(), &[environment], &["store", "check"]);
        assert!(!said.err.contains(warning), "{said:?}");
        assert!(
            said.err.contains("127.0.0.1:1"),
            "it is the store of the file: {said:?}"
        );
    }
}

/// A server that takes its URL from a file: the trailing newline is cut, and nobody sees the URL.
#[test]
fn a_server_takes_its_url_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("url"), "file:./elsewhere\n").unwrap();
    std::fs::write(folder.path().join("mint.toml"), "[store]\nurl_file = \"url\"\n").unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--config", "mint.toml"])
        .ready();
    let store = folder.path().join("elsewhere");
    assert_eq!(server.ready["store"], format!("file:{}", store.display()));
    let words = std::fs::read(format!("/proc/{}/cmdline", server.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&words).contains("elsewhere"));
    assert!(folder.path().join("elsewhere").exists());
    assert!(server.log().contains("can be read by others"), "{}", server.log());
    assert_eq!(server.stop(), 0);
}

/// The pages start servers as they ought to be started.
#[test]
fn no_page_shows_a_password_on_a_command_line() {
    let root = binary::root();
    let mut pages = vec![root.join("README.md")];
    pages.extend(
        std::fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "md")),
    );
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in text
            .lines()
            .filter(|line| line.contains("--store") || line.contains("--to"))
        {
            let words = line.split([' ', '\'', '"', '`']);
            let shown = words.filter_map(|word| word.split_once("://")?.1.rsplit_once('@'));
            for (credentials, _) in shown {
                assert!(!credentials.contains(':'), "{}: {line}", page.display());
            }
        }
    }
}
