//! The client against a server whose every answer is written here, and whose time only passes when a test says so.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::exchange::IN_FLIGHT_MAX;
use super::jute::Output;
use super::request::framed;
use super::*;
use crate::address::Host;
use crate::runtime::{BoxFuture, Runtime, SystemRuntime};
use mintage::Timestamp;

/// The real world, in which nobody is woken by time alone.
#[derive(Debug)]
struct Timeless {
    real: Arc<SystemRuntime>,
    sleeping: Mutex<Vec<(Duration, oneshot::Sender<()>)>>,
    more: Notify,
}

impl Timeless {
    fn new() -> Arc<Timeless> {
        Arc::new(Timeless {
            real: SystemRuntime::new(tokio::runtime::Handle::current()),
            sleeping: Mutex::new(Vec::new()),
            more: Notify::new(),
        })
    }

    /// Ends all sleeps of this length, once there is one.
    async fn pass(&self, length: Duration) {
        loop {
            let woken = {
                let mut sleeping = self.sleeping.lock().unwrap();
                let all = std::mem::take(&mut *sleeping);
                let (woken, rest) = all
                    .into_iter()
                    .filter(|(_, tell)| !tell.is_closed())
                    .partition::<Vec<_>, _>(|(asked, _)| *asked == length);
                *sleeping = rest;
                woken
            };
            let woken = woken.into_iter().filter_map(|(_, tell)| tell.send(()).ok());
            if woken.count() > 0 {
                return;
            }
            self.more.notified().await;
        }
    }
}

impl Runtime for Timeless {
    fn wall(&self) -> Timestamp {
        self.real.wall()
    }

    fn boottime(&self) -> Duration {
        self.real.boottime()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (tell, told) = oneshot::channel();
        self.sleeping.lock().unwrap().push((duration, tell));
        self.more.notify_one();
        Box::pin(async move { told.await.unwrap_or_default() })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.real.spawn(task);
    }

    fn spawn_thread(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        self.real.spawn_thread(name, work)
    }

    fn fill_random(&self, out: &mut [u8]) {
        self.real.fill_random(out);
    }

