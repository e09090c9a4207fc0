//! A private ZooKeeper for the store suite: one server, or several.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mintage_ledger::zookeeper_client::{
    Acl, Client, Error, delete, get_children, get_data, set_acl, set_data,
};
use mintage_ledger::{StoreSettings, SystemRuntime, open_zookeeper};

use super::lent::{self, Folder, Loan};
use super::place;
use super::port::free;
use super::process::{Daemon, pause};
use super::surroundings::Surroundings;
use crate::certificates::Certificates;
use crate::in_run;
use crate::need;
use crate::store_suite::{Engine, OWNER_PASSWORD_ENCODED, READER_PASSWORD_ENCODED};

/// What ZooKeeper's digest scheme makes of user `reader` and its password: SHA-1 in base64.
const READER_DIGEST: &str = "reader:GeHjuCIbnruGkHO86o//Q0zg3A8=";

/// The same of user `mint`.
const OWNER_DIGEST: &str = "mint:zfShqUV20AhKIPw+zXR5lSXMBaU=";

/// One server in a folder of its own.
#[derive(Debug)]
pub struct ZooKeeper {
    process: Daemon,
    /// Its number in the ensemble, from 1.
    number: usize,
    address: SocketAddr,
    /// The lines that name all servers of the ensemble; none for a single one.
    ensemble: String,
    /// Where it speaks TLS, if it does, and the lines that make it do so.
    secure: Option<(SocketAddr, String)>,
    folder: Folder,
    jars: PathBuf,
    surroundings: Surroundings,
    _slot: Option<Arc<File>>,
}

/// How many tests of a run have a ZooKeeper of their own at a time, and how many have borrowed one: a Java that starts
/// keeps a processor busy.
const AT_ONCE: u32 = 2;

/// One of the run's places for such a test; this process takes one and has it until the last of its servers goes.
fn slot() -> Option<Arc<File>> {
    static OURS: Mutex<Weak<File>> = Mutex::new(Weak::new());
    let run = in_run::folder()?;
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(slot) = ours.upgrade() {
        return Some(slot);
    }
    let file = |number: u32| run.join(format!("slot-jvm-{number}"));
    let free = (0..AT_ONCE).find_map(|number| in_run::try_lock(&file(number)));
    let taken = || in_run::lock(&file(std::process::id() % AT_ONCE));
    let slot = Arc::new(free.unwrap_or_else(taken));
    *ours = Arc::downgrade(&slot);
    Some(slot)
}

