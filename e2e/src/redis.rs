//! A private stock Redis, and the stock redis-cli.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::engine::port;
use crate::engine::process::until_ready;
use crate::guard::ends_with_us;
use crate::need;
use crate::resp::Resp;
use crate::run::{self, Said};

/// A running redis-server, ended with the test.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Redis {
    /// Starts one without persistence on a free port, in a folder of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(folder: &Path) -> Redis {
        // redis-server cannot choose a port itself. Another process may take ours first: then try again.
        for _ in 0..20 {
            let address = port::free();
            need::boots("redis");
            let mut child = Command::new("redis-server")
                .args([
                    "--port",
                    &address.port().to_string(),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                ])
                .args(["--appendonly", "no", "--daemonize", "no", "--dir"])
                .arg(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("redis-server can be started");
            ends_with_us(&child, "KILL");
            if until_ready(&mut child, || answers(address)) {
                return Redis { child, address };
            }
        }
        panic!("redis-server did not start");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Whether a server answers there.
pub(crate) fn answers(address: SocketAddr) -> bool {
    let pong = Resp::connect(address).and_then(|mut redis| redis.ask(&["PING"]));
    pong.is_ok_and(|reply| reply.text().as_deref() == Some("PONG"))
}

/// Runs the stock redis-cli against an address, with this standard input.
///
/// # Panics
/// When it cannot be started.
pub fn cli(to: SocketAddr, args: &[&str], input: &[u8]) -> Said {
    let mut command = Command::new("redis-cli");
    command
        .args(["-h", &to.ip().to_string(), "-p", &to.port().to_string()])
        .args(args);
    command.env_remove("REDISCLI_AUTH");
    run::with_input(command, input)
}
