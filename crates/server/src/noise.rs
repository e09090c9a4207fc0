//! Log lines about what clients do, at most one a second of each kind, with a count.
//!
//! Anybody who reaches a port can cause these, as often as a connection carries; a line for each would fill the disk
//! that holds the folder. The first of a kind is written at once, the others a second later with their number. What
//! only an operator can mend, a minute later.

use std::borrow::Cow;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use mintage_ledger::Name;

use crate::transport::Peer;

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
    /// A connection that could not be accepted: most likely no file descriptor is free.
    Accept,
    /// A sequence that its first use has made.
    FirstUse,
    /// One of those, whose name is nearly that of another sequence.
    NearName,
    /// A key of another system's client that cannot be the name of a sequence.
    NoName,
    /// A host name that is not this server's, by which a browser may ask.
    WrongHost,
    /// Bytes that are nothing the face speaks.
    OtherProtocol,
    /// A login for which the row of its token lacks a digest.
    NoDigest,
    /// A handshake of TLS that failed, TLS where none is spoken, or clear text where it is.
    Tls,
}

/// Who or what caused a line.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Cause {
    Peer(Peer),
    /// Who used which name first.
    Use(Name, Asker<'static>),
    /// The same, and the other name that it nearly is.
    Near(Name, Name, Asker<'static>),
    /// The system's refusal, by its number.
    System(Option<i32>),
    /// What a client sent, told in words.
    Sent(String, Peer),
}

/// Who asks for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asker<'t> {
    /// The name of the token that was shown, `default` where there are none.
    pub token: Cow<'t, str>,
    /// The client's address.
    pub peer: Peer,
}

impl Asker<'_> {
    fn kept(&self) -> Asker<'static> {
        Asker {
            token: Cow::Owned(self.token.to_string()),
            peer: self.peer,
        }
    }
}

impl Noise {
    const ALL: [Noise; 12] = [
        Noise::WrongToken,
        Noise::WebPage,
        Noise::TooManyConnections,
        Noise::Unread,
        Noise::Accept,
        Noise::FirstUse,
        Noise::NearName,
        Noise::NoName,
        Noise::WrongHost,
        Noise::OtherProtocol,
        Noise::NoDigest,
        Noise::Tls,
    ];

    /// How often a line of this kind is written.
    fn every(self) -> Duration {
        match self {
            Noise::Accept | Noise::NoName | Noise::WrongHost | Noise::OtherProtocol | Noise::NoDigest => {
                Duration::from_secs(60)
            }
            _ => EVERY,
        }
    }
}

/// A line that is due.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    count: u64,
    /// The last that caused it.
    last: Cause,
}

#[derive(Debug, Default)]
struct Pending {
    line: Option<Line>,
    /// When one of this kind was written last, in boot time.
    written: Option<Duration>,
}

/// The lines of all kinds. Holds one count and one cause for each.
#[derive(Debug, Default)]
pub struct Log {
    kinds: Mutex<[Pending; Noise::ALL.len()]>,
}

impl Log {
    /// Notes that `peer` has caused a line.
    pub fn note(&self, kind: Noise, peer: Peer) {
        self.note_at(kind, Cause::Peer(peer), mintage::boottime());
    }

    /// Notes that a sequence was made by its first use.
    pub fn note_first_use(&self, name: &Name, by: &Asker<'_>) {
        let cause = Cause::Use(name.clone(), by.kept());
        self.note_at(Noise::FirstUse, cause, mintage::boottime());
    }

    /// Notes that one was made whose name is nearly `other`.
    pub(crate) fn note_near_name(&self, name: &Name, other: Name, by: &Asker<'_>) {
        let cause = Cause::Near(name.clone(), other, by.kept());
        self.note_at(Noise::NearName, cause, mintage::boottime());
    }

    /// Notes what `peer` sent, in words.
    pub fn note_sent(&self, kind: Noise, what: String, peer: Peer) {
        self.note_at(kind, Cause::Sent(what, peer), mintage::boottime());
    }

    /// Notes that a connection could not be accepted.
    pub fn note_accept(&self, error: &io::Error) {
        self.note_at(
            Noise::Accept,
            Cause::System(error.raw_os_error()),
            mintage::boottime(),
        );
    }

