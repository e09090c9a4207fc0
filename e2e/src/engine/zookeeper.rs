//! A private ZooKeeper for the store suite: one server, or several.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use zookeeper_client::{Acl, AuthId, Client, Error, Permission};

use super::port::free;
use super::process::Daemon;
use crate::certificates::Certificates;
use crate::need;
use crate::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD_ENCODED};

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
    folder: TempDir,
    jars: PathBuf,
}

impl ZooKeeper {
    /// Starts a single server; `None`, said in words, where ZooKeeper or Java is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn run() -> Option<ZooKeeper> {
        Some(ZooKeeper::ensemble(1)?.remove(0))
    }

    /// Starts an ensemble; `None`, said in words, where ZooKeeper or Java is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn ensemble(servers: usize) -> Option<Vec<ZooKeeper>> {
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
        let mut server = ZooKeeper::prepare(1)?.remove(0);
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

    fn prepare(servers: usize) -> Option<Vec<ZooKeeper>> {
        let java = Command::new("java")
            .arg("-version")
            .stderr(Stdio::null())
            .status();
        let jars = Path::new("/usr/share/java");
        let there = java.is_ok_and(|status| status.success()) && jars.join("zookeeper.jar").is_file();
        if !need::needed("zookeeper", there) {
            return None;
        }
        let line = |n: usize| format!("server.{n}=127.0.0.1:{}:{}\n", free().port(), free().port());
        let lines: String = (1..=servers).map(line).collect();
        let all = (1..=servers).map(|number| ZooKeeper {
            process: Daemon::default(),
            number,
            address: free(),
            ensemble: if servers > 1 { lines.clone() } else { String::new() },
            secure: None,
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
            jars: jars.to_path_buf(),
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
        let mut said = String::new();
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            // A server that is just starting may take the connection and never look at it.
            stream.set_read_timeout(Some(Duration::from_millis(500))).ok();
            stream.write_all(word.as_bytes()).ok();
            stream.read_to_string(&mut said).ok();
        }
        said
    }

    /// Does something as user `mint`.
    ///
    /// # Panics
    /// When the server does not answer, or refuses it.
    #[track_caller]
    pub fn admin<T>(&self, work: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> T {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
        tokio.expect("a runtime can be had").block_on(async {
            let digest = format!("mint:{OWNER_PASSWORD}");
            // The longest session that ticks of a second grant.
            let connector = Client::connector()
                .with_session_timeout(Duration::from_secs(20))
                .with_auth("digest", digest.as_bytes());
            let client = connector.connect(&self.address.to_string()).await;
            let client = client.expect("the server answers");
            work(&client).await.expect("the owner may")
        })
    }

    /// Its folder, data and all.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn launch(&mut self) {
        let folder = self.folder.path();
        fs::write(folder.join("myid"), self.number.to_string()).expect("the folder is ours");
        let config = format!(
            "tickTime=1000\ninitLimit=30\nsyncLimit=10\nmaxClientCnxns=0\ndataDir={}\nclientPort={}\n\
             clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\n{}{}",
            folder.display(),
            self.address.port(),
            self.ensemble,
            self.secure.as_ref().map_or("", |(_, lines)| lines)
        );
        let file = folder.join("zoo.cfg");
        fs::write(&file, config).expect("the folder is ours");
        let log = fs::File::create(folder.join("log")).expect("the folder is ours");
        let child = Command::new("java")
            .args(["-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .args(["-Dzookeeper.preAllocSize=1024", "-cp"])
            .arg(format!("{0}/zookeeper.jar:{0}/*", self.jars.display()))
            .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process.started(child.expect("java can be started"));
    }

    fn wait(&mut self) {
        while !self.process.has_ended() {
            // A server without a majority says imok, too, but not that it serves.
            if self.four_letters("srvr").contains("Mode:")
                && self.secure.as_ref().is_none_or(|(at, _)| awaits(*at))
            {
                return;
            }
            std::thread::yield_now();
        }
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        panic!("ZooKeeper did not start:\n{log}");
    }

    fn set_meta(&self, change: impl Fn(&str) -> String) {
        self.admin(async |client| {
            let (meta, _) = client.get_data("/mint_meta").await?;
            let meta = change(&String::from_utf8_lossy(&meta));
            client.set_data("/mint_meta", meta.as_bytes(), None).await
        });
    }
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
    for child in client.list_children(path).await? {
        Box::pin(remove_all(client, &format!("{path}/{child}"))).await?;
    }
    client.delete(path, None).await
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
            Acl::new(Permission::ALL, AuthId::new("digest", OWNER_DIGEST)),
            Acl::new(Permission::READ, AuthId::new("digest", READER_DIGEST)),
        ];
        self.admin(async |client| {
            let children = client.list_children("/mint_register").await?;
            let sentinel = children.iter().find(|name| name.starts_with('#'));
            let sentinel = format!("/mint_register/{}", sentinel.expect("init made it"));
            for path in ["/mint_meta", "/mint_register", &sentinel] {
                client.set_acl(path, &acls, None).await?;
            }
            Ok(())
        });
        Some(self.url_with("reader", READER_PASSWORD_ENCODED, at))
    }

    fn process(&mut self) -> &mut Daemon {
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
