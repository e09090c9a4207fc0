//! Certificates of clients end: what came by one is over on every face, on connections that are open as well.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mintage_server::auth::{Proof, Right, Token};
use mintage_server::config::{Listen, Setting};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};

use crate::common::Server;
use crate::mysql_client::{self, CAPABILITIES};

type Tls = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

/// A private authority, and a server that lets in `web` by its certificates.
struct Site {
    _folder: tempfile::TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
    server: Server,
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Site {
    fn new() -> Site {
        let (folder, authority) = (tempfile::tempdir().unwrap(), authority());
        let write = |name: &str, text: String| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_string()]).unwrap();
        write("server.pem", params.signed_by(&key, &authority).unwrap().pem());
        write("server.key", key.serialize_pem());
        write("ca.pem", authority.pem());
        let server = Server::with(|config| {
            let file = |name: &str| Setting::parse(folder.path().join(name).to_str().unwrap()).unwrap();
            (config.tls_cert, config.tls_key) = (file("server.pem"), file("server.key"));
            config.tls_client_ca = file("ca.pem");
            let listen = || Listen::parse("tls:127.0.0.1:0").unwrap();
            (config.http_listen, config.resp_listen) = (listen(), listen());
            config
                .faces
                .get_mut::<mintage_faces::postgres::Settings>()
                .access
                .listen = listen();
            config
                .faces
                .get_mut::<mintage_faces::mysql::Settings>()
                .access
                .listen = listen();
            config
                .faces
                .get_mut::<mintage_faces::thrift::Settings>()
                .access
                .listen = listen();
            config.tokens = vec![Token {
                name: "web".into(),
                shows: Proof::CertificateName("web".parse().unwrap()),
                may: vec![Right::Allocate.into()],
                faces: None,
                until: None,
                rates: Default::default(),
                sql: Default::default(),
            }];
        });
        Site {
            _folder: folder,
            authority,
            server,
        }
    }

    /// What a client shows whose certificate lasts so long from now.
    fn client(
        &self,
        lasts: Duration,
        protocol: &[u8],
        version: &'static rustls::SupportedProtocolVersion,
    ) -> Arc<rustls::ClientConfig> {
        let mut params = CertificateParams::new(vec!["web".to_string()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs((now + lasts).as_secs());
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &self.authority).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![made.der().clone()], key.serialize_der().try_into().unwrap())
            .unwrap();
        if !protocol.is_empty() {
            config.alpn_protocols = vec![protocol.to_vec()];
        }
        config.into()
    }
}

/// An open connection of a face, and what it asks again and again.
struct Open {
    what: &'static str,
    stream: Tls,
    asks: Vec<u8>,
}

impl Open {
    /// Asks once more; whether anything came back.
    fn is_served(&mut self) -> bool {
        let asked = self
            .stream
            .write_all(&self.asks)
            .and_then(|()| self.stream.flush());
        asked.is_ok() && self.stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0)
    }
}

fn connect(
    site: &Site,
    face: &str,
    before: impl FnOnce(&mut TcpStream),
    config: &Arc<rustls::ClientConfig>,
) -> Tls {
    let mut socket = TcpStream::connect(site.server.address(face)).unwrap();
    // None of the answers takes that long.
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    before(&mut socket);
    let session = rustls::ClientConnection::new(config.clone(), "127.0.0.1".try_into().unwrap()).unwrap();
    rustls::StreamOwned::new(session, socket)
}

