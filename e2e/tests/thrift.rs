//! The face of Twitter's Snowflake, over Thrift: its bytes, and stock clients.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::store_suite::Engine;
use mintage_e2e::{binary, need, run, server::Server, server::Start};
use mintage_testing::{distinct, rising};

/// A server with this face, at any port.
fn start(folder: &Path) -> Start {
    Start::in_folder(folder).args(["--face", "thrift=127.0.0.1:0"])
}

fn address(server: &Server) -> SocketAddr {
    server.ready["faces"]["thrift"][0]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

fn metrics_of(server: &Server) -> String {
    String::from_utf8(server.http("GET", "/metrics", "").body).unwrap()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(address(server)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The four forms of `name(arguments)`, and what an answer of this type begins with in each.
fn forms(name: &str, kind: u8, number: u8, fields: &[u8]) -> [Vec<u8>; 4] {
    let length = (name.len() as u32).to_be_bytes();
    let strict = [
        &[0x80, 1, 0, kind],
        &length[..],
        name.as_bytes(),
        &[0, 0, 0, number],
        fields,
    ]
    .concat();
    let old = [&length[..], name.as_bytes(), &[kind], &[0, 0, 0, number], fields].concat();
    let framed = |body: &[u8]| [&(body.len() as u32).to_be_bytes(), body].concat();
    [framed(&strict), framed(&old), strict, old]
}

const CALL: u8 = 1;
const REPLY: u8 = 2;
const EXCEPTION: u8 = 3;
const ONEWAY: u8 = 4;
const WEB_1: &[u8] = b"\x0b\0\x01\0\0\0\x05web-1\0";

fn get_id(number: u8) -> [Vec<u8>; 4] {
    forms("get_id", CALL, number, WEB_1)
}

/// The fields of an exception.
fn refused(kind: u8, text: &str) -> Vec<u8> {
    let length = (text.len() as u32).to_be_bytes();
    [
        b"\x0b\0\x01",
        &length[..],
        text.as_bytes(),
        b"\x08\0\x02\0\0\0",
        &[kind],
        b"\0",
    ]
    .concat()
}

/// Reads an answer with a number, which must have this form but for the number.
#[track_caller]
fn read_number(stream: &mut TcpStream, expected: &[u8]) -> u64 {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    let at = got.len() - 9;
    let number = u64::from_be_bytes(got[at..at + 8].try_into().unwrap());
    got[at..at + 8].fill(0);
    assert_eq!(got, expected);
    number
}

#[track_caller]
fn read_bytes(stream: &mut TcpStream, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(
        got.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
}

#[track_caller]
fn is_closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    // A close with bytes on their way resets.
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest.escape_ascii().to_string(), "");
}

const NUMBER: &[u8] = b"\x0a\0\0\0\0\0\0\0\0\0\0\0";

#[test]
fn every_form_is_answered_in_kind_whole_in_bytes_and_pipelined() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).ready();
    let mut stream = connect(&server);
    let mut ids = Vec::new();
    let replies = forms("get_id", REPLY, 7, NUMBER);
    // The forms may change from call to call.
    for (call, reply) in get_id(7).iter().zip(&replies) {
        stream.write_all(call).unwrap();
        ids.push(read_number(&mut stream, reply));
        for byte in call {
            stream.write_all(&[*byte]).unwrap();
        }
        ids.push(read_number(&mut stream, reply));
    }
    let many: Vec<u8> = (0..250).flat_map(|n| get_id(n).concat()).collect();
    stream.write_all(&many).unwrap();
    for number in 0..250 {
        for reply in forms("get_id", REPLY, number, NUMBER) {
            ids.push(read_number(&mut stream, &reply));
        }
    }
    rising("ids", &ids);
    // The parts of the worker are those of the ids.
    let mut parts = Vec::new();
    for name in ["get_datacenter_id", "get_worker_id", "get_timestamp"] {
        let call = &forms(name, CALL, 1, b"\0")[0];
        stream.write_all(call).unwrap();
        parts.push(read_number(&mut stream, &forms(name, REPLY, 1, NUMBER)[0]));
    }
    for id in &ids {
        assert_eq!((id >> 17 & 31, id >> 12 & 31), (parts[0], parts[1]));
    }
    let last_ms = (ids[ids.len() - 1] >> 22) + 1_288_834_974_657;
    assert!(parts[2].abs_diff(last_ms) < 10_000, "{parts:?} {last_ms}");
    let metrics = metrics_of(&server);
    for line in [
        "mint_thrift_agents_total{agent=\"web-1\"} 1008\n",
        "mint_face_requests_total{face=\"thrift\",answer=\"ok\"} 1011\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert_eq!(server.stop(), 0);
}

#[test]
fn every_refusal_is_an_exception_and_the_connection_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).ready();
    let mut stream = connect(&server);
    let agent = "useragent must begin with a letter and go on with letters, digits and -";
    let text = |text: &str| {
        [
            b"\x0b\0\x01",
            &(text.len() as u32).to_be_bytes()[..],
            text.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let long = text(&"a".repeat(257));
    let deep = [b"\x0c\0\x02".repeat(17), vec![0; 18]].concat();
    for (name, arguments, kind, why) in [
        ("get_id", text("1asdf"), 6, agent),
        ("get_id", text(""), 6, agent),
        ("get_id", long, 6, "useragent has at most 256 bytes; found 257"),
        (
            "get_id",
            b"\0".to_vec(),
            7,
            "get_id needs field 1, useragent, a string; there is none",
        ),
        (
            "get_id",
            b"\x08\0\x01\0\0\0\x01\0".to_vec(),
            7,
            "field 1 of get_id, useragent, is a string, type 11; found type 8",
        ),
        ("get_shard", b"\0".to_vec(), 1, "Invalid method name: 'get_shard'"),
        (
            "__can__finagle__trace__v3__",
            b"\0".to_vec(),
            1,
            "Invalid method name: '__can__finagle__trace__v3__'",
        ),
    ] {
        let calls = forms(name, CALL, 9, &arguments);
        let refusals = forms(name, EXCEPTION, 9, &refused(kind, why));
        for (call, refusal) in calls.iter().zip(&refusals) {
            stream.write_all(call).unwrap();
            read_bytes(&mut stream, refusal);
        }
    }
    // Where a frame says where the next call begins, what is wrong within it costs that call alone.
    for (arguments, why) in [
        (
            &b"\x0b\0\x01\0\0\0\x09web-1\0"[..],
            "the frame ends before its message does",
        ),
        (
            b"\x0b\0\x01\0\0\0\x05web-1\0xy",
            "2 bytes follow the message in its frame",
        ),
        (b"\x0b\0\x01\xff\xff\xff\xffweb-1\0", "a length of -1 is below 0"),
        (b"\x07\0\x01\0", "7 is not a type of the binary protocol"),
        (&deep, "a value is nested in more than 16 others"),
    ] {
        for at in 0..2 {
            stream
                .write_all(&forms("get_id", CALL, 9, arguments)[at])
                .unwrap();
            read_bytes(&mut stream, &forms("get_id", EXCEPTION, 9, &refused(7, why))[at]);
        }
    }
    for (call, refusal) in forms("get_id", REPLY, 9, WEB_1).iter().zip(forms(
        "get_id",
        EXCEPTION,
        9,
        &refused(2, "message type 2 is neither 1, a call, nor 4, oneway"),
    )) {
        stream.write_all(call).unwrap();
        read_bytes(&mut stream, &refusal);
    }
    // Nobody waits for these: the next answer is the next call's.
    for call in forms("get_id", ONEWAY, 3, WEB_1)
        .iter()
        .chain(&forms("nothing", ONEWAY, 3, b"\0"))
    {
        stream.write_all(call).unwrap();
    }
    stream.write_all(&get_id(4)[0]).unwrap();
    read_number(&mut stream, &forms("get_id", REPLY, 4, NUMBER)[0]);
    let metrics = metrics_of(&server);
    assert!(
        metrics.contains("mint_thrift_agents_total{agent=\"web-1\"} 1\n"),
        "{metrics}"
    );
    for line in [
        "mint_face_requests_total{face=\"thrift\",answer=\"invalid_argument\"} 20\n",
        "mint_face_requests_total{face=\"thrift\",answer=\"protocol_error\"} 14\n",
        "mint_face_requests_total{face=\"thrift\",answer=\"unknown_command\"} 12\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn what_cannot_be_read_on_is_refused_and_the_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).ready();
    let ends = "; the connection ends, since it is not known where the next call begins";
    let big = [b"\x0b\0\x01\0\x01\0\0", &[b'a'; 65_536][..], b"\0"].concat();
    let big_form = |at| forms("get_id", CALL, 9, &big)[at as usize].clone();
    for (at, call, why) in [
        (0, big_form(0), "a message has at most 65536 bytes"),
        (1, big_form(1), "a message has at most 65536 bytes"),
        (2, big_form(2), "a message has at most 65536 bytes"),
        (3, big_form(3), "a message has at most 65536 bytes"),
        (
            2,
            forms("get_id", CALL, 9, b"\x07\0\x01")[2].clone(),
            "7 is not a type of the binary protocol",
        ),
    ] {
        let mut stream = connect(&server);
        // The server may have closed before all of it is sent.
        let _ = stream.write_all(&call);
        let answer = forms("get_id", EXCEPTION, 9, &refused(7, &format!("{why}{ends}")));
        read_bytes(&mut stream, &answer[at]);
        is_closed(&mut stream);
    }
    // Other protocols, and what could be any: not an answer, and one line for all of them.
    for foreign in [
        &b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..],
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n",
        b"\x82\x21\x01\x06get_id\x18\x05web-1\0",
        b"\0\0\0\x11\x82\x21\x01\x06get_id\x18\x05web-1\0",
        b"*1\r\n$4\r\nPING\r\n",
        b"\0\0\0\x05\x80\x01\0\x01\0",
        b"\0\0\0\0\0\0",
    ] {
        let mut stream = connect(&server);
        stream.write_all(foreign).unwrap();
        is_closed(&mut stream);
        // What was asked before it is answered.
        let mut stream = connect(&server);
        stream.write_all(&[&get_id(1)[0], foreign].concat()).unwrap();
        read_number(&mut stream, &forms("get_id", REPLY, 1, NUMBER)[0]);
        is_closed(&mut stream);
    }
    // TLS is answered in its own way, as on every face, and the connection ends.
    let mut stream = connect(&server);
    stream
        .write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        .unwrap();
    read_bytes(&mut stream, b"\x15\x03\x03\0\x02\x02\x0a");
    is_closed(&mut stream);
    let log = server.log();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("bytes of another protocol"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("GET / HTTP"), "{log}");
    // A call whose rest never comes holds nobody up, not even the end of the server.
    let mut half = connect(&server);
    half.write_all(&get_id(1)[0][..20]).unwrap();
    assert_eq!(server.stop(), 0);
    is_closed(&mut half);
}

#[test]
fn where_tokens_are_needed_the_face_is_used_when_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let digest = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
    let tokens = format!("MINT_AUTH__TOKENS=[{{name=\"web\",sha256=\"{digest}\",may=[\"allocate\"]}}]");
    let closed = start(folder.path()).under(["env", &tokens]).ready();
    let mut stream = connect(&closed);
    let _ = stream.write_all(&get_id(1)[0]);
    is_closed(&mut stream);
    assert!(closed.log().contains("set faces.thrift.auth"), "{}", closed.log());
    assert_eq!(closed.stop(), 0);
    let open = start(folder.path())
        .under(["env", &tokens, "MINT_FACES__THRIFT__AUTH=open"])
        .ready();
    let mut stream = connect(&open);
    stream.write_all(&get_id(1)[0]).unwrap();
    read_number(&mut stream, &forms("get_id", REPLY, 1, NUMBER)[0]);
}