impl ZooKeeper {
    /// Starts a single server; `None`, said in words, where ZooKeeper or Java is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn run() -> Option<ZooKeeper> {
        Some(ZooKeeper::ensemble(1)?.remove(0))
    }

    /// The same, borrowed where that can be: for a test that neither ends nor freezes the server, and borrows no other.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn borrow() -> Option<ZooKeeper> {
        let jars = found()?;
        let lent = |address, folder| ZooKeeper {
            process: Daemon::default(),
            number: 1,
            address,
            ensemble: String::new(),
            secure: None,
            folder,
            jars: jars.clone(),
            surroundings: Surroundings::default(),
            _slot: None,
        };
        let start = |loan: &Loan| {
            need::boots("zookeeper");
            let (folder, address) = (place::lasting_folder(), free());
            write_settings(folder.path(), 1, address, "");
            let server = command(&jars, folder.path());
            loan.keep(&server, "KILL", folder, address, || serves(address))
        };
        lent::borrow("zookeeper", AT_ONCE, lent, ZooKeeper::is_as_new, start).or_else(ZooKeeper::run)
    }

    /// Makes it as new: whether nothing is left of what a test did there.
    fn is_as_new(&self) -> bool {
        serves(self.address)
            && self
                .try_admin(async |client| {
                    for name in client.ask(get_children("/")).await?.0 {
                        // Its own.
                        if name != "zookeeper" {
                            remove_all(client, &format!("/{name}")).await?;
                        }
                    }
                    Ok(())
                })
                .is_ok()
    }

    /// Starts an ensemble; `None`, said in words, where ZooKeeper or Java is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn ensemble(servers: usize) -> Option<Vec<ZooKeeper>> {
        ZooKeeper::ensemble_within(vec![Surroundings::default(); servers])
    }

    /// The same with a server in each of these surroundings.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn ensemble_within(servers: Vec<Surroundings>) -> Option<Vec<ZooKeeper>> {
        let mut all = ZooKeeper::prepare(servers)?;
        for server in &mut all {
            server.launch();
        }
        for server in &mut all {
            server.wait();
        }
        Some(all)
    }

    /// Starts a single server that speaks TLS on a port of its own, where it trusts clients of the same authority:
    /// `client_auth` is `none` or `need`. `None`, said in words, where ZooKeeper or Java is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn with_tls(certificates: &Certificates, client_auth: &str) -> Option<ZooKeeper> {
        let mut server = ZooKeeper::prepare(vec![Surroundings::default()])?.remove(0);
        let at = free();
        let lines = format!(
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nsecureClientPort={}\n\
             secureClientPortAddress=127.0.0.1\nssl.keyStore.location={}\nssl.trustStore.location={}\n\
             ssl.clientAuth={client_auth}\n",
            at.port(),
            certificates.server_with_key().display(),
            certificates.authority().display()
        );
        server.secure = Some((at, lines));
        server.start();
        Some(server)
    }

    fn prepare(servers: Vec<Surroundings>) -> Option<Vec<ZooKeeper>> {
        let (jars, slot) = (found()?, slot());
        let line = |(at, place): (usize, &Surroundings)| {
            format!("server.{}={}:{}\n", at + 1, place.free(), place.free().port())
        };
        let lines: String = match servers.len() {
            1 => String::new(),
            _ => servers.iter().enumerate().map(line).collect(),
        };
        let all = servers
            .into_iter()
            .enumerate()
            .map(|(at, surroundings)| ZooKeeper {
                process: Daemon::default(),
                number: at + 1,
                address: surroundings.free(),
                ensemble: lines.clone(),
                secure: None,
                folder: Folder::own(),
                jars: jars.clone(),
                surroundings,
                _slot: slot.clone(),
            });
        Some(all.collect())
    }

    /// Where it speaks TLS.
    ///
    /// # Panics
    /// When it does not.
    pub fn secure_address(&self) -> SocketAddr {
        self.secure.as_ref().expect("started with TLS").0
    }

    /// What a four-letter command answers; empty if nobody does.
    pub fn four_letters(&self, word: &str) -> String {
        four_letters(self.address, word)
    }

    /// Does something as user `mint`.
    ///
    /// # Panics
    /// When the server does not answer, or refuses it.
    #[track_caller]
    pub fn admin<T>(&self, work: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> T {
        self.try_admin(work).expect("the owner may")
    }

    #[track_caller]
    fn try_admin<T>(&self, work: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> Result<T, Error> {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
        tokio.expect("a runtime can be had").block_on(async {
            let url = self.url_with("mint", OWNER_PASSWORD_ENCODED, self.address);
            let patient = StoreSettings {
                request_timeout: Duration::from_secs(20),
                connect_timeout: Duration::from_secs(20),
                ..StoreSettings::default()
            };
            let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
            let client = open_zookeeper(&url, &patient, runtime).await;
            work(&client.expect("the server answers")).await
        })
    }

    /// Its folder, data and all.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn launch(&mut self) {
        self.folder.must_be_own();
        need::boots("zookeeper");
        let secure = self.secure.as_ref().map_or("", |(_, lines)| lines);
        let more = format!("{}{secure}", self.ensemble);
        write_settings(self.folder.path(), self.number, self.address, &more);
        let log = File::create(self.folder.path().join("log")).expect("the folder is ours");
        let server = command(&self.jars, self.folder.path());
        let child = self
            .surroundings
            .around(server)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process.started(child.expect("java can be started"));
    }

    fn wait(&mut self) {
        while !self.process.has_ended() {
            if serves(self.address) && self.secure.as_ref().is_none_or(|(at, _)| awaits(*at)) {
                return;
            }
            pause();
        }
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        panic!("ZooKeeper did not start:\n{log}");
    }

    fn set_meta(&self, change: impl Fn(&str) -> String) {
        self.admin(async |client| {
            let (meta, _) = client.ask(get_data("/mint_meta")).await?;
            let meta = change(&String::from_utf8_lossy(&meta));
            client.ask(set_data("/mint_meta", meta.as_bytes(), None)).await
        });
    }
}

