//! The command line: global options and the list of subcommands, each in its own file.

use clap::{Parser, Subcommand};

use crate::color::Color;

/// Ids of every kind, and the server that hands them out.
#[derive(Parser, Debug)]
#[command(
    name = "mint",
    version,
    about,
    term_width = 100,
    args_override_self = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command understands.
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Print JSON: one value, or one per line
    #[arg(long, global = true, display_order = 1000)]
    pub(crate) json: bool,
    /// Colour the messages
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        display_order = 1001
    )]
    pub(crate) color: Color,
    /// Print only results and errors
    #[arg(short, long, global = true, display_order = 1002)]
    pub(crate) quiet: bool,
    /// Say more on standard error
    #[arg(short, long, global = true, conflicts_with = "quiet", display_order = 1003)]
    pub(crate) verbose: bool,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the server: HTTP on port 7600, the Redis protocol on 7601
    Serve(crate::serve::Args),
    /// Say how a running server is: exit code 0 if it gives out ids, else 1
    Status(crate::status::Args),
    /// Show how servers fare, every second: ids by kind, times, sequences, windows
    Top(crate::top::Args),
    /// Kill a server under its clients again and again, to see that no id comes twice
    Demo(crate::demo::Args),
    /// Make UUIDs
    Uuid(crate::uuid::Args),
    /// Make Snowflake ids; parallel commands never repeat one
    Snowflake(crate::snowflake::Args),
    /// Make ids of any other format
    Gen(crate::gen_ids::Args),
    /// Say what an id is: ranked readings, with reasons
    Inspect(crate::inspect::Args),
    /// Say where an id comes from: which sequence or pool, block or window, and server
    Explain(crate::explain::Args),
    /// Say whether ids are valid; if not, why and where
    Check(crate::check::Args),
    /// Write ids in another form: text, v1 and v6, ULID and UUID, byte orders of databases
    Convert(crate::convert::Args),
    /// Print the smallest and the largest id of a span of time
    Range(crate::range::Args),
    /// Create, use and change sequences
    Seq(crate::seq::Args),
    /// Show every kind of id, or which one to use
    Formats(crate::formats::Args),
    /// Create and watch pools of workers, from which servers and programs take Snowflake ids
    Pool(crate::pool::Args),
    /// Show the known Snowflake layouts
    Presets(crate::presets::Args),
    /// Print a series of numbers, letters, dates or times, or the holes of a column
    Series(crate::series::Args),
    /// Give the rows of a file ids that carry their times
    Backfill(Box<crate::backfill::Args>),
    /// Find out whether a pile of ids is sound: repeats, order, gaps, clocks, shards
    Audit(Box<crate::audit::Args>),
    /// Find out what is wrong with counters in databases: behind their columns, near their ends
    Doctor(Box<crate::doctor::Args>),
    /// Bring counters of other systems here: at once, beside them, and back
    Import(Box<crate::import::Args>),
    /// Print the functions that make the same ids inside PostgreSQL or MariaDB
    Sql(crate::sql::Args),
    /// Make a shared store ready for use: its schema and its cluster id
    Init(crate::init::Args),
    /// Back up, restore, check and move stores; repair the folder of the embedded one
    Store(crate::store::Args),
    /// Make a private authority and certificates, for TLS on the server
    Cert(crate::cert::Args),
    /// Show, check or begin a configuration
    Config(crate::config::Args),
    /// Make access tokens for the server
    Token(crate::token::Args),
    /// Print what a shell needs to complete the command line
    Completions(crate::completions::Args),
    /// Print the manual page
    Man(crate::man::Args),
}
