//! `docs/traps.md`: every wrong statement stands with a check, and every check gives exactly what the page shows.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use mintage_e2e::console::{self, Step};
use mintage_e2e::{binary, run};

fn page() -> String {
    fs::read_to_string(binary::root().join("docs/traps.md")).unwrap()
}

/// What a step gives, in a shell of its own and no server around.
fn given(step: &Step, folder: &Path) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    run::isolate(&mut command);
    let out = command
        .args(["-c", &format!("{{ {}\n}} 2>&1", step.command)])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env("HOME", folder)
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn every_check_gives_what_the_page_shows_digit_for_digit() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    symlink(binary::mint(), folder.path().join("bin/mint")).unwrap();
    for step in console::steps(&page()) {
        let given = given(&step, folder.path());
        assert_eq!(
            given.lines().collect::<Vec<_>>(),
            step.output,
            "docs/traps.md:{}: $ {}",
            step.line,
            step.command
        );
    }
}

#[test]
fn every_statement_has_a_check() {
    let page = page();
    let traps: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert!(traps.len() >= 15);
    for trap in traps {
        let title = trap.lines().next().unwrap();
        assert!(title.starts_with('"'), "{title}: a statement in quotes");
        assert!(!console::steps(trap).is_empty(), "{title}: no check");
    }
}