fn exactly<const N: usize>(from: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// A connection of every kind; `None`: one was not let in, as the certificate ended too soon.
fn open_all(site: &Site, lasts: Duration) -> Option<Vec<Open>> {
    let client = |protocol: &[u8]| site.client(lasts, protocol, &rustls::version::TLS13);
    let old = site.client(lasts, b"", &rustls::version::TLS12);
    let plain = client(b"");
    let resp = b"ECHO hi\r\n".to_vec();
    let http = b"GET /v1/formats HTTP/1.1\r\nhost: x\r\n\r\n".to_vec();
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let ping = b"\0\0\x08\x06\0\0\0\0\0pingpong".to_vec();
    let thrift = b"\x80\x01\0\x01\0\0\0\x0dget_worker_id\0\0\0\x05\0".to_vec();
    let nothing = |_: &mut TcpStream| {};
    let mut h2 = connect(site, "http", nothing, &client(b"h2"));
    h2.write_all(settings).ok()?;
    let mut all = vec![
        ("resp", connect(site, "resp", nothing, &plain), resp.clone()),
        ("resp, TLS 1.2", connect(site, "resp", nothing, &old), resp),
        ("HTTP/1.1", connect(site, "http", nothing, &plain), http),
        ("HTTP/2", h2, ping),
        ("Thrift", connect(site, "thrift", nothing, &plain), thrift),
    ];
    // TLS begins within the protocol.
    let mut postgres = connect(
        site,
        "postgres",
        |socket| {
            socket.write_all(b"\0\0\0\x08\x04\xd2\x16\x2f").unwrap();
            assert_eq!(exactly::<1>(socket), Some(*b"S"));
        },
        &plain,
    );
    postgres.write_all(b"\0\0\0\x12\0\x03\0\0user\0web\0\0").ok()?;
    loop {
        let head = exactly::<5>(&mut postgres)?;
        let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        postgres.read_exact(&mut vec![0; len]).ok()?;
        if head[0] == b'Z' {
            break;
        }
    }
    all.push(("PostgreSQL", postgres, b"Q\0\0\0\x0dSELECT 1\0".to_vec()));
    let mut mysql = connect(
        site,
        "mysql",
        |socket| {
            let [a, b, c, _] = exactly::<4>(socket).unwrap();
            socket
                .read_exact(&mut vec![0; u32::from_be_bytes([0, c, b, a]) as usize])
                .unwrap();
            let wants = mysql_client::login(CAPABILITIES | 0x800, "", b"", "", "");
            socket
                .write_all(&[&[32, 0, 0, 1], &wants[..32]].concat())
                .unwrap();
        },
        &plain,
    );
    let login = mysql_client::login(CAPABILITIES | 0x800, "web", b"", "", "mysql_native_password");
    mysql
        .write_all(&[&[login.len() as u8, 0, 0, 2], &login[..]].concat())
        .ok()?;
    let [length, ..] = exactly::<4>(&mut mysql)?;
    mysql.read_exact(&mut vec![0; usize::from(length)]).ok()?;
    all.push(("MySQL", mysql, mysql_client::command(14, "")));
    let opened = all
        .into_iter()
        .map(|(what, stream, asks)| Open { what, stream, asks });
    let mut opened: Vec<Open> = opened.collect();
    let refused = opened
        .iter_mut()
        .find_map(|one| (!one.is_served()).then_some(one.what));
    match refused {
        None => Some(opened),
        Some(what) => {
            eprintln!("{what} was not served");
            None
        }
    }
}

/// Asks on all of them until none is served; what they are, in the order in which they ended.
fn until_all_end(mut all: Vec<Open>) -> Vec<&'static str> {
    let mut ended = Vec::new();
    while !all.is_empty() {
        all.retain_mut(|one| {
            let is_served = one.is_served();
            if !is_served {
                ended.push(one.what);
            }
            is_served
        });
        std::thread::sleep(Duration::from_millis(10));
    }
    ended
}

/// A connection by a certificate of some seconds was served for hours, and gave its client tickets for more.
#[test]
fn a_connection_of_every_face_ends_with_its_certificate() {
    let site = Site::new();
    // On a busy machine the certificate may end before all have come.
    let opened = [4, 16, 64]
        .into_iter()
        .find_map(|lasts| open_all(&site, Duration::from_secs(lasts)));
    let opened = opened.expect("a minute is enough");
    assert_eq!(opened.len(), 7);
    assert!(
        opened
            .iter()
            .all(|one| one.stream.conn.tls13_tickets_received() == 0)
    );
    assert_eq!(until_all_end(opened).len(), 7);
}

/// Sessions are not resumed where clients show certificates, whatever the version.
#[test]
fn whoever_comes_again_shows_his_certificate_again() {
    let site = Site::new();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = site.client(Duration::from_secs(3600), b"", version);
        for _ in 0..3 {
            let stream = connect(&site, "resp", |_| {}, &config);
            let mut open = Open {
                what: "resp",
                stream,
                asks: b"ECHO hi\r\n".to_vec(),
            };
            assert!(open.is_served());
            assert_eq!(
                open.stream.conn.handshake_kind(),
                Some(rustls::HandshakeKind::Full),
                "{version:?}"
            );
        }
    }
}
