//! Connections that send a byte now and then, garbage, absurd requests, and bursts that ask for as much as fits a
//! buffer: who asks properly is served all the while, and the server's memory stays within bounds.
//!
//! `MINT_TEST_SLOW` is how many slow connections there are (default 500).
//!
//! Covers: crates/server/src/faces/web
#![allow(clippy::unwrap_used)]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mintage_e2e::cluster::eventually;
use mintage_e2e::http;
use mintage_e2e::need::say;
use mintage_e2e::random::Random;
use mintage_e2e::resp::{Reply, Resp, encode};
use mintage_e2e::server::{Server, Start};
use mintage_testing::invariant;

/// Exchanges of the good client in each phase; of each, the time is taken.
const EXCHANGES: usize = 1_000;
/// How often the good client asks, and senseless ones come.
const PACE: Duration = Duration::from_millis(1);
/// How often the good client is served without a greedy one and with it, in turn.
const ROUNDS: usize = 5;
/// What one connection may cost the server, its share of everything else included.
const MEMORY_PER_CONNECTION: u64 = 64 << 10;
/// What the server may need besides.
const MEMORY: u64 = 256 << 20;

#[test]
fn slow_and_senseless_clients_neither_stop_nor_bloat_the_server() {
    let slow: usize = std::env::var("MINT_TEST_SLOW").map_or(500, |n| n.parse().unwrap());
    let descriptors = (slow + 1_000).to_string();
    raise_limit(&descriptors);
    let folder = tempfile::tempdir().unwrap();
    let limit = format!("MINT_SERVER__MAX_CONNECTIONS={}", slow + 500);
    let server = Start::in_folder(folder.path())
        .under(["prlimit", &format!("--nofile={descriptors}"), "env", &limit])
        .ready();
    set_apart(&server);
    let mut good = server.redis();
    let mut last = 0;
    let before = serve(&mut good, &mut last);
    let attack = &Attack::default();
    let (during, most_memory, garbage) = thread::scope(|scope| {
        let end = End(&attack.done);
        scope.spawn(|| attack.dawdle(&server, slow));
        let garbage = scope.spawn(|| attack.talk_nonsense(&server));
        // Not busily: first in line for this processor, it would keep everybody else from it.
        while attack.open.load(Ordering::SeqCst) < slow {
            thread::sleep(PACE);
        }
        let during = serve(&mut good, &mut last);
        // Those that were closed for their slowness come again.
        eventually("nine of ten are open", || {
            open_connections(&server) >= slow as u64 * 9 / 10
        });
        refuses_absurd_requests(&server);
        refuses_in_words(&server);
        let memory = memory(&server);
        drop(end);
        (during, memory, garbage.join().unwrap())
    });
    let after = serve(&mut good, &mut last);
    let greedy: Vec<Greed> = BURSTS_OF
        .iter()
        .map(|burst| {
            let mut phases = [const { Vec::new() }; 2];
            for _ in 0..ROUNDS {
                phases[0].push(Times::of(serve(&mut good, &mut last)));
                phases[1].push(with_greed(&server, burst, &mut good, &mut last));
            }
            Greed {
                of: burst.name,
                phases: phases.map(Times::middle),
            }
        })
        .collect();
    let bound = MEMORY + slow as u64 * MEMORY_PER_CONNECTION;
    invariant!(
        most_memory < bound,
        "{most_memory} bytes of memory, more than {bound}"
    );
    let [before, during, after] = [before, during, after].map(Times::of);
    let greedy: Vec<String> = greedy.iter().map(Greed::in_words).collect();
    say(&format!(
        "hostile: {slow} slow connections, {} of them closed by the server and opened anew; {garbage} bytes of \
         garbage; memory {} MiB; the good client's time before, during, after: median {} {} {} us, 99th of 100 {} \
         {} {} us; without a greedy client and with one: {}",
        attack.closed.load(Ordering::SeqCst),
        most_memory >> 20,
        before.median,
        during.median,
        after.median,
        before.p99,
        during.p99,
        after.p99,
        greedy.join("; "),
    ));
    assert_eq!(server.stop(), 0);
}

/// A good client's exchanges: all answered, in order; how long each took, in microseconds.
fn serve(good: &mut Resp, last: &mut i64) -> Vec<u64> {
    let begun = Instant::now();
    (1u32..=EXCHANGES as u32)
        .map(|exchange| {
            let asked = Instant::now();
            let number = good.ask(&["INCR", "orders"]).unwrap().int();
            let took = asked.elapsed().as_micros() as u64;
            invariant!(number > Some(*last), "{number:?} after {last}");
            *last = number.unwrap();
            thread::sleep((PACE * exchange).saturating_sub(begun.elapsed()));
            took
        })
        .collect()
}

struct Times {
    median: u64,
    p99: u64,
}

impl Times {
    fn of(mut micros: Vec<u64>) -> Times {
        micros.sort_unstable();
        Times {
            median: micros[micros.len() / 2],
            p99: micros[micros.len() * 99 / 100],
        }
    }

