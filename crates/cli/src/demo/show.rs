//! What a demo shows: some lines that change while it runs, and what came of it.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::clients::{Kind, POOL, Repeats, SEQUENCE};
use super::server::DATA_FOLDER;
use crate::errors::Failure;
use crate::out::Out;

/// What came of a demo, or what it is at.
pub(super) struct Summary {
    pub(super) took: Duration,
    pub(super) seconds: u64,
    /// Somebody ended it before its time.
    pub(super) was_stopped: bool,
    pub(super) is_over: bool,
    pub(super) is_down: bool,
    pub(super) kills: u64,
    /// From a kill to when the server served again.
    pub(super) longest_start: Duration,
    pub(super) got: [u64; Kind::ALL.len()],
    pub(super) full: Vec<Kind>,
    pub(super) repeats: Repeats,
    /// Numbers that no client got.
    pub(super) missing: u64,
    pub(super) longest_pause: Duration,
    pub(super) folder: Option<PathBuf>,
}

impl Summary {
    pub(super) fn is_sound(&self) -> bool {
        self.repeats.count == 0
    }

    pub(super) fn all(&self) -> u64 {
        self.got.iter().sum()
    }

    fn per_second(&self, count: u64) -> u64 {
        (count as f64 / self.took.as_secs_f64().max(0.001)) as u64
    }

    pub(super) fn show(&self, out: &mut Out) -> Result<(), Failure> {
        if out.json {
            return out.json_line(&self.document());
        }
        for line in self.lines() {
            out.line(line)?;
        }
        Ok(())
    }

    fn document(&self) -> Value {
        let ids: serde_json::Map<String, Value> = Kind::ALL
            .iter()
            .map(|kind| (kind.key().to_string(), self.got[*kind as usize].into()))
            .collect();
        let repeated = self.repeats.first.iter();
        let repeated: Vec<Value> = repeated
            .map(|(kind, id)| json!({"kind": kind.key(), "id": id}))
            .collect();
        json!({
            "seconds": (self.took.as_secs_f64() * 1000.0).round() / 1000.0,
            "stopped": self.was_stopped,
            "kills": self.kills,
            "ids": ids,
            "ids_all": self.all(),
            "per_second": self.per_second(self.all()),
            "repeats": self.repeats.count,
            "repeated": repeated,
            "lost_in_gaps": self.missing,
            "longest_pause_ms": self.longest_pause.as_millis() as u64,
            "longest_restart_ms": self.longest_start.as_millis() as u64,
            "full": self.full.iter().map(|kind| kind.key()).collect::<Vec<_>>(),
            "folder": self.folder.as_ref().map(|folder| folder.display().to_string()),
        })
    }

    /// The lines of both, the one that goes on and the one that is over.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        for kind in Kind::ALL {
            let got = self.got[kind as usize];
            let full = if self.full.contains(&kind) {
                "  (enough)"
            } else {
                ""
            };
            lines.push(format!(
                "  {:<26}  {:>12}  {:>9}/s{full}",
                kind.label(),
                grouped(got),
                grouped(self.per_second(got))
            ));
        }
        let all = self.all();
        let line = |label: &str, value: String| format!("  {label:<26}  {value:>12}");
        lines.push(format!(
            "{}  {:>9}/s",
            line("all ids", grouped(all)),
            grouped(self.per_second(all))
        ));
        lines.push(format!(
            "{}  of {SEQUENCE}: crashes may lose some",
            line("lost in gaps", grouped(self.missing))
        ));
        lines.push(format!(
            "{}  of one client",
            line("longest pause", milliseconds(self.longest_pause))
        ));
        lines.push(format!(
            "{}  from kill -9 to serving again",
            line("longest restart", milliseconds(self.longest_start))
        ));
        lines.push(line("repeats", grouped(self.repeats.count)));
        for (kind, id) in &self.repeats.first {
            let of = match kind {
                Kind::Incr | Kind::Next => format!("sequence {SEQUENCE}"),
                Kind::Snowflake => format!("pool {POOL}"),
                Kind::Uuid7 => "UUIDs".to_string(),
            };
            lines.push(format!("  repeated: {id} ({of})"));
        }
        if let Some(folder) = &self.folder {
            lines.push(format!("  the store is {}", folder.join(DATA_FOLDER).display()));
        }
        lines
    }

    fn headline(&self) -> String {
        let kills = match self.kills {
            1 => "killed once".to_string(),
            kills => format!("killed {kills} times"),
        };
        if self.is_over {
            let stopped = if self.was_stopped {
                ", when it was stopped"
            } else {
                ""
            };
            return format!(
                "a server was {kills} in {} s{stopped}",
                self.took.as_secs_f64().round()
            );
        }
        let left = self.seconds.saturating_sub(self.took.as_secs());
        let is = if self.is_down { "down" } else { "up" };
        format!("{left:>4} s left; the server was {kills}, and is {is}")
    }
}