#[test]
fn stock_thriftpy2_works_with_every_transport_and_header() {
    let Some(python) = need::thriftpy2() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).ready();
    let mut command = Command::new(python);
    command
        .arg(binary::root().join("e2e/clients/thriftpy2_client.py"))
        .args([&address(&server).port().to_string(), "check"]);
    check_client(&mut command);
}

/// Runs a program that must say that all was well.
#[track_caller]
fn check_client(command: &mut Command) {
    let said: run::Said = command.output().unwrap().into();
    let out = said.ok();
    assert!(out.contains(" ok"), "{out}");
    need::say(out.trim_end());
}

#[test]
#[ignore = "minutes: the clients beyond one, and the compilers of two languages"]
fn apaches_clients_in_python_node_and_java_work_with_every_transport_and_header() {
    let Some(apache) = need::apache_thrift() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).ready();
    let port = address(&server).port().to_string();
    let clients = binary::root().join("e2e/clients");
    let made = |generator: &str| {
        let mut command = Command::new("thrift");
        command.args(["--gen", generator, "-o"]).arg(folder.path());
        let said: run::Said = command
            .arg(clients.join("snowflake.thrift"))
            .output()
            .unwrap()
            .into();
        said.ok();
        let language = generator.split(':').next().unwrap().replace("js", "nodejs");
        folder.path().join(format!("gen-{language}"))
    };
    let python = made("py");
    check_client(
        Command::new(&apache.python)
            .arg(clients.join("apache_thrift_client.py"))
            .arg(&port)
            .arg(python),
    );
    let node = made("js:node,es6");
    check_client(
        Command::new("node")
            .env("NODE_PATH", &apache.modules)
            .arg(clients.join("thrift_node.cjs"))
            .arg(&port)
            .arg(node),
    );
    let java = made("java:generated_annotations=suppress");
    let compiled: run::Said = Command::new("javac")
        .args(["-nowarn", "-cp", &apache.classpath, "-d"])
        .arg(&java)
        .args(["Newer.java", "Snowflake.java"].map(|file| java.join(file)))
        .arg(clients.join("SnowflakeClient.java"))
        .output()
        .unwrap()
        .into();
    assert_eq!(compiled.code, 0, "{compiled:?}");
    check_client(
        Command::new("java")
            .args(["-cp", &format!("{}:{}", apache.classpath, java.display())])
            .args(["SnowflakeClient", &port]),
    );
}

