//! Stock clients of PostgREST: every kind of call, kills of the server, two servers on one store. pREST has no client but
//! those of HTTP: curl.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::signal::signal;
use mintage_e2e::store_suite::Engine;
use mintage_e2e::taker::{Taker, check_no_repeat, each_takes};
use mintage_e2e::{binary, need, run};
use mintage_testing::{invariant, rising};

/// Two tokens, and a function.
const CONFIGURATION: &str = r#"
[[auth.tokens]]
name = "admin"
sha256 = "ADMIN"
may = ["admin", "allocate"]

[[auth.tokens]]
name = "app"
sha256 = "APP"
may = ["allocate"]

[faces.postgrest]
listen = "127.0.0.1:0"
strings = STRINGS

[faces.postgrest.functions]
next_invoice = { next = "invoices" }
"#;

/// A program of e2e/clients, and what runs it.
#[derive(Clone, Debug)]
enum Client {
    Python(PathBuf),
    /// With the folder of its packages.
    Node(PathBuf),
}

impl Client {
    fn command(&self, what: &str, url: &str) -> Command {
        let clients = binary::root().join("e2e/clients");
        let mut command = match self {
            Client::Python(python) => {
                let mut command = Command::new(python);
                command.arg(clients.join("postgrest_client.py"));
                command
            }
            Client::Node(modules) => {
                let mut command = Command::new("node");
                command
                    .env("NODE_PATH", modules)
                    .arg(clients.join("postgrest_clients.cjs"));
                command
            }
        };
        command.args([what, url]);
        command
    }

    fn take(&self, url: &str) -> Taker {
        let name = match self {
            Client::Python(_) => "postgrest-py",
            Client::Node(_) => "postgrest-js",
        };
        Taker::start(name, self.command("take", url))
    }

    /// Runs it to its end.
    #[track_caller]
    fn says(&self, what: &str, url: &str) -> String {
        let said: run::Said = self.command(what, url).output().unwrap().into();
        said.ok()
    }
}

/// Where the face is.
fn url(server: &Server, face: &str) -> String {
    let address = server.ready["faces"][face][0].as_str();
    format!("http://{}", address.expect("the face listens"))
}

/// A server with tokens, and its sequences.
fn with_tokens(folder: &Path, strings: bool) -> Server {
    let digest = |secret: &str| {
        std::fs::write(folder.join("secret"), secret).unwrap();
        let sum = Command::new("sha256sum").arg(folder.join("secret")).output();
        let said: run::Said = sum.unwrap().into();
        said.ok()[..64].to_string()
    };
    let text = CONFIGURATION
        .replace("ADMIN", &digest("all"))
        .replace("APP", &digest("some"))
        .replace("STRINGS", &strings.to_string());
    std::fs::write(folder.join("mint.toml"), text).unwrap();
    let server = Start::in_folder(folder).ready();
    for (name, definition) in [
        ("orders", "{}"),
        ("invoices", "{}"),
        ("short", r#"{"max": 2}"#),
        ("large", r#"{"start": "9007199254740991"}"#),
    ] {
        let request = format!(
            "PUT /v1/sequences/{name} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer all\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{definition}",
            definition.len()
        );
        let made = mintage_e2e::http::raw(server.http, request.as_bytes()).unwrap();
        assert_eq!(made.status, 201, "{made:?}");
    }
    server
}

#[test]
fn stock_postgrest_py_calls_functions_as_with_postgrest() {
    let Some(python) = need::postgrest_py() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), false);
    let said = Client::Python(python).says("calls", &url(&server, "postgrest"));
    assert!(said.contains(" ok"), "{said}");
    need::say(said.trim_end());
}

#[test]
#[ignore = "minutes: clients beyond the first"]
fn stock_postgrest_js_and_postgrest_client_call_functions_as_with_postgrest() {
    let Some(modules) = need::postgrest_js() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), false);
    let said = Client::Node(modules).says("calls", &url(&server, "postgrest"));
    assert!(said.contains(" ok"), "{said}");
    need::say(said.trim_end());
}