/// The lines that change, on a terminal; elsewhere one for each kill.
pub(super) struct Screen {
    is_terminal: bool,
    is_silent: bool,
    shown: Option<(Instant, usize)>,
}

impl Screen {
    pub(super) fn new(out: &Out) -> Screen {
        Screen {
            is_terminal: io::stderr().is_terminal(),
            is_silent: out.json || out.quiet,
            shown: None,
        }
    }

    pub(super) fn restarted(&self, kills: u64, took: Duration) {
        if !self.is_silent && !self.is_terminal {
            let took = milliseconds(took);
            // What cannot be shown is no reason to fail.
            let _ = writeln!(io::stderr(), "kill {kills}: the server serves again after {took}");
        }
    }

    /// Shows how far it is, some times a second.
    pub(super) fn show(&mut self, summary: &Summary) {
        let is_early = self
            .shown
            .is_some_and(|(at, _)| at.elapsed() < Duration::from_millis(200));
        if self.is_silent || !self.is_terminal || is_early {
            return;
        }
        let width = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns).max(1));
        let lines = summary.lines();
        let mut text = self.back();
        for line in &lines {
            // A line that wraps would be two to go back over.
            let fits: String = line.chars().take(width - 1).collect();
            text.push_str(&format!("{fits}\x1b[K\n"));
        }
        text.push_str("\x1b[J");
        let _ = io::stderr().write_all(text.as_bytes());
        self.shown = Some((Instant::now(), lines.len()));
    }

    /// Removes the lines: the summary is printed as every result is.
    pub(super) fn end(&mut self) {
        let text = format!("{}\x1b[J", self.back());
        if self.shown.take().is_some() {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    fn back(&self) -> String {
        match self.shown {
            Some((_, lines)) => format!("\x1b[{lines}F"),
            None => String::new(),
        }
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", grouped(time.as_millis() as u64))
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(repeats: Repeats) -> Summary {
        Summary {
            took: Duration::from_secs(30),
            seconds: 30,
            was_stopped: false,
            is_over: true,
            is_down: false,
            kills: 7,
            longest_start: Duration::from_millis(61),
            got: [1_234_567, 300, 30, 3],
            full: vec![Kind::Uuid7],
            repeats,
            missing: 12_345,
            longest_pause: Duration::from_millis(1_093),
            folder: None,
        }
    }

    #[test]
    fn the_summary_says_what_was_got_lost_and_repeated() {
        let text = summary(Repeats::default()).lines().join("\n");
        for part in [
            "killed 7 times in 30 s",
            "1,234,567",
            "12,345  of orders",
            "1,093 ms",
            "(enough)",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(
            text.ends_with("repeats                                0"),
            "{text}"
        );
    }

    #[test]
    fn ids_that_came_twice_are_named() {
        let first = vec![(Kind::Next, "41".to_string())];
        let found = summary(Repeats { count: 1, first });
        assert!(!found.is_sound());
        assert!(
            found
                .lines()
                .join("\n")
                .contains("repeated: 41 (sequence orders)")
        );
        let document = found.document();
        assert_eq!(document["repeats"], 1);
        assert_eq!(document["repeated"][0], json!({"kind": "next", "id": "41"}));
    }

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        assert!(cases.iter().all(|(number, text)| grouped(*number) == *text));
    }
}
