//! TLS on the server: stock clients with certificates of `mint cert new`, files that are wrong, files that change while
//! clients are served, and clients that spoil the handshake.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use mintage_e2e::cluster::eventually;
use mintage_e2e::need;
use mintage_e2e::run::{self, Said, curl};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::signal::signal;
use mintage_testing::invariant;
use tempfile::TempDir;

const TLS: &str = "--http tls:127.0.0.1:0 --resp tls:127.0.0.1:0";

/// A folder with an authority, a server's certificate and a client's, and a configuration that names them.
fn certified(more: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = "cert new --ca --server localhost,127.0.0.1 --client web";
    let made = run::mint(folder.path(), words.split(' ')).ok();
    let files = [
        "ca.pem",
        "ca.key",
        "server.pem",
        "server.key",
        "web.pem",
        "web.key",
    ];
    assert_eq!(made, files.map(|file| format!("./{file}\n")).concat());
    configure(folder.path(), more);
    folder
}

fn configure(folder: &Path, more: &str) {
    let text = format!("[server.tls]\ncert = \"server.pem\"\nkey = \"server.key\"\n{more}");
    fs::write(folder.join("mint.toml"), text).unwrap();
}

fn redis_cli(folder: &Path, server: &Server, words: &str) -> Said {
    let mut command = Command::new("redis-cli");
    command
        .args(["-p", &server.resp.port().to_string()])
        .args(words.split(' '));
    Said::from(command.current_dir(folder).output().unwrap())
}

fn next(server: &Server) -> String {
    format!(
        "https://localhost:{}/v1/sequences/orders/next",
        server.http.port()
    )
}

#[test]
fn stock_clients_speak_tls_and_whoever_speaks_something_else_is_told() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = certified("");
    let at = folder.path();
    let server = Start::bare(at, TLS).ready();
    let (port, url) = (server.http.port(), next(&server));
    assert_eq!(
        curl(at, &format!("--cacert ca.pem -X POST {url}")).ok(),
        "{\"ids\":[\"1\"]}\n"
    );
    assert_eq!(
        redis_cli(at, &server, "--tls --cacert ca.pem INCR orders").ok(),
        "2\n"
    );
    for version in ["1.2", "1.3"] {
        let said = curl(
            at,
            &format!("--tlsv{version} --tls-max {version} --cacert ca.pem -X POST {url}"),
        );
        assert!(said.ok().starts_with("{\"ids\":"), "{version}");
    }
    let words = format!("seq next orders --cacert ca.pem --server https://127.0.0.1:{port}");
    assert_eq!(run::mint(at, words.split(' ')).ok(), "5\n");
    // An authority that is not trusted, and one too old.
    assert_eq!(curl(at, &format!("-X POST {url}")).code, 60);
    assert_ne!(curl(at, &format!("-k --tls-max 1.1 -X POST {url}")).code, 0);
    // Clear text to a port with TLS.
    let said = curl(
        at,
        &format!("-X POST http://127.0.0.1:{port}/v1/sequences/orders/next"),
    )
    .ok();
    assert!(
        said.contains("\"code\":\"protocol_error\"") && said.contains("https://"),
        "{said}"
    );
    let said = redis_cli(at, &server, "INCR orders");
    assert!(format!("{said:?}").contains("this port speaks TLS"), "{said:?}");
    // TLS to a port without.
    let plain = Start::in_folder(&at.join("mint-plain"));
    fs::create_dir(at.join("mint-plain")).unwrap();
    let plain = plain.ready();
    for port in [plain.http.port(), plain.resp.port()] {
        let said = curl(at, &format!("-k https://127.0.0.1:{port}/livez"));
        assert!(said.code == 35 && said.err.contains("alert"), "{said:?}");
    }
    eventually("it is told", || {
        plain.log().contains("TLS was spoken where none is")
    });
    let metrics = curl(at, &format!("--cacert ca.pem https://127.0.0.1:{port}/metrics")).ok();
    assert!(
        metrics.contains("mint_tls_certificate_end_seconds 1"),
        "{metrics}"
    );
}