    /// Each figure in the middle of some rounds: a hiccup of the machine is in one.
    fn middle(mut rounds: Vec<Times>) -> Times {
        let mut of = |figure: fn(&Times) -> u64| {
            rounds.sort_unstable_by_key(figure);
            figure(&rounds[rounds.len() / 2])
        };
        Times {
            median: of(|times| times.median),
            p99: of(|times| times.p99),
        }
    }
}

#[derive(Default)]
struct Attack {
    open: AtomicUsize,
    closed: AtomicU64,
    bursts: AtomicUsize,
    done: AtomicBool,
}

/// Ends the attack when it goes, however it goes.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Attack {
    fn is_over(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Holds `count` connections, half to each face, each with a request that is never whole: a byte a round.
    fn dawdle(&self, server: &Server, count: usize) {
        let faces = [
            (
                server.http,
                &b"POST /v1/sequences/orders/next HTTP/1.1\r\nhost: "[..],
            ),
            (server.resp, &b"*2\r\n$4\r\nINCR\r\n$4000\r\n"[..]),
        ];
        let open = |at: usize| -> io::Result<TcpStream> {
            let (address, head) = faces[at % 2];
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(head)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let mut streams = Vec::with_capacity(count);
        while streams.len() < count && !self.is_over() {
            streams.push(open(streams.len()).unwrap());
            self.open.fetch_add(1, Ordering::SeqCst);
        }
        while !self.is_over() {
            for (at, stream) in streams.iter_mut().enumerate() {
                let gone = match stream.read(&mut [0; 512]) {
                    Ok(_) => true,
                    Err(error) => error.kind() != io::ErrorKind::WouldBlock,
                };
                if gone || stream.write_all(b"x").is_err() {
                    self.closed.fetch_add(1, Ordering::SeqCst);
                    *stream = open(at).unwrap();
                }
                if self.is_over() {
                    return;
                }
            }
            // A byte a second each is slow enough for every limit to apply.
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Sends a burst, reads as it comes what is answered, and sends the next one once an answer has come.
    fn ask_for_much(&self, (to, burst): (SocketAddr, Vec<u8>)) {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PACE)).unwrap();
        stream.set_write_timeout(Some(PACE)).unwrap();
        let (mut sent, mut answers) = (0, vec![0; 64 << 10]);
        while !self.is_over() {
            match stream.write(&burst[sent..]) {
                Ok(more) => sent += more,
                Err(error) => assert!(is_later(&error), "{error}"),
            }
            if sent == burst.len() {
                self.bursts.fetch_add(1, Ordering::SeqCst);
                sent = 0;
            }
            match stream.read(&mut answers) {
                Ok(read) => assert_ne!(read, 0, "the server has closed"),
                Err(error) => assert!(is_later(&error), "{error}"),
            }
        }
    }

    /// Sends random bytes to both faces, on a new connection whenever one was closed; how many were sent.
    fn talk_nonsense(&self, server: &Server) -> u64 {
        let mut random = Random::announced("garbage");
        let mut sent = 0;
        for face in [server.http, server.resp].iter().cycle() {
            if self.is_over() {
                break;
            }
            sent += nonsense(*face, &mut random);
            // Not a flood, which would only measure how the cores are shared.
            thread::sleep(PACE);
        }
        sent
    }
}

/// Bursts that there are before the good client's time is taken.
const BURSTS: usize = 8;

/// What a greedy client does to the good one: without it, and with it.
struct Greed {
    of: &'static str,
    phases: [Times; 2],
}

impl Greed {
    fn in_words(&self) -> String {
        let [without, with] = &self.phases;
        format!(
            "{}: median {} {} us, 99th of 100 {} {} us",
            self.of, without.median, with.median, without.p99, with.p99
        )
    }
}

/// The good client's times while one greedy client asks a server for much.
fn with_greed(asked: &Server, burst: &Burst, good: &mut Resp, last: &mut i64) -> Times {
    let attack = Attack::default();
    Times::of(thread::scope(|scope| {
        let _end = End(&attack.done);
        let to = (burst.face)(asked);
        let (attack, bytes) = (&attack, burst.bytes());
        scope.spawn(move || attack.ask_for_much((to, bytes)));
        while attack.bursts.load(Ordering::SeqCst) < BURSTS {
            thread::sleep(PACE);
        }
        serve(good, last)
    }))
}

/// What a greedy client sends with one write, again and again.
struct Burst {
    name: &'static str,
    face: fn(&Server) -> SocketAddr,
    request: &'static str,
}

impl Burst {
    fn bytes(&self) -> Vec<u8> {
        self.request.repeat(BURST_BYTES / self.request.len()).into_bytes()
    }
}

const BURSTS_OF: [Burst; 4] = [
    Burst {
        name: "ids of the slowest format",
        face: |server| server.resp,
        request: "MINT.ID cuid2 COUNT 1000\r\n",
    },
    Burst {
        name: "COMMAND DOCS",
        face: |server| server.resp,
        request: "COMMAND DOCS\r\n",
    },
    Burst {
        name: "/readyz",
        face: |server| server.http,
        request: "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n",
    },
    Burst {
        name: "/metrics",
        face: |server| server.http,
        request: "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n",
    },
];

/// What fits one reading of the server.
const BURST_BYTES: usize = 16 << 10;

/// Whether the connection is as before: nothing came in time, or a signal did.
fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn nonsense(to: SocketAddr, random: &mut Random) -> u64 {
    let Ok(mut stream) = TcpStream::connect(to) else {
        return 0;
    };
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let mut sent = 0;
    for _ in 0..16 {
        let bytes: Vec<u8> = (0..512)
            .flat_map(|_| random.below(u64::MAX).to_be_bytes())
            .collect();
        match stream.write(&bytes) {
            Ok(more) => sent += more as u64,
            Err(_) => break,
        }
        match stream.read(&mut [0; 4096]) {
            Ok(0) => break,
            Err(error) if !is_later(&error) => break,
            _ => {}
        }
    }
    sent
}

#[track_caller]
fn refuses_absurd_requests(server: &Server) {
    for count in ["9223372036854775808", "18446744073709551616", "1000000000", "-1"] {
        for path in [
            "/v1/sequences/orders/next",
            "/v1/snowflakes/default",
            "/v1/ids/uuid7",
        ] {
            let answer = server.http("POST", &format!("{path}?count={count}"), "");
            assert_eq!(answer.status, 400, "{path}, {count}: {}", answer.text());
            for body in [
                format!("{{\"count\": {count}}}"),
                format!("{{\"count\": \"{count}\"}}"),
            ] {
                let answer = server.http("POST", path, &body);
                assert_eq!(answer.status, 400, "{path}, {body}: {}", answer.text());
            }
        }
        let mut resp = server.redis();
        // A run is one number, however long it is.
        let is_run = count.parse::<i64>().is_ok_and(|count| count > 0);
        let run: &[&[&str]] = match is_run {
            true => &[],
            false => &[&["INCRBY", "orders", count]],
        };
        for command in run
            .iter()
            .chain(&[&["MINT.SNOWFLAKE", "default", "COUNT", count][..]])
        {
            resp.send(&encode(command)).unwrap();
            let reply = resp.reply().unwrap();
            assert!(matches!(reply, Reply::Error(_)), "{command:?}: {reply:?}");
        }
    }
}

/// What cannot be a request is refused in words, and not told back.
fn refuses_in_words(server: &Server) {
    let long = "x".repeat(14_000);
    for (request, status, code) in [
        (
            format!(
                "GET /{long} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
                server.http
            ),
            404,
            "unknown_route",
        ),
        (
            format!("GET /{long}{long} HTTP/1.1\r\n\r\n"),
            431,
            "header_too_large",
        ),
        (
            format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100)),
            431,
            "header_too_large",
        ),
        ("INCR orders\r\n\r\n".to_string(), 400, "protocol_error"),
    ] {
        let answer = http::raw(server.http, request.as_bytes()).unwrap();
        let document = answer.json();
        assert_eq!(
            (answer.status, document["code"].as_str()),
            (status, Some(code)),
            "{document}"
        );
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert!(answer.body.len() < 1_500, "{document}");
    }
}

