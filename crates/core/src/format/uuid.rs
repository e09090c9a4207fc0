//! UUIDs as formats: a row for every version, and one for any.

use alloc::format;
use core::time::Duration;

use ::uuid::Uuid;

use super::{BLANK, Details, Family, Format, FormatError, GenOption, GenOptions, Id, TimeShape, Verb};
use crate::Entropy;
use crate::layout::ones;
use crate::text::{TextError, UuidText};
use crate::time::Timestamp;
use crate::uuid::{
    CLOCK_SEQ_MAX, GregorianTicks, Node, Precision, uuid1_from, uuid2_from, uuid6_from, uuid7_from, uuid8,
    v1, v6, v7,
};

const fn row(name: &'static str, title: &'static str, version: Option<u8>) -> Format {
    Format {
        name,
        title,
        family: Family::Uuid(version),
        bits: 128,
        text_len: (36, 36),
        write: |id, out| {
            let id = id.uuid().expect("Format::write checked the size");
            UuidText::Hyphenated.write(&id, out);
        },
        read: |id, _| read(&id.uuid().expect("Format::read checked the size")),
        ..BLANK
    }
}

const GREGORIAN: TimeShape = TimeShape {
    tick: Duration::from_nanos(100),
    first: GregorianTicks::MIN.time(),
    last: Timestamp::from_unix_nanos(GregorianTicks::MAX.time().unix_nanos() + 99),
    digits: 7,
};

const MILLIS: TimeShape = TimeShape::new(Duration::from_millis(1), 0, 1 << 48, 3);

/// What a UUID made from a name is asked with.
const NAMED: &[(GenOption, &str)] = &[
    (GenOption::Namespace, "dns"),
    (GenOption::Name, "www.example.com"),
];

/// Any UUID: version 7 when made, any version when read.
pub(super) const UUID: Format = Format {
    summary: "any version when read, version 7 when made",
    unique: V7.unique,
    tells: V7.tells,
    source: "RFC 9562 section 4",
    diagram: "| 48 bits | version 4 | 12 bits | variant 2 | 62 bits |",
    time: Some(MILLIS),
    bytes_sort: true,
    text_sorts: true,
    entropy: V7.entropy,
    parse: |text, _| UuidText::Hyphenated.read(text).map(Id::from),
    parse_lenient: Some(|text, _| UuidText::Hyphenated.read_lenient(text).map(Id::from)),
    #[cfg(feature = "std")]
    write_lines: V7.write_lines,
    make_many: V7.make_many,
    make_at: V7.make_at,
    min_at: V7.min_at,
    max_at: V7.max_at,
    generator: V7.generator,
    ..row("uuid", "UUID", None)
};

/// UUID version 1.
pub(super) const V1: Format = Format {
    summary: "time and node, for systems that expect it",
    unique: "node, clock sequence and time; over processes where their state is kept",
    tells: "when, and by which node; a hardware address also tells which machine",
    source: "RFC 9562 section 5.1",
    diagram: "| time_low 32 | time_mid 16 | version 4 = 1 | time_high 12 | variant 2 | clock_seq 14 | node 48 |",
    time: Some(GREGORIAN),
    options: &[GenOption::Node, GenOption::ClockSeq],
    entropy: |_| 61.0,
    parse: |text, _| parse(text, 1),
    parse_lenient: Some(|text, _| parse_lenient(text, 1)),
    #[cfg(feature = "std")]
    make_many: Some(|from, options, out| {
        if options.node.is_some() || options.clock_seq.is_some() {
            return of_node(from, v1::pack, options, out);
        }
        each_uuid(out, |ids| {
            crate::uuid::fill_v1(from, ids).map_err(FormatError::from)
        })
    }),
    make_at: Some(|time, options, entropy| {
        let (clock_seq, node) = who(options, entropy)?;
        Ok(uuid1_from(GregorianTicks::floor(time)?, clock_seq, node)?.into())
    }),
    min_at: Some(|time, _| Ok(v1::pack(GregorianTicks::floor(time)?, LOW_MIN).into())),
    max_at: Some(|time, _| Ok(v1::pack(GregorianTicks::floor(time)?, LOW_MAX).into())),
    generator: Some(|options, clock, mut entropy| {
        let (clock_seq, node) = who(options, &mut *entropy)?;
        let mut generator = crate::V1Generator::new(clock, clock_seq, node)?;
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_v1()?.into())))
    }),
    ..row("uuid1", "UUID version 1", Some(1))
};

