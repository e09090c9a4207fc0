//! A pooler before a private PostgreSQL.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::port::free;
use super::process::Daemon;
use crate::need;
use crate::sql::pack::open_folder;
use crate::sql::postgres::is_root;
use crate::store_suite::OWNER_PASSWORD;

/// A running pooler; everybody who connects is the account `mint`.
#[derive(Debug)]
pub struct Pgbouncer {
    address: SocketAddr,
    process: Daemon,
    _folder: TempDir,
}

impl Pgbouncer {
    /// Starts one in a mode such as `transaction`; `None`, said in words, where pgbouncer is absent.
    ///
    /// # Panics
    /// When it is there and does not start.
    pub fn before(server: SocketAddr, mode: &str) -> Option<Pgbouncer> {
        if !need::program("pgbouncer") {
            return None;
        }
        let (folder, address) = (open_folder(), free());
        let settings = format!(
            "[databases]\nids = host=127.0.0.1 port={} dbname=ids user=mint password='{OWNER_PASSWORD}'\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nauth_type = any\nunix_socket_dir =\n\
             pool_mode = {mode}\nignore_startup_parameters = extra_float_digits,options\n",
            server.port(),
            address.port()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, settings).expect("the folder is ours");
        let mut command = Command::new("pgbouncer");
        if is_root() {
            command.arg("--user=postgres");
        }
        command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        need::boots("pgbouncer");
        let mut child = command.spawn().expect("pgbouncer can be started");
        while TcpStream::connect(address).is_err() {
            assert!(
                child.try_wait().expect("was started").is_none(),
                "pgbouncer ended"
            );
        }
        let mut process = Daemon::default();
        process.started(child);
        Some(Pgbouncer {
            address,
            process,
            _folder: folder,
        })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }
}
