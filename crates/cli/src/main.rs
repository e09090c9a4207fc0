//! The `mint` command. Results go to standard output, everything else to standard error; exit codes are 0 done,
//! 1 a negative answer, 2 wrong usage, 3 could not do it.

mod args;
mod audit;
mod backend;
mod backfill;
mod check;
mod color;
mod column;
#[cfg(test)]
mod commands_named;
mod completions;
mod config;
mod connect;
mod convert;
mod count;
mod errors;
mod forecast;
mod format_options;
mod formats;
mod gen_ids;
mod help;
mod hints;
mod init;
mod inspect;
mod lines;
mod local;
mod logging;
mod man;
mod out;
mod pool;
mod presets;
mod range;
mod refusal;
mod rows;
mod runtime;
mod seq;
mod series;
mod serve;
mod snowflake;
mod snowflake_layout;
mod sql;
mod status;
mod store;
mod store_online;
mod store_stripes;
mod store_tools;
mod time;
mod tls;
mod token;
mod uuid;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use color::Color;
use errors::Failure;
use mintage_ledger::{STORES, holds_password, shown_url};
use out::Out;

const EXAMPLES: &str = "  mint uuid                          a UUID, version 7: sorts by time
  mint snowflake -n 3                64-bit ids that parallel commands never repeat
  mint serve                         a durable id server for curl and Redis clients
  mint seq next orders               the next number, from the server
  mint inspect 01890a5d-ac96-774b-bcce-b302099a8057
                                     what an id is, and what is in it

mint help lists everything, mint help COMMAND says more of one.";

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(help::rewritten(std::env::args_os().collect(), Cli::command)) {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    let color = cli.global.color;
    let done = Out::new(cli.global.json, cli.global.quiet, cli.global.verbose)
        .map_err(Failure::from)
        .and_then(|mut out| {
            // The server says it where it says everything.
            if !matches!(cli.command, Some(Command::Serve(_))) {
                warn_of_passwords(|text| out.note(format!("warning: {text}")));
            }
            dispatch(cli.command, color, &mut out).and_then(|()| out.flush())
        });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(color),
    }
}

fn dispatch(command: Option<Command>, color: Color, out: &mut Out) -> Result<(), Failure> {
    match command {
        None => out.line(EXAMPLES),
        Some(Command::Serve(args)) => serve::run(&args, color, out),
        Some(Command::Uuid(args)) => uuid::run(&args, out),
        Some(Command::Snowflake(args)) => snowflake::run(&args, out),
        Some(Command::Inspect(args)) => inspect::run(&args, color, out),
        Some(Command::Check(args)) => check::run(&args, out),
        Some(Command::Convert(args)) => convert::run(&args, out),
        Some(Command::Range(args)) => range::run(&args, out),
        Some(Command::Gen(args)) => gen_ids::run(&args, out),
        Some(Command::Status(args)) => status::run(&args, out),
        Some(Command::Seq(args)) => seq::run(&args, out),
        Some(Command::Formats(args)) => formats::run(&args, out),
        Some(Command::Pool(args)) => pool::run(&args, out),
        Some(Command::Presets(args)) => presets::run(&args, out),
        Some(Command::Series(args)) => series::run(&args, out),
        Some(Command::Backfill(args)) => backfill::run(&args, out),
        Some(Command::Audit(args)) => audit::run(&args, out),
        Some(Command::Sql(args)) => sql::run(&args, out),
        Some(Command::Init(args)) => init::run(&args, out),
        Some(Command::Store(args)) => store::run(&args, out),
        Some(Command::Config(args)) => config::run(&args, out),
        Some(Command::Token(args)) => token::run(&args, out),
        Some(Command::Completions(args)) => completions::run(&args, Cli::command(), out),
        Some(Command::Man(args)) => man::run(&args, Cli::command(), out),
    }
}

/// What stands on the command line is in the list of processes, which every user of the machine can read.
fn warn_of_passwords(say: impl FnOnce(&str)) {
    if urls_given().any(|url| holds_password(&url)) {
        say(
            "the password on the command line is in the list of processes: put the URL into a file that \
             store.url_file or MINT_STORE__URL_FILE names, or into MINT_STORE__URL",
        );
    }
}

/// What may be a store's URL on the command line.
fn urls_given() -> impl Iterator<Item = String> {
    let words = std::env::args_os()
        .skip(1)
        .filter_map(|word| word.into_string().ok());
    words.filter_map(|word| {
        let value = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => value.to_string(),
            _ => word,
        };
        let scheme = value.split(':').next().unwrap_or_default();
        let is_scheme = value.contains(':') && STORES.iter().any(|kind| scheme.starts_with(kind.scheme));
        (is_scheme || value.contains("://") || value.contains('@')).then_some(value)
    })
}

/// The parser's refusal in our form: its first line, and its first tip as the hint.
fn refused(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A reader that has gone is no failure here either.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let mut text = error.to_string();
    for url in urls_given() {
        text = text.replace(&url, &shown_url(&url));
    }
    let (message, tip) = condense(&text);
    let known = |word: &String| Cli::command().find_subcommand(word).is_some();
    let help = match std::env::args().nth(1).filter(known) {
        Some(word) => format!("mint help {word} says more"),
        None => "mint help lists everything".to_string(),
    };
    Failure::usage(message)
        .with_hint(tip.unwrap_or(help))
        .report(color_wish())
}

/// The parser's message as one line, and its tip if it gives one.
fn condense(text: &str) -> (String, Option<String>) {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let mut message = lines
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_string();
    let mut tip = None;
    for line in lines {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        } else if let Some(found) = line.strip_prefix("tip: ") {
            tip = tip.or(Some(found.to_string()));
        } else {
            // What is missing, or which values there are.
            message.push(' ');
            message.push_str(line.trim_start_matches('[').trim_end_matches(']'));
        }
    }
    (message, tip)
}

/// What `--color` asks for on a command line that could not be parsed.
fn color_wish() -> Color {
    let args: Vec<String> = std::env::args().collect();
    let value = args
        .iter()
        .enumerate()
        .find_map(|(i, arg)| match arg.strip_prefix("--color") {
            Some("") => args.get(i + 1).map(String::as_str),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        });
    match value {
        Some("always") => Color::Always,
        Some("never") => Color::Never,
        _ => Color::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_refusal_is_one_line_with_at_most_one_hint() {
        let said = |args: &[&str]| condense(&Cli::try_parse_from(args).unwrap_err().to_string());
        assert_eq!(
            said(&["mint", "uuid", "--formt", "int"]),
            (
                "unexpected argument '--formt' found".into(),
                Some("a similar argument exists: '--format'".into())
            )
        );
        let (message, _) = said(&["mint", "uuid", "v9"]);
        assert!(
            message.starts_with("invalid value 'v9' for") && message.contains("possible values: "),
            "{message}"
        );
        let (message, _) = said(&["mint", "token", "new"]);
        assert!(message.contains("not provided: <NAME>"), "{message}");
    }
}
