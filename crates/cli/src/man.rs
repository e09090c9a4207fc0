//! `mint man`: the manual page, made from the command line's own description.

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(after_help = "Read it: mint man | man -l -    Keep it: mint man > ~/.local/share/man/man1/mint.1")]
pub(crate) struct Args {
    /// A command, such as uuid or seq create; without one, the page of mint itself
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let mut page = Cli::command();
    page.build();
    for word in &args.command {
        let below = page.find_subcommand(word).cloned();
        page = below.ok_or_else(|| unknown(&args.command, &page))?;
    }
    Man::new(page).render(out.buffer())?;
    out.written()
}

fn unknown(asked: &[String], at: &Command) -> Failure {
    let names: Vec<&str> = at.get_subcommands().map(Command::get_name).collect();
    let failure = Failure::usage(format_args!("there is no command mint {}", asked.join(" ")));
    match names.is_empty() {
        true => failure,
        false => failure.with_hint(format_args!("there are: {}", names.join(", "))),
    }
}