    fn clock_synchronised(&self) -> Option<bool> {
        None
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(7);
const ASKED_TIMEOUT: Duration = Duration::from_secs(30);
const GRANTED_TIMEOUT: Duration = Duration::from_secs(12);
const ANSWER_BYTES: usize = 1000;

/// Servers that listen, and the way to them.
struct Lab {
    runtime: Arc<Timeless>,
    servers: Vec<TcpListener>,
    ensemble: Arc<Ensemble>,
}

impl Lab {
    async fn new(servers: usize, digest: Option<&str>) -> Lab {
        let runtime = Timeless::new();
        let (mut listening, mut hosts) = (Vec::new(), Vec::new());
        for _ in 0..servers {
            let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let at = server.local_addr().unwrap();
            hosts.push(Host {
                name: at.ip().to_string(),
                port: at.port(),
            });
            listening.push(server);
        }
        let ensemble = Ensemble {
            hosts,
            tls: None,
            digest: digest.map(|digest| digest.as_bytes().to_vec()),
            session_timeout: ASKED_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            answer_bytes: ANSWER_BYTES,
            runtime: runtime.clone(),
        };
        Lab {
            runtime,
            servers: listening,
            ensemble: Arc::new(ensemble),
        }
    }

    /// A client, and its connection as a server sees it.
    async fn session(&self) -> (Client, Peer) {
        let (client, peer) = tokio::join!(self.connect(), async {
            let mut peer = self.accept().await;
            peer.greeting().await;
            peer.grant(7, 12_000).await;
            peer
        });
        (client.unwrap(), peer)
    }

    async fn connect(&self) -> Result<Client, Error> {
        Client::connect(Arc::clone(&self.ensemble)).await
    }

    /// The connection on which a client that has lost one goes on.
    async fn accept_again(&self) -> Peer {
        self.runtime.pass(PAUSE).await;
        self.accept().await
    }

    async fn accept(&self) -> Peer {
        let (stream, _) = self.servers[0].accept().await.unwrap();
        Peer(stream)
    }
}

/// A connection from the server's side.
struct Peer(TcpStream);

/// What a client says of its session.
#[derive(PartialEq, Eq, Debug)]
struct Greeted {
    zxid: i64,
    id: i64,
    password: Vec<u8>,
}

impl Peer {
    async fn frame(&mut self) -> Vec<u8> {
        let length = self.0.read_u32().await.unwrap();
        let mut frame = vec![0; length as usize];
        self.0.read_exact(&mut frame).await.unwrap();
        frame
    }

    async fn greeting(&mut self) -> Greeted {
        let frame = self.frame().await;
        let mut input = Input(&frame);
        assert_eq!(input.int(), Ok(0));
        let zxid = input.long().unwrap();
        assert_eq!(input.int(), Ok(30_000));
        let id = input.long().unwrap();
        let password = input.buffer().unwrap().to_vec();
        assert_eq!(input.boolean(), Ok(false));
        input.end().unwrap();
        Greeted { zxid, id, password }
    }

    async fn grant(&mut self, id: i64, timeout: i32) {
        self.say(&framed(|out| {
            out.int(0);
            out.int(timeout);
            out.long(id);
            out.buffer(&[9; 16]);
            out.boolean(false);
        }))
        .await;
    }

    /// The next request: its number, kind and record.
    async fn request(&mut self) -> (i32, i32, Vec<u8>) {
        let frame = self.frame().await;
        let mut input = Input(&frame);
        (input.int().unwrap(), input.int().unwrap(), input.0.to_vec())
    }

    async fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Answers, as of the transaction 100 behind the request's number.
    async fn answer(&mut self, xid: i32, err: i32, record: &[u8]) {
        self.say(&answer(xid, err, record)).await;
    }

    /// Answers the next request for data with the path that it names.
    async fn echo(&mut self) {
        let (xid, kind, record) = self.request().await;
        assert_eq!(kind, 4);
        let path = Input(&record).text().unwrap();
        self.answer(xid, 0, &data(path)).await;
    }

    /// Nothing more comes: the client has ended the connection.
    async fn is_closed(&mut self) {
        let rest = self.0.read(&mut [0; 64]).await;
        assert!(rest.as_ref().map_or(true, |count| *count == 0), "{rest:?}");
    }
}

fn answer(xid: i32, err: i32, record: &[u8]) -> Vec<u8> {
    framed(|out| {
        out.int(xid);
        out.long(100 + i64::from(xid));
        out.int(err);
        out.0.extend(record);
    })
}

/// The record of a node with this text.
fn data(text: &str) -> Vec<u8> {
    let mut out = Output::default();
    out.buffer(text.as_bytes());
    out.0.extend([0; 68]);
    out.0
}

async fn text_of(client: &Client, path: &str) -> Result<String, Error> {
    let (data, _) = client.ask(get_data(path)).await?;
    Ok(String::from_utf8(data).unwrap())
}

fn is_lost<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Lost(_)))
}

fn is_not_sent<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::NotSent(_)))
}

#[tokio::test]
async fn a_session_begins_then_its_account_is_told_then_it_is_asked() {
    let lab = Lab::new(1, Some("ann:secret")).await;
    let served = async {
        let mut peer = lab.accept().await;
        let new = Greeted {
            zxid: 0,
            id: 0,
            password: Vec::new(),
        };
        assert_eq!(peer.greeting().await, new);
        // As ZooKeeper 3.3 did: it does not say whether it is read-only.
        peer.say(&framed(|out| {
            out.int(0);
            out.int(12_000);
            out.long(7);
            out.buffer(b"");
        }))
        .await;
        let (xid, kind, record) = peer.request().await;
        assert_eq!((xid, kind), (-4, 100));
        let mut input = Input(&record);
        assert_eq!(input.int(), Ok(0));
        assert_eq!((input.text(), input.text()), (Ok("digest"), Ok("ann:secret")));
        peer.answer(-4, 0, b"").await;
        peer.echo().await;
        peer
    };
    let asked = async {
        let client = lab.connect().await.unwrap();
        assert_eq!(text_of(&client, "/a").await.as_deref(), Ok("/a"));
        client
    };
    let (mut peer, client) = tokio::join!(served, asked);
    // The last one that could ask says so.
    let other = client.clone();
    drop(client);
    tokio::join!(peer.echo(), async { text_of(&other, "/b").await.unwrap() });
    drop(other);
    assert_eq!(peer.request().await, (0, -11, Vec::new()));
    peer.is_closed().await;
}

