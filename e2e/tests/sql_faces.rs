//! One sequence, drawn at once by PostgreSQL's protocol, MySQL's, Redis' and HTTP: nobody has a number that another one had,
//! and no connection sees what another one was given.
//!
//! Covers: crates/faces/src/postgres, crates/faces/src/mysql, crates/faces/src/sql
#![allow(clippy::unwrap_used)]

use std::io;
use std::net::SocketAddr;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::resp::Resp;
use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::mysql_wire::MysqlWire;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::sqlwire::postgres_wire::PostgresWire;
use mintage_e2e::store_suite::Engine;
use mintage_e2e::writers::{Client, Writers};
use mintage_e2e::{http, run};

/// How a client takes a number of `orders`.
#[derive(Clone, Copy, Debug)]
enum Way {
    Postgres,
    /// By NEXTVAL.
    Mysql,
    /// By a ticket.
    Ticket,
    Redis,
    Http,
}

const ALL: [Way; 5] = [Way::Postgres, Way::Mysql, Way::Ticket, Way::Redis, Way::Http];

/// A connection that takes one number after another.
type Connection = Box<dyn FnMut() -> io::Result<Option<i64>> + Send>;

/// Where one server has its faces.
#[derive(Clone, Debug)]
struct Server {
    postgres: Place,
    mysql: Place,
    http: SocketAddr,
    resp: SocketAddr,
}

impl Server {
    fn of(faces: &Faces) -> Server {
        Server {
            postgres: faces.place("postgres"),
            mysql: faces.place("mysql"),
            http: faces.server().http,
            resp: faces.server().resp,
        }
    }

    fn connect(&self, way: Way) -> io::Result<Connection> {
        match way {
            Way::Postgres => postgres(&self.postgres),
            Way::Mysql => mysql(&self.mysql),
            Way::Ticket => ticket(&self.mysql),
            Way::Redis => {
                let mut redis = Resp::connect(self.resp)?;
                Ok(Box::new(move || Ok(redis.ask(&["INCR", "orders"])?.int())))
            }
            Way::Http => {
                let at = self.http;
                Ok(Box::new(move || {
                    let answer = http::exchange(at, "POST", "/v1/sequences/orders/next", "")?;
                    Ok(answer.json()["ids"][0]
                        .as_str()
                        .and_then(|number| number.parse().ok()))
                }))
            }
        }
    }

    /// A client that connects again when its connection has ended.
    fn client(&self, way: Way) -> Client {
        let (server, mut connection) = (self.clone(), None::<Connection>);
        Box::new(move || {
            let taken = match &mut connection {
                Some(take) => take(),
                none => server.connect(way).and_then(|made| none.insert(made)()),
            };
            taken.unwrap_or_else(|_gone| {
                connection = None;
                None
            })
        })
    }
}

/// Nothing is known at first; afterwards what this connection was given last, whatever others are given meanwhile.
fn postgres(at: &Place) -> io::Result<Connection> {
    let mut wire = PostgresWire::connect(at)?;
    let unknown = wire.query("SELECT lastval()")?;
    let is_refused = unknown
        .iter()
        .any(|line| line.contains("lastval is not yet defined"));
    assert!(is_refused, "{unknown:?}");
    Ok(Box::new(move || {
        let number = wire.number("SELECT nextval('orders')")?;
        if number.is_some() {
            assert_eq!(wire.number("SELECT currval('orders')")?, number);
        }
        Ok(number)
    }))
}

fn mysql(at: &Place) -> io::Result<Connection> {
    let mut wire = MysqlWire::connect(at)?;
    assert_eq!(wire.number("SELECT LASTVAL(orders)")?, None);
    Ok(Box::new(move || {
        let number = wire.number("SELECT NEXTVAL(orders)")?;
        if number.is_some() {
            assert_eq!(wire.number("SELECT LASTVAL(orders)")?, number);
        }
        Ok(number)
    }))
}

fn ticket(at: &Place) -> io::Result<Connection> {
    let mut wire = MysqlWire::connect(at)?;
    assert_eq!(wire.number("SELECT LAST_INSERT_ID()")?, Some(0));
    Ok(Box::new(move || {
        let number = wire.insert_id("REPLACE INTO orders (stub) VALUES ('a')")?;
        if number.is_some() {
            assert_eq!(wire.number("SELECT LAST_INSERT_ID()")?, number);
        }
        Ok(number)
    }))
}

/// As many clients as there are ways, at each of two servers, while one is killed so often.
fn no_repeats(servers: &mut [Faces], kills: u32, between: u64) {
    let made = servers[0].server().http("PUT", "/v1/sequences/orders", "{}");
    assert_eq!(made.status, 201, "{}", made.text());
    let places: Vec<Server> = servers.iter().map(Server::of).collect();
    let last = places.len() - 1;
    let clients = ALL.iter().flat_map(|way| {
        let (first, second) = (&places[0], &places[last]);
        [
            [first.client(*way), second.client(*way)],
            [second.client(*way), first.client(*way)],
        ]
    });
    for (place, way) in places
        .iter()
        .flat_map(|place| ALL.iter().map(move |way| (place, way)))
    {
        let mut client = place.client(*way);
        eventually(&format!("{way:?} gives a number"), || client().is_some());
    }
    let writers = Writers::start(clients.collect());
    for _ in 0..kills {
        writers.more(between);
        servers[0].kill_and_start();
    }
    writers.more(between);
    let taken = writers.stop();
    assert!(taken.numbers.len() as u64 >= u64::from(kills) * between);
}

// claim: P1, P2
#[test]
fn a_sequence_drawn_by_four_protocols_never_repeats_over_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = [Faces::run(folder.path(), &["postgres", "mysql"], &[])];
    no_repeats(&mut servers, 2, 300);
}

// claim: P1, P2
#[test]
#[ignore = "minutes: many kills"]
fn a_sequence_drawn_from_two_servers_by_four_protocols_never_repeats_over_kills() {
    let Some(store) = Postgres::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = store.url(store.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let mut servers = ["0", "1"].map(|node| {
        let own = folder.path().join(node);
        std::fs::create_dir(&own).unwrap();
        Faces::run(&own, &["postgres", "mysql"], &["--store", &url])
    });
    no_repeats(&mut servers, 10, 2_000);
}
