//! Boundary's flake: 64 bits of milliseconds, 48 of a worker, 16 of a sequence.
//!
//! ```text
//! | unix_ms 64 | worker 48 | sequence 16 |
//! ```
//!
//! `unix_ms` counts milliseconds since 1970; the worker is a hardware address in the original, here the caller's
//! or, by default, a random one of the process with the multicast bit set. The text is the 128 bits as one number
//! in base 62 (`0-9A-Za-z`) without leading zeros: 18 characters from 1975 to 2286, which sort; other lengths do
//! not (boundary/flake, readme and flake_util.erl).
//!
//! Rare events. *Sequence full*: it carries into the millisecond, at most 10 s ahead of the clock, where the
//! original wraps and repeats. *Clock back*: the last millisecond is held, as far. *Fork*: the child draws another
//! worker; with a worker of the caller's it is refused.

use core::time::Duration;

use super::places::Places;
use super::wide::{self, BASE62};
use super::{BLANK, Details, Format, FormatError, GenOption, GenOptions, Id, TimeShape};
use crate::Entropy;
use crate::MintError;
use crate::layout::ones;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};

pub(super) const FLAKE: Format = Format {
    name: "flake",
    title: "Boundary flake",
    summary: "128 bits: milliseconds, worker, sequence",
    unique: "the worker, if nobody else has it, and a sequence that carries",
    tells: "when, by which worker, and how many in that millisecond",
    source: "boundary/flake, readme and flake_util.erl",
    diagram: "| unix_ms 64 | worker 48 | sequence 16 |",
    bits: 128,
    text_len: (1, 22),
    time: Some(MILLIS),
    bytes_sort: true,
    options: &[GenOption::Node],
    entropy: |options| if options.node.is_some() { 0.0 } else { 47.0 },
    parse: |text, _| parse(text),
    write: |id, out| {
        let mut text = [0; 22];
        BASE62.encode(wide::limbs::<4>(id.bytes()), &mut text);
        let zeros = text.iter().take(21).take_while(|digit| **digit == b'0').count();
        out.extend_from_slice(&text[zeros..]);
    },
    read: |id, _| {
        let number = id.number().expect("Format::read checked the size");
        let millis = (number >> 64) as u64;
        Details::new(Some(MILLIS.time_of(millis)))
            .number("unix_ms", millis, 64)
            .hex("worker", &id.bytes()[8..14])
            .number("sequence", number as u64 & ones(16), 16)
    },
    #[cfg(feature = "std")]
    make_many: Some(process::fill),
    make_at: Some(|time, options, entropy| {
        let mut random = [0; 16];
        entropy.fill(&mut random);
        let number = u128::from_be_bytes(random);
        let worker = worker_of(options)?.unwrap_or(random_worker((number >> 64) as u64));
        Ok(pack(MILLIS.tick_of(time)?, worker, number as u64 & ones(16)))
    }),
    min_at: Some(|time, options| Ok(pack(MILLIS.tick_of(time)?, worker_of(options)?.unwrap_or(0), 0))),
    max_at: Some(|time, options| {
        let worker = worker_of(options)?.unwrap_or(ones(48));
        Ok(pack(MILLIS.tick_of(time)?, worker, ones(16)))
    }),
    generator: Some(
        |options, clock: alloc::boxed::Box<dyn Clock>, mut entropy: alloc::boxed::Box<dyn Entropy>| {
            let mut random = [0; 8];
            entropy.fill(&mut random);
            let worker = worker_of(options)?.unwrap_or(random_worker(u64::from_be_bytes(random)));
            let mut places = Places::new(clock, entropy, MILLIS, 16, 0);
            Ok(alloc::boxed::Box::new(move || -> Result<Id, FormatError> {
                let (millis, sequence) = places.take().map_err(|error: MintError| error)?;
                Ok(pack(millis, worker, sequence))
            }))
        },
    ),
    ..BLANK
};

pub(super) const MILLIS: TimeShape = TimeShape {
    tick: Duration::from_millis(1),
    first: Timestamp::UNIX_EPOCH,
    last: Timestamp::from_unix_nanos((1 << 64) * 1_000_000 - 1),
    digits: 3,
};

fn parse(text: &[u8]) -> Result<Id, TextError> {
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    if text.len() > 22 {
        return Err(TextError::Lengths {
            found: text.len(),
            min: 1,
            max: 22,
        });
    }
    if text.len() > 1 && text[0] == b'0' {
        return Err(TextError::NotCanonical { position: 0 });
    }
    let mut padded = [b'0'; 22];
    let zeros = 22 - text.len();
    padded[zeros..].copy_from_slice(text);
    let limbs = BASE62.decode::<4, 22>(&padded).map_err(|error| match error {
        TextError::Character { position } => TextError::Character {
            position: position - zeros,
        },
        other => other,
    })?;
    Ok(Id::of(wide::bytes::<4, 16>(limbs)))
}

fn pack(millis: u64, worker: u64, sequence: u64) -> Id {
    let low = worker << 16 | sequence;
    Id::of((u128::from(millis) << 64 | u128::from(low)).to_be_bytes())
}

fn worker_of(options: &GenOptions) -> Result<Option<u64>, FormatError> {
    match options.node {
        Some(node) if node > ones(48) => Err(FormatError::option(
            "node",
            alloc::format!("{node} does not fit, a flake's worker has 48 bits"),
        )),
        node => Ok(node),
    }
}

/// No hardware address: its multicast bit is set.
fn random_worker(random: u64) -> u64 {
    random & ones(48) | 1 << 40
}

#[cfg(feature = "std")]
mod process {
    use super::{pack, random_worker, worker_of};
    use crate::format::places::{ForkGuard, Own};
    use crate::format::{FormatError, GenOptions, Id, Source};
    use crate::layout::ones;

    static WORKER: Own = Own::new();
    static GUARD: ForkGuard = ForkGuard::new();

    pub(super) fn fill(from: Source<'_>, options: &GenOptions, out: &mut [Id]) -> Result<(), FormatError> {
        let line = &from.generators.flake;
        let count = out.len() as u64;
        let (worker, first) = match worker_of(options)? {
            Some(worker) => {
                GUARD.check()?;
                (worker, line.claim(&from.generators.unspent(from.clock)?, count)?)
            }
            None => {
                let worker = WORKER.get().wrapping_add(from.generators.turn());
                (random_worker(worker), line.claim(from.clock, count)?)
            }
        };
        for (place, id) in (first..).zip(out) {
            *id = pack(place >> 16, worker, place & ones(16));
        }
        Ok(())
    }
}
