//! A server under a service manager: what it is told of (sd_notify), sockets that it passes, and the files of unix sockets.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use mintage_e2e::need;
use mintage_e2e::run::curl;
use mintage_e2e::server::Start;
use mintage_e2e::signal::signal;

/// What a shell runs in front of the server, `$0` and what follows being the server.
fn shell(script: &str) -> [String; 3] {
    ["sh".into(), "-c".into(), script.into()]
}

/// The next message with this beginning; others before it are passed over.
fn told(socket: &UnixDatagram, wanted: &str) -> String {
    let mut bytes = [0; 4096];
    loop {
        let length = match socket.recv(&mut bytes) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => panic!("{wanted:?} does not come: {error}"),
        };
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if text.starts_with(wanted) {
            return text;
        }
    }
}

#[test]
fn a_service_manager_is_told_of_readiness_reload_life_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let socket = UnixDatagram::bind(at.join("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let with = format!(
        "NOTIFY_SOCKET={} WATCHDOG_USEC=2000000",
        at.join("notify").display()
    );
    let server = Start::in_folder(at)
        .under(shell(&format!(
            "export {with} WATCHDOG_PID=$$; exec \"$0\" \"$@\""
        )))
        .ready();
    let signal = |name: &str| signal(server.pid(), name);
    let ready = told(&socket, "READY=1");
    assert!(ready.contains("STATUS=serving http on 127.0.0.1:"), "{ready}");
    for _ in 0..3 {
        told(&socket, "WATCHDOG=1");
    }
    signal("HUP");
    assert!(told(&socket, "RELOADING=1").contains("MONOTONIC_USEC="));
    told(&socket, "READY=1");
    signal("TERM");
    told(&socket, "STOPPING=1");
}

/// The service manager binds, the server serves, and the socket outlives it.
#[test]
fn sockets_that_are_passed_are_served() {
    if !need::curl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Binds what systemd would, and becomes the server.
    let script = "import os, socket, sys\n\
        web = socket.create_server(('127.0.0.1', 0)); print(web.getsockname()[1], file=open('port', 'w'))\n\
        unix = socket.socket(socket.AF_UNIX); unix.bind('http.sock'); unix.listen()\n\
        for number, one in ((3, web), (4, unix)): os.dup2(one.fileno(), number + 20)\n\
        for number in (3, 4): os.dup2(number + 20, number, inheritable=True)\n\
        os.environ.update(LISTEN_FDS='2', LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES='WANTED')\n\
        os.execvp(sys.argv[1], sys.argv[1:])\n";
    let under = |names: &str| {
        let script = script.replace("WANTED", names);
        Start::in_folder(at).under(["python3".to_string(), "-c".into(), script])
    };
    let server = under("http:http").ready();
    let port = fs::read_to_string(at.join("port")).unwrap();
    assert_eq!(port.trim(), server.http.port().to_string());
    let path = "/v1/sequences/orders/next";
    let asked = format!("-X POST http://{}{path}", server.http);
    assert_eq!(curl(at, &asked).ok(), "{\"ids\":[\"1\"]}\n");
    let asked = format!("--unix-socket http.sock -X POST http://localhost{path}");
    assert_eq!(curl(at, &asked).ok(), "{\"ids\":[\"2\"]}\n");
    drop(server);
    assert!(at.join("http.sock").exists(), "it is the service manager's");
    fs::remove_file(at.join("http.sock")).unwrap();
    let said = under("http:nope").refused();
    assert!(
        said.err.contains("there is no face \"nope\"") && said.err.contains("FileDescriptorName=http"),
        "{said:?}"
    );
}

#[test]
fn a_unix_socket_has_its_mode_and_owner_and_a_stale_one_is_replaced() {
    if !need::curl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let own = fs::metadata(at).unwrap();
    let owner = format!("{}:{}", own.uid(), own.gid());
    let text = format!("[server.unix]\nmode = \"0600\"\nowner = \"{owner}\"\n");
    fs::write(at.join("mint.toml"), text).unwrap();
    // As a kill leaves it.
    drop(UnixListener::bind(at.join("mint.sock")).unwrap());
    let listen = "--http 127.0.0.1:0,unix:mint.sock --resp 127.0.0.1:0";
    let server = Start::bare(at, listen).ready();
    let mode = fs::metadata(at.join("mint.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let asked = "--unix-socket mint.sock -X POST http://localhost/v1/sequences/orders/next";
    assert_eq!(curl(at, asked).ok(), "{\"ids\":[\"1\"]}\n");
    drop(server);
    let refused = |text: &str, listen: &str| {
        fs::write(at.join("mint.toml"), text).unwrap();
        Start::bare(at, listen).refused().err
    };
    let err = refused("[server.unix]\nowner = \"nobody-of-that-name\"\n", listen);
    assert!(err.contains("no user \"nobody-of-that-name\""), "{err}");
    let err = refused("[server.unix]\nmode = \"0999\"\n", listen);
    assert!(err.contains("is no mode"), "{err}");
    fs::write(at.join("precious"), "mine").unwrap();
    let err = refused("", "--http unix:precious --resp 127.0.0.1:0");
    assert!(err.contains("not a socket"), "{err}");
    let long = "x".repeat(110);
    let err = refused("", &format!("--http unix:{long} --resp 127.0.0.1:0"));
    assert!(err.contains("has at most 107"), "{err}");
}
