//! `mint man`: the manual pages, made from the command line's own description.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(after_help = "Read it: mint man | man -l -    Keep all: mint man --all ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// A command, such as uuid or seq create; without one, the page of mint itself
    #[arg(conflicts_with = "all")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder, which is made if it is absent
    #[arg(long, value_name = "DIR")]
    all: Option<PathBuf>,
}

/// Prints the page of a command of `mint`, which is the whole command line, or writes all.
pub(crate) fn run(args: &Args, mut mint: Command, out: &mut Out) -> Result<(), Failure> {
    mint.build();
    if let Some(folder) = &args.all {
        fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        return write_all(&mint, &mint, folder);
    }
    let mut page = mint.clone();
    for word in &args.command {
        let below = page.find_subcommand(word).cloned();
        page = below.ok_or_else(|| unknown(&args.command, &page))?;
    }
    render(&mint, &page, out.buffer())?;
    out.written()
}

/// The pages of a command and of all below it, each in a file of its name.
fn write_all(mint: &Command, command: &Command, folder: &Path) -> Result<(), Failure> {
    let mut page = Vec::new();
    render(mint, command, &mut page)?;
    let path = folder.join(format!("{}.1", page_name(command)));
    fs::write(&path, page).map_err(|e| cannot_write(&path, &e))?;
    command
        .get_subcommands()
        .try_for_each(|below| write_all(mint, below, folder))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::cannot(format_args!("cannot write {}: {error}", path.display()))
}

fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn render(mint: &Command, command: &Command, out: &mut Vec<u8>) -> Result<(), Failure> {
    let man = Man::new(command.clone())
        .title(page_name(command))
        .source(format!("mint {}", env!("CARGO_PKG_VERSION")))
        .manual("Mintage");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    if let Some(notes) = command.get_after_help() {
        // Unchanged: refilled, the examples would become one paragraph.
        section(out, "NOTES", &notes.to_string())?;
    }
    for (title, rows) in EVERYWHERE {
        writeln!(out, ".SH \"{title}\"")?;
        for (term, what) in *rows {
            writeln!(out, ".TP\n\\fB{}\\fR\n{}", escaped(term), escaped(what))?;
        }
    }
    let others = mint
        .get_subcommands()
        .map(|below| format!("mint-{}", below.get_name()));
    let others: Vec<String> = std::iter::once("mint".to_string())
        .chain(others)
        .filter(|name| name != page_name(command))
        .map(|name| format!("\\fB{}\\fR(1)", escaped(&name)))
        .collect();
    writeln!(out, ".SH \"SEE ALSO\"\n{}", others.join(", "))?;
    Ok(())
}

/// A section whose lines stay as they are.
fn section(out: &mut Vec<u8>, title: &str, text: &str) -> Result<(), Failure> {
    writeln!(out, ".SH \"{title}\"\n.nf")?;
    for line in text.lines() {
        writeln!(out, "{}", escaped(line))?;
    }
    writeln!(out, ".fi")?;
    Ok(())
}

/// Text that troff neither takes for a request nor sets otherwise: a hyphen stays one that can be copied.
fn escaped(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq");
    match text.starts_with('.') {
        true => format!("\\&{text}"),
        false => text,
    }
}

/// What is true of every command.
const EVERYWHERE: &[(&str, &[(&str, &str)])] = &[
    (
        "EXIT STATUS",
        &[
            ("0", "Done."),
            (
                "1",
                "A negative answer, which was printed: not valid, not known, not sound.",
            ),
            ("2", "Used wrongly."),
            ("3", "It could not be done."),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            (
                "MINT_SERVER",
                "The server that commands with --server ask [default: http://127.0.0.1:7600].",
            ),
            ("MINT_TOKEN", "The token for it."),
            (
                "MINT_STORE__URL, MINT_SERVER__HTTP__LISTEN, ...",
                "Settings of mint serve, as mint config init lists them: sections are joined by two underscores.",
            ),
            ("NO_COLOR", "No colour in messages, unless --color always."),
            ("XDG_DATA_HOME", "Where the default store is kept, in mint there."),
            ("XDG_STATE_HOME", "Where state is kept [default: ~/.local/state]."),
        ],
    ),
    (
        "FILES",
        &[
            (
                "~/.local/share/mint, /var/lib/mint",
                "The store of mint serve, of a user and of root, unless store.url says otherwise.",
            ),
            ("mint.toml", "The configuration that mint serve --config names."),
            (
                "~/.local/state/mintage",
                "What commands without a server have reserved, and which cluster a shared store belongs to.",
            ),
        ],
    ),
];

fn unknown(asked: &[String], at: &Command) -> Failure {
    let names: Vec<&str> = at.get_subcommands().map(Command::get_name).collect();
    let failure = Failure::usage(format_args!("there is no command mint {}", asked.join(" ")));
    match names.is_empty() {
        true => failure,
        false => failure.with_hint(format_args!("there are: {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_has_a_page_that_troff_takes_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut mint = Cli::command();
        mint.build();
        write_all(&mint, &mint, folder.path()).unwrap();
        let page = fs::read_to_string(folder.path().join("mint-seq-create.1")).unwrap();
        for heading in ["EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            assert!(
                page.contains(&format!(".SH \"{heading}\"")),
                "{heading} in {page}"
            );
        }
        fn commands(at: &Command) -> usize {
            1 + at.get_subcommands().map(commands).sum::<usize>()
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), commands(&mint));
    }

    #[test]
    fn lines_that_look_like_requests_are_text() {
        assert_eq!(escaped(".de x"), "\\&.de x");
        assert_eq!(escaped("a\\b -n 'x'"), "a\\eb \\-n \\(aqx\\(aq");
    }
}
