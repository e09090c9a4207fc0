//! Rights by name, by face and by time: tokens in a file of their own, certificates and users as tokens, with stock
//! clients.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use mintage_e2e::cluster::eventually;
use mintage_e2e::console;
use mintage_e2e::engine::port;
use mintage_e2e::guard::ends_with_us;
use mintage_e2e::need;
use mintage_e2e::run::{self, Said, curl_as, mint_as, new_token};
use mintage_e2e::server::{NoPanic, Server, Start};
use mintage_testing::no_secret_in;
use mintage_testing::ways::{self, NAME, WAYS, Way, numbers};
use mintage_testing::wire::Wire;
use tempfile::TempDir;

use crate::histories::address;

/// A folder whose configuration names a file of tokens.
fn folder(more: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[auth]\ntoken_file = \"tokens.toml\"\n{more}");
    fs::write(folder.path().join("mint.toml"), text).unwrap();
    folder
}

fn mint(folder: &Path, words: &str) -> Said {
    run::mint(folder, words.split(' '))
}

/// What a request is answered, with its status behind.
fn curl(folder: &Path, token: &str, words: &str) -> Said {
    curl_as(folder, token, &format!("-w %{{http_code}} {words}"))
}

/// The same of a POST.
fn post(folder: &Path, server: &Server, token: &str, path: &str) -> String {
    curl(folder, token, &format!("-X POST http://{}{path}", server.http)).ok()
}

fn redis(server: &Server, token: &str, words: &str) -> String {
    redis_words(server, token, &words.split(' ').collect::<Vec<_>>())
}

fn redis_words(server: &Server, token: &str, words: &[&str]) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &server.resp.port().to_string()]).args(words);
    let said = Said::from(command.env("REDISCLI_AUTH", token).output().unwrap());
    said.out.trim().to_string()
}

