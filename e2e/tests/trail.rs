//! The audit trail: who changed what, before and after, over every face that changes anything.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::port;
use mintage_e2e::need;
use mintage_e2e::run::{Said, curl_as, mint_as, new_token};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::signal::signal;
use serde_json::{Value, json};

fn lines(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("audit.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn mint(folder: &Path, server: &Server, token: &str, words: &str) -> Said {
    mint_as(folder, token, &format!("{words} --server {}", server.url()))
}

fn redis(port: u16, token: &str, words: &str) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &port.to_string()]).args(words.split(' '));
    Said::from(command.env("REDISCLI_AUTH", token).output().unwrap()).ok()
}

// claim: P74
#[test]
fn every_change_is_told_with_who_and_what_was_before() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (boss, shop) = (
        new_token(at, "boss --may admin,allocate,read"),
        new_token(at, "shop --may allocate"),
    );
    let text = "[auth]\ntoken_file = \"tokens.toml\"\n[audit]\nfile = \"audit.jsonl\"\nsync = true\n";
    fs::write(at.join("mint.toml"), text).unwrap();
    let server = Start::in_folder(at).ready();
    mint(at, &server, &boss, "seq create orders --start 100").ok();
    mint(at, &server, &shop, "seq next orders").ok();
    mint(at, &server, &boss, "seq restart orders --with 500").ok();
    assert_ne!(mint(at, &server, &shop, "seq drop orders").code, 0);
    assert_ne!(mint(at, &server, &boss, "seq restart orders --with 1").code, 0);
    let redis_as_shop = |words: &str| redis(server.resp.port(), &shop, words);
    let redis = |words: &str| redis(server.resp.port(), &boss, words);
    assert_eq!(redis("DEL orders"), "1\n");
    mint(at, &server, &boss, "pool create eu --preset twitter").ok();
    assert_eq!(redis("SET invoices 5"), "OK\n");
    assert!(redis_as_shop("SET invoices 50").starts_with("NOPERM"));
    assert!(redis("SET invoices 4").starts_with("ERR"));
    let told: Vec<(String, String, String, String)> = lines(at)
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_string();
            (
                text("what"),
                line["names"][0].as_str().unwrap().to_string(),
                text("token"),
                text("outcome"),
            )
        })
        .collect();
    let expected = [
        ("create", "orders", "boss", "done"),
        ("restart", "orders", "boss", "done"),
        ("drop", "orders", "shop", "forbidden"),
        ("restart", "orders", "boss", "needs_allow_repeat"),
        ("del", "orders", "boss", "done"),
        ("create pool", "eu", "boss", "done"),
        ("set", "invoices", "boss", "done"),
        ("set", "invoices", "shop", "forbidden"),
        ("set", "invoices", "boss", "only_forward"),
    ];
    let expected = expected.map(|(a, b, c, d)| (a.to_string(), b.to_string(), c.to_string(), d.to_string()));
    assert_eq!(told, expected, "taking ids is no act of an administrator");
    let all = lines(at);
    assert_eq!(all[0]["before"], json!([null]));
    assert_eq!(all[0]["after"][0]["start"], "100");
    assert_eq!(
        (&all[1]["before"][0]["last"], &all[1]["after"][0]["name"]),
        (&json!("100"), &json!("orders"))
    );
    assert_eq!(
        (&all[4]["face"], &all[4]["after"]),
        (&json!("resp"), &json!([null]))
    );
    assert!(all[4]["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    let text = fs::read_to_string(at.join("audit.jsonl")).unwrap();
    assert!(!text.contains(&boss) && !text.contains(&shop));
    // Renamed by logrotate: SIGHUP begins a new one.
    fs::rename(at.join("audit.jsonl"), at.join("old.jsonl")).unwrap();
    signal(server.pid(), "HUP");
    eventually("it has read its configuration again", || {
        server.log().contains("the configuration was read again")
    });
    mint(at, &server, &boss, "seq create bills").ok();
    assert_eq!(lines(at).len(), 1);
}

/// What the clients of other systems change is told too, by the names that their keys have here; what their first use of a key
/// makes is not.
// claim: P74
#[test]
fn what_clients_of_other_systems_change_is_told() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let boss = new_token(at, "boss --may admin,allocate,read");
    let shop = new_token(at, "shop --may allocate,read");
    let configure = |create: bool| {
        let text = "[auth]\ntoken_file = \"tokens.toml\"\n[audit]\nfile = \"audit.jsonl\"\n[faces.postgrest]\nlisten = \"main\"\n";
        let cosid = format!("[faces.cosid]\nlisten = \"main\"\ncreate = {create}\n");
        fs::write(at.join("mint.toml"), format!("{text}{cosid}")).unwrap();
    };
    configure(false);
    let idgo = port::free();
    let start = Start::in_folder(at).args(["--face".to_string(), format!("idgo={idgo}")]);
    let server = start.ready();
    let ask = |server: &Server, method: &str, path: &str| {
        let words = format!("-w %{{http_code}} -X {method} http://{}{path}", server.http);
        curl_as(at, &boss, &words).ok()
    };
    let distributor = "/segments/distributor/shop/order?offset=500&step=100";
    let machine = "/machines/shop?machineBit=10&instanceId=a&stable=false&safeGuardDuration=PT5M";
    for _ in 0..2 {
        assert!(ask(&server, "POST", distributor).ends_with("200"));
        assert!(ask(&server, "PATCH", "/segments/shop/line?step=10").ends_with("200"));
        assert!(ask(&server, "POST", machine).ends_with("200"));
    }
    let setval = r#"-d {"regclass":"cosid:shop.line","value":1000} -H content-type:application/json"#;
    let said = ask(&server, &format!("POST {setval}"), "/rpc/setval");
    assert!(said.ends_with("200"), "{said}");
    assert_eq!(redis(idgo.port(), &boss, "SET key 7"), "OK\n");
    assert_eq!(redis(idgo.port(), &boss, "DEL other key"), "1\n");
    // Who may not is told of as well.
    let refused = |method: &str, path: &str| {
        let words = format!("-w %{{http_code}} -X {method} http://{}{path}", server.http);
        assert!(curl_as(at, &shop, &words).ok().ends_with("403"), "{words}");
    };
    refused("POST", "/segments/distributor/shop/other?offset=500&step=100");
    refused(&format!("POST {setval}"), "/rpc/setval");
    assert!(!redis(idgo.port(), &shop, "SET key 7").contains("OK"));
    drop(server);
    configure(true);
    let server = start.ready();
    assert!(ask(&server, "PATCH", "/segments/shop/first?step=10").ends_with("200"));
    let told: Vec<Value> = lines(at)
        .iter()
        .map(|line| {
            json!([
                line["face"],
                line["what"],
                line["names"],
                line["token"],
                line["outcome"]
            ])
        })
        .collect();
    let expected = json!([
        ["cosid", "create", ["cosid:shop.order"], "boss", "done"],
        ["cosid", "create", ["cosid:shop.line"], "boss", "done"],
        ["cosid", "create pool", ["cosid:shop"], "boss", "done"],
        ["postgrest", "setval", ["cosid:shop.line"], "boss", "done"],
        ["idgo", "set", ["idgo:key"], "boss", "done"],
        ["idgo", "del", ["idgo:other", "idgo:key"], "boss", "done"],
        ["cosid", "create", ["cosid:shop.other"], "shop", "forbidden"],
        ["postgrest", "setval", ["cosid:shop.line"], "shop", "forbidden"],
        ["idgo", "set", ["idgo:key"], "shop", "forbidden"],
    ]);
    assert_eq!(json!(told), expected);
    let all = lines(at);
    assert_eq!(
        (&all[0]["before"], &all[0]["after"][0]["start"]),
        (&json!([null]), &json!("501"))
    );
    assert_eq!(all[2]["after"][0]["name"], "cosid:shop");
    assert_eq!(all[5]["before"][1]["name"], "idgo:key");
}

