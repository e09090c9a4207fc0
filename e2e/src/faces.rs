//! Faces of other systems under their stock clients: what such a client was given, over kills and over two servers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mintage_testing::Distinct;

use crate::binary;
use crate::engine::redis::Redis;
use crate::guard::ends_with_us;
use crate::run::{self, Said};
use crate::server::{Server, Start};
use crate::store_suite::Engine;

/// One face, and a client of it.
pub struct Tried<'a> {
    /// Its name.
    pub face: &'a str,
    /// What its section of the configuration says, as lines of TOML.
    pub settings: &'a str,
    /// What starts a client at a URL that takes so many ids of each kind, and prints each as `KIND NUMBER`.
    pub client: &'a dyn Fn(&str, u32) -> Command,
    /// What an operator does to a fresh store.
    pub prepare: &'a dyn Fn(&Server),
}

impl Tried<'_> {
    /// How to start a server with this face.
    fn start(&self, folder: &Path) -> Start {
        let settings = folder.join("faces.toml");
        let text = format!("[faces.{}]\n{}\n", self.face, self.settings);
        fs::write(&settings, text).expect("the folder is ours");
        let face = format!("{}=127.0.0.1:0", self.face);
        Start::in_folder(folder).patient().args([
            "--config".into(),
            settings.into_os_string(),
            "--face".into(),
            face.into(),
        ])
    }

    fn url(&self, server: &Server) -> String {
        let address = server.ready["faces"][self.face][0].as_str();
        format!("http://{}", address.unwrap_or_else(|| panic!("{}", server.ready)))
    }

    /// Kills the server so often while a client asks it, and starts it again; at last lets the client finish. No id
    /// comes twice.
    ///
    /// # Panics
    /// When one does, or when the client finds something wrong.
    #[track_caller]
    pub fn over_kills(&self, folder: &Path, kills: u32) {
        let mut seen = Seen::default();
        for round in 0..=kills {
            let server = self.start(folder).ready();
            if round == 0 {
                (self.prepare)(&server);
            }
            let last = round == kills;
            let mut command = (self.client)(&self.url(&server), if last { 50 } else { 1_000_000 });
            let output = folder.join("output");
            let file = fs::File::create(&output).expect("the folder is ours");
            let mut child = command
                .stdout(file)
                .stderr(Stdio::piped())
                .spawn()
                .expect("the client can be started");
            ends_with_us(&child, "KILL");
            if !last {
                wait_for_lines(&output, 20);
                server.kill();
            }
            let status = child.wait().expect("was started");
            let text = fs::read_to_string(&output).expect("the client has written");
            assert!(status.success(), "{:?} after {text}", child.stderr);
            seen.add(&text);
        }
        assert!(seen.0.len() as u32 >= 20 * kills + 50, "{} ids", seen.0.len());
    }

    /// The same over two servers on one Redis, where there is one.
    ///
    /// # Panics
    /// As [`Tried::over_two_servers`].
    #[track_caller]
    pub fn over_two_servers_on_redis(&self) {
        let Some(engine) = Redis::run() else { return };
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let url = engine.url(engine.address());
        run::mint(folder.path(), ["init", "--store", &url]).ok();
        self.over_two_servers(folder.path(), &url);
    }

    /// Asks two servers on one store, each by a client of its own at the same time. No id comes twice.
    ///
    /// # Panics
    /// When one does, or when a client finds something wrong.
    #[track_caller]
    pub fn over_two_servers(&self, folder: &Path, store: &str) {
        let servers: Vec<Server> = ["0", "1"]
            .map(|node| {
                let own = folder.join(node);
                fs::create_dir(&own).expect("the folder is ours");
                self.start(&own).args(["--store", store]).ready()
            })
            .into();
        (self.prepare)(&servers[0]);
        let clients: Vec<_> = servers
            .iter()
            .map(|server| {
                let mut command = (self.client)(&self.url(server), 200);
                thread::spawn(move || Said::from(command.output().expect("the client can be started")))
            })
            .collect();
        let mut seen = Seen::default();
        for client in clients {
            seen.add(&client.join().expect("no panic").ok());
        }
        assert!(seen.0.len() >= 400, "{} ids", seen.0.len());
    }
}

/// The stock client of Python that asks a face at a URL for so many ids of each kind.
pub fn by_requests(python: &Path, face: &str, url: &str, count: u32) -> Command {
    let mut command = Command::new(python);
    command
        .arg(binary::root().join("e2e/clients/face_client.py"))
        .args([face, url, &count.to_string()]);
    command
}

/// Waits until a file has so many lines.
fn wait_for_lines(file: &Path, least: usize) {
    let began = Instant::now();
    let lines = || fs::read_to_string(file).unwrap_or_default().lines().count();
    while lines() < least {
        assert!(began.elapsed() < Duration::from_secs(60), "{} lines", lines());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Every id so far.
#[derive(Default)]
struct Seen(Distinct<String>);

impl Seen {
    #[track_caller]
    fn add(&mut self, printed: &str) {
        // A line without its end was cut off with the client.
        let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
        for line in whole.lines() {
            assert!(line.split(' ').count() == 2, "{line:?}");
            self.0.add(line.to_string());
        }
    }
}
