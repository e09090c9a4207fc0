//! Plain numbers as formats: Snowflakes of any layout, and sequences.
//!
//! A Snowflake has 8 bytes, and of a layout of more than 64 bits as many as its bits need.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::{BLANK, Details, Family, Format, FormatError, GenOption, GenOptions, Id, TimeShape, Verb};
use crate::Entropy;
use crate::layout::{Layout, LayoutError, ones};
use crate::presets::preset;
use crate::text::{SnowflakeText, TextError};
use crate::time::Timestamp;

/// A Snowflake of the layout in the options, of Twitter's if there is none.
pub(super) const SNOWFLAKE: Format = Format {
    name: "snowflake",
    title: "Snowflake",
    summary: "time, worker, sequence; in many layouts",
    unique: "the worker, if nobody else has it: a pool makes sure",
    tells: "when, by which worker, and how many in that tick",
    family: Family::Snowflake,
    lacks: &[Verb::Make, Verb::Generator],
    source: "twitter-archive/snowflake, IdWorker.scala; the other layouts name theirs",
    diagram: "| timestamp_ms 42 | datacenter 5 | worker 5 | sequence 12 |",
    bits: 64,
    text_len: (1, 20),
    time: Some(TimeShape::new(
        Duration::from_millis(1),
        1_288_834_974_657,
        1 << 41,
        3,
    )),
    bytes_sort: true,
    options: &[GenOption::Layout, GenOption::Worker, GenOption::Datacenter],
    parse: |text, options| {
        let layout = layout_of(options);
        // Exactly, where that is known: a number with zeros in front is no id of 64 bits.
        let id = match layout.is_wide() {
            true => SnowflakeText::Dec.read_wide(text)?,
            false => SnowflakeText::Dec.read(text)?.into(),
        };
        match layout.unpack_wide(id) {
            Ok(_) => Ok(id_of_layout(id, &layout)),
            Err(_) => Err(TextError::Rule {
                position: 0,
                rule: "a number that is not an id of the layout",
            }),
        }
    },
    write: write_number,
    read: |id, options| {
        let layout = layout_of(options);
        let number = id.number().expect("Format::read checked the size");
        Details::of_layout(number, &layout).unwrap_or_default()
    },
    make_at: Some(|time, options, entropy: &mut dyn Entropy| {
        let layout = layout_of(options);
        let mut random = [0; 8];
        entropy.fill(&mut random);
        let sequence = u64::from_be_bytes(random) & ones(layout.sequence_bits());
        at(
            time,
            options,
            &layout,
            worker_of(options, &layout, Of::Smallest)?,
            sequence,
        )
    }),
    min_at: Some(|time, options| {
        let layout = layout_of(options);
        at(
            time,
            options,
            &layout,
            worker_of(options, &layout, Of::Smallest)?,
            0,
        )
    }),
    max_at: Some(|time, options| {
        let layout = layout_of(options);
        let worker = worker_of(options, &layout, Of::Largest)?;
        let id = at(time, options, &layout, worker, ones(layout.sequence_bits()))?;
        // The rollback field, if there is one, is largest too.
        let rollback = u128::from(ones(layout.rollback_bits())) << layout.rollback_shift();
        let number = id.number().expect("ids of layouts have 16 bytes at most");
        Ok(id_of_layout(number | rollback, &layout))
    }),
    ..BLANK
};

/// A number of a sequence: nothing but a store makes one.
pub(super) const SEQUENCE: Format = Format {
    name: "sequence",
    title: "Sequence",
    summary: "1, 2, 3 from a server or store",
    unique: "the store: durable before it is given out",
    tells: "how many there are",
    family: Family::Sequence,
    lacks: &[Verb::Make, Verb::Generator],
    source: "this project; SQL:2003's sequences",
    diagram: "| number 64, signed |",
    bits: 64,
    text_len: (1, 20),
    bytes_sort: true,
    parse: |text, _| {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let sign = text.len() - digits.len();
        let number = SnowflakeText::Dec
            .read(digits)
            .map_err(|error| error.moved(sign))?;
        if sign == 1 && number == 0 {
            return Err(TextError::NotCanonical { position: 0 });
        }
        let number = i128::from(number) * if sign == 1 { -1 } else { 1 };
        let number = i64::try_from(number).map_err(|_| TextError::TooLarge)?;
        Ok(Id::of(sortable(number)))
    },
    write: |id, out| {
        let bytes = id.array().expect("Format::write checked the size");
        let number = (u64::from_be_bytes(bytes) ^ SIGN) as i64;
        out.extend_from_slice(alloc::format!("{number}").as_bytes());
    },
    ..BLANK
};

/// Turned around in the bytes of a sequence's number, so that they sort as the numbers do.
const SIGN: u64 = 1 << 63;

