//! What connections have the server keep counts by the memory that it takes, within one bound for all of them.

use mintage_faces::{mysql, postgres};
use mintage_server::auth::Right;
use mintage_server::config::{Bytes, Config, Listen, Setting};

use crate::common::{Client, Server, token};
use crate::mysql_client::{My, command};

/// A server of every face that keeps things, which keeps 1 MiB for all and a quarter of that for each.
fn server(change: impl FnOnce(&mut Config)) -> Server {
    Server::with(|config| {
        let any_port = || Listen::parse("127.0.0.1:0").unwrap();
        config.faces.get_mut::<postgres::Settings>().access.listen = any_port();
        config.faces.get_mut::<mysql::Settings>().access.listen = any_port();
        config.max_kept = Bytes(1024 * 1024);
        config.max_kept_per_connection = Bytes(256 * 1024);
        change(config);
    })
}

fn kept(server: &Server) -> u64 {
    let metrics = server.http().ask("GET", "/metrics").text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("mint_kept_bytes "));
    line.expect("it is shown").parse().unwrap()
}

/// Waits until nothing is kept: connections end a little after their clients have left.
fn is_empty_again(server: &Server) {
    while kept(server) > 0 {
        std::thread::yield_now();
    }
}

/// A client of PostgreSQL's protocol.
struct Pg(Client);

impl Pg {
    fn new(server: &Server) -> Pg {
        let body = b"\0\x03\0\0user\0web\0database\0shop\0\0";
        let mut client = server.face("postgres");
        client.send([&(body.len() as u32 + 4).to_be_bytes()[..], body].concat());
        let mut pg = Pg(client);
        assert_eq!(pg.answer().0, "");
        pg
    }

    fn send(&mut self, kind: u8, parts: &[&[u8]]) {
        let body = parts.concat();
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.0.send([&[kind][..], &length, &body].concat());
    }

    /// The SQLSTATE of a refusal, or nothing; and how many rows came.
    fn answer(&mut self) -> (String, usize) {
        let (mut state, mut rows) = (String::new(), 0);
        loop {
            let head = self.0.read(5);
            let length = u32::from_be_bytes(head[1..5].try_into().unwrap());
            let body = self.0.read(length as usize - 4);
            match head[0] {
                b'Z' => return (state, rows),
                b'D' => rows += 1,
                b'E' => {
                    let mut fields = body.split(|byte| *byte == 0);
                    let code = fields.find(|field| field.first() == Some(&b'C'));
                    state = String::from_utf8_lossy(&code.unwrap()[1..]).into_owned();
                }
                _ => {}
            }
        }
    }

    fn query(&mut self, text: &str) -> (String, usize) {
        self.send(b'Q', &[text.as_bytes(), b"\0"]);
        self.answer()
    }

    fn prepare(&mut self, name: &str, text: &str) -> String {
        self.send(b'P', &[name.as_bytes(), b"\0", text.as_bytes(), b"\0\0\0"]);
        self.send(b'S', &[]);
        self.answer().0
    }

    /// Binds a statement without parameters to a portal.
    fn bind(&mut self, portal: &str, statement: &str) {
        self.send(
            b'B',
            &[portal.as_bytes(), b"\0", statement.as_bytes(), b"\0\0\0\0\0\0\0"],
        );
    }
}

/// Much memory for little text.
fn heavy() -> String {
    format!("SELECT {}", vec!["1"; 1000].join(","))
}

/// Prepares until that is refused: with what, and how often it was not.
fn fill(pg: &mut Pg) -> (String, usize) {
    for n in 0.. {
        let state = pg.prepare(&format!("n{n}"), &heavy());
        if !state.is_empty() {
            return (state, n);
        }
    }
    unreachable!("there is a bound")
}

