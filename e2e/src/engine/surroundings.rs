//! What a server is started in: variables of its environment (another clock, another disk), and the machine that it is
//! on.

use std::ffi::OsStr;
use std::iter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;

use super::port::free;

/// Nothing, and this machine, by default.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    /// The address where the server is reached.
    pub address: IpAddr,
    /// The words that run a program on that machine.
    pub machine: Vec<String>,
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings {
            environment: Vec::new(),
            address: Ipv4Addr::LOCALHOST.into(),
            machine: Vec::new(),
        }
    }
}

impl Surroundings {
    /// A server here, with this in its environment.
    pub fn with(environment: Vec<String>) -> Surroundings {
        Surroundings {
            environment,
            ..Surroundings::default()
        }
    }

    /// A free port there.
    pub(crate) fn free(&self) -> SocketAddr {
        SocketAddr::new(self.address, free().port())
    }

    /// The same program, run in them; the process that is started becomes it.
    pub(crate) fn around(&self, program: Command) -> Command {
        if self.machine.is_empty() && self.environment.is_empty() {
            return program;
        }
        // What makes the program another account's comes before the environment, which is the program's alone.
        let words: Vec<&OsStr> = iter::once(program.get_program())
            .chain(program.get_args())
            .collect();
        let account = words.iter().position(|word| *word == "--").map_or(0, |at| at + 1);
        let (account, words) = words.split_at(account);
        let machine = self.machine.iter().map(OsStr::new);
        let mut all = machine.chain(account.iter().copied()).chain([OsStr::new("env")]);
        let mut command = Command::new(all.next().expect("there is at least env"));
        command.args(all).args(&self.environment).args(words);
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }
}