/// UUID version 2.
pub(super) const V2: Format = Format {
    summary: "DCE: a POSIX user or group and a time",
    unique: "64 for each node, local id and 429 s",
    tells: "whose it is, when, and by which node",
    lacks: &[Verb::Bound, Verb::Generator],
    example: &[(GenOption::Domain, "org"), (GenOption::LocalId, "7")],
    source: "DCE 1.1, Authentication and Security Services; RFC 9562 section 5.2",
    diagram: "| local_id 32 | time_mid 16 | version 4 = 2 | time_high 12 | variant 2 | clock_seq 6 | domain 8 | node 48 |",
    time: Some(TimeShape {
        tick: Duration::from_nanos(100 << 32),
        digits: 0,
        ..GREGORIAN
    }),
    options: &[
        GenOption::Domain,
        GenOption::LocalId,
        GenOption::Node,
        GenOption::ClockSeq,
    ],
    entropy: |_| 53.0,
    parse: |text, _| parse(text, 2),
    parse_lenient: Some(|text, _| parse_lenient(text, 2)),
    #[cfg(feature = "std")]
    make_many: Some(|from, options, out| {
        out.iter_mut().try_for_each(|id| {
            *id = v2_at(from.clock.now(), options, &mut crate::SystemEntropy)?;
            Ok(())
        })
    }),
    make_at: Some(v2_at),
    ..row("uuid2", "UUID version 2", Some(2))
};

fn v2_at(time: Timestamp, options: &GenOptions, entropy: &mut dyn Entropy) -> Result<Id, FormatError> {
    let missing = |option| FormatError::option(option, "uuid2 needs one");
    let domain = options.domain.ok_or_else(|| missing("domain"))?;
    let local_id = options.local_id.ok_or_else(|| missing("local-id"))?;
    let (clock_seq, node) = who(options, entropy)?;
    let clock_seq = match options.clock_seq {
        Some(given) => u8::try_from(given).map_err(|_| v1::clock_seq_too_large(given.into(), 63))?,
        None => clock_seq as u8 & 63,
    };
    Ok(uuid2_from(GregorianTicks::floor(time)?, clock_seq, node, domain, local_id)?.into())
}

/// UUID version 3.
pub(super) const V3: Format = Format {
    summary: "made from a name with MD5, for systems that expect it",
    unique: "the name within its namespace, as far as MD5 goes",
    tells: "nothing, but a guessed name can be checked",
    lacks: &[Verb::Generator],
    example: NAMED,
    source: "RFC 9562 section 5.3",
    diagram: "| md5_high 48 | version 4 = 3 | md5_mid 12 | variant 2 | md5_low 62 |",
    options: &[GenOption::Namespace, GenOption::Name],
    parse: |text, _| parse(text, 3),
    parse_lenient: Some(|text, _| parse_lenient(text, 3)),
    #[cfg(feature = "names")]
    make_many: Some(|_, options, out| named(crate::uuid3, options, out)),
    ..row("uuid3", "UUID version 3", Some(3))
};

/// UUID version 4.
pub(super) const V4: Format = Format {
    summary: "random",
    unique: "122 random bits",
    tells: "nothing",
    source: "RFC 9562 section 5.4",
    diagram: "| random_a 48 | version 4 = 4 | random_b 12 | variant 2 | random_c 62 |",
    entropy: |_| 122.0,
    parse: |text, _| parse(text, 4),
    parse_lenient: Some(|text, _| parse_lenient(text, 4)),
    #[cfg(feature = "std")]
    make_many: Some(|_, _, out| {
        each_uuid(out, |ids| {
            crate::uuid4_many(ids);
            Ok(())
        })
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| uuid_lines(crate::uuid4_many, count, out)),
    generator: Some(|_, _, entropy| {
        let mut generator = crate::V4Generator::new(entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id().into())))
    }),
    ..row("uuid4", "UUID version 4", Some(4))
};

