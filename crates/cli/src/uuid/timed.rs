//! Versions 1, 2, 6 and 7: from a clock, or at a time that was asked for.

use std::cell::Cell;
use std::io::Write as _;
use std::time::Duration;

use mintage::{
    CLOCK_SEQ_MAX, Clock, Domain, FixedClock, GenOptions, GregorianTicks, MintError, Node, Precision,
    SystemClock, SystemEntropy, Timestamp, Uuid, UuidError, V1Generator, V7Generator, uuid1_from, uuid2_from,
    uuid6_from, uuid7_at,
};

use super::{Args, DomainArg, PrecisionArg, Sink, Version};
use crate::errors::Failure;
use mintage_wire::shown;

pub(super) fn run(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    match (args.version, args.at) {
        (Version::V2, _) => v2(args, sink),
        (Version::V7, Some(at)) => v7_at(args, at, sink),
        (Version::V7, None) => v7(args, sink),
        (_, Some(at)) => gregorian_at(args, at, sink),
        (_, None) => gregorian(args, sink),
    }
}

/// Versions 1 and 6 from the clock.
fn gregorian(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let ceiling = Ceiling {
        quiet: sink.out.quiet,
        version: args.version.number(),
        last: Cell::new(Uuid::nil()),
        told: Cell::new(false),
    };
    gregorian_below(&ceiling, args, sink)?;
    ceiling.tell_at_the_end();
    Ok(())
}

fn gregorian_below(ceiling: &Ceiling, args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let count = args.count.unwrap_or(1);
    if args.node.is_some() || args.clock_seq.is_some() {
        let identity = Identity::of(args)?;
        let (clock_seq, node) = identity.draw();
        let mut generator = V1Generator::new(SystemClock, clock_seq, node).map_err(Failure::usage)?;
        return sink.many(count, |ids| {
            for id in ids {
                *id = patiently(Some(ceiling), || match args.version {
                    Version::V6 => generator.next_v6(),
                    _ => generator.next_v1(),
                })?;
                ceiling.last.set(*id);
            }
            Ok(())
        });
    }
    sink.many(count, |ids| match args.version {
        Version::V6 => {
            for id in ids {
                *id = patiently(Some(ceiling), mintage::uuid6)?;
                ceiling.last.set(*id);
            }
            Ok(())
        }
        _ => {
            patiently(Some(ceiling), || mintage::uuid1_many(ids))?;
            ceiling.last.set(ids.last().copied().unwrap_or_default());
            Ok(())
        }
    })
}

/// Versions 1 and 6 at a time: the first id has exactly it, further ones the next ticks.
fn gregorian_at(args: &Args, at: Timestamp, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let count = args.count.unwrap_or(1);
    let first = GregorianTicks::floor(at)
        .map_err(|e| out_of_range(args.version, &e))?
        .get();
    if count > GregorianTicks::MAX.get() - first + 1 {
        return Err(Failure::usage(format_args!(
            "{count} ids from {} on pass {}, the last time that version {} holds",
            shown(at),
            shown(GregorianTicks::MAX.time()),
            args.version.number()
        )));
    }
    let identity = Identity::of(args)?;
    let kept = identity.draw();
    let mut ticks = first;
    sink.many(count, |ids| {
        for id in ids {
            let time = GregorianTicks::new(ticks).map_err(Failure::usage)?;
            *id = match args.version {
                // Fresh in every id unless they were asked for (RFC 9562 section 5.6).
                Version::V6 if identity.is_free() => {
                    let (clock_seq, node) = identity.draw();
                    uuid6_from(time, clock_seq, node)
                }
                Version::V6 => uuid6_from(time, kept.0, kept.1),
                _ => uuid1_from(time, kept.0, kept.1),
            }
            .map_err(Failure::usage)?;
            ticks += 1;
        }
        Ok(())
    })
}