#[test]
fn clients_show_certificates_where_they_are_asked_for() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = certified("client_ca = \"ca.pem\"\n");
    let at = folder.path();
    let server = Start::bare(at, TLS).ready();
    let shown = "--cert web.pem --key web.key";
    let url = next(&server);
    assert!(
        curl(at, &format!("--cacert ca.pem {shown} -X POST {url}"))
            .ok()
            .starts_with("{\"ids\":")
    );
    assert_eq!(
        redis_cli(at, &server, &format!("--tls --cacert ca.pem {shown} INCR orders")).ok(),
        "2\n"
    );
    let said = curl(at, &format!("--cacert ca.pem -X POST {url}"));
    assert!(
        said.code != 0 && said.err.contains("certificate required"),
        "{said:?}"
    );
    eventually("it is told", || server.log().contains("no connection with TLS"));
    // Signed by somebody else.
    let other = certified("");
    let foreign = other.path().display();
    let said = curl(
        at,
        &format!("--cacert ca.pem --cert {foreign}/web.pem --key {foreign}/web.key -X POST {url}"),
    );
    assert_ne!(said.code, 0, "{said:?}");
    // What our own command shows, and what it is told to do about it.
    let status = |shown: &str| {
        let words = format!(
            "status --cacert ca.pem {shown}--server https://localhost:{}",
            server.http.port()
        );
        run::mint(at, words.split(' '))
    };
    status("--cert web.pem --key web.key ").ok();
    status("").fails(1, "CertificateRequired", "show one with --cert FILE --key FILE");
    let own = "--cert server.pem --key server.key ";
    status(own).fails(
        1,
        "UnsupportedCertificate",
        "it refused the certificate of --cert",
    );
    drop(server);
    let server = Start::bare(at, "--http 127.0.0.1:0 --resp 127.0.0.1:0").ready();
    let words = format!("status --server https://localhost:{}", server.http.port());
    run::mint(at, words.split(' ')).fails(
        1,
        "UnexpectedMessage",
        "TLS is not spoken at that port: say http://",
    );
    drop(server);
    configure(at, "client_ca = \"ca.pem\"\nclient_auth = \"optional\"\n");
    let server = Start::bare(at, TLS).ready();
    let url = next(&server);
    for shown in ["", "--cert web.pem --key web.key "] {
        assert!(
            curl(at, &format!("--cacert ca.pem {shown}-X POST {url}"))
                .ok()
                .starts_with("{\"ids\":")
        );
    }
}

/// What a client library prints, with a certificate of its own or without.
fn library(folder: &Path, program: &mut Command, port: u16, shown: &str) -> Said {
    let words = format!("{port} ca.pem {shown}");
    let command = program.args(words.split_whitespace()).current_dir(folder);
    Said::from(command.output().unwrap())
}

#[test]
#[ignore = "minutes: clients beyond the first"]
fn stock_libraries_speak_tls_with_and_without_certificates() {
    let (Some(python), Some(node)) = (need::redis_py(), need::node()) else {
        return;
    };
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    for (more, shown, foreign) in [
        ("", "", true),
        ("client_ca = \"ca.pem\"\n", "web.pem web.key", false),
    ] {
        let folder = certified(more);
        let at = folder.path();
        let server = Start::bare(at, TLS).ready();
        let port = server.resp.port();
        let of_python = || {
            let mut command = Command::new(&python);
            command.arg(clients.join("tls_client.py"));
            command
        };
        let of_node = || {
            let mut command = Command::new("node");
            command
                .env("NODE_PATH", &node)
                .arg(clients.join("tls_client.cjs"));
            command
        };
        assert_eq!(
            library(at, &mut of_python(), port, shown).ok(),
            "1\n2\n3\n4\n5\n6\n7\n8\n"
        );
        assert_eq!(library(at, &mut of_node(), port, shown).ok(), "9\n10\n");
        for mut command in [of_python(), of_node()] {
            // Without the certificate that is asked for.
            assert_eq!(library(at, &mut command, port, "").code == 0, foreign);
        }
    }
}