/// A stock client that prints ids as it gets them, over every loss of its server.
struct Minting {
    child: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Minting {
    fn begin(python: &Path, port: u16, count: usize) -> Minting {
        let mut child = Command::new(python)
            .arg(binary::root().join("e2e/clients/thriftpy2_client.py"))
            .args([&port.to_string(), "mint", &count.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Minting { child, lines }
    }

    /// The next id.
    #[track_caller]
    fn next(&mut self) -> u64 {
        self.lines.next().unwrap().unwrap().parse().unwrap()
    }

    /// The ids still to come, and how often it had lost its server.
    #[track_caller]
    fn rest(mut self) -> (Vec<u64>, u64) {
        let lines: Vec<String> = self.lines.map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success());
        let (lost, ids) = lines.split_last().unwrap();
        let lost = lost.strip_prefix("lost ").unwrap().parse().unwrap();
        (ids.iter().map(|id| id.parse().unwrap()).collect(), lost)
    }
}

/// Each id once, and of the time at which it was made.
#[track_caller]
fn check_ids(ids: &[u64]) {
    distinct("ids", ids);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    for id in ids {
        let made = (id >> 22) + 1_288_834_974_657;
        assert!(now.abs_diff(made) < 600_000, "{id} is of {made}");
    }
}

#[test]
fn a_stock_client_gets_no_id_twice_over_a_kill_of_the_server() {
    let Some(python) = need::thriftpy2() else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = mintage_e2e::engine::port::free();
    let again = Start::in_folder(folder.path()).args(["--face", &format!("thrift={place}")]);
    let mut server = again.ready();
    // A pipe holds some three thousand ids that we have not read: the client is never further ahead.
    let mut client = Minting::begin(&python, place.port(), 12_000);
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.extend((0..1000).map(|_| client.next()));
        server.kill();
        server = again.ready();
    }
    let (rest, lost) = client.rest();
    ids.extend(rest);
    assert!(
        ids.len() == 12_000 && lost >= 2,
        "{} ids, lost {lost} times",
        ids.len()
    );
    check_ids(&ids);
    drop(server);
}

#[test]
fn two_servers_on_one_store_give_a_stock_client_no_id_twice() {
    let Some(python) = need::thriftpy2() else { return };
    let Some(engine) = Redis::run() else { return };
    let url = engine.url(engine.address());
    let folder = tempfile::tempdir().unwrap();
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let servers = ["one", "two"].map(|name| {
        let own = folder.path().join(name);
        std::fs::create_dir(&own).unwrap();
        start(&own).args(["--store", &url]).ready()
    });
    let clients: Vec<Minting> = servers
        .iter()
        .flat_map(|server| [(); 2].map(|()| Minting::begin(&python, address(server).port(), 1000)))
        .collect();
    let ids: Vec<u64> = clients.into_iter().flat_map(|client| client.rest().0).collect();
    assert_eq!(ids.len(), 4000);
    check_ids(&ids);
    let workers: BTreeSet<u64> = ids.iter().map(|id| id >> 12 & 1023).collect();
    assert_eq!(workers.len(), 2, "each server has a worker of its own");
}

/// A client that reads nothing waits for itself: nobody else does, and it gets all its answers in the end.
#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    // Twice as many bytes come back, more than the sockets' buffers hold.
    const CALLS: usize = 30_000;
    let name = "n".repeat(256);
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).ready();
    let mut greedy = connect(&server);
    let mut sending = greedy.try_clone().unwrap();
    let many = forms(&name, CALL, 1, b"\0")[0].repeat(1000);
    let sender = std::thread::spawn(move || {
        for _ in 0..CALLS / 1000 {
            sending.write_all(&many).unwrap();
        }
    });
    let mut other = connect(&server);
    eventually("the answers stay unread", || {
        ask(&mut other, "get_id", WEB_1).unwrap();
        let metrics = metrics_of(&server);
        let unread = metrics
            .lines()
            .find_map(|line| line.strip_prefix("mint_unread_bytes "));
        let unread: u64 = unread.unwrap().parse().unwrap();
        assert!(unread < 2_000_000, "{unread}");
        unread > 0
    });
    let answer = &forms(
        &name,
        EXCEPTION,
        1,
        &refused(1, &format!("Invalid method name: '{name}'")),
    )[0];
    for _ in 0..CALLS {
        read_bytes(&mut greedy, answer);
    }
    sender.join().unwrap();
}