/// Where the trail cannot be written nothing is changed, and ids are still given out.
// claim: P74
#[test]
fn nothing_is_changed_that_the_trail_cannot_tell_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("mint.toml"), "[audit]\nfile = \"/dev/full\"\n").unwrap();
    let server = Start::in_folder(at).ready();
    // The first one is done before anybody knows; the log has its line.
    mint(at, &server, "", "seq create orders").ok();
    eventually("it is told", || {
        server.log().contains("the audit trail cannot be written")
    });
    assert!(
        server.log().contains("\\\"what\\\":\\\"create\\\"") || server.log().contains("\"what\":\"create\"")
    );
    let said = mint(at, &server, "", "seq create bills");
    assert!(
        said.code != 0 && said.err.contains("nothing is changed that it could not tell of"),
        "{said:?}"
    );
    assert_eq!(mint(at, &server, "", "seq next orders").ok(), "1\n");
    drop(server);
    fs::write(at.join("mint.toml"), "[audit]\nfile = \"nowhere/audit.jsonl\"\n").unwrap();
    let said = Start::in_folder(at).refused();
    assert!(
        said.err
            .contains("audit.file = nowhere/audit.jsonl: there is no folder nowhere"),
        "{said:?}"
    );
}

/// Where a line has to be on disk first, an act that could not be told of is not said to be done.
// claim: P74
#[test]
fn no_act_is_said_to_be_done_before_its_line_is_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(
        at.join("mint.toml"),
        "[audit]\nfile = \"/dev/full\"\nsync = true\n",
    )
    .unwrap();
    let server = Start::in_folder(at).ready();
    let said = mint(at, &server, "", "seq create orders");
    assert!(
        said.code != 0
            && said
                .err
                .contains("it was done, and the audit trail could not be written"),
        "{said:?}"
    );
    assert_eq!(mint(at, &server, "", "seq next orders").ok(), "1\n");
}