/// Files that are changed under a running server: the new ones are shown, wrong ones are not, and nobody is cut off.
#[test]
fn certificates_are_read_again_and_bad_ones_keep_the_old() {
    if !need::curl() {
        return;
    }
    let folder = certified("");
    let at = folder.path();
    let server = Start::bare(at, TLS).ready();
    let url = next(&server);
    let works =
        |authority: &Path| curl(at, &format!("--cacert {} -X POST {url}", authority.display())).code == 0;
    let first = at.join("ca.pem");
    assert!(works(&first));
    // A connection from before goes on.
    let mut kept = Command::new("redis-cli");
    kept.args(["-p", &server.resp.port().to_string(), "--tls", "--cacert"])
        .arg(at.join("first.pem"));
    fs::copy(&first, at.join("first.pem")).unwrap();
    let mut kept = kept
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (kept.stdin.take().unwrap(), kept.stdout.take().unwrap());
    let mut incr = || {
        writeln!(to, "INCR kept").unwrap();
        let mut answer = [0; 2];
        from.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert_eq!(incr(), "1\n");
    // A key that does not fit: the old pair is shown on.
    let other = certified("");
    fs::copy(other.path().join("server.key"), at.join("server.key")).unwrap();
    eventually("it is told", || {
        server.log().contains("does not fit the certificate")
    });
    assert!(server.log().contains("those from before are kept"));
    assert!(works(&first));
    // A pair that is not good yet: neither is it shown.
    if let Some(faketime) = need::faketime() {
        fs::write(at.join("clock"), "+10d\n").unwrap();
        let future = faketime.environment(&at.join("clock"));
        let future = future.iter().filter_map(|text| text.split_once('='));
        let early = tempfile::tempdir().unwrap();
        let mut made = run::command("cert new --ca --server localhost".split(' '));
        let made = made.envs(future).current_dir(early.path()).status();
        assert!(made.unwrap().success());
        for file in ["server.pem", "server.key"] {
            fs::copy(early.path().join(file), at.join(file)).unwrap();
        }
        let words = "those from before are kept why=\"server.tls.cert: the certificate begins on";
        let told = || server.log().matches(words).count();
        eventually("it is told", || told() == 1);
        assert!(works(&first));
        signal(server.pid(), "HUP");
        eventually("it is told again", || told() == 2);
        assert!(works(&first));
        fs::copy(other.path().join("server.key"), at.join("server.key")).unwrap();
    }
    // Then the certificate that it fits.
    fs::copy(other.path().join("server.pem"), at.join("server.pem")).unwrap();
    eventually("the new one is shown", || works(&other.path().join("ca.pem")));
    assert!(!works(&first));
    assert_eq!(incr(), "2\n");
    // SIGHUP reads them, too.
    for file in ["server.pem", "server.key"] {
        fs::remove_file(at.join(file)).unwrap();
    }
    signal(server.pid(), "HUP");
    eventually("it is told", || {
        server.log().contains("server.pem: cannot be read")
    });
    assert!(works(&other.path().join("ca.pem")));
    kept.kill().unwrap();
    kept.wait().unwrap();
}

/// Whoever came by a certificate of an authority that is not trusted any more is not served any more.
#[test]
fn what_an_authority_let_in_ends_when_it_is_no_longer_listed() {
    if !need::redis() {
        return;
    }
    let folder = certified("client_ca = \"clients.pem\"\n");
    let at = folder.path();
    fs::copy(at.join("ca.pem"), at.join("clients.pem")).unwrap();
    let server = Start::bare(at, TLS).ready();
    let words = "--tls --cacert ca.pem --cert web.pem --key web.key -p";
    let mut open = Command::new("redis-cli")
        .args(words.split(' '))
        .arg(server.resp.port().to_string())
        .current_dir(at)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (open.stdin.take().unwrap(), open.stdout.take().unwrap());
    let mut incr = || {
        writeln!(to, "INCR kept").unwrap();
        let mut answer = [0; 2];
        from.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let read_again = || server.log().matches("the certificates were read again").count();
    assert_eq!(incr(), "1\n");
    // One more beside it changes nothing.
    let other = certified("");
    let text = |folder: &Path| fs::read_to_string(folder.join("ca.pem")).unwrap();
    fs::write(at.join("clients.pem"), text(at) + &text(other.path())).unwrap();
    eventually("it is read", || read_again() == 1);
    assert_eq!(incr(), "2\n");
    fs::write(at.join("clients.pem"), text(other.path())).unwrap();
    signal(server.pid(), "HUP");
    eventually("it is read", || read_again() >= 2);
    assert!(server.log().contains("authorities of clients are gone"));
    eventually("the connection ends", || {
        // A client that has ended has seen it.
        let _ = writeln!(to, "INCR kept");
        let why = "server.tls.client_ca does not list its authority any more";
        server.log().contains(why)
    });
    open.kill().unwrap();
    open.wait().unwrap();
    let words = "--tls --cacert ca.pem --cert web.pem --key web.key INCR kept";
    assert!(!redis_cli(at, &server, words).out.starts_with('3'));
}

/// A refusal before the whole request has come arrives all the same.
#[test]
fn refusals_of_requests_with_a_body_arrive_over_http2() {
    if !need::curl() {
        return;
    }
    let folder = certified("[auth]\ntoken_file = \"tokens.toml\"\n");
    let at = folder.path();
    let token = run::new_token(at, "shop --may allocate");
    fs::write(at.join("large"), vec![b'a'; 200_000]).unwrap();
    let server = Start::bare(at, TLS).ready();
    let url = format!("https://localhost:{}/v1/sequences/orders", server.http.port());
    for (token, body, status) in [
        (&*token, "{}", "403"),
        ("", "{}", "401"),
        (&*token, "@large", "413"),
    ] {
        for _ in 0..20 {
            let words = format!("--cacert ca.pem --http2 -o out -w %{{http_code}} -X PUT {url} -d {body}");
            // The rest of a body is read for a second: who was not through by then, on a busy machine, asks again.
            eventually("curl is in time", || {
                let began = Instant::now();
                let said = run::curl_as(at, token, &words);
                let is_late = said.code != 0 && began.elapsed() > Duration::from_secs(1);
                assert!(is_late || (said.code, &*said.out) == (0, status), "{said:?}");
                !is_late
            });
        }
    }
}

/// Certificates that were made ten days ago for five.
#[test]
fn certificates_that_have_ended_are_refused_on_both_sides() {
    let Some(faketime) = need::faketime().filter(|_| need::curl()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("clock"), "-10d\n").unwrap();
    let past = faketime.environment(&at.join("clock"));
    let words = "cert new --ca --server localhost,127.0.0.1 --client web --days 5";
    let mut made = run::command(words.split(' '));
    let past = past.iter().filter_map(|text| text.split_once('='));
    assert!(made.envs(past).current_dir(at).status().unwrap().success());
    configure(at, "client_ca = \"ca.pem\"\n");
    let said = Start::bare(at, TLS).refused();
    assert!(
        said.code != 0 && said.err.contains("the certificate ended on 20"),
        "{said:?}"
    );
    // The authority lasts ten times as long, and signs another one.
    for file in ["server.pem", "server.key"] {
        fs::remove_file(at.join(file)).unwrap();
    }
    run::mint(
        at,
        "cert new --server localhost,127.0.0.1 --client new".split(' '),
    )
    .ok();
    let server = Start::bare(at, TLS).ready();
    let url = next(&server);
    let with = |name: &str| {
        let shown = format!("--cacert ca.pem --cert {name}.pem --key {name}.key -X POST {url}");
        curl(at, &shown).code == 0
    };
    assert!(with("new") && !with("web"));
    eventually("it is told", || server.log().contains("certificate expired"));
}

#[test]
fn files_that_cannot_be_used_are_refused_with_what_is_wrong() {
    let folder = certified("");
    let at = folder.path();
    let other = certified("");
    let refused = |words: &str, what: &str| {
        let said = Start::bare(at, words).refused();
        assert!(said.code != 0 && said.err.contains(what), "{what}: {said:?}");
    };
    fs::write(at.join("mint.toml"), "").unwrap();
    refused(TLS, "there is no certificate to show");
    fs::write(at.join("mint.toml"), "[server.tls]\ncert = \"server.pem\"\n").unwrap();
    refused(TLS, "server.tls.cert is set, and server.tls.key is not");
    for (file, text, what) in [
        ("server.key", "", "holds no private key in PEM"),
        (
            "server.key",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "holds a private key that a password protects: openssl pkey writes it without one",
        ),
        ("server.pem", "nothing", "holds no certificate in PEM"),
        (
            "server.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "is not one of X.509",
        ),
    ] {
        configure(at, "");
        let kept = fs::read(at.join(file)).unwrap();
        fs::write(at.join(file), text).unwrap();
        refused(TLS, what);
        fs::write(at.join(file), kept).unwrap();
    }
    configure(at, "client_ca = \"nowhere.pem\"\n");
    refused(TLS, "server.tls.client_ca = nowhere.pem: cannot be read");
    configure(at, "");
    let kept = fs::read(at.join("server.key")).unwrap();
    fs::copy(other.path().join("server.key"), at.join("server.key")).unwrap();
    refused(TLS, "the key does not fit the certificate");
    fs::write(at.join("server.key"), kept).unwrap();
    // Readable by everybody: warned of.
    let mode = |mode| {
        fs::set_permissions(
            at.join("server.key"),
            std::os::unix::fs::PermissionsExt::from_mode(mode),
        )
    };
    mode(0o644).unwrap();
    let server = Start::bare(at, TLS).ready();
    eventually("it is warned of", || {
        server.log().contains("can be read by everybody")
    });
    mode(0o600).unwrap();
    // Nothing is overwritten.
    let said = run::mint(at, ["cert", "new", "--server", "localhost"]);
    said.fails(3, "cannot write ./server.pem", "nothing is overwritten");
}

/// The beginning of a handshake of TLS 1.0, which nobody speaks any more.
fn old_hello() -> Vec<u8> {
    let mut body = vec![0x03, 0x01];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0, 0x2f, 1, 0]);
    let mut hello = vec![0x16, 0x03, 0x01];
    hello.extend(u16::try_from(body.len() + 4).unwrap().to_be_bytes());
    hello.push(1);
    hello.extend(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
    hello.extend(body);
    hello
}

fn memory_kib(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(1);

/// Handshakes that are broken off, slow, old, or no handshakes at all; one good client all the time.
fn spoilt_handshakes(count: usize) {
    let timeout = format!("handshake_timeout = \"{}s\"\n", HANDSHAKE_TIMEOUT.as_secs());
    let folder = certified(&timeout);
    let at = folder.path();
    let server = Start::bare(at, TLS).ready();
    let before = memory_kib(&server);
    let hello = old_hello();
    let garbage = vec![0x5a; 4096];
    let spoilt: [&[u8]; 6] = [
        &hello,
        &hello[..20],
        &hello[..3],
        &[0x16, 3, 1, 0x3f, 0xff],
        &garbage,
        &[],
    ];
    let spoil = |to: SocketAddr, at: usize| {
        let mut client = TcpStream::connect(to).ok()?;
        client.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        client.write_all(spoilt[at % spoilt.len()]).ok()?;
        // Half of them wait for what becomes of it.
        if at.is_multiple_of(2) {
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).ok()?;
        }
        Some(())
    };
    std::thread::scope(|scope| {
        for thread in 0..20 {
            let (server, spoil) = (&server, &spoil);
            scope.spawn(move || {
                for turn in 0..count / 20 {
                    let to = if turn % 3 == 0 { server.resp } else { server.http };
                    spoil(to, thread + turn);
                }
            });
        }
        for _ in 0..20 {
            let words = format!(
                "seq next orders --cacert ca.pem --server https://127.0.0.1:{}",
                server.http.port()
            );
            // Whoever is in time is let in; on a busy machine the good client may not be.
            eventually("the good client is in time", || {
                let began = Instant::now();
                let said = run::mint(at, words.split(' '));
                assert!(said.code == 0 || began.elapsed() >= HANDSHAKE_TIMEOUT, "{said:?}");
                said.code == 0
            });
        }
    });
    let after = memory_kib(&server);
    need::say(&format!(
        "{count} spoilt handshakes: {before} KiB before, {after} after"
    ));
    invariant!(after < before + 64 * 1024, "{before} KiB before, {after} after");
}

#[test]
fn spoilt_handshakes_cost_nobody_else_anything() {
    spoilt_handshakes(600);
}

#[test]
#[ignore = "minutes: ten thousand handshakes"]
fn ten_thousand_spoilt_handshakes_cost_nobody_else_anything() {
    spoilt_handshakes(10_000);
}