/// The number of a reply, or the text of an exception of type 6, to a call in the first form.
#[track_caller]
fn ask(stream: &mut TcpStream, name: &str, arguments: &[u8]) -> Result<u64, String> {
    stream.write_all(&forms(name, CALL, 1, arguments)[0]).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).unwrap();
    if answer[3] == REPLY {
        let at = answer.len() - 9;
        return Ok(u64::from_be_bytes(answer[at..at + 8].try_into().unwrap()));
    }
    // Between the header, the field's type, number and length, and the kind.
    let text = String::from_utf8(answer[12 + name.len() + 7..answer.len() - 8].to_vec()).unwrap();
    let expected = &forms(name, EXCEPTION, 1, &refused(6, &text))[0];
    assert_eq!(answer, expected[4..], "{text}");
    Err(text)
}

/// The first id of a server whose store may be slow for a moment.
#[track_caller]
fn first(stream: &mut TcpStream) -> u64 {
    let mut first = None;
    eventually("it has a window", || {
        first = ask(stream, "get_id", WEB_1).ok();
        first.is_some()
    });
    first.unwrap()
}

/// The number in such a text.
fn number_in(text: &str, begins: &str, ends: &str) -> Option<u64> {
    text.strip_prefix(begins)?.strip_suffix(ends)?.parse().ok()
}