#[tokio::test]
async fn an_account_that_is_refused_is_not_tried_elsewhere() {
    let lab = Lab::new(1, Some("ann:secret")).await;
    let served = async {
        // An answer to another question: it is asked again.
        for (xid, err) in [(1, 0), (-4, -115)] {
            let mut peer = lab.accept().await;
            peer.greeting().await;
            peer.grant(7, 12_000).await;
            peer.request().await;
            peer.answer(xid, err, b"").await;
            peer.is_closed().await;
        }
    };
    let (outcome, ()) = tokio::join!(lab.connect(), served);
    let outcome = outcome.map(drop);
    assert_eq!(outcome, Err(Error::Answered(Code::AUTH_FAILED)));
}

#[tokio::test]
async fn requests_are_sent_before_others_are_answered_and_answered_in_order() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    let served = async {
        let mut asked = Vec::new();
        for _ in 0..4 {
            asked.push(peer.request().await);
        }
        let kinds: Vec<_> = asked.iter().map(|(xid, kind, _)| (*xid, *kind)).collect();
        assert_eq!(kinds, [(1, 4), (2, 9), (3, 12), (4, 12)]);
        peer.answer(1, 0, &data("one")).await;
        peer.answer(2, 0, b"\0\0\0\x01/").await;
        peer.answer(3, -101, b"").await;
        // In pieces.
        let mut children = Output::default();
        children.count(1);
        children.buffer(b"x");
        children.0.extend([0; 68]);
        for byte in answer(4, 0, &children.0) {
            peer.say(&[byte]).await;
            tokio::task::yield_now().await;
        }
    };
    let asked = async {
        tokio::join!(
            biased;
            text_of(&client, "/a"),
            client.ask_now([get_children("/b"), get_children("/c")]),
        )
    };
    let ((), (one, others)) = tokio::join!(served, asked);
    assert_eq!(one.as_deref(), Ok("one"));
    let others = others.unwrap();
    assert_eq!(others[0], Err(Error::Answered(Code::NO_NODE)));
    assert_eq!(others[1].as_ref().unwrap().0, ["x"]);
}

/// Whatever a server sends that is no answer to the next request, it is trusted no further, and no request gets another
/// one's answer.
#[tokio::test]
async fn answers_that_are_none_end_the_connection() {
    let long = framed(|out| out.0.extend(vec![0; ANSWER_BYTES + 1]));
    for (name, bytes) in [
        ("of another request", answer(2, 0, &data("two"))),
        ("that nobody asked for", answer(9, 0, &data("nine"))),
        ("of a ping that was not sent", answer(-2, 0, b"")),
        ("of a watch that was not set", answer(-1, 0, &data("event"))),
        ("of an account again", answer(-4, 0, b"")),
        ("without a header", framed(|out| out.long(1))),
        ("too long", long),
        ("of negative length", vec![0xff; 4]),
        ("that ends early", answer(1, 0, &data("one"))[..40].to_vec()),
    ] {
        let lab = Lab::new(1, None).await;
        let (client, mut peer) = lab.session().await;
        let served = async {
            peer.request().await;
            peer.request().await;
            peer.say(&bytes).await;
            peer.0.shutdown().await.unwrap();
            peer.is_closed().await;
            // The session goes on, on a connection of its own.
            let mut again = lab.accept_again().await;
            assert_eq!(again.greeting().await.id, 7);
            again.grant(7, 12_000).await;
            again
        };
        let asked = async { tokio::join!(biased; text_of(&client, "/a"), text_of(&client, "/b")) };
        let (mut again, (one, two)) = tokio::join!(served, asked);
        assert!(is_lost(&one) && is_lost(&two), "{name}: {one:?}, {two:?}");
        let (text, ()) = tokio::join!(
            async {
                loop {
                    // As long as the client does not know of its new connection.
                    match text_of(&client, "/c").await {
                        Err(Error::NotSent(_)) => tokio::task::yield_now().await,
                        outcome => return outcome,
                    }
                }
            },
            again.echo()
        );
        assert_eq!(text.as_deref(), Ok("/c"), "{name}");
    }
}

