//! CosId's REST proxy as its clients use it, over servers that are killed: one server and its own store, and two over a
//! shared one.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use mintage_e2e::engine::port;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::{Engine, make_set};
use mintage_e2e::{binary, need, run};
use mintage_testing::{Distinct, invariant};

/// Servers that serve the face, and can be started again where they were.
struct Servers {
    starts: Vec<(Start, SocketAddr)>,
    running: Vec<Option<Server>>,
}

impl Servers {
    fn run(folder: &Path, count: usize, args: &[&str]) -> Servers {
        let start = |node: usize| {
            let own = folder.join(node.to_string());
            std::fs::create_dir(&own).unwrap();
            let at = port::free();
            let start = Start::in_folder(&own).args(["--face".to_string(), format!("cosid={at}")]);
            // Its ids are told from numbers of segments.
            let start = start.under(["env", "MINT_FACES__COSID__SHARE=snowflake"]);
            (start.args(args.iter().copied()), at)
        };
        let starts: Vec<_> = (0..count).map(start).collect();
        let running = starts.iter().map(|(start, _)| Some(start.ready())).collect();
        Servers { starts, running }
    }

    fn kill_and_start(&mut self, node: usize) {
        if let Some(server) = self.running[node].take() {
            server.kill();
        }
        self.running[node] = Some(self.starts[node].0.ready());
    }

    fn client(&self, python: &Path, script: &str) -> Command {
        let mut command = Command::new(python);
        let ports = self.starts.iter().map(|(_, at)| at.port().to_string());
        command
            .arg(binary::root().join("e2e/clients").join(script))
            .args(ports);
        command
    }

    /// Runs the client while one server after the other is killed, each time after another thousand ids.
    fn no_repeats(&mut self, python: &Path) {
        let mut client = self.client(python, "cosid_client.py");
        let mut child = client.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut ids, mut kills) = (Distinct::of("ids"), 0);
        for line in lines {
            let id: u64 = line.unwrap().parse().unwrap();
            ids.add(id);
            if ids.len() >= 1000 * (kills + 1) && kills < KILLS {
                self.kill_and_start(kills % self.starts.len());
                kills += 1;
            }
        }
        assert!(child.wait().unwrap().success());
        assert_eq!((ids.len(), kills), (IDS, KILLS));
    }
}

/// What `cosid_client.py` takes: 120 rounds of 25 numbers and 6 ids.
const IDS: usize = 120 * 31;
const KILLS: usize = 3;

#[test]
#[ignore = "minutes: many kills"]
fn machines_keep_their_numbers_over_kills_and_no_id_comes_twice() {
    let Some(python) = need::requests() else { return };
    let folder = tempfile::tempdir().unwrap();
    Servers::run(folder.path(), 1, &[]).no_repeats(&python);
}

// claim: P12
#[test]
#[ignore = "minutes: two servers again and again"]
fn two_servers_on_one_store_agree_on_every_machine() {
    let Some(python) = need::requests() else { return };
    let Some(store) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = store.url(store.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    Servers::run(folder.path(), 2, &["--store", &url]).no_repeats(&python);
}

#[test]
fn a_lease_ends_when_it_says_and_whoever_lost_it_is_told() {
    let Some(python) = need::requests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Servers::run(folder.path(), 1, &[]);
    let mut client = servers.client(&python, "cosid_leases.py");
    let mut child = client
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = child.stdin.take().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "kill" {
            servers.kill_and_start(0);
            told.write_all(b"killed\n").unwrap();
        }
        said.push(line);
    }
    assert!(child.wait().unwrap().success(), "{said:?}");
    assert_eq!(said, ["kill", "kill", "ok"]);
}

/// Three people with curl: one that moves a counter, one that looks, one that mistypes.
#[test]
fn curl_is_answered_as_by_the_original() {
    if !need::curl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Servers::run(folder.path(), 1, &[]);
    let at = servers.starts[0].1;
    let curl = |words: &[&str], path: &str| {
        let out = Command::new("curl")
            .args(["-s", "-w", " %{http_code}", "--max-time", "20"])
            .args(words)
            .arg(format!("http://{at}{path}"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let distributor = "/segments/distributor/shop/order?offset=500&step=100";
    assert_eq!(curl(&["-X", "POST"], distributor), " 200");
    assert_eq!(curl(&["-X", "PATCH"], "/segments/shop/order?step=100"), "600 200");
    servers.kill_and_start(0);
    let last = curl(&["-X", "PATCH"], "/segments/shop/order?step=100");
    let last: u64 = last.strip_suffix(" 200").unwrap().parse().unwrap();
    invariant!(last >= 700, "{last}");
    assert_eq!(curl(&["-I", "-o", "/dev/null"], "/ids"), " 200");
    assert_eq!(curl(&["-X", "POST", "-d", "x=y"], distributor), " 200");
    let typed = curl(&["-X", "PATCH"], "/segments/shop/order?steps=1");
    assert_eq!(
        typed,
        r#"{"code":"500","msg":"parameter step is missing","errors":[]} 500"#
    );
    assert_eq!(
        curl(&[], "/id"),
        r#"{"code":"404","msg":"no such path","errors":[]} 404"#
    );
    let next = curl(&["-X", "PATCH"], "/segments/shop/order?step=1");
    assert_eq!(next, format!("{} 200", last + 1), "none of that took a number");
}

/// Clients reckon the numbers of a segment from its last one: no store of a set has such a run, and the answer says so.
#[test]
fn on_a_set_of_stores_segments_are_refused_in_words_and_all_else_is_served() {
    let (Some(first), Some(second)) = (Redis::run(), Redis::run()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let set = make_set(folder.path(), &[&first, &second]);
    let server = Start::in_folder(folder.path())
        .args(["--store", &set, "--face", "cosid=main"])
        .ready();
    let words = "a run of 100 numbers: each of the 2 stores has its own share, so that none has a run";
    let refused = server.http("PATCH", "/segments/shop/orders?step=100", "");
    let body = format!(r#"{{"code":"500","msg":"{words}","errors":[]}}"#);
    assert_eq!((refused.status, refused.text()), (500, body));
    let refused = server
        .redis()
        .ask(&["INCRBY", "cosid:shop.orders", "100"])
        .unwrap();
    assert!(
        refused.text().is_some_and(|said| said.contains(words)),
        "{refused:?}"
    );
    let single = server.http("PATCH", "/segments/shop/orders?step=1", "");
    assert_eq!(single.status, 200, "{}", single.text());
    let mut ids = Distinct::of("ids");
    for _ in 0..100 {
        let id = server.http("GET", "/ids", "").text();
        ids.add(id.parse::<u64>().unwrap());
    }
    let lease = "/machines/dev?machineBit=10&instanceId=a&stable=false&safeGuardDuration=PT5M";
    for _ in 0..2 {
        let leased = server.http("POST", lease, "");
        assert!(
            leased.text().starts_with(r#"{"machineId":0,"#),
            "{}",
            leased.text()
        );
    }
}
