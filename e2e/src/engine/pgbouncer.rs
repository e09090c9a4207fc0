//! A pooler before a private PostgreSQL.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::port::free;
use super::process::Daemon;
use crate::need;
use crate::run;
use crate::sql::pack::open_folder;
use crate::sql::postgres::is_root;
use crate::store_suite::OWNER_PASSWORD;

/// A running pooler; everybody who connects is the account `mint`.
#[derive(Debug)]
pub struct Pgbouncer {
    address: SocketAddr,
    process: Daemon,
    folder: TempDir,
    mode: String,
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
        let file = write_settings(&folder, address, server, mode);
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
            folder,
            mode: mode.to_string(),
        })
    }

    /// Leads to another server, as an operator's script does after a failover: who is connected is cut off, in the
    /// middle of whatever is asked.
    ///
    /// # Panics
    /// When the pooler refuses.
    pub fn lead_to(&self, server: SocketAddr) {
        write_settings(&self.folder, self.address, server, &self.mode);
        for command in ["RELOAD", "KILL ids", "RESUME ids"] {
            let mut psql = Command::new("psql");
            psql.args(["-X", "-q", "-h", "127.0.0.1", "-U", "mint", "-d", "pgbouncer"])
                .args(["-p", &self.address.port().to_string(), "-c", command]);
            run::with_input(psql, b"").ok();
        }
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

fn write_settings(folder: &TempDir, address: SocketAddr, server: SocketAddr, mode: &str) -> PathBuf {
    let settings = format!(
        "[databases]\nids = host={} port={} dbname=ids user=mint password='{OWNER_PASSWORD}'\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nauth_type = any\nadmin_users = mint\nunix_socket_dir =\n\
         pool_mode = {mode}\nignore_startup_parameters = extra_float_digits,options\n",
        server.ip(),
        server.port(),
        address.port()
    );
    let file = folder.path().join("pgbouncer.ini");
    fs::write(&file, settings).expect("the folder is ours");
    file
}