/// 256 statements of 4 KiB were 26 MiB of a connection, and nothing bounded all of them.
#[test]
fn statements_count_by_their_plans_and_all_faces_have_one_bound() {
    let server = server(|_| {});
    let mut first = Pg::new(&server);
    let (state, count) = fill(&mut first);
    assert_eq!(state, "54000");
    assert!((2..8).contains(&count), "{count} of 2 KiB each");
    assert!((128..=264).contains(&(kept(&server) / 1024)));
    let mut others = Vec::new();
    let state = loop {
        let mut other = Pg::new(&server);
        let (state, count) = fill(&mut other);
        if count > 0 {
            others.push(other);
        }
        if state != "54000" {
            break state;
        }
    };
    assert_eq!(state, "53200");
    assert!(kept(&server) <= 1024 * 1024 + 8192 * others.len() as u64);

    // Of other faces, whatever they are asked to keep.
    let mut my = My::open(&server, "shop");
    let refused = my.prepare(&heavy()).unwrap_err();
    assert!(refused.starts_with("ERR 1041 HY000"), "{refused}");
    assert!(refused.contains("server.max_kept"), "{refused}");
    let mut resp = server.resp();
    resp.send(format!(
        "MULTI\r\nECHO {}\r\nECHO {0}\r\nECHO {0}\r\n",
        "x".repeat(4000)
    ));
    resp.expect("+OK\r\n+QUEUED\r\n");
    let line = resp.line();
    assert!(
        line.starts_with("-TRYAGAIN") && line.contains("server.max_kept"),
        "{line}"
    );

    // What is kept goes on, and who keeps little notices nothing.
    others.push(first);
    for pg in &mut others {
        pg.bind("", "n0");
        pg.send(b'E', &[b"\0\0\0\0\0"]);
        pg.send(b'S', &[]);
        assert_eq!(pg.answer(), (String::new(), 1));
        assert_eq!(pg.query("SELECT 1"), (String::new(), 1));
    }
    let mut modest = Pg::new(&server);
    assert_eq!(modest.query("CREATE SEQUENCE orders").0, "");
    assert_eq!(modest.prepare("next", "SELECT nextval('orders')"), "");
    assert_eq!(modest.query("SELECT nextval('orders')"), (String::new(), 1));
    assert!(my.prepare("SELECT NEXTVAL(orders)").is_ok());
    resp = server.resp();
    resp.send("MULTI\r\nINCR orders\r\nEXEC\r\n")
        .expect("+OK\r\n+QUEUED\r\n*1\r\n:2\r\n");

    // Closed, reset, hung up: all is given back.
    for n in 0..count {
        others[0].send(b'C', &[format!("Sn{n}\0").as_bytes()]);
    }
    others[0].send(b'S', &[]);
    others[0].answer();
    assert_eq!(my.prepare(&heavy()).map(|_| ()), Ok(()));
    drop((others, modest, my, resp));
    is_empty_again(&server);
}

#[test]
fn portals_cursors_settings_and_savepoints_count() {
    let server = server(|config| config.max_kept_per_connection = Bytes(96 * 1024));
    let mut pg = Pg::new(&server);
    assert_eq!(pg.prepare("n", &heavy()), "");
    let state = |pg: &mut Pg| {
        pg.send(b'S', &[]);
        pg.answer().0
    };
    // Its plan stays as long as the portal does, whatever becomes of the statement.
    assert_eq!(pg.query("BEGIN").0, "");
    pg.bind("p", "n");
    pg.send(b'C', &[b"Sn\0"]);
    assert_eq!(pg.prepare("m", &heavy()), "54000");
    assert_eq!(pg.query("ROLLBACK").0, "");
    assert_eq!(pg.prepare("m", &heavy()), "");
    pg.send(b'C', &[b"Sm\0"]);
    assert_eq!(state(&mut pg), "");

    // Rows that wait in a cursor.
    for n in 0..500 {
        server.make(&format!("a-name-that-is-not-short-{n}"), "{}");
    }
    let all = "DECLARE c CURSOR FOR SELECT * FROM pg_sequences; FETCH 1 FROM c";
    assert_eq!(pg.query(&format!("BEGIN; {all}")).0, "54000");
    assert_eq!(pg.query("ROLLBACK").0, "");
    let few = "DECLARE c CURSOR FOR SELECT sequencename FROM pg_sequences LIMIT 50; FETCH 1 FROM c";
    assert_eq!(pg.query(&format!("BEGIN; {few}")), (String::new(), 1));
    assert_eq!(pg.query("FETCH ALL FROM c"), (String::new(), 49));
    assert_eq!(pg.query("ROLLBACK").0, "");

    // Savepoints share what is set until it is set anew.
    let set = |n: usize| format!("SET app.v{n} = '{}'", "x".repeat(250));
    let settings: String = (0..30).map(|n| format!("{};", set(n))).collect();
    assert_eq!(pg.query(&settings).0, "");
    assert_eq!(pg.query("BEGIN").0, "");
    let refused = (0..60).map(|n| pg.query(&format!("SAVEPOINT s{n}; SET app.v0 = '{n}'")).0);
    let refused: Vec<String> = refused.take_while(|state| *state != "25P02").collect();
    assert_eq!(refused.last().map(String::as_str), Some("54000"), "{refused:?}");
    assert!(refused.len() < 12, "{}", refused.len());
    assert_eq!(pg.query("ROLLBACK").0, "");
    assert_eq!(pg.query("SHOW app.v0"), (String::new(), 1));
    assert_eq!(pg.query("DISCARD ALL").0, "");
    assert_eq!(pg.prepare("m", &heavy()), "");
    drop(pg);
    is_empty_again(&server);
}