#[tokio::test]
async fn a_doubled_answer_is_not_the_next_request_s() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    let served = async {
        peer.request().await;
        peer.request().await;
        peer.answer(1, 0, &data("one")).await;
        peer.answer(1, 0, &data("one")).await;
        peer.answer(2, 0, &data("two")).await;
        peer.is_closed().await;
    };
    let asked = async { tokio::join!(biased; text_of(&client, "/a"), text_of(&client, "/b")) };
    let ((), (one, two)) = tokio::join!(served, asked);
    assert_eq!(one.as_deref(), Ok("one"));
    let Err(Error::Lost(why)) = two else {
        panic!("{two:?}")
    };
    assert!(why.contains("an answer to request 1 where 2 was next"), "{why}");
}

/// A record that is another one than was asked for: its connection cannot be trusted, and its session is given up.
#[tokio::test]
async fn records_that_are_not_understood_end_the_session() {
    let more = [data("one"), vec![0]].concat();
    for record in [&b""[..], b"\x7f\xff\xff\xff", &data("one")[..70], &more] {
        let lab = Lab::new(1, None).await;
        let (client, mut peer) = lab.session().await;
        let (outcome, ()) = tokio::join!(text_of(&client, "/a"), async {
            peer.request().await;
            peer.answer(1, 0, record).await;
            peer.is_closed().await;
        });
        assert!(is_lost(&outcome), "{outcome:?}");
        let next = text_of(&client, "/b").await;
        assert!(is_not_sent(&next), "{next:?}");
    }
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    let multi = Multi::default().check("/a", 0).delete("/b", None);
    let (outcome, ()) = tokio::join!(client.commit(&multi), async {
        peer.request().await;
        // One result of two writes.
        peer.answer(1, 0, b"\0\0\0\x0d\0\0\0\0\0\xff\xff\xff\xff\x01\xff\xff\xff\xff")
            .await;
        peer.is_closed().await;
    });
    assert!(is_lost(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn writes_are_done_at_the_transaction_that_the_server_names() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    let multi = Multi::default().check("/a", 0).delete("/b", None);
    let served = async {
        let (xid, kind, _) = peer.request().await;
        assert_eq!((xid, kind), (1, 14));
        let done = b"\0\0\0\x0d\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\xff\xff\xff\xff\x01\xff\xff\xff\xff";
        peer.answer(1, 0, done).await;
        peer.request().await;
        let mut refused = Output::default();
        for code in [0, -101] {
            refused.int(-1);
            refused.boolean(false);
            refused.int(code);
            refused.int(code);
        }
        refused.int(-1);
        refused.boolean(true);
        refused.int(-1);
        peer.answer(2, 0, &refused.0).await;
    };
    let asked = async { (client.commit(&multi).await, client.commit(&multi).await) };
    let ((), (done, refused)) = tokio::join!(served, asked);
    assert_eq!(done, Ok(Committed::Done(101)));
    assert_eq!(
        refused,
        Ok(Committed::Refused {
            index: 1,
            code: Code::NO_NODE
        })
    );
}

/// What was not answered is lost and not sent again; the session shows what it has seen, and numbers begin anew.
#[tokio::test]
async fn a_session_goes_on_with_another_connection() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    tokio::join!(peer.echo(), async { text_of(&client, "/a").await.unwrap() });
    let (lost, mut again) = tokio::join!(text_of(&client, "/b"), async {
        peer.request().await;
        drop(peer);
        let mut again = lab.accept_again().await;
        let seen = Greeted {
            zxid: 101,
            id: 7,
            password: vec![9; 16],
        };
        assert_eq!(again.greeting().await, seen);
        again
    });
    assert!(is_lost(&lost), "{lost:?}");
    // No connection yet.
    let refused = text_of(&client, "/c").await;
    assert!(is_not_sent(&refused), "{refused:?}");
    again.grant(7, 12_000).await;
    let (text, (xid, ..)) = tokio::join!(
        async {
            loop {
                match text_of(&client, "/d").await {
                    Err(Error::NotSent(_)) => tokio::task::yield_now().await,
                    outcome => return outcome,
                }
            }
        },
        async {
            let asked = again.request().await;
            again.answer(asked.0, 0, &data("d")).await;
            asked
        }
    );
    assert_eq!((text.as_deref(), xid), (Ok("d"), 1));
}

#[tokio::test]
async fn a_session_that_servers_forgot_is_over() {
    // The server says so; or none is found while the session lasts.
    for told in [true, false] {
        let mut lab = Lab::new(1, None).await;
        let (client, peer) = lab.session().await;
        drop(peer);
        if told {
            let mut again = lab.accept_again().await;
            again.greeting().await;
            again.grant(0, 0).await;
            again.is_closed().await;
        } else {
            drop(lab.servers.remove(0));
            lab.runtime.pass(GRANTED_TIMEOUT).await;
        }
        let why = loop {
            let Err(Error::NotSent(why)) = text_of(&client, "/a").await else {
                panic!("it was sent");
            };
            if !why.contains("no connection") {
                break why;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(why, "the session has expired");
    }
}

#[tokio::test]
async fn a_server_that_goes_on_with_another_session_is_left() {
    let lab = Lab::new(1, None).await;
    let (_client, peer) = lab.session().await;
    drop(peer);
    let mut again = lab.accept_again().await;
    again.greeting().await;
    again.grant(8, 12_000).await;
    again.is_closed().await;
    assert_eq!(lab.accept().await.greeting().await.id, 7);
}

#[tokio::test]
async fn a_silent_server_is_pinged_and_then_left() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    for _ in 0..2 {
        lab.runtime.pass(GRANTED_TIMEOUT / 3).await;
        assert_eq!(peer.request().await, (-2, 11, Vec::new()));
        peer.answer(-2, 0, b"").await;
        tokio::join!(peer.echo(), async { text_of(&client, "/a").await.unwrap() });
    }
    // No second ping while the first is on its way.
    lab.runtime.pass(GRANTED_TIMEOUT / 3).await;
    assert_eq!(peer.request().await.0, -2);
    lab.runtime.pass(GRANTED_TIMEOUT / 3).await;
    let (lost, ()) = tokio::join!(text_of(&client, "/b"), async {
        assert_eq!(peer.request().await.0, 3);
        lab.runtime.pass(GRANTED_TIMEOUT * 2 / 3).await;
        peer.is_closed().await;
    });
    let Err(Error::Lost(why)) = lost else {
        panic!("{lost:?}")
    };
    assert!(why.contains("no word from the server within 8s"), "{why}");
}

#[tokio::test]
async fn an_end_at_once_loses_what_was_not_answered() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    let (lost, ()) = tokio::join!(text_of(&client, "/a"), async {
        peer.request().await;
        client.end();
        peer.is_closed().await;
    });
    assert!(is_lost(&lost), "{lost:?}");
    let next = text_of(&client.clone(), "/b").await;
    assert!(is_not_sent(&next), "{next:?}");
}

/// Dropped before its first poll, while it waits for its answer, and when that is there.
#[tokio::test]
async fn a_request_that_is_given_up_disturbs_no_other() {
    let lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    for polls in 0..4 {
        let mut given_up = Box::pin(text_of(&client, "/given-up"));
        let kept = text_of(&client, "/kept");
        for _ in 0..polls {
            let polled = given_up.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            // The connection has sent it by then, or not yet.
            tokio::task::yield_now().await;
        }
        if polls == 3 {
            peer.echo().await;
        }
        drop(given_up);
        let (kept, ()) = tokio::join!(kept, async {
            loop {
                let (xid, _, record) = peer.request().await;
                let path = Input(&record).text().unwrap().to_string();
                peer.answer(xid, 0, &data(&path)).await;
                if path == "/kept" {
                    return;
                }
            }
        });
        assert_eq!(kept.as_deref(), Ok("/kept"), "{polls} polls");
    }
}

/// More than may be on their way wait; those are certainly not done when the connection breaks.
#[tokio::test]
async fn no_more_than_a_thousand_requests_are_on_their_way() {
    let mut lab = Lab::new(1, None).await;
    let (client, mut peer) = lab.session().await;
    let mut asked: Vec<_> = (0..IN_FLIGHT_MAX + 500)
        .map(|_| Box::pin(text_of(&client, "/a")))
        .collect();
    for request in &mut asked {
        let polled = request.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Pending);
        // So that tokio does not hold back what is ready.
        tokio::task::yield_now().await;
    }
    for _ in 0..IN_FLIGHT_MAX {
        peer.request().await;
    }
    drop((peer, lab.servers.remove(0)));
    let (mut lost, mut not_sent) = (0, 0);
    for request in asked {
        match request.await {
            Err(Error::Lost(_)) => lost += 1,
            Err(Error::NotSent(_)) => not_sent += 1,
            outcome => panic!("{outcome:?}"),
        }
    }
    assert_eq!((lost, not_sent), (IN_FLIGHT_MAX, 500));
}