#[test]
#[ignore = "minutes: clients beyond the first"]
fn postgrest_js_repeats_large_numbers_unless_they_are_quoted() {
    let Some(modules) = need::postgrest_js() else {
        return;
    };
    for (strings, numbers) in [
        // 9007199254740993 became its neighbour: the same id twice.
        (false, "[9007199254740991,9007199254740992,9007199254740992]"),
        (
            true,
            r#"[9007199254740991,"9007199254740992","9007199254740993"]"#,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = with_tokens(folder.path(), strings);
        let said = Client::Node(modules.clone()).says("large", &url(&server, "postgrest"));
        assert_eq!(said.trim(), numbers);
    }
}

/// Kills the server again and again under clients of these kinds.
fn kill_under(clients: &[Client], kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let at = mintage_e2e::engine::port::free();
    let again = Start::in_folder(folder.path()).args(["--face", &format!("postgrest={at}")]);
    let mut server = again.ready();
    assert!(server.http("PUT", "/v1/sequences/orders", "{}").status < 300);
    let url = url(&server, "postgrest");
    let mut takers: Vec<Taker> = clients.iter().map(|client| client.take(&url)).collect();
    for _ in 0..kills {
        each_takes(50, &mut takers);
        server.kill();
        server = again.ready();
    }
    each_takes(50, &mut takers);
    check_no_repeat(&format!("{kills} kills"), takers);
}

#[test]
fn a_kill_repeats_no_number_for_postgrest_py() {
    if let Some(python) = need::postgrest_py() {
        kill_under(&[Client::Python(python)], 2);
    }
}

#[test]
#[ignore = "minutes: clients beyond the first, and many kills"]
fn many_kills_repeat_no_number_for_any_client() {
    if let (Some(python), Some(modules)) = (need::postgrest_py(), need::postgrest_js()) {
        kill_under(&[Client::Python(python), Client::Node(modules)], 20);
    }
}

/// Two servers on one store, with the face and a sequence.
fn two_on(engine: &Postgres, folder: &Path) -> [Server; 2] {
    let store = engine.url(engine.address());
    run::patient_mint(folder, ["init", "--store", &store]).ok();
    let servers = ["0", "1"].map(|node| {
        let own = folder.join(node);
        std::fs::create_dir(&own).unwrap();
        let face = ["--store", &store, "--face", "postgrest=127.0.0.1:0"];
        Start::in_folder(&own).args(face).ready()
    });
    assert!(servers[0].http("PUT", "/v1/sequences/orders", "{}").status < 300);
    servers
}

#[test]
#[ignore = "minutes: two servers on PostgreSQL"]
fn a_setval_is_followed_by_all_soon_even_by_a_server_that_stood_still() {
    let Some(engine) = Postgres::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = two_on(&engine, folder.path());
    let ask = |server: &Server, function: &str, body: &str| {
        let address = url(server, "postgrest")["http://".len()..].parse().unwrap();
        mintage_e2e::http::exchange(address, "POST", &format!("/rpc/{function}"), body).unwrap()
    };
    let (next, set) = (r#"{"seq":"orders"}"#, r#"{"seq":"orders","value":1000000}"#);
    // Both have numbers in stock.
    assert_eq!(ask(&first, "nextval", next).status, 200);
    assert_eq!(ask(&second, "nextval", next).status, 200);
    signal(second.pid(), "STOP");
    let done = ask(&first, "setval", set);
    assert_eq!((done.status, done.text().as_str()), (200, "1000000"));
    signal(second.pid(), "CONT");
    let number = |server: &Server| -> i64 { ask(server, "nextval", next).text().parse().unwrap() };
    let number_of_first = number(&first);
    invariant!(number_of_first > 1_000_000, "{number_of_first}");
    // What stood still may have numbers of before in stock, which are its own; it follows when it looks.
    let until = Instant::now() + Duration::from_secs(60);
    while number(&second) <= 1_000_000 {
        assert!(Instant::now() < until, "it does not follow");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "minutes: clients beyond the first, and two servers on PostgreSQL"]
fn two_servers_on_one_store_repeat_no_number_for_any_client() {
    let (Some(python), Some(modules), Some(engine)) =
        (need::postgrest_py(), need::postgrest_js(), Postgres::borrow())
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let servers = two_on(&engine, folder.path());
    let mut takers: Vec<Taker> = servers
        .iter()
        .flat_map(|server| {
            let url = url(server, "postgrest");
            let clients = [Client::Python(python.clone()), Client::Node(modules.clone())];
            clients.map(|client| client.take(&url))
        })
        .collect();
    each_takes(500, &mut takers);
    let [first, second] = servers;
    // One is killed; the clients of the other go on.
    first.kill();
    each_takes(500, &mut takers[2..]);
    check_no_repeat("two servers", takers);
    drop(second);
}

#[test]
fn curl_gets_rows_as_from_prest() {
    if !need::curl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "[faces.prest]\nlisten = \"127.0.0.1:0\"\n[faces.prest.queries]\n\"ids/next\" = { sequence = \"orders\" }\n";
    std::fs::write(folder.path().join("mint.toml"), text).unwrap();
    let start = Start::in_folder(folder.path());
    let server = start.ready();
    assert!(server.http("PUT", "/v1/sequences/orders", "{}").status < 300);
    let get = |server: &Server| {
        let script = format!("{}/_QUERIES/ids/next", url(server, "prest"));
        let said: run::Said = Command::new("curl")
            .args(["-sS", &script])
            .output()
            .unwrap()
            .into();
        let rows: serde_json::Value = serde_json::from_str(&said.ok()).unwrap();
        rows[0]["nextval"].as_i64().unwrap()
    };
    assert_eq!((get(&server), get(&server)), (1, 2));
    server.kill();
    let server = start.ready();
    rising("numbers", [2, get(&server)]);
}
