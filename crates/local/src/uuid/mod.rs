//! UUIDs of versions 1, 6 and 7 for all processes of a host, without a daemon: the stable storage of RFC 9562
//! section 6.3, written ahead.
//!
//! ```text
//!   FILE        node, clock sequence, until      synced; what may be used was written before (10 s ahead)
//!   FILE.word   next free tick                   mapped by every process; one order for all
//! ```
//!
//! A tick of 100 ns is taken by one atomic step on the mapped word and belongs to one id. No id is made at or
//! past the synced `until`; who comes near it moves it 10 s on, under the file's lock. So ids of versions 1 and
//! 6 never repeat and ids of all three versions strictly increase over all processes that share the file, kills
//! included; after a power cut the next id begins at `until`.
//!
//! **Rare events.** A clock set back by less than 5 s is held: ids go on from the last. Set back further, the
//! clock sequence goes up by one and the new time is followed (RFC 9562 section 6.1), which ends the order of
//! the old time and starts another. After 16,384 such changes a random node is drawn anew. Another node, or a
//! file that cannot be read, gets a random clock sequence. More than 10 million ids a second run ahead of the
//! clock by at most 5 s; then [`LocalUuidError::Wait`] says how long to wait.

mod word;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use mintage::{CLOCK_SEQ_MAX, GregorianTicks, Node, Timestamp, Uuid, UuidError, uuid1_from, uuid6_from};
use serde::{Deserialize, Serialize};

use crate::state_file::{Found, StateFile, StateFileError};
use word::SharedWord;

/// How far ahead of the ids `until` is written, in ticks of 100 ns.
const WRITTEN_AHEAD: u64 = 10 * TICKS_PER_SECOND;
/// How far ids may run ahead of the clock, in ticks.
const MAX_AHEAD: u64 = 5 * TICKS_PER_SECOND;
const TICKS_PER_SECOND: u64 = 10_000_000;
/// Further ahead than [`MAX_AHEAD`] by this much, in ticks: not by making ids, so the clock went back.
const SLACK: u64 = TICKS_PER_SECOND / 100;
/// `until` is moved on when less than this is left, in ticks.
const LOW_WATER: u64 = TICKS_PER_SECOND;
/// 1970-01-01 in ticks since 1582-10-15 (RFC 9562 section 5.1).
const UNIX_EPOCH_TICKS: u64 = 0x01b2_1dd2_1381_4000;
/// How long to wait when ids run too far ahead.
const WAIT: Duration = Duration::from_millis(1);
/// The most ids one call takes: a second's worth.
const TAKE_MAX: u64 = TICKS_PER_SECOND;

/// A generator over a state file. Any number of processes, threads (one each) and forked children may have one
/// over the same file.
#[derive(Debug)]
pub struct LocalUuid {
    file: StateFile,
    word: SharedWord,
    node: Node,
    clock_seq: u16,
    until: u64,
    notice: Option<Notice>,
}

/// What an opening found that its user may want to hear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The state could not be read and was set aside, or is a copy that was put back: a random clock sequence was drawn.
    Unreadable,
    /// The clock had gone back too far to be held: another clock sequence.
    ClockWentBack,
    /// Another node than before: a random clock sequence was drawn.
    OtherNode,
}