#[tokio::test]
async fn any_server_that_takes_the_session_will_do() {
    let mut lab = Lab::new(4, None).await;
    lab.servers.truncate(1);
    let (client, mut peer) = lab.session().await;
    tokio::join!(peer.echo(), async { text_of(&client, "/a").await.unwrap() });
    // Without any, each is named with a reason, in the order of the URL.
    lab.servers.clear();
    let Err(Error::Unreachable(why)) = lab.connect().await else {
        panic!("nobody listens");
    };
    let named: Vec<&str> = why
        .split("; ")
        .map(|one| one.split(": ").next().unwrap())
        .collect();
    let hosts: Vec<String> = lab.ensemble.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(named, hosts);
}

/// One that breaks off is asked five times, one that is late twice, and longer the second time.
#[tokio::test]
async fn servers_are_asked_again_within_bounds() {
    let lab = Lab::new(1, None).await;
    let served = async {
        for _ in 0..5 {
            lab.accept().await.greeting().await;
        }
    };
    let (outcome, ()) = tokio::join!(lab.connect(), served);
    assert!(matches!(outcome, Err(Error::Unreachable(_))), "{outcome:?}");
    let served = async {
        let first = lab.accept().await;
        lab.runtime.pass(CONNECT_TIMEOUT).await;
        let second = lab.accept().await;
        lab.runtime.pass(CONNECT_TIMEOUT * 2).await;
        drop((first, second));
    };
    let (outcome, ()) = tokio::join!(lab.connect(), served);
    let Err(Error::Unreachable(why)) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(why.ends_with(": no session within 14s"), "{why}");
}

