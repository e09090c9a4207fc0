//! Log lines about what clients do, at most one a second of each kind, with a count.
//!
//! Anybody who reaches a port can cause these, as often as a connection carries; a line for each would fill the disk
//! that holds the folder. The first of a kind is written at once, the others a second later with their number.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Noise {
    /// A token that is not known.
    WrongToken,
    /// HTTP on the port of the Redis protocol: most likely a web page that makes a browser send it.
    WebPage,
    /// A connection that was refused because there are too many.
    TooManyConnections,
    /// A client whose unread answers passed the limit of all together.
    Unread,
}

impl Noise {
    const ALL: [Noise; 4] = [
        Noise::WrongToken,
        Noise::WebPage,
        Noise::TooManyConnections,
        Noise::Unread,
    ];
}

/// A line that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Line {
    count: u64,
    /// The last who caused it.
    peer: SocketAddr,
}

#[derive(Debug, Default)]
struct Pending {
    line: Option<Line>,
    /// When one of this kind was written last, in boot time.
    written: Option<Duration>,
}

/// The lines of all kinds. Holds one count and one address for each.
#[derive(Debug, Default)]
pub struct Log {
    kinds: Mutex<[Pending; Noise::ALL.len()]>,
}

impl Log {
    /// Notes that `peer` has caused a line.
    pub fn note(&self, kind: Noise, peer: SocketAddr) {
        if let Some(line) = self.add(kind, peer, mintage::boottime()) {
            write(kind, line);
        }
    }

    /// Writes the lines whose second is over; `true`: others are still held back.
    pub fn write_due(&self) -> bool {
        let now = mintage::boottime();
        for kind in Noise::ALL {
            if let Some(line) = self.due(kind, now) {
                write(kind, line);
            }
        }
        let kinds = self.kinds.lock().expect("no panic while held");
        kinds.iter().any(|pending| pending.line.is_some())
    }

    /// Writes all that is held back.
    pub fn write_all(&self) {
        for kind in Noise::ALL {
            if let Some(line) = self.due(kind, Duration::MAX) {
                write(kind, line);
            }
        }
    }

    fn add(&self, kind: Noise, peer: SocketAddr, now: Duration) -> Option<Line> {
        {
            let mut kinds = self.kinds.lock().expect("no panic while held");
            let count = kinds[kind as usize].line.map_or(0, |line| line.count) + 1;
            kinds[kind as usize].line = Some(Line { count, peer });
        }
        self.due(kind, now)
    }

    fn due(&self, kind: Noise, now: Duration) -> Option<Line> {
        let mut kinds = self.kinds.lock().expect("no panic while held");
        let pending = &mut kinds[kind as usize];
        let early = |written: &Duration| now.saturating_sub(*written) < EVERY;
        if pending.written.as_ref().is_some_and(early) {
            return None;
        }
        let line = pending.line.take()?;
        pending.written = Some(now);
        Some(line)
    }
}

fn write(kind: Noise, line: Line) {
    let Line { count, peer } = line;
    match kind {
        Noise::WrongToken => tracing::warn!(count, last = %peer, "a wrong token was shown"),
        Noise::WebPage => tracing::warn!(
            count,
            last = %peer,
            "HTTP on the port of the Redis protocol, as a web page makes a browser send it: closed, nothing was run"
        ),
        Noise::TooManyConnections => tracing::warn!(count, last = %peer, "too many connections: refused"),
        Noise::Unread => tracing::warn!(
            count,
            last = %peer,
            "answers that nobody reads passed server.max_unread: the client that has waited longest is cut off"
        ),
    }
}

/// How often a kind is written.
const EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A client without a token wrote 47 MB of log a second.
    #[test]
    fn a_kind_has_one_line_a_second_with_a_count() {
        let log = Log::default();
        let peer = "10.0.0.7:1".parse().unwrap();
        let ms = Duration::from_millis;
        let add = |kind, now| log.add(kind, peer, ms(now)).map(|line| line.count);
        assert_eq!(add(Noise::WrongToken, 5_000), Some(1));
        for now in 5_000..5_999 {
            assert_eq!(add(Noise::WrongToken, now), None);
        }
        // Another kind has a second of its own.
        assert_eq!(add(Noise::WebPage, 5_500), Some(1));
        assert_eq!(log.due(Noise::WrongToken, ms(5_999)), None);
        assert_eq!(
            log.due(Noise::WrongToken, ms(6_000)),
            Some(Line { count: 999, peer })
        );
        assert_eq!(log.due(Noise::WrongToken, Duration::MAX), None);
        assert_eq!(add(Noise::WrongToken, 7_000), Some(1));
    }
}