/// UUID version 5.
pub(super) const V5: Format = Format {
    summary: "made from a name with SHA-1: the same name, the same id",
    unique: "the name within its namespace",
    tells: "nothing, but a guessed name can be checked",
    lacks: &[Verb::Generator],
    example: NAMED,
    source: "RFC 9562 section 5.5",
    diagram: "| sha1_high 48 | version 4 = 5 | sha1_mid 12 | variant 2 | sha1_low 62 |",
    options: &[GenOption::Namespace, GenOption::Name],
    parse: |text, _| parse(text, 5),
    parse_lenient: Some(|text, _| parse_lenient(text, 5)),
    #[cfg(feature = "names")]
    make_many: Some(|_, options, out| named(crate::uuid5, options, out)),
    ..row("uuid5", "UUID version 5", Some(5))
};

/// UUID version 6.
pub(super) const V6: Format = Format {
    summary: "uuid1 with its time in sorting order",
    unique: "time, and a clock sequence and node random in every id",
    tells: "when",
    source: "RFC 9562 section 5.6",
    diagram: "| time_high 32 | time_mid 16 | version 4 = 6 | time_low 12 | variant 2 | clock_seq 14 | node 48 |",
    time: Some(GREGORIAN),
    bytes_sort: true,
    text_sorts: true,
    options: &[GenOption::Node, GenOption::ClockSeq],
    entropy: |_| 61.0,
    parse: |text, _| parse(text, 6),
    parse_lenient: Some(|text, _| parse_lenient(text, 6)),
    #[cfg(feature = "std")]
    make_many: Some(|from, options, out| {
        if options.node.is_some() || options.clock_seq.is_some() {
            return of_node(from, v6::pack, options, out);
        }
        out.iter_mut().try_for_each(|id| {
            *id = crate::uuid::v6_by(from)?.into();
            Ok(())
        })
    }),
    make_at: Some(|time, options, entropy| {
        let (clock_seq, node) = who(options, entropy)?;
        Ok(uuid6_from(GregorianTicks::floor(time)?, clock_seq, node)?.into())
    }),
    min_at: Some(|time, _| Ok(v6::pack(GregorianTicks::floor(time)?, LOW_MIN).into())),
    max_at: Some(|time, _| Ok(v6::pack(GregorianTicks::floor(time)?, LOW_MAX).into())),
    generator: Some(|options, clock, mut entropy| {
        let (clock_seq, node) = who(options, &mut *entropy)?;
        let mut generator = crate::V1Generator::new(clock, clock_seq, node)?;
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_v6()?.into())))
    }),
    ..row("uuid6", "UUID version 6", Some(6))
};