#[test]
fn values_that_are_sent_ahead_count_and_their_execution_tells() {
    let server = server(|config| config.max_kept_per_connection = Bytes(64 * 1024));
    let mut my = My::open(&server, "shop");
    let (id, ..) = my.prepare("SELECT ?").unwrap();
    // The first statement's first value.
    assert_eq!(id, 1);
    let mut ahead = vec![1, 0, 0, 0, 0, 0];
    ahead.extend([b'x'; 20_000]);
    for _ in 0..3 {
        my.client.send(command(24, &ahead));
    }
    let refused = my.execute(id, b"\0\x01\xfd\0");
    assert!(
        refused.starts_with("ERR 1041") && refused.contains("max_kept_per_connection"),
        "{refused}"
    );
    // It was forgotten with that.
    assert_eq!(my.execute(id, b"\0\x01\xfd\0\x02ab"), "[? t] ab");
    // Variables.
    let before = my.ask("SET @a = 'before'");
    assert!(before.starts_with("OK"), "{before}");
    assert!(kept(&server) > 0);
    my.client.send(command(31, ""));
    assert_eq!(my.answer(), "OK 0 0 2");
    drop(my);
    is_empty_again(&server);
}

#[test]
fn a_connection_forgets_numbers_before_it_keeps_too_much() {
    let server = server(|config| {
        config.resp_max_currval = 4096;
        config.max_kept_per_connection = Bytes(16 * 1024);
        config.faces.get_mut::<postgres::Settings>().keys.create = true;
    });
    let (mut resp, mut pg) = (server.resp(), Pg::new(&server));
    let name = |n: usize| format!("{}{n}", "n".repeat(150));
    for n in 0..200 {
        resp.send(format!("INCR {}\r\n", name(n))).expect(":1\r\n");
        assert_eq!(pg.query(&format!("SELECT nextval('{}')", name(n))).0, "");
    }
    assert!(kept(&server) <= 2 * 18 * 1024, "{}", kept(&server));
    // The last ones are known, the first ones are not.
    resp.send(format!("MINT.CURRVAL {}\r\n", name(199)))
        .expect(":1\r\n");
    let line = resp.send(format!("MINT.CURRVAL {}\r\n", name(0))).line();
    assert!(line.contains("not yet defined"), "{line}");
    assert_eq!(pg.query(&format!("SELECT currval('{}')", name(198))).0, "");
    assert_eq!(pg.query(&format!("SELECT currval('{}')", name(0))).0, "55000");
}

#[test]
fn who_has_not_logged_in_keeps_nothing() {
    let server = server(|config| config.tokens = vec![token("all", "secret", &[Right::Allocate])]);
    let mut resp = server.resp();
    let line = resp.send("MULTI\r\n").line();
    assert!(line.starts_with("-NOAUTH"), "{line}");
    let mut pg = server.face("postgres");
    let settings: String = (0..60)
        .map(|n| format!("app.v{n}\0{}\0", "x".repeat(100)))
        .collect();
    let body = format!("\0\x03\0\0user\0web\0{settings}\0");
    pg.send([&(body.len() as u32 + 4).to_be_bytes()[..], body.as_bytes()].concat());
    assert_eq!(pg.read(1), b"E");
    let mut my = My::greeted(&server);
    my.client.send(command(22, heavy()));
    // Nothing of it is read: it is no login.
    my.client.read_to_end();
    drop((resp, pg));
    let mut http = server.http();
    let metrics = http
        .ask_with("GET", "/metrics", &[("authorization", "Bearer secret")], "")
        .text();
    assert!(metrics.contains("\nmint_kept_bytes 0\n"), "{metrics}");
}