    fn note_at(&self, kind: Noise, last: Cause, now: Duration) {
        if let Some(line) = self.add(kind, last, now) {
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

    fn add(&self, kind: Noise, last: Cause, now: Duration) -> Option<Line> {
        {
            let mut kinds = self.kinds.lock().expect("no panic while held");
            let count = kinds[kind as usize].line.as_ref().map_or(0, |line| line.count) + 1;
            kinds[kind as usize].line = Some(Line { count, last });
        }
        self.due(kind, now)
    }

    fn due(&self, kind: Noise, now: Duration) -> Option<Line> {
        let mut kinds = self.kinds.lock().expect("no panic while held");
        let pending = &mut kinds[kind as usize];
        let early = |written: &Duration| now.saturating_sub(*written) < kind.every();
        if pending.written.as_ref().is_some_and(early) {
            return None;
        }
        let line = pending.line.take()?;
        pending.written = Some(now);
        Some(line)
    }
}

fn write(kind: Noise, line: Line) {
    let count = line.count;
    let peer = match line.last {
        Cause::Peer(peer) => peer,
        Cause::Use(name, Asker { token, peer }) => {
            return tracing::info!(count, %name, token = &*token, %peer, "made by its first use");
        }
        Cause::Near(name, near, Asker { token, peer }) => {
            return tracing::warn!(
                count,
                %name,
                %near,
                token = &*token,
                %peer,
                "made by its first use, under a name that is nearly that of another sequence"
            );
        }
        Cause::System(number) => {
            let error = number.map_or_else(|| io::Error::other("unknown"), io::Error::from_raw_os_error);
            return tracing::warn!(count, %error, "connections cannot be accepted");
        }
        Cause::Sent(what, peer) if kind == Noise::NoName => {
            return tracing::warn!(
                count,
                what,
                %peer,
                "a key is no name of a sequence, and faces.NAME.names has no entry for it"
            );
        }
        Cause::Sent(what, peer) if kind == Noise::WrongHost => {
            return tracing::warn!(count, what, %peer, "a foreign host name was refused to what may be a browser");
        }
        Cause::Sent(what, peer) if kind == Noise::NoDigest => {
            return tracing::warn!(
                count,
                what,
                %peer,
                "a login needs a digest that the row of its token lacks: mint token new NAME --sql prints it"
            );
        }
        Cause::Sent(what, peer) if kind == Noise::Tls => {
            return tracing::warn!(count, what, %peer, "no connection with TLS");
        }
        Cause::Sent(what, peer) => {
            return tracing::warn!(count, what, %peer, "bytes of another protocol: closed");
        }
    };
    match kind {
        Noise::WrongToken => tracing::warn!(count, %peer, "a wrong token was shown"),
        Noise::WebPage => tracing::warn!(
            count,
            %peer,
            "HTTP on the port of the Redis protocol, as a web page makes a browser send it: closed, nothing was run"
        ),
        Noise::TooManyConnections => tracing::warn!(count, %peer, "too many connections: refused"),
        Noise::Unread => tracing::warn!(
            count,
            %peer,
            "answers that nobody reads passed server.max_unread: the client that has waited longest is cut off"
        ),
        Noise::Accept
        | Noise::FirstUse
        | Noise::NearName
        | Noise::NoName
        | Noise::WrongHost
        | Noise::OtherProtocol
        | Noise::NoDigest
        | Noise::Tls => {}
    }
}

/// How often most kinds are written.
const EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A client without a token wrote 47 MB of log a second.
    #[test]
    fn a_kind_has_one_line_a_second_with_a_count() {
        let log = Log::default();
        let last = Cause::Peer("10.0.0.7:1".parse().unwrap());
        let ms = Duration::from_millis;
        let add = |kind, now| log.add(kind, last.clone(), ms(now)).map(|line| line.count);
        assert_eq!(add(Noise::WrongToken, 5_000), Some(1));
        for now in 5_000..5_999 {
            assert_eq!(add(Noise::WrongToken, now), None);
        }
        // Another kind has a second of its own.
        assert_eq!(add(Noise::WebPage, 5_500), Some(1));
        assert_eq!(log.due(Noise::WrongToken, ms(5_999)), None);
        assert_eq!(
            log.due(Noise::WrongToken, ms(6_000)),
            Some(Line {
                count: 999,
                last: last.clone()
            })
        );
        assert_eq!(log.due(Noise::WrongToken, Duration::MAX), None);
        assert_eq!(add(Noise::WrongToken, 7_000), Some(1));
    }

    /// Without a free file descriptor there were twenty lines a second.
    #[test]
    fn what_cannot_be_accepted_has_one_line_a_minute() {
        let log = Log::default();
        let second = Duration::from_secs;
        let told: Vec<u64> = (100..=221)
            .filter_map(|now| log.add(Noise::Accept, Cause::System(Some(24)), second(now)))
            .map(|line| line.count)
            .collect();
        assert_eq!(told, [1, 60, 60]);
    }
}