/// UUID version 7.
pub(super) const V7: Format = Format {
    summary: "time, then random: the one to begin with",
    unique: "time, counter and 54 random bits or more",
    tells: "when",
    source: "RFC 9562 section 5.7",
    diagram: "| unix_ts_ms 48 | version 4 = 7 | rand_a 12 | variant 2 | rand_b 62 |",
    time: Some(MILLIS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 74.0,
    parse: |text, _| parse(text, 7),
    parse_lenient: Some(|text, _| parse_lenient(text, 7)),
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| {
        each_uuid(out, |ids| {
            from.generators.uuid7_many(from.clock, ids);
            Ok(())
        })
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| uuid_lines(crate::uuid7_many, count, out)),
    make_at: Some(|time, _, entropy| {
        let mut random = [0; 10];
        entropy.fill(&mut random);
        Ok(uuid7_from(time, Precision::Millis, random)?.into())
    }),
    min_at: Some(|time, _| Ok(uuid7_from(time, Precision::Millis, [0; 10])?.into())),
    max_at: Some(|time, _| Ok(uuid7_from(time, Precision::Millis, [0xff; 10])?.into())),
    generator: Some(|_, clock, entropy| {
        let mut generator = crate::V7Generator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..row("uuid7", "UUID version 7", Some(7))
};

/// UUID version 8.
pub(super) const V8: Format = Format {
    summary: "bits of your own, or SHA-256 of a name",
    unique: "what you put in",
    tells: "what you put in",
    lacks: &[Verb::Generator],
    example: NAMED,
    source: "RFC 9562 section 5.8 and appendix B.2",
    diagram: "| custom_a 48 | version 4 = 8 | custom_b 12 | variant 2 | custom_c 62 |",
    options: &[GenOption::Custom, GenOption::Namespace, GenOption::Name],
    parse: |text, _| parse(text, 8),
    parse_lenient: Some(|text, _| parse_lenient(text, 8)),
    make_many: Some(|_, options, out| match options.custom {
        Some(custom) => {
            out.fill(uuid8(custom).into());
            Ok(())
        }
        #[cfg(feature = "names")]
        None => named(crate::uuid8_sha256, options, out),
        #[cfg(not(feature = "names"))]
        None => Err(FormatError::option("custom", "uuid8 needs 16 bytes")),
    }),
    ..row("uuid8", "UUID version 8", Some(8))
};

/// The low halves of the smallest and the largest UUID of a tick.
const LOW_MIN: u64 = 0b10 << 62;
const LOW_MAX: u64 = LOW_MIN | u64::MAX >> 2;

fn parse(text: &[u8], version: u8) -> Result<Id, TextError> {
    of_version(UuidText::Hyphenated.read(text)?, version)
}

fn parse_lenient(text: &[u8], version: u8) -> Result<Id, TextError> {
    of_version(UuidText::Hyphenated.read_lenient(text)?, version)
}

/// Refuses another variant or version; positions are those of the canonical text.
fn of_version(id: Uuid, version: u8) -> Result<Id, TextError> {
    let octets = id.as_bytes();
    if octets[8] >> 6 != 0b10 {
        return Err(TextError::Rule {
            position: 19,
            rule: "a uuid of another variant than RFC 9562's, which has no versions",
        });
    }
    if octets[6] >> 4 != version {
        return Err(TextError::Rule {
            position: 14,
            rule: "a uuid of another version",
        });
    }
    Ok(id.into())
}

/// The fields of a UUID by its version; none without one.
fn read(id: &Uuid) -> Details {
    if id.as_bytes()[8] >> 6 != 0b10 {
        return Details::default();
    }
    let value = id.as_u128();
    let bits = |shift: u32, count: u32| (value >> shift) as u64 & ones(count);
    let gregorian = |ticks: GregorianTicks, digits| {
        Details::new(Some(crate::IdTime {
            at: ticks.time(),
            digits,
        }))
    };
    let node = || format!("{}", Node::from_bits(bits(0, 48)));
    match id.as_bytes()[6] >> 4 {
        version @ (1 | 6) => {
            let ticks = if version == 1 {
                v1::ticks_of(id)
            } else {
                v6::ticks_of(id)
            };
            gregorian(ticks, 7)
                .number("ticks", ticks.get(), 60)
                .number("clock_seq", bits(48, 14), 14)
                .text("node", node())
        }
        2 => {
            // The low 32 bits of the time are not there.
            let ticks = GregorianTicks::from_bits(v1::ticks_of(id).get() >> 32 << 32);
            gregorian(ticks, 0)
                .number("local_id", bits(96, 32), 32)
                .number("domain", bits(48, 8), 8)
                .number("ticks", ticks.get(), 60)
                .number("clock_seq", bits(56, 6), 6)
                .text("node", node())
        }
        7 => Details::new(Some(MILLIS.time_of(v7::unix_millis_of(id))))
            .number("unix_ts_ms", bits(80, 48), 48)
            .number("rand_a", bits(64, 12), 12)
            .number("rand_b", bits(0, 62), 62),
        8 => Details::default()
            .number("custom_a", bits(80, 48), 48)
            .number("custom_b", bits(64, 12), 12)
            .number("custom_c", bits(0, 62), 62),
        _ => Details::default(),
    }
}

/// Clock sequence and node: the caller's, or random ones.
fn who(options: &GenOptions, entropy: &mut dyn Entropy) -> Result<(u16, Node), FormatError> {
    let node = match options.node {
        None => Node::random(entropy),
        Some(node) if node < 1 << 48 => Node::from_bits(node),
        Some(node) => {
            return Err(FormatError::option(
                "node",
                format!("{node} does not fit, it has 48 bits"),
            ));
        }
    };
    let clock_seq = match options.clock_seq {
        Some(given) => given,
        None => {
            let mut random = [0; 2];
            entropy.fill(&mut random);
            u16::from_be_bytes(random) & CLOCK_SEQ_MAX
        }
    };
    Ok((clock_seq, node))
}

/// Fills `out` through a UUID buffer, piece by piece.
#[cfg(feature = "std")]
fn each_uuid(
    out: &mut [Id],
    mut fill: impl FnMut(&mut [Uuid]) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    if let [out] = out {
        // One id must not pay for clearing room for hundreds.
        let mut id = [Uuid::nil()];
        fill(&mut id)?;
        *out = id[0].into();
        return Ok(());
    }
    let mut ids = [Uuid::nil(); 256];
    for piece in out.chunks_mut(ids.len()) {
        let ids = &mut ids[..piece.len()];
        fill(ids)?;
        for (out, id) in piece.iter_mut().zip(ids) {
            *out = (*id).into();
        }
    }
    Ok(())
}

/// Appends the texts of `count` UUIDs, each with a newline.
#[cfg(feature = "std")]
fn uuid_lines(fill: fn(&mut [Uuid]), count: usize, out: &mut alloc::vec::Vec<u8>) -> Result<(), FormatError> {
    let mut ids = [Uuid::nil(); super::LINES_AT_ONCE];
    let mut left = count;
    while left > 0 {
        let ids = &mut ids[..left.min(super::LINES_AT_ONCE)];
        fill(ids);
        UuidText::Hyphenated.write_lines(ids, out);
        left -= ids.len();
    }
    Ok(())
}

/// Ids of versions 1 and 6 with a caller's node or clock sequence: ticks that nobody else of this source takes.
#[cfg(feature = "std")]
fn of_node(
    from: super::Source<'_>,
    pack: fn(GregorianTicks, u64) -> Uuid,
    options: &GenOptions,
    out: &mut [Id],
) -> Result<(), FormatError> {
    let (clock_seq, node) = who(options, &mut crate::SystemEntropy)?;
    if clock_seq > CLOCK_SEQ_MAX {
        return Err(v1::clock_seq_too_large(clock_seq.into(), CLOCK_SEQ_MAX.into()).into());
    }
    // A node drawn for this call is nobody else's.
    let first = match options.node {
        Some(_) => {
            let clock = from.generators.unspent(from.clock)?;
            crate::uuid::claim_ticks(
                super::Source {
                    clock: &clock,
                    ..from
                },
                out.len() as u64,
            )?
        }
        None => crate::uuid::claim_ticks(from, out.len() as u64)?,
    };
    for (tick, id) in (first..).zip(out) {
        *id = pack(GregorianTicks::from_bits(tick), v1::low_half(clock_seq, node)).into();
    }
    Ok(())
}

/// The UUID of the options' name, in every place of `out`: it is the same.
#[cfg(feature = "names")]
fn named(make: fn(&Uuid, &[u8]) -> Uuid, options: &GenOptions, out: &mut [Id]) -> Result<(), FormatError> {
    let missing =
        |option| FormatError::option(option, "a uuid made from a name needs a namespace and a name");
    let namespace = options.namespace.ok_or_else(|| missing("namespace"))?;
    let name = options.name.as_ref().ok_or_else(|| missing("name"))?;
    out.fill(make(&namespace, name).into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uuid::stamp;

    #[test]
    fn a_versions_row_reads_that_version_alone() {
        for version in 1..=8 {
            let text = format!("{}", stamp(0, version).hyphenated());
            for (row, other) in (1..).zip([&V1, &V2, &V3, &V4, &V5, &V6, &V7, &V8]) {
                let read = other.parse(text.as_bytes(), &GenOptions::default());
                assert_eq!(read.is_ok(), row == version, "{text} by {}", other.name);
            }
        }
        let ncs = V1.parse(b"00000000-0000-1000-0000-000000000000", &GenOptions::default());
        assert_eq!(ncs.map_err(|error| error.position()), Err(Some(19)));
    }
}