#[tokio::test]
async fn a_greeting_that_is_none_is_no_session() {
    for (bytes, why) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "a frame of 1213486160 bytes, 1024 at most are taken",
        ),
        (b"\0\0\0\x04\0\0\0\0", "4 bytes of 0"),
        (b"", "the server ended the connection"),
    ] {
        let lab = Lab::new(1, None).await;
        let served = async {
            for _ in 0..5 {
                let mut peer = lab.accept().await;
                peer.greeting().await;
                peer.say(bytes).await;
                peer.0.shutdown().await.unwrap();
                peer.is_closed().await;
            }
        };
        let (outcome, ()) = tokio::join!(lab.connect(), served);
        let Err(Error::Unreachable(found)) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(found.ends_with(why), "{found}");
    }
}

/// Given up at each step of its begin, a session leaves no connection behind.
#[tokio::test]
async fn a_session_that_is_given_up_as_it_begins_is_closed() {
    for steps in 0..3 {
        let lab = Lab::new(1, Some("ann:secret")).await;
        let mut peer = {
            let mut connecting = std::pin::pin!(lab.connect());
            let served = async {
                let mut peer = lab.accept().await;
                if steps > 0 {
                    peer.greeting().await;
                }
                if steps > 1 {
                    peer.grant(7, 12_000).await;
                    peer.request().await;
                }
                peer
            };
            tokio::select! {
                peer = served => peer,
                outcome = &mut connecting => panic!("{outcome:?}"),
            }
        };
        let mut rest = Vec::new();
        peer.0.read_to_end(&mut rest).await.ok();
    }
}
