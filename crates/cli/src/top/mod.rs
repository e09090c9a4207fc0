//! `mint top`: how servers fare, every second: on a terminal as a screen, elsewhere as lines of JSON.

mod draw;
mod event;
mod help;
mod lines;
mod look;
mod once;
mod pools;
mod read;
mod screen;
mod sequences;
mod servers;
mod sse;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod traffic;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use crate::color::Color;
use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::out::Out;
use crate::tls::TlsFiles;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "On a terminal it is a screen; ? says which keys there are. With --json, or where standard output is no \
                  terminal, it prints what /v1/live sends, a line a second, for several servers with the URL as \
                  url. Of several servers each has a row, and one that does not answer is asked again every second. \
                  Where the server has tokens, MINT_TOKEN holds one that may read, for all of them.\n\n\
                  The exit code of --once is 0 while the first server gives out ids, and 1 when it does not or cannot be \
                  reached."
)]
pub(crate) struct Args {
    /// The server's URL; several: again, or with commas [default: MINT_SERVER, else http://127.0.0.1:7600]
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    server: Vec<String>,
    #[command(flatten)]
    tls: TlsFiles,
    /// Print one screen as text, and end
    #[arg(long, conflicts_with = "number")]
    once: bool,
    /// Print N lines of JSON, and end
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    number: Option<u64>,
}

pub(crate) fn run(args: &Args, color: Color, out: &mut Out) -> Result<(), Failure> {
    let urls = match args.server.as_slice() {
        [] => vec![server_url(None)],
        urls => urls.to_vec(),
    };
    if urls.len() > SERVERS_MAX {
        return Err(Failure::usage(format_args!(
            "{} servers are more than fit a screen: {SERVERS_MAX} at most",
            urls.len()
        )));
    }
    let clients = urls.iter().map(|url| Client::new(url, &args.tls).map(Arc::new));
    let clients = clients.collect::<Result<Vec<_>, _>>()?;
    if args.once && !out.json {
        return once::run(&urls, &clients, out);
    }
    let is_terminal = io::stdout().is_terminal();
    if out.json || args.number.is_some() || args.once || !is_terminal {
        let number = if args.once {
            Some(urls.len() as u64)
        } else {
            args.number
        };
        return lines::run(&urls, &clients, number, out);
    }
    screen::run(&urls, clients, color.on(is_terminal))
}

const SERVERS_MAX: usize = 64;
