//! What a build without the feature `server` has in the place of everything that opens a store: words.
//!
//! It stands where `local` stands in other builds, and where the commands stand that this one lacks.

use std::ffi::OsString;

use mintage::Uuid;
use mintage_local::name::Name;
use mintage_wire::Looked;
use serde_json::Value;

use crate::ask::Ask;
use crate::errors::Failure;

/// The arguments of a command that is not here.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    given: Vec<OsString>,
}

/// Says so.
pub(crate) fn refused(command: &Args) -> Failure {
    let _ = &command.given;
    lacking("this build of mint has no server and no commands for stores")
}

fn lacking(what: &str) -> Failure {
    Failure::usage(what).with_hint("build it with the feature server; other commands take --server URL")
}

/// Nothing here takes a store's URL, so that there is nothing to warn of.
pub(crate) fn warn_of_passwords(_say: impl FnOnce(&str)) {}

/// The text without any URL that was given: a password may stand in it.
pub(crate) fn hidden(text: String) -> String {
    let urls = std::env::args()
        .skip(1)
        .filter(|word| word.contains("://") || word.contains('@'));
    urls.fold(text, |text, url| text.replace(&url, "***"))
}

/// The workers of another system: there is nothing here to look at them with.
pub(crate) enum Beside {}

impl Beside {
    pub(crate) fn look(_url: &str) -> Result<Beside, Failure> {
        Err(Failure::usage("this build of mint looks at no other system")
            .with_hint("name the workers themselves"))
    }

    pub(crate) fn place(&self) -> String {
        match *self {}
    }

    pub(crate) fn avoid(
        &self,
        _typed: Option<&str>,
        _spare: Option<u64>,
        _workers: u64,
    ) -> Result<String, Failure> {
        match *self {}
    }

    pub(crate) fn too_large(&self, _workers: u64) -> Option<String> {
        match *self {}
    }

    pub(crate) fn looked(&self, _workers: &str) -> Result<Looked, Failure> {
        match *self {}
    }
}

/// A store opened by this process: there is none.
pub(crate) enum Local {}

/// What becomes of a store that is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Absent {
    Make,
    Refuse,
}

impl Local {
    pub(crate) fn open(_url: &str, _absent: Absent) -> Result<Local, Failure> {
        Err(lacking("this build of mint opens no store"))
    }

    pub(crate) fn answer(&self, _ask: &Ask) -> Result<Value, Failure> {
        match *self {}
    }

    pub(crate) fn snowflakes(&self, _pool: &Name, _ids: &mut [u64]) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn uuids(&self, _pool: &Name, _version: u8, _ids: &mut [Uuid]) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn close(self) -> Result<(), Failure> {
        match self {}
    }
}

/// The file systems that are allowed for state files. This build reads no configuration but this variable.
pub(crate) fn allowed_file_systems() -> Result<Vec<String>, Failure> {
    let given = std::env::var("MINT_STORE__ALLOW_FILE_SYSTEMS").unwrap_or_default();
    let names = given.split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(names.map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn what_this_build_lacks_is_said_in_words_whatever_is_asked_of_it() {
        for words in [
            "serve --store file:x --http 1.2.3.4:5",
            "store backup -",
            "config --help",
            "init",
        ] {
            let cli = Cli::try_parse_from(format!("mint {words}").split(' ')).expect("any arguments do");
            let Some(
                Command::Serve(args) | Command::Store(args) | Command::Config(args) | Command::Init(args),
            ) = cli.command
            else {
                panic!("{words}");
            };
            let said = format!("{:?}", refused(&args));
            assert!(
                said.contains("code: 2") && said.contains("feature server"),
                "{said}"
            );
        }
        let said = format!("{:?}", Local::open("file:x", Absent::Make).err());
        assert!(said.contains("opens no store"), "{said}");
    }
}