#[test]
fn while_the_store_is_away_calls_are_refused_and_their_connection_outlasts_it() {
    let Some(mut engine) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let server = start(folder.path())
        .under(["env", "MINT_POOLS__WINDOW=1s"])
        .args(["--store", &url])
        .ready();
    let mut stream = connect(&server);
    let mut last = first(&mut stream);
    engine.freeze();
    let mut refusal = None;
    eventually("the window has ended", || {
        match ask(&mut stream, "get_id", WEB_1) {
            Ok(id) => rising("ids", [std::mem::replace(&mut last, id), id]),
            Err(text) => refusal = Some(text),
        }
        refusal.is_some()
    });
    let text = refusal.unwrap();
    let retry_s = number_in(&text, "not available right now, retry in ", " s");
    assert!(retry_s.is_some_and(|seconds| seconds > 0), "{text}");
    // What needs no store is answered.
    assert!(ask(&mut stream, "get_timestamp", b"\0").is_ok());
    engine.thaw();
    eventually("ids come again on the same connection", || {
        ask(&mut stream, "get_id", WEB_1).is_ok_and(|id| id > last)
    });
    let metrics = metrics_of(&server);
    assert!(
        metrics.contains("mint_face_requests_total{face=\"thrift\",answer=\"unavailable\"} "),
        "{metrics}"
    );
}