fn sortable(number: i64) -> [u8; 8] {
    (number as u64 ^ SIGN).to_be_bytes()
}

fn write_number(id: &Id, out: &mut Vec<u8>) {
    let number = id.number().expect("Format::write checked the size");
    SnowflakeText::Dec.write_wide(number, u64::BITS, out);
}

/// How many bytes ids of `layout` have.
pub(crate) fn id_bytes(layout: &Layout) -> usize {
    layout.bits().div_ceil(8).max(8) as usize
}

/// The id of a number that `layout` has, or any number of as many bytes.
pub(crate) fn id_of_layout(number: u128, layout: &Layout) -> Id {
    let bytes = number.to_be_bytes();
    Id::from_bytes(&bytes[bytes.len() - id_bytes(layout)..]).expect("an id has room for 16 bytes")
}

/// The layout chosen, or Twitter's.
fn layout_of(options: &GenOptions) -> Cow<'_, Layout> {
    match &options.layout {
        Some(layout) => Cow::Borrowed(Arc::as_ref(layout)),
        None => Cow::Owned(preset("twitter").expect("a preset").layout()),
    }
}

fn at(
    time: Timestamp,
    options: &GenOptions,
    layout: &Layout,
    worker: u64,
    sequence: u64,
) -> Result<Id, FormatError> {
    let tick = layout.tick_at(time).map_err(|_| FormatError::Time {
        time,
        first: layout.epoch(),
        last: Timestamp::from_unix_nanos(layout.end().unix_nanos() - 1),
    })?;
    let id = layout.pack_wide(tick, worker, sequence);
    Ok(id_of_layout(
        id.map_err(|error| refused(options, &error))?,
        layout,
    ))
}

/// Which of the workers that were not chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Smallest,
    Largest,
}

/// The worker chosen, in the datacenter chosen; else the smallest or largest there is.
fn worker_of(options: &GenOptions, layout: &Layout, which: Of) -> Result<u64, FormatError> {
    let bits = layout.worker_bits() - layout.datacenter_field().map_or(0, |field| field.bits);
    match (options.datacenter, options.worker, which) {
        (None, Some(worker), _) => Ok(worker),
        (None, None, Of::Smallest) => Ok(0),
        (None, None, Of::Largest) => Ok(ones(layout.worker_bits())),
        (Some(datacenter), worker, which) => {
            let worker = worker.unwrap_or(if which == Of::Smallest { 0 } else { ones(bits) });
            layout
                .worker_in(datacenter, worker)
                .map_err(|error| refused(options, &error))
        }
    }
}

fn refused(options: &GenOptions, error: &LayoutError) -> FormatError {
    let option = match (error, options.datacenter, options.worker) {
        (
            LayoutError::NoDatacenter { .. }
            | LayoutError::TooLarge {
                what: "datacenter", ..
            },
            ..,
        ) => "datacenter",
        (_, _, Some(_)) => "worker",
        _ => "layout",
    };
    FormatError::option(option, alloc::format!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_datacenter_hold_its_workers_alone() {
        let time = Timestamp::from_unix_millis(1_656_432_460_105);
        let twitter = preset("twitter").expect("a preset").layout();
        for (datacenter, worker, smallest, largest) in [
            (None, None, 0, 1023),
            (None, Some(378), 378, 378),
            (Some(11), None, 352, 383),
            (Some(11), Some(26), 378, 378),
        ] {
            let options = GenOptions {
                datacenter,
                worker,
                ..GenOptions::default()
            };
            let bounds = [SNOWFLAKE.min_at(time, &options), SNOWFLAKE.max_at(time, &options)];
            let workers = bounds.map(|id| {
                let id = u64::from_be_bytes(id.expect("it fits").array().expect("8 bytes"));
                twitter.unpack(id).expect("of the layout").worker
            });
            assert_eq!(workers, [smallest, largest], "{datacenter:?} {worker:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_option_that_does_not_fit() {
        for (layout, datacenter, worker, named) in [
            ("twitter", Some(32), Some(1), "datacenter"),
            ("twitter", Some(1), Some(32), "worker"),
            ("twitter", None, Some(1024), "worker"),
            ("sonyflake", Some(1), Some(1), "datacenter"),
        ] {
            let options = GenOptions {
                layout: Some(Arc::new(preset(layout).expect("a preset").layout())),
                datacenter,
                worker,
                ..GenOptions::default()
            };
            let refused = SNOWFLAKE.min_at(Timestamp::from_unix_millis(1_656_432_460_105), &options);
            match refused {
                Err(FormatError::Option { option, .. }) => assert_eq!(option, named),
                other => panic!("{layout} {datacenter:?} {worker:?}: {other:?}"),
            }
        }
    }
}