/// Version 2: one node has 64 ids for each local id in 429.5 s.
fn v2(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    const PER_STEP: u64 = 64;
    let count = args.count.unwrap_or(1);
    let room = if args.clock_seq.is_some() { 1 } else { PER_STEP };
    if count > room {
        let message = match args.clock_seq {
            Some(_) => format!("{count} ids of one clock sequence would all be the same"),
            None => {
                format!("{count} ids do not fit: version 2 has {PER_STEP} for a local id, node and 429 s")
            }
        };
        return Err(Failure::usage(message).with_hint("version 7 has no such limit"));
    }
    let at = args.at.unwrap_or_else(|| SystemClock.now());
    let ticks = GregorianTicks::floor(at).map_err(|e| out_of_range(args.version, &e))?;
    let domain = match args.domain.unwrap_or(DomainArg::Person) {
        DomainArg::Person => Domain::Person,
        DomainArg::Group => Domain::Group,
        DomainArg::Org => Domain::Org,
    };
    let local_id = match args.local_id {
        Some(local_id) => local_id,
        None => own_id(domain)?,
    };
    let (first, node) = Identity::of(args)?.draw();
    let first = match args.clock_seq {
        Some(_) => first,
        None => first % PER_STEP as u16,
    };
    let mut made = 0;
    sink.many(count, |ids| {
        for id in ids {
            let clock_seq = match args.clock_seq {
                Some(given) => u8::try_from(given).unwrap_or(u8::MAX),
                None => (u64::from(first) + made).rem_euclid(PER_STEP) as u8,
            };
            *id = uuid2_from(ticks, clock_seq, node, domain, local_id).map_err(|_| {
                Failure::usage(format_args!(
                    "clock sequence {first} does not fit version 2: 6 bits, largest is 63"
                ))
            })?;
            made += 1;
        }
        Ok(())
    })
}

/// This process's user or group.
fn own_id(domain: Domain) -> Result<u32, Failure> {
    #[cfg(target_os = "linux")]
    if let Ok(own) = std::fs::metadata("/proc/self") {
        use std::os::unix::fs::MetadataExt;
        match domain {
            Domain::Person => return Ok(own.uid()),
            Domain::Group => return Ok(own.gid()),
            _ => {}
        }
    }
    Err(Failure::usage(format_args!(
        "domain {} needs a --local-id",
        match domain {
            Domain::Person => "person",
            Domain::Group => "group",
            _ => "org",
        }
    )))
}

/// Version 7 from the clock.
fn v7(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let count = args.count.unwrap_or(1);
    if args.precision == Some(PrecisionArg::Submilli) {
        let mut generator = V7Generator::new(SystemClock, SystemEntropy).precision(Precision::Submilli);
        return sink.many(count, |ids| {
            for id in ids {
                *id = patiently(None, || generator.next_id())?;
            }
            Ok(())
        });
    }
    sink.many(count, |ids| {
        mintage::uuid7_many(ids);
        Ok(())
    })
}

/// Version 7 at a time: in order among themselves; what the counter cannot hold carries into the time.
fn v7_at(args: &Args, at: Timestamp, sink: &mut Sink<'_>) -> Result<(), Failure> {
    // Also the check of the range.
    uuid7_at(at).map_err(|e| out_of_range(args.version, &e))?;
    let precision = match args.precision {
        Some(PrecisionArg::Submilli) => Precision::Submilli,
        _ => Precision::Millis,
    };
    let mut generator = V7Generator::new(FixedClock(at), SystemEntropy).precision(precision);
    sink.many(args.count.unwrap_or(1), |ids| {
        for id in ids {
            *id = generator.next_id().map_err(|error| match error {
                MintError::TooFarAhead { .. } | MintError::TimeFieldFull => {
                    Failure::usage(format_args!("the ids do not all fit one time: {error}"))
                }
                other => Failure::cannot(other),
            })?;
        }
        Ok(())
    })
}

/// Says when ids came faster than versions 1 and 6 have places: 10 million a second.
struct Ceiling {
    quiet: bool,
    version: u8,
    /// The last id that was made.
    last: Cell<Uuid>,
    told: Cell<bool>,
}

