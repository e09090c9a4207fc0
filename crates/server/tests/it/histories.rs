//! Random histories of one sequence, changed and taken from over all faces by turns, beside a client that sends pieces of
//! requests and what is none: without leave to repeat, no number comes twice, in whatever life of the name.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mintage_testing::Distinct;

use crate::every_face::{All, NAME, WAYS};

/// Histories, each on a server of its own.
const HISTORIES: u64 = 10;

/// Draws the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as u64) as i64
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    fn increment(&mut self) -> i64 {
        [1, 1, 1, 2, 7, -1, -1, -3][self.below(8) as usize]
    }
}

/// A change as some client would ask for it: the face, and the request.
fn change(dice: &mut Dice) -> (&'static str, String) {
    let (value, increment) = (dice.between(-60, 400), dice.increment());
    let (low, high) = (dice.between(-200, 20), dice.between(100, 2_000));
    let called = dice.pick(&["true", "false"]);
    let path = format!("/v1/sequences/{NAME}");
    match dice.below(8) {
        0 => {
            let definitions = [
                format!(r#"{{"start":"{value}"}}"#),
                format!(r#"{{"increment":"{increment}"}}"#),
                format!(r#"{{"min":"{low}","max":"{high}"}}"#),
                format!(r#"{{"start":"{value}","increment":"{increment}","min":"{low}"}}"#),
                format!(r#"{{"restart":"{value}"}}"#),
                r#"{"restart":true}"#.to_string(),
            ];
            let at = dice.below(definitions.len() as u64) as usize;
            ("http", format!("PATCH {path} {}", definitions[at]))
        }
        1 => (
            "http",
            format!(r#"POST {path}/restart {{"value":"{value}","is_called":{called}}}"#),
        ),
        2 => ("http", format!("DELETE {path} ")),
        3 => ("resp", format!("SET {NAME} {value}")),
        4 => ("resp", format!("{} {NAME}", dice.pick(&["DEL", "UNLINK"]))),
        5 | 6 => {
            let face = dice.pick(&["postgres", "mysql"]);
            let by = if face == "postgres" {
                "INCREMENT BY"
            } else {
                "INCREMENT"
            };
            let with = if face == "postgres" {
                "RESTART WITH"
            } else {
                "RESTART"
            };
            let words = [
                format!("ALTER SEQUENCE {NAME} START {value}"),
                format!("ALTER SEQUENCE {NAME} {by} {increment}"),
                format!("ALTER SEQUENCE {NAME} MINVALUE {low} MAXVALUE {high}"),
                format!("ALTER SEQUENCE {NAME} {with} {value}"),
                format!("ALTER SEQUENCE {NAME} RESTART"),
                format!("ALTER SEQUENCE {NAME} {by} {increment} {with} {value}"),
                format!("DROP SEQUENCE {NAME}"),
                format!(
                    "CREATE SEQUENCE {NAME} {by} {increment} MINVALUE {low} MAXVALUE {high} START {value}"
                ),
                format!("CREATE SEQUENCE {NAME} START {value}"),
            ];
            let at = dice.below(words.len() as u64) as usize;
            (
                if face == "postgres" { "postgres" } else { "mysql" },
                words[at].clone(),
            )
        }
        _ => match called {
            "true" => ("postgres", format!("SELECT setval('{NAME}', {value}, true)")),
            _ => ("mysql", format!("SELECT SETVAL({NAME}, {value}, 0)")),
        },
    }
}

/// The number that an answer gives where a way says that it stands.
fn number_of(answer: &str, template: &str) -> Option<i64> {
    let (before, _) = template.split_once("{L}")?;
    let rest = answer.strip_prefix(before)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A client that nobody asked for: until `done` it connects to one face after another, sends a request that is cut off,
/// changed in a byte or nonsense altogether, reads an answer or not, and goes.
fn send_nonsense(faces: &[SocketAddr], seed: u64, done: &AtomicBool, sent: &AtomicU64) {
    let mut dice = Dice(seed);
    while !done.load(Ordering::SeqCst) {
        let face = faces[dice.below(faces.len() as u64) as usize];
        let (_, request, _, _) = WAYS[dice.below(WAYS.len() as u64) as usize];
        let mut bytes = format!("{request} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes();
        match dice.below(3) {
            0 => bytes.truncate(dice.below(bytes.len() as u64) as usize),
            1 => {
                let at = dice.below(bytes.len() as u64) as usize;
                bytes[at] = dice.below(256) as u8;
            }
            _ => bytes = (0..dice.below(300)).map(|_| dice.below(256) as u8).collect(),
        }
        // Refused, closed while it sends, or not answered: what is to be seen is the others' numbers.
        let Ok(mut stream) = TcpStream::connect(face) else {
            continue;
        };
        let waits = stream.set_read_timeout(Some(Duration::from_millis(20)));
        if waits.is_ok() && stream.write_all(&bytes).is_ok() && dice.below(2) == 0 {
            let _ = stream.read(&mut [0; 512]);
        }
        sent.fetch_add(1, Ordering::SeqCst);
        // The others are to be served meanwhile, on the same two processors.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends the client beside a history, also where that fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn history(all: &mut All, seed: u64, steps: u64) {
    let mut dice = Dice(seed);
    let mut issued = Distinct::of(format!("seed {seed}"));
    let mut done = 0;
    for _ in 0..steps {
        if dice.below(3) == 0 {
            let (face, request) = change(&mut dice);
            done += usize::from(all.change(face, &request));
            continue;
        }
        let (face, request, count, template) = WAYS[dice.below(WAYS.len() as u64) as usize];
        // Leaf says what went wrong by a number below zero.
        let taken = number_of(&all.ask(face, request), template).filter(|last| face != "leaf" || *last >= 0);
        // A run is refused where its increment is not the client's, which is 1.
        let Some(last) = taken else { continue };
        issued.extend(last - count + 1..=last);
    }
    assert!(
        done > 20,
        "seed {seed}: {done} changes were made, which shows little"
    );
    assert!(issued.len() > 200, "seed {seed}: {} numbers", issued.len());
}

// claim: P1, P4
#[test]
fn no_history_of_changes_over_all_faces_gives_out_a_number_twice() {
    let steps = std::env::var("MINT_TEST_HISTORY").map_or(2_000, |n| n.parse().unwrap());
    for seed in 1..=HISTORIES {
        let mut all = All::start();
        let faces = all.addresses();
        let (done, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| send_nonsense(&faces, seed, &done, &sent));
            let _end = End(&done);
            history(&mut all, seed, steps);
        });
        assert!(
            sent.into_inner() > 0,
            "seed {seed}: nobody sent nonsense beside it"
        );
    }
}