fn open_connections(server: &Server) -> u64 {
    let text = server.http("GET", "/metrics", "").text();
    let lines = text.lines().filter(|line| line.starts_with("mint_connections"));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// The most memory that the server has had so far, in bytes.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

/// Lets this process hold so many connections.
pub(crate) fn raise_limit(descriptors: &str) {
    let done = Command::new("prlimit")
        .args(["--pid", &std::process::id().to_string()])
        .arg(format!("--nofile={descriptors}:"))
        .status();
    assert!(
        done.unwrap().success(),
        "{descriptors} descriptors are more than this system allows"
    );
}

/// Gives the server a processor that no client uses, as on a machine of its own, and this thread the others, first in line.
/// Else times would be those of waiting for a processor: there may be more busy threads than processors, and a slice of the
/// scheduler takes milliseconds.
fn set_apart(server: &Server) {
    let all = thread::available_parallelism().map_or(1, usize::from);
    let thread = std::fs::read_link("/proc/thread-self").unwrap();
    let thread = thread.file_name().unwrap().to_string_lossy();
    let (server, others) = (server.pid().to_string(), format!("1-{}", all - 1));
    let done = [
        &["taskset", "--all-tasks", "--cpu-list", "--pid", "0", &server][..],
        &["taskset", "--cpu-list", "--pid", &others, &thread],
        &["chrt", "--reset-on-fork", "--fifo", "--pid", "1", &thread],
    ]
    .map(|words| Command::new(words[0]).args(&words[1..]).output());
    if !done
        .iter()
        .all(|done| done.as_ref().is_ok_and(|done| done.status.success()))
    {
        say("hostile: clients and server share processors: one of taskset and chrt was refused");
    }
}
