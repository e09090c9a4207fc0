//! The `mint` command. Results go to standard output, everything else to standard error; exit codes are 0 done,
//! 1 a negative answer, 2 wrong usage, 3 could not do it.

mod args;
mod ask;
mod audit;
mod backend;
mod backfill;
#[cfg(feature = "server")]
mod cert;
mod check;
mod color;
mod column;
#[cfg(test)]
#[cfg(feature = "server")]
mod commands_named;
mod completions;
#[cfg(feature = "server")]
mod config;
mod connect;
mod convert;
mod count;
#[cfg(feature = "server")]
mod demo;
#[cfg(feature = "server")]
mod doctor;
mod errors;
mod explain;
mod forecast;
mod format_options;
mod formats;
mod gen_ids;
mod help;
mod hints;
#[cfg(feature = "server")]
mod import;
#[cfg(feature = "server")]
mod init;
mod inspect;
mod lines;
#[cfg(feature = "server")]
mod local;
#[cfg(feature = "server")]
mod logging;
mod man;
#[cfg(feature = "server")]
mod on_store;
mod out;
#[cfg(feature = "server")]
mod passwords;
mod pool;
mod presets;
mod range;
mod refusal;
mod rows;
#[cfg(feature = "server")]
mod runtime;
mod seq;
mod series;
#[cfg(feature = "server")]
mod serve;
mod sink;
mod snowflake;
mod snowflake_layout;
mod snowflake_width;
mod sql;
mod state_hints;
mod status;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
mod store_online;
#[cfg(feature = "server")]
mod store_stripes;
#[cfg(feature = "server")]
mod store_tools;
mod time;
mod tls;
mod token;
mod top;
mod uuid;
#[cfg(not(feature = "server"))]
mod without_server;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use color::Color;
use errors::Failure;
use out::Out;
#[cfg(feature = "server")]
use passwords::{hidden, warn_of_passwords};
#[cfg(not(feature = "server"))]
use without_server::{
    self as cert, self as config, self as demo, self as doctor, self as import, self as init, self as local,
    self as serve, self as store,
};
#[cfg(not(feature = "server"))]
use without_server::{hidden, warn_of_passwords};

const EXAMPLES: &str = "  mint uuid                          a UUID, version 7: sorts by time
  mint snowflake -n 3                64-bit ids that parallel commands never repeat
  mint serve                         a durable id server for curl and Redis clients
  mint seq next orders               the next number, from the server
  mint inspect 01890a5d-ac96-774b-bcce-b302099a8057
                                     what an id is, and what is in it

mint help lists everything, mint help COMMAND says more of one.";

/// Puts the server together with the faces of other systems, before it reads any setting.
#[cfg(feature = "server")]
fn install_faces() {
    mintage_server::install(mintage_faces::FACES);
}

fn main() -> ExitCode {
    #[cfg(feature = "server")]
    install_faces();
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
        #[cfg(feature = "server")]
        Some(Command::Serve(args)) => serve::run(&args, color, out),
        Some(Command::Top(args)) => top::run(&args, color, out),
        #[cfg(feature = "server")]
        Some(Command::Demo(args)) => demo::run(&args, out),
        Some(Command::Uuid(args)) => uuid::run(&args, out),
        Some(Command::Snowflake(args)) => snowflake::run(&args, out),
        Some(Command::Inspect(args)) => inspect::run(&args, color, out),
        Some(Command::Explain(args)) => explain::run(&args, out),
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
        #[cfg(feature = "server")]
        Some(Command::Doctor(args)) => doctor::run(&args, out),
        #[cfg(feature = "server")]
        Some(Command::Import(args)) => import::run(&args, color, out),
        #[cfg(feature = "server")]
        Some(Command::Init(args)) => init::run(&args, out),
        #[cfg(feature = "server")]
        Some(Command::Store(args)) => store::run(&args, out),
        #[cfg(feature = "server")]
        Some(Command::Config(args)) => config::run(&args, out),
        #[cfg(feature = "server")]
        Some(Command::Cert(args)) => cert::run(&args, out),
        #[cfg(not(feature = "server"))]
        Some(Command::Cert(args)) => Err(without_server::refused(&args)),
        #[cfg(not(feature = "server"))]
        Some(Command::Doctor(args) | Command::Import(args)) => Err(without_server::refused(&args)),
        #[cfg(not(feature = "server"))]
        Some(
            Command::Serve(args)
            | Command::Demo(args)
            | Command::Init(args)
            | Command::Store(args)
            | Command::Config(args),
        ) => Err(without_server::refused(&args)),
        Some(Command::Token(args)) => token::run(&args, out),
        Some(Command::Completions(args)) => completions::run(&args, Cli::command(), out),
        Some(Command::Man(args)) => man::run(&args, Cli::command(), out),
    }
}

/// The parser's refusal in our form: its first line, and its first tip as the hint.
fn refused(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A reader that has gone is no failure here either.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = hidden(error.to_string());
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
