//! `mint help`, `mint help seq create`, `mint seq help`: other ways to write `--help`.

use std::ffi::OsString;

use clap::Command;

/// The command line with `help` turned into `--help`, wherever it can mean nothing else: in front of all, alone
/// behind a command, or where the name of a subcommand is awaited. A sequence may be called `help`.
pub(crate) fn rewritten(mut args: Vec<OsString>, mint: impl FnOnce() -> Command) -> Vec<OsString> {
    let is_help = |arg: &OsString| arg == "help";
    if args.get(1).is_some_and(is_help) {
        args.remove(1);
        args.push("--help".into());
    } else if args.len() > 2
        && args.last().is_some_and(is_help)
        && nothing_else(&args[1..args.len() - 1], mint())
    {
        args.pop();
        args.push("--help".into());
    }
    args
}

/// Whether `help` behind these words cannot be an argument.
fn nothing_else(words: &[OsString], mint: Command) -> bool {
    let mut at = mint;
    for word in words {
        let below = word.to_str().and_then(|word| at.find_subcommand(word));
        match below.cloned() {
            Some(below) => at = below,
            None => return false,
        }
    }
    words.len() == 1 || at.get_subcommands().any(|below: &Command| !below.is_hide_set())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn help_is_help_wherever_it_can_be_nothing_else() {
        for (typed, meant) in [
            ("mint help", "mint --help"),
            ("mint help uuid", "mint uuid --help"),
            ("mint help seq create", "mint seq create --help"),
            ("mint uuid help", "mint uuid --help"),
            ("mint seq help", "mint seq --help"),
            ("mint seq next help", "mint seq next help"),
            ("mint uuid v5 help", "mint uuid v5 help"),
            ("mint seq next orders", "mint seq next orders"),
            ("mint", "mint"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(rewritten(words(typed), Cli::command), words(meant), "{typed}");
        }
    }
}