impl Ceiling {
    /// How far ahead of the clock the last id is.
    fn ahead(&self) -> Duration {
        let last = self.last.get();
        let read =
            mintage::format("uuid").and_then(|row| row.read(&last.into(), &GenOptions::default()).ok());
        let Some(time) = read.and_then(|details| details.time) else {
            return Duration::ZERO;
        };
        let ahead = time.at.unix_nanos() - SystemClock.now().unix_nanos();
        Duration::from_nanos(u64::try_from(ahead).unwrap_or(0))
    }

    fn tell(&self, then: &str) {
        let ahead = self.ahead();
        if self.quiet || ahead < WORTH_TELLING || self.told.replace(true) {
            return;
        }
        // A note that cannot be shown is no reason to fail.
        let _ = writeln!(
            std::io::stderr(),
            "note: minted {:.1} s ahead of the clock: version {} has 10 million ids a second{then}",
            ahead.as_secs_f64(),
            self.version
        );
    }

    fn tell_before_waiting(&self) {
        self.tell("; waiting for it");
    }

    fn tell_at_the_end(&self) {
        self.tell("");
    }
}

/// Less is made up for before anyone looks.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// Makes ids, waiting for the clock where they run too far ahead of it: 10 million a second is all that ticks
/// of 100 ns allow.
fn patiently<T>(
    ceiling: Option<&Ceiling>,
    mut make: impl FnMut() -> Result<T, MintError>,
) -> Result<T, Failure> {
    loop {
        match make() {
            Ok(made) => return Ok(made),
            Err(MintError::TooFarAhead { ticks }) => {
                let how_long = Duration::from_nanos(ticks.saturating_mul(100));
                if how_long > LONGEST_WAIT {
                    return Err(Failure::cannot("the clock was set back while ids were made")
                        .with_hint("set it right"));
                }
                if let Some(ceiling) = ceiling {
                    ceiling.tell_before_waiting();
                }
                std::thread::sleep(how_long.max(SHORTEST_WAIT));
            }
            Err(other) => return Err(Failure::cannot(other)),
        }
    }
}

const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Clock sequence and node as asked for; what was not is random.
struct Identity {
    clock_seq: Option<u16>,
    node: Option<Node>,
}

impl Identity {
    fn of(args: &Args) -> Result<Identity, Failure> {
        let node = args.node.as_ref().map(|source| source.node()).transpose()?;
        Ok(Identity {
            clock_seq: args.clock_seq,
            node,
        })
    }

    /// Neither was asked for.
    fn is_free(&self) -> bool {
        self.clock_seq.is_none() && self.node.is_none()
    }

    fn draw(&self) -> (u16, Node) {
        let random = || {
            let mut octets = [0; 2];
            mintage::fill_random(&mut octets);
            u16::from_be_bytes(octets) & CLOCK_SEQ_MAX
        };
        let node = self.node.unwrap_or_else(|| Node::random(&mut SystemEntropy));
        (self.clock_seq.unwrap_or_else(random), node)
    }
}

/// A time outside what the version holds, in words and with the true ends.
fn out_of_range(version: Version, error: &UuidError) -> Failure {
    let UuidError::Time { time, first, last } = error else {
        return Failure::usage(error);
    };
    let number = version.number();
    if time < first {
        return Failure::usage(format_args!(
            "{} lies before {}, where the time of version {number} begins",
            shown(*time),
            shown(*first)
        ));
    }
    // The last nanosecond of the last step: the step's beginning is what an id shows.
    let last = match version {
        Version::V7 => Timestamp::from_unix_millis(last.unix_millis()),
        _ => *last,
    };
    let failure = Failure::usage(format_args!(
        "{} lies past {}, the last time that version {number} holds",
        shown(*time),
        shown(last)
    ));
    match version {
        Version::V7 => failure,
        _ => failure.with_hint("RFC 9562 prints the year 5623: its digits are swapped"),
    }
}