/// Why no UUID was made.
#[derive(Debug, thiserror::Error)]
pub enum LocalUuidError {
    /// The state file.
    #[error(transparent)]
    File(#[from] StateFileError),
    /// The file beside it.
    #[error("cannot use {}: {source}", path.display())]
    Word {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The time does not fit the version.
    #[error(transparent)]
    Time(#[from] UuidError),
    /// The state file was made for something else.
    #[error("state file {} does not hold the state of a UUID generator", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// The clock went back 16,384 times and more: every clock sequence of this node was used, and a node that was
    /// asked for is not changed by itself.
    #[error("all clock sequences of node {node} were used: choose another node")]
    ClockSequencesSpent {
        /// The node.
        node: Node,
    },
    /// Ids already run ahead of the clock by all that is allowed: there are 10 million a second. Try again after
    /// this long.
    #[error("ids run ahead of the clock: there are 10 million a second, wait {0:?}")]
    Wait(Duration),
}

/// The payload of the state file, readable by a person.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    kind: String,
    /// Six octets, hexadecimal.
    node: String,
    /// Whether the node was drawn by us.
    drawn: bool,
    clock_seq: u16,
    /// The first tick that was not reserved, since 1582-10-15 in units of 100 ns.
    until: u64,
    /// How often the clock sequence of this node was changed.
    changes: u16,
    /// The inode of the mapped file.
    word: u64,
}

const KIND: &str = "uuid1";

impl LocalUuid {
    /// Opens the state in `file`, making it at the first use. `node`: the one to use; without one, the file's, or
    /// a random one. `draw` fills bytes from a CSPRNG.
    ///
    /// # Errors
    /// The file cannot be used, or holds something else. A damaged state is no error: see [`Notice`].
    pub fn open(
        file: StateFile,
        node: Option<Node>,
        draw: &mut dyn FnMut(&mut [u8]),
        now: Timestamp,
    ) -> Result<LocalUuid, LocalUuidError> {
        let opened = settle(&file, node, draw, now);
        let (settled, unreadable) = match opened {
            Err(LocalUuidError::File(StateFileError::Damaged { .. })) => {
                file.set_aside()?;
                (settle(&file, node, draw, now)?, true)
            }
            other => (other?, false),
        };
        let notice = if unreadable {
            Some(Notice::Unreadable)
        } else {
            settled.notice
        };
        Ok(LocalUuid {
            file,
            word: settled.word,
            node: settled.node,
            clock_seq: settled.clock_seq,
            until: settled.until,
            notice,
        })
    }

    /// What the opening found that its user may want to hear.
    pub fn notice(&self) -> Option<Notice> {
        self.notice
    }

    /// The node in use.
    pub fn node(&self) -> Node {
        self.node
    }

    /// The clock sequence in use.
    pub fn clock_seq(&self) -> u16 {
        self.clock_seq
    }

    /// Takes 1 to `want` ticks at the time `now`: the first, and how many.
    fn take(
        &mut self,
        draw: &mut dyn FnMut(&mut [u8]),
        now: Timestamp,
        want: u64,
    ) -> Result<(u64, u64), LocalUuidError> {
        let n = want.clamp(1, TAKE_MAX);
        let tick = GregorianTicks::floor(now)?.get();
        // The second round has a settled state; a third means that others took what it had.
        for _ in 0..8 {
            let next = self.word.next().max(tick);
            let room = tick.saturating_add(MAX_AHEAD).saturating_sub(next);
            if room > 0 {
                let n = n.min(room);
                if let Some(first) = self.word.take(tick, n, self.until) {
                    return Ok((first, n));
                }
            } else if next <= tick.saturating_add(MAX_AHEAD + SLACK) {
                return Err(LocalUuidError::Wait(WAIT));
            }
            // The reservation ends, or the clock went back too far to be held.
            let settled = settle(&self.file, Some(self.node), draw, now)?;
            self.word = settled.word;
            self.clock_seq = settled.clock_seq;
            self.node = settled.node;
            self.until = settled.until;
            self.notice = settled.notice.or(self.notice);
        }
        Err(LocalUuidError::Wait(WAIT))
    }

    /// Makes up to `out.len()` UUIDs of one version (1, 6 or 7) with ticks that follow each other; answers how
    /// many, at least 1 if `out` is not empty.
    ///
    /// # Errors
    /// The state cannot be written, the time does not fit, or ids run too far ahead of the clock.
    ///
    /// # Panics
    /// When `version` is none of 1, 6 and 7: a defect of the caller.
    pub fn fill(
        &mut self,
        version: u8,
        draw: &mut dyn FnMut(&mut [u8]),
        now: Timestamp,
        out: &mut [Uuid],
    ) -> Result<usize, LocalUuidError> {
        assert!(matches!(version, 1 | 6 | 7), "version {version} has no ticks");
        if out.is_empty() {
            return Ok(0);
        }
        let (first, count) = self.take(draw, now, out.len() as u64)?;
        for (tick, uuid) in (first..first + count).zip(out.iter_mut()) {
            *uuid = match version {
                1 => uuid1_from(GregorianTicks::new(tick)?, self.clock_seq, self.node)?,
                6 => uuid6_from(GregorianTicks::new(tick)?, self.clock_seq, self.node)?,
                _ => uuid7_of_tick(tick, draw),
            };
        }
        Ok(usize::try_from(count).expect("at most out.len()"))
    }
}

/// The version 7 of a tick: the millisecond, then the tick within it as 14 bits of counter (RFC 9562 section 6.2,
/// method 3), then 60 random bits.
fn uuid7_of_tick(tick: u64, draw: &mut dyn FnMut(&mut [u8])) -> Uuid {
    let unix = tick.saturating_sub(UNIX_EPOCH_TICKS);
    let (ms, within) = (unix / 10_000, unix % 10_000);
    let mut random = [0; 8];
    draw(&mut random);
    let high = ms << 16 | 0x7000 | within >> 2;
    let low = 0b10 << 62 | (within & 0b11) << 60 | u64::from_be_bytes(random) >> 4;
    Uuid::from_u64_pair(high, low)
}

struct Settled {
    word: SharedWord,
    node: Node,
    clock_seq: u16,
    until: u64,
    notice: Option<Notice>,
}

/// Brings the state up to the time `now`, under the file's lock: at least [`LOW_WATER`] is reserved afterwards.
fn settle(
    file: &StateFile,
    asked: Option<Node>,
    draw: &mut dyn FnMut(&mut [u8]),
    now: Timestamp,
) -> Result<Settled, LocalUuidError> {
    let tick = GregorianTicks::floor(now)?.get();
    let path = word_path(file);
    let beside = |source| LocalUuidError::Word {
        path: path.clone(),
        source,
    };
    file.update(|found| {
        let may_be_older = found.as_ref().is_some_and(Found::may_be_older);
        let kept = found.map(|found| read(file, &found)).transpose()?;
        let mut notice = None;
        let mut start = tick;
        let mut word = None;
        let mut record = match kept {
            None => first_record(asked, draw),
            Some((_, node)) if asked.is_some_and(|asked| asked != node) => {
                notice = Some(Notice::OtherNode);
                first_record(asked, draw)
            }
            Some((kept, node)) => {
                word = SharedWord::open(&path, kept.word).map_err(beside)?;
                // What may have been used reaches up to the word; without one, up to `until`.
                let used = word
                    .as_ref()
                    .map_or(kept.until, |word| word.next().min(kept.until));
                if may_be_older {
                    // A newer record may be lost, and with it the clock sequence it had moved on to.
                    notice = Some(Notice::Unreadable);
                    word = None;
                    first_record(Some(node).filter(|_| !kept.drawn), draw)
                } else if used > tick.saturating_add(MAX_AHEAD + SLACK) {
                    notice = Some(Notice::ClockWentBack);
                    word = None;
                    next_clock_seq(kept, node, draw)?
                } else {
                    start = used.max(tick);
                    kept
                }
            }
        };
        let enough = start.saturating_add(LOW_WATER) <= record.until;
        let word = match word {
            Some(word) if enough => {
                let settled = settled(word, &record, notice)?;
                return Ok((None, settled));
            }
            Some(word) => word,
            None => SharedWord::create(&path, start).map_err(beside)?,
        };
        record.word = word.inode();
        record.until = start.saturating_add(WRITTEN_AHEAD);
        let payload = serde_json::to_string(&record).expect("numbers and short texts serialise");
        Ok((Some(payload), settled(word, &record, notice)?))
    })
}

fn settled(word: SharedWord, record: &Record, notice: Option<Notice>) -> Result<Settled, LocalUuidError> {
    let node = record.node.parse().map_err(LocalUuidError::Time)?;
    Ok(Settled {
        word,
        node,
        clock_seq: record.clock_seq,
        until: record.until,
        notice,
    })
}

fn read(file: &StateFile, found: &Found) -> Result<(Record, Node), LocalUuidError> {
    let other = || LocalUuidError::Other {
        path: file.path().to_path_buf(),
    };
    let record: Record = serde_json::from_str(&found.payload).map_err(|_| other())?;
    if record.kind != KIND || record.clock_seq > CLOCK_SEQ_MAX {
        return Err(other());
    }
    let node = record.node.parse().map_err(|_| other())?;
    Ok((record, node))
}

fn first_record(asked: Option<Node>, draw: &mut dyn FnMut(&mut [u8])) -> Record {
    let node = asked.unwrap_or_else(|| Node::random(&mut Drawn(draw)));
    let mut clock_seq = [0; 2];
    draw(&mut clock_seq);
    Record {
        kind: KIND.into(),
        node: node.to_string(),
        drawn: asked.is_none(),
        clock_seq: u16::from_be_bytes(clock_seq) & CLOCK_SEQ_MAX,
        until: 0,
        changes: 0,
        word: 0,
    }
}

/// The clock sequence after the kept one. After all of them a drawn node is drawn anew, and one that was asked
/// for is refused (protocol U1).
fn next_clock_seq(
    kept: Record,
    node: Node,
    draw: &mut dyn FnMut(&mut [u8]),
) -> Result<Record, LocalUuidError> {
    match (kept.changes < CLOCK_SEQ_MAX, kept.drawn) {
        (true, _) => Ok(Record {
            clock_seq: kept.clock_seq.wrapping_add(1) & CLOCK_SEQ_MAX,
            changes: kept.changes + 1,
            until: 0,
            ..kept
        }),
        (false, true) => Ok(first_record(None, draw)),
        (false, false) => Err(LocalUuidError::ClockSequencesSpent { node }),
    }
}

fn word_path(file: &StateFile) -> PathBuf {
    let mut name = file.path().file_name().unwrap_or_default().to_os_string();
    name.push(".word");
    file.path().with_file_name(name)
}

/// A closure as core's source of randomness.
struct Drawn<'a>(&'a mut dyn FnMut(&mut [u8]));

impl mintage::Entropy for Drawn<'_> {
    fn fill(&mut self, out: &mut [u8]) {
        (self.0)(out);
    }
}

#[cfg(test)]
mod tests;