// claim: P70
#[test]
fn a_token_is_good_for_its_names_on_every_face() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = folder("[faces.leaf]\nlisten = \"main\"\ncreate = true\n");
    let at = folder.path();
    let admin = new_token(at, "boss --may admin,allocate,read");
    let shop = new_token(
        at,
        "shop --may allocate:orders.*,allocate:leaf:orders.*,read:bills",
    );
    let reader = new_token(at, "dashboard --may read --faces http");
    let mode = fs::metadata(at.join("tokens.toml")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    let server = Start::in_folder(at).ready();
    let post = |token: &str, path: &str| post(at, &server, token, path);
    let get = |token: &str, path: &str| curl(at, token, &format!("http://{}{path}", server.http)).ok();
    // HTTP: its own names, one that it may look at, one that it may not, and everything.
    assert!(post(&shop, "/v1/sequences/orders.eu/next").ends_with("200"));
    let said = post(&shop, "/v1/sequences/bills/next");
    assert!(
        said.ends_with("403") && said.contains("token \\\"shop\\\" may not allocate \\\"bills\\\""),
        "{said}"
    );
    assert!(
        said.contains("it may allocate:orders.*, allocate:leaf:orders.*, read:bills"),
        "{said}"
    );
    assert!(post(&admin, "/v1/sequences/bills/next").ends_with("200"));
    assert!(get(&shop, "/v1/sequences/bills").ends_with("200"));
    assert!(post(&shop, "/v1/ids/uuid7").ends_with("200"), "an id has no name");
    assert!(
        post(&shop, "/v1/ids/snowflake").ends_with("403"),
        "a pool has one"
    );
    assert!(get(&shop, "/metrics").ends_with("403"));
    let listed = get(&shop, "/v1/sequences");
    assert!(
        listed.contains("orders.eu") && listed.contains("bills"),
        "{listed}"
    );
    post(&admin, "/v1/sequences/secret/next");
    no_secret_in("the list of shop", &get(&shop, "/v1/sequences"), "secret");
    assert!(get(&admin, "/v1/sequences").contains("secret"));
    // The Redis protocol.
    assert_eq!(redis(&server, &shop, "INCR orders.eu"), "2");
    assert!(
        redis(&server, &shop, "INCR bills")
            .starts_with("NOPERM this user has no permissions to access one of")
    );
    assert_eq!(redis(&server, &shop, "GET bills"), "1");
    assert!(redis(&server, &shop, "MGET bills secret").starts_with("NOPERM"));
    assert!(
        redis(&server, &shop, "SET orders.eu 100").starts_with("NOPERM this user has no permissions to run")
    );
    assert!(redis(&server, &shop, "MINT.SNOWFLAKE default").starts_with("NOPERM"));
    assert_eq!(redis(&server, &shop, "KEYS *"), "bills\norders.eu");
    no_secret_in("the list of shop", &redis(&server, &shop, "SCAN 0"), "secret");
    let script = "return redis.call('INCR', KEYS[1])";
    let of_script = |name: &str| redis_words(&server, &shop, &["EVAL", script, "1", name]);
    assert_eq!(of_script("orders.eu"), "3");
    assert!(of_script("bills").starts_with("NOPERM"));
    // A face of another system, on the same port: its keys have their own prefix.
    let segment = |token: &str, key: &str| get(token, &format!("/api/segment/get/{key}"));
    assert_eq!(segment(&shop, "orders.eu"), "1200");
    assert!(!segment(&shop, "bills").ends_with("200"));
    assert!(get(&shop, "/cache").ends_with("403"), "it lists every key");
    // One that is for HTTP alone.
    assert!(get(&reader, "/v1/sequences/secret").ends_with("200"));
    assert!(redis(&server, &reader, "GET secret").starts_with("NOPERM"));
    assert!(post(&reader, "/v1/sequences/secret/next").ends_with("403"));
    // What became of them.
    eventually("uses are noted", || {
        let said = mint_as(at, &admin, &format!("status --server http://{}", server.http)).out;
        said.contains("shop: used ") && said.contains("dashboard: used ")
    });
    let said = mint_as(
        at,
        &admin,
        &format!("status --json --server http://{}", server.http),
    )
    .out;
    let status: serde_json::Value = serde_json::from_str(&said).unwrap();
    let of_shop = status["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["name"] == "shop")
        .unwrap();
    assert!(of_shop["refused"].as_u64().unwrap() >= 5, "{status}");
    for secret in [&admin, &shop, &reader] {
        no_secret_in("the log", &server.log(), secret);
    }
}

/// Connections of every face that takes numbers, opened with a token and served, are refused once it is gone from its file.
// claim: P71
#[test]
fn a_token_that_is_gone_is_refused_on_open_connections_of_every_face() {
    let folder = folder(ways::SETTINGS);
    let at = folder.path();
    let token = new_token(at, "web --may admin,allocate,read");
    // MySQL's clients show a digest of a token, which those of PostgreSQL would then be asked for, too.
    let of_sql = new_token(at, "sql --may allocate --sql");
    let server = Start::in_folder(at).args(ways::flags()).ready();
    let connect = |way: &Way| {
        let token = if way.0 == "mysql" { &of_sql } else { &token };
        let wire = Wire::connect_as(way.0, address(&server, way.0), token);
        (*way, wire.unwrap_or_else(|error| panic!("{}: {error}", way.0)))
    };
    // tinyid's show it in the path.
    let request = |way: &Way| way.1.replace("token=t", &format!("token={token}"));
    let mut wires: Vec<(Way, Wire)> = WAYS.iter().map(connect).collect();
    let made = wires[0]
        .1
        .ask(&[format!("PUT /v1/sequences/{NAME} {{}}")])
        .unwrap();
    assert!(!made[0].starts_with('-'), "{made:?}");
    for (way, wire) in &mut wires {
        let answer = wire.ask(&[request(way)]).unwrap().remove(0);
        assert!(numbers(way, &answer).is_some(), "{way:?}: {answer}");
    }
    for name in ["web", "sql"] {
        let said = mint(at, &format!("token revoke {name}")).ok();
        assert_eq!(said, format!("revoked: 1 of {name}\n"));
    }
    // Answered with a refusal, or closed.
    let is_served = |way: &Way, wire: &mut Wire| match wire.ask(&[request(way)]) {
        Ok(answers) => numbers(way, &answers[0]).is_some(),
        Err(_) => false,
    };
    eventually("nobody is served", || {
        wires.retain_mut(|(way, wire)| is_served(way, wire));
        wires.is_empty()
    });
}

/// One token takes over from the other, the last one is revoked, and a file that cannot be used changes nothing.
// claim: P71
#[test]
fn a_token_is_rotated_and_revoked_while_the_server_runs() {
    if !need::curl() {
        return;
    }
    let folder = folder("");
    let at = folder.path();
    fs::write(at.join("tokens.toml"), "# Ours.\ntokens = []\n").unwrap();
    fs::set_permissions(at.join("tokens.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let server = Start::in_folder(at).ready();
    let next = |token: &str| post(at, &server, token, "/v1/sequences/orders/next");
    assert!(next("").ends_with("401"), "a file without tokens lets nobody in");
    let old = new_token(at, "web --days 1");
    eventually("it is known", || next(&old).ends_with("200"));
    let new = new_token(at, "web");
    eventually("both are", || {
        next(&new).ends_with("200") && next(&old).ends_with("200")
    });
    let text = fs::read_to_string(at.join("tokens.toml")).unwrap();
    assert!(
        text.starts_with("# Ours.\n") && text.contains("until = 2"),
        "{text}"
    );
    assert_eq!(mint(at, "token list").ok().lines().count(), 2);
    let check = |token: &str, words: &str| mint_as(at, token, &format!("token check {words}"));
    assert_eq!(
        check(&old, "--name orders").ok(),
        "token web may allocate orders\n"
    );
    assert_eq!(check(&old, "--may admin").code, 1);
    assert_eq!(check("guess", "").code, 1);
    let first = mint(at, "token list").ok();
    let digest = first
        .split_whitespace()
        .nth(2)
        .unwrap()
        .trim_end_matches('…')
        .to_string();
    assert_eq!(
        mint(at, &format!("token revoke web --sha256 {digest}")).ok(),
        "revoked: 1 of web\n"
    );
    eventually("the old one is gone", || next(&old).ends_with("401"));
    assert!(next(&new).ends_with("200"));
    // Half an edit, and one that anybody could have made.
    let good = fs::read_to_string(at.join("tokens.toml")).unwrap();
    let replace = |text: &str| {
        // In one step: half a file is another one.
        fs::write(at.join("tokens.new"), text).unwrap();
        fs::set_permissions(at.join("tokens.new"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(at.join("tokens.new"), at.join("tokens.toml")).unwrap();
    };
    replace("tokens = [{ name = \"web\", may = [\"all\"] }]");
    eventually("it is told", || {
        server.log().contains("the tokens cannot be used")
    });
    assert!(next(&new).ends_with("200"));
    replace(&good);
    assert_eq!(mint(at, "token revoke web").ok(), "revoked: 1 of web\n");
    eventually("nobody is let in", || next(&new).ends_with("401"));
    assert!(next("").ends_with("401"));
    let said = mint(at, "token revoke web");
    assert!(
        said.code != 0 && said.err.contains("has no such token"),
        "{said:?}"
    );
    drop(server);
    fs::set_permissions(at.join("tokens.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    let said = mint(at, "serve --http 127.0.0.1:0 --resp 127.0.0.1:0");
    assert!(
        said.code != 0 && said.err.contains("others can write to it"),
        "{said:?}"
    );
    for (words, why) in [
        ("a --may take", "is no right"),
        ("a --may read:[x", "never closed"),
        ("a --uid 5 --certificate b", "cannot be used with"),
    ] {
        let said = mint(at, &format!("token new {words}"));
        assert!(said.code == 2 && said.err.contains(why), "{words}: {said:?}");
    }
}

/// What README says of other machines, command after command, on other ports.
#[test]
fn the_commands_for_other_machines_run_as_they_stand() {
    let (Some(python), true) = (need::grpcio(), need::curl() && need::redis()) else {
        return;
    };
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let text = fs::read_to_string(readme).unwrap();
    let (_, section) = text
        .split_once("## On other machines")
        .expect("README has that section");
    let mut blocks = section
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    let (server, clients) = (blocks.next().unwrap(), blocks.next().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let ports = [7600, 7601].map(|usual| (usual, port::free().port()));
    let script = |text: &str| {
        let text = console::to_machine(text, &ports)
            .replace(
                "PYTHONPATH=proto",
                concat!("PYTHONPATH=", env!("CARGO_MANIFEST_DIR"), "/../proto"),
            )
            .replace("python3", &python.display().to_string())
            .replace("mint serve", "exec mint serve");
        let mut command = Command::new("sh");
        run::isolate(&mut command);
        let path = mintage_e2e::binary::mint()
            .parent()
            .unwrap()
            .display()
            .to_string();
        let path = format!("{path}:{}", std::env::var("PATH").unwrap_or_default());
        run::at_home(&mut command, folder.path())
            .args(["-ec", &text])
            .env("PATH", path);
        command
    };
    let log = folder.path().join("mint.log");
    let mut serving = script(server)
        .stdout(std::process::Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    ends_with_us(&serving, "KILL");
    let _no_panic = NoPanic::after_now_in(&log);
    let mut said = None;
    eventually("its clients are answered", || {
        let answered = Said::from(script(clients).output().unwrap());
        let is_good = answered.code == 0;
        said = Some(answered);
        is_good
    });
    serving.kill().unwrap();
    serving.wait().unwrap();
    let out = said.unwrap().out;
    assert!(
        out.starts_with("{\"ids\":[\"") && out.lines().count() == 3,
        "{out}"
    );
}

/// Whoever shows a certificate, or comes as a user of the machine, needs no token.
#[test]
fn certificates_and_users_have_rights_by_their_names() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = folder(
        "[server.tls]\ncert = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"\nclient_auth = \"optional\"\n",
    );
    let at = folder.path();
    mint(
        at,
        "cert new --ca --server localhost,127.0.0.1 --client shop.internal --client other.internal",
    )
    .ok();
    mint(
        at,
        "token new shop --certificate shop.internal --may allocate:orders.* --file tokens.toml",
    )
    .ok();
    let uid = fs::metadata(at).unwrap().uid();
    mint(
        at,
        &format!("token new me --uid {uid} --may read --file tokens.toml"),
    )
    .ok();
    let words = "--http tls:127.0.0.1:0,unix:mint.sock --resp tls:127.0.0.1:0";
    let server = Start::bare(at, words).ready();
    let url = format!("https://localhost:{}/v1/sequences", server.http.port());
    let with = |name: &str, words: &str| {
        let shown = format!("--cacert ca.pem --cert {name}.pem --key {name}.key {words}");
        curl(at, "", &shown).ok()
    };
    assert!(with("shop.internal", &format!("-X POST {url}/orders.eu/next")).ends_with("200"));
    assert!(with("shop.internal", &format!("-X POST {url}/bills/next")).ends_with("403"));
    assert!(with("other.internal", &format!("-X POST {url}/orders.eu/next")).ends_with("401"));
    let words = format!("--cacert ca.pem -X POST {url}/orders.eu/next");
    assert!(
        curl(at, "", &words).ok().ends_with("401"),
        "without a certificate"
    );
    let redis = |name: &str, words: &str| {
        let port = server.resp.port();
        let all = format!("-p {port} --tls --cacert ca.pem --cert {name}.pem --key {name}.key {words}");
        let output = Command::new("redis-cli")
            .args(all.split(' '))
            .current_dir(at)
            .output();
        Said::from(output.unwrap()).out.trim().to_string()
    };
    assert_eq!(redis("shop.internal", "INCR orders.eu"), "2");
    assert!(redis("shop.internal", "INCR bills").starts_with("NOPERM"));
    assert!(redis("other.internal", "INCR orders.eu").starts_with("NOAUTH"));
    let unix = "--unix-socket mint.sock http://localhost/v1/sequences";
    assert!(curl(at, "", unix).ok().ends_with("200"));
    assert!(
        curl(at, "", &format!("-X POST {unix}/orders.eu/next"))
            .ok()
            .ends_with("403")
    );
}

/// A file of tokens is never written so that no server would take it; one that was spoilt by hand is told of.
#[test]
fn a_file_of_tokens_stays_one_that_servers_take() {
    let folder = folder("");
    let at = folder.path();
    // Without --file it is the one of the configuration.
    mint(at, "token new web --may allocate").ok();
    mint(at, "token new caller --may allocate --faces grpc").ok();
    let text = || fs::read_to_string(at.join("tokens.toml")).unwrap();
    let before = text();
    mint(at, "token new oops --faces htp").fails(
        2,
        "there is no face \"htp\": there are http, resp, grpc",
        "",
    );
    mint(at, "token new one --uid 7").ok();
    mint(at, "token new two --uid 7").fails(2, "the same token is listed twice", "nothing was written");
    assert!(text().starts_with(before.trim_end_matches("]\n")) && !text().contains("two"));
    assert!(mint(at, "serve --check").ok().contains("could start"));
    // A link to it stays one.
    std::os::unix::fs::symlink("tokens.toml", at.join("link.toml")).unwrap();
    mint(at, "token new linked --file link.toml").ok();
    assert!(text().contains("linked") && fs::symlink_metadata(at.join("link.toml")).unwrap().is_symlink());
    let mut revoke = run::command("token revoke web --sha256".split(' '));
    let said: Said = revoke.arg("").current_dir(at).output().unwrap().into();
    assert!(said.code == 2 && text().contains("web"), "{said:?}");
    mint(at, "token revoke web --file nowhere.toml").fails(3, "nowhere.toml: there is no such file", "");
    fs::write(at.join("tokens.toml"), text().replace("[\"grpc\"]", "[\"grcp\"]")).unwrap();
    let said = mint(at, "token revoke web");
    assert!(
        said.code != 0 && said.out == "revoked: 1 of web\n" && said.err.contains("there is no face \"grcp\""),
        "{said:?}"
    );
}

/// A file that is empty for a moment, as whoever writes it anew leaves it, was a good one of no tokens: every open connection
/// was logged out, and stayed so.
#[test]
fn a_file_of_tokens_that_is_empty_for_a_moment_logs_nobody_out() {
    if !need::redis() {
        return;
    }
    let folder = folder("");
    let at = folder.path();
    let token = new_token(at, "web --may allocate,read");
    let server = Start::bare(at, "--http 127.0.0.1:0 --resp 127.0.0.1:0").ready();
    let file = at.join("tokens.toml");
    let whole = fs::read_to_string(&file).unwrap();
    let mut open = TcpStream::connect(server.resp).unwrap();
    let mut ask = |words: &str| {
        open.write_all(format!("{words}\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n") {
            let mut byte = [0];
            open.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        String::from_utf8(answer).unwrap().trim().to_string()
    };
    assert_eq!(ask(&format!("AUTH {token}")), "+OK");
    let told = || server.log().matches("the tokens cannot be used").count();
    for (round, text) in ["", "# tokens of production\n", "tokens = [\n"]
        .into_iter()
        .enumerate()
    {
        fs::write(&file, text).unwrap();
        eventually("it is told", || told() > round);
        assert_eq!(ask("INCR a"), format!(":{}", 2 * round + 1), "{text:?}");
        let read_again = || server.log().matches("the tokens were read again").count();
        let before = read_again();
        fs::write(&file, &whole).unwrap();
        eventually("it is read", || read_again() > before);
        assert_eq!(ask("INCR a"), format!(":{}", 2 * round + 2), "{text:?}");
    }
    // In words there are none: then it is so, until they come back.
    fs::write(&file, "tokens = []\n").unwrap();
    eventually("nobody may", || ask("INCR b").starts_with("-NOAUTH"));
    fs::write(&file, &whole).unwrap();
    eventually("the same token is back", || ask("INCR b").starts_with(':'));
    // Whoever owns the file lets in whom he likes.
    if rustix::process::geteuid().is_root() {
        let before = told();
        std::os::unix::fs::chown(&file, Some(4711), None).unwrap();
        eventually("it is told", || told() > before);
        assert!(server.log().contains("it belongs to user 4711"));
        let elsewhere = tempfile::tempdir().unwrap();
        let other = new_token(elsewhere.path(), "other --may admin");
        fs::write(
            &file,
            fs::read_to_string(elsewhere.path().join("tokens.toml")).unwrap(),
        )
        .unwrap();
        eventually("it is told again", || told() > before + 1);
        assert_ne!(redis(&server, &other, "SET a 9"), "OK");
        assert!(ask("INCR b").starts_with(':'));
        mint(at, "serve --check").fails(2, "it belongs to user 4711", "");
    }
}
