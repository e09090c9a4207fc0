//! Stock clients with scripts: they send a SHA-1, are told NOSCRIPT, send the text, and go on; also over the death of a
//! server and over two servers on one store, where no number comes twice.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use mintage_e2e::engine::port::free;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::run::{Said, mint};
use mintage_e2e::server::{Server, Start, two_servers};
use mintage_e2e::store_suite::Engine;
use mintage_e2e::taker::{Taker, check_no_repeat, each_takes};
use mintage_e2e::{binary, need};

/// A client program and what it is told before the ports.
#[derive(Clone)]
struct Client {
    name: &'static str,
    program: PathBuf,
    script: PathBuf,
    /// Which of the clients in the program, if it has several.
    which: Option<&'static str>,
    modules: Option<PathBuf>,
}

impl Client {
    fn redis_py() -> Option<Client> {
        Some(Client::of("redis-py", need::redis_py()?, "scripts_client.py"))
    }

    fn node(which: &'static str) -> Option<Client> {
        let modules = need::node()?;
        Some(Client {
            which: Some(which),
            modules: Some(modules),
            ..Client::of(which, "node".into(), "scripts_clients.cjs")
        })
    }

    fn php() -> Option<Client> {
        need::php_redis().then(|| Client::of("php-redis", "php".into(), "scripts_client.php"))
    }

    fn of(name: &'static str, program: PathBuf, script: &str) -> Client {
        Client {
            name,
            program,
            script: binary::root().join("e2e/clients").join(script),
            which: None,
            modules: None,
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(modules) = &self.modules {
            command.env("NODE_PATH", modules);
        }
        command.arg(&self.script);
        command
    }

    #[track_caller]
    fn check(&self, server: &Server) {
        let mut command = self.command();
        command.args(["check", &server.resp.port().to_string()]);
        let out = Said::from(command.output().unwrap()).ok();
        assert!(out.contains(" ok"), "{out}");
        need::say(out.trim_end());
    }

    /// Takes numbers from these ports.
    fn take(&self, ports: &[u16]) -> Taker {
        let mut command = self.command();
        command.arg("take").args(self.which);
        command.args(ports.iter().map(u16::to_string));
        Taker::start(self.name, command)
    }
}

fn one_server() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    (folder, server)
}

#[test]
fn stock_redis_py_does_its_noscript_dance() {
    let Some(client) = Client::redis_py() else { return };
    let (_folder, server) = one_server();
    client.check(&server);
}

#[test]
#[ignore = "minutes: stock clients beyond the first"]
fn stock_ioredis_and_node_redis_do_their_noscript_dance() {
    // One program checks both.
    let Some(client) = Client::node("ioredis") else {
        return;
    };
    let (_folder, server) = one_server();
    client.check(&server);
}

#[test]
#[ignore = "minutes: stock clients beyond the first"]
fn stock_php_redis_does_its_noscript_dance() {
    let Some(client) = Client::php() else { return };
    let (_folder, server) = one_server();
    client.check(&server);
}

/// All clients that are there, two of each, taking numbers from these ports.
fn everybody(ports: &[u16]) -> Vec<Taker> {
    let each = [
        Client::redis_py(),
        Client::node("ioredis"),
        Client::node("node-redis"),
        Client::php(),
    ];
    let each: Vec<Client> = each.into_iter().flatten().collect();
    let twice = each.iter().chain(&each);
    twice.map(|client| client.take(ports)).collect()
}

#[test]
#[ignore = "minutes: kills under stock clients"]
fn no_number_comes_twice_by_script_over_kills() {
    let folder = tempfile::tempdir().unwrap();
    // The same port again after each kill, so that clients find it.
    let [http, resp] = [free(), free()];
    let again = Start::bare(folder.path(), &format!("--http {http} --resp {resp}"));
    let mut server = again.ready();
    let mut clients = everybody(&[resp.port()]);
    for _ in 0..8 {
        each_takes(50, &mut clients);
        server.kill();
        server = again.ready();
    }
    each_takes(50, &mut clients);
    check_no_repeat("numbers by script", clients);
    drop(server);
}

#[test]
#[ignore = "minutes: two servers and a kill under stock clients"]
fn no_number_comes_twice_by_script_over_two_servers() {
    let Some(engine) = Postgres::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    mint(folder.path(), ["init", "--store", &url]).ok();
    let mut servers = two_servers(folder.path(), &url);
    let ports: Vec<u16> = servers.iter().map(|server| server.resp.port()).collect();
    let mut clients = everybody(&ports);
    each_takes(50, &mut clients);
    // The other one goes on alone.
    let _port = servers.remove(0).kill_for_good();
    each_takes(50, &mut clients);
    check_no_repeat("numbers by script", clients);
}