#[test]
fn a_clock_that_goes_back_is_told_in_the_originals_words() {
    let Some(faketime) = need::faketime() else { return };
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    let turn = |to: &str| {
        let beside = clock.with_extension("new");
        std::fs::write(&beside, format!("{to}\n")).unwrap();
        std::fs::rename(beside, &clock).unwrap();
    };
    turn("+0");
    // A pool that is there is taken as it is.
    let before = Start::in_folder(folder.path()).ready();
    let pool = r#"{"preset": "twitter", "clock_policy": "error"}"#;
    assert_eq!(before.http("PUT", "/v1/pools/twitter", pool).status, 201);
    assert_eq!(before.stop(), 0);
    let server = start(folder.path())
        .under(["env", "MINT_CLOCK__CONFIRM=1m"])
        .under(faketime.environment(&clock))
        .ready();
    let mut stream = connect(&server);
    let mut last = ask(&mut stream, "get_id", WEB_1).unwrap();
    turn("-20s");
    let mut refusal = None;
    eventually("the clock is seen to have gone back", || {
        match ask(&mut stream, "get_id", WEB_1) {
            Ok(id) => rising("ids", [std::mem::replace(&mut last, id), id]),
            Err(text) => refusal = Some(text),
        }
        refusal.is_some()
    });
    let text = refusal.unwrap();
    let begins = "Clock moved backwards.  Refusing to generate id for ";
    let back_ms = number_in(&text, begins, " milliseconds").unwrap_or_else(|| panic!("{text}"));
    assert!((10_000..=20_001).contains(&back_ms), "{text}");
    turn("+0");
    eventually("ids come again on the same connection", || {
        ask(&mut stream, "get_id", WEB_1).is_ok_and(|id| id > last)
    });
}

#[test]
fn a_server_that_stopped_for_good_says_so_and_ends_the_connection() {
    let Some(mut engine) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let server = start(folder.path())
        .under(["env", "MINT_POOLS__WINDOW=1s"])
        .args(["--store", &url])
        .ready();
    let mut stream = connect(&server);
    first(&mut stream);
    // The store has lost everything.
    engine.stop();
    engine.wipe();
    engine.start();
    let mut refusal = String::new();
    eventually("it has stopped for good", || {
        refusal = ask(&mut stream, "get_id", WEB_1).err().unwrap_or_default();
        !refusal.is_empty() && !refusal.starts_with("not available")
    });
    assert!(refusal.contains("stopped"), "{refusal}");
    is_closed(&mut stream);
}