/// Where the programs are, or the word that they are absent.
fn found() -> Option<PathBuf> {
    let jars = PathBuf::from("/usr/share/java");
    let java = need::ends_well("java", Command::new("java").arg("-version"));
    let there = java && jars.join("zookeeper.jar").is_file();
    need::needed("zookeeper", there).then_some(jars)
}

fn write_settings(folder: &Path, number: usize, address: SocketAddr, more: &str) {
    fs::write(folder.join("myid"), number.to_string()).expect("the folder is ours");
    let settings = format!(
        "tickTime=1000\ninitLimit=30\nsyncLimit=10\nmaxClientCnxns=0\ndataDir={}\nclientPort={}\n\
         clientPortAddress={}\nadmin.enableServer=false\n4lw.commands.whitelist=*\n{more}",
        folder.display(),
        address.port(),
        address.ip()
    );
    fs::write(folder.join("zoo.cfg"), settings).expect("the folder is ours");
}

/// The server with the settings in its folder.
fn command(jars: &Path, folder: &Path) -> Command {
    let mut command = Command::new("java");
    command
        .args(["-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .args(["-Dzookeeper.preAllocSize=1024", "-cp"])
        .arg(format!("{0}/zookeeper.jar:{0}/*", jars.display()))
        .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
        .arg(folder.join("zoo.cfg"));
    command
}

/// Whether a server is there with its majority: without one it says imok, too, but not that it serves.
fn serves(address: SocketAddr) -> bool {
    four_letters(address, "srvr").contains("Mode:")
}

fn four_letters(address: SocketAddr, word: &str) -> String {
    let mut said = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        // A server that is just starting may take the connection and never look at it.
        stream.set_read_timeout(Some(Duration::from_millis(500))).ok();
        stream.write_all(word.as_bytes()).ok();
        stream.read_to_string(&mut said).ok();
    }
    said
}

/// Whether somebody takes a connection there and waits for what is said first. The port for TLS is opened after the other
/// one, and connections are closed at once until the server stands behind it.
fn awaits(at: SocketAddr) -> bool {
    let silent = TcpStream::connect(at).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        stream.read_exact(&mut [0])
    });
    silent.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// Removes a node and all below it.
async fn remove_all(client: &Client, path: &str) -> Result<(), Error> {
    for child in client.ask(get_children(path)).await?.0 {
        Box::pin(remove_all(client, &format!("{path}/{child}"))).await?;
    }
    client.ask(delete(path, None)).await.map(drop)
}

impl Engine for ZooKeeper {
    fn scheme(&self) -> &'static str {
        "zookeeper"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives the reader its rights first: they hang on the nodes.
    fn url_of_reader(&self, at: SocketAddr) -> Option<String> {
        let acls = [
            Acl::new(Acl::ALL, "digest", OWNER_DIGEST),
            Acl::new(Acl::READ, "digest", READER_DIGEST),
        ];
        self.admin(async |client| {
            let children = client.ask(get_children("/mint_register")).await?.0;
            let sentinel = children.iter().find(|name| name.starts_with('#'));
            let sentinel = format!("/mint_register/{}", sentinel.expect("init made it"));
            for path in ["/mint_meta", "/mint_register", &sentinel] {
                client.ask(set_acl(path, &acls)).await?;
            }
            Ok(())
        });
        Some(self.url_with("reader", READER_PASSWORD_ENCODED, at))
    }

    fn process(&mut self) -> &mut Daemon {
        self.folder.must_be_own();
        &mut self.process
    }

    fn start(&mut self) {
        self.launch();
        self.wait();
    }

    fn empty(&mut self) {
        self.admin(async |client| {
            remove_all(client, "/mint_register").await?;
            remove_all(client, "/mint_meta").await
        });
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    fn set_schema_version(&mut self, version: u32) {
        self.set_meta(|meta| {
            let (_, id) = meta.split_once(',').expect("a version and an id");
            format!("{{\"schema_version\":{version},{id}")
        });
    }

    fn set_cluster_id(&mut self, id: u128) {
        self.set_meta(|_| format!("{{\"schema_version\":1,\"cluster_id\":\"{id:032x}\"}}"));
    }
}
