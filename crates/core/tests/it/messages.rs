//! What errors say: what was asked, what was found, and what to do.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mintage::*;

use crate::common::sources::Seeded;

#[track_caller]
fn check(error: impl Error, expected: &str) {
    assert_eq!(error.to_string(), expected);
}

fn twitter() -> Arc<Layout> {
    Arc::new(preset("twitter").unwrap().layout())
}

#[test]
fn a_generator_that_does_not_mint_says_why_and_what_to_do() {
    let layout = twitter();
    let at = |tick| layout.time_of(tick);
    let window = Window {
        worker: 7,
        from_tick: 1000,
        until_tick: 1200,
    };
    let generator = Snowflake::new(layout.clone(), window, 5).unwrap();
    check(
        generator.mint(at(900)).unwrap_err(),
        "minting runs too far ahead of the clock; wait 95 ticks",
    );
    check(
        generator.mint(at(1200)).unwrap_err(),
        "the reserved window ends at tick 1200; it must be renewed first",
    );
    check(
        generator.mint(Timestamp::UNIX_EPOCH).unwrap_err(),
        "the clock stands before the layout's epoch; set the clock",
    );
    generator.close();
    check(generator.mint(at(1000)).unwrap_err(), "the generator is closed");
    let unguarded = Snowflake::unguarded(layout.clone(), 7).unwrap();
    check(
        unguarded.mint(layout.end()).unwrap_err(),
        "the layout's time field is full; move to another layout",
    );
    let wait = ClockPolicy::Wait {
        max: Duration::from_millis(5),
    };
    let waiting = unguarded.clock_policy(wait).unwrap();
    waiting.mint(at(1000)).unwrap();
    check(
        waiting.mint(at(995)).unwrap_err(),
        "the clock went back by 5 ticks; wait that long and try again",
    );
    check(
        waiting.mint(at(994)).unwrap_err(),
        "the clock went back by 6 ticks, more than the clock policy allows; set the clock",
    );
    check(
        MintError::Forked,
        "this process is a fork of the one that made the generator; make a new one here",
    );
    check(
        "wait".parse::<ClockPolicy>().unwrap_err(),
        "a clock policy is hold, wait(5ms), error or bump(rollback)",
    );
}

#[test]
fn what_no_uuid_can_hold_is_refused_with_what_it_can() {
    let before = Timestamp::from_unix_nanos(-12_219_292_800_000_000_001);
    check(
        GregorianTicks::floor(before).unwrap_err(),
        "1582-10-14T23:59:59.999999999Z does not fit this uuid version: \
         it holds 1582-10-15T00:00:00Z to 5236-03-31T21:21:00.6846975Z",
    );
    let node: Node = "9f:6b:de:ce:d8:46".parse().unwrap();
    check(
        uuid1_from(GregorianTicks::MIN, 16_384, node).unwrap_err(),
        "clock_seq 16384 does not fit, largest is 16383",
    );
    check(
        "9f:6b:de:ce:d8".parse::<Node>().unwrap_err(),
        "a node id is six octets in hexadecimal, as 9f:6b:de:ce:d8:46",
    );
    check(
        uuid1_to_6(&uuid8([0; 16])).unwrap_err(),
        "a uuid of version 8, this needs version 1",
    );
}

#[test]
fn what_no_layout_can_hold_is_refused_with_what_it_can() {
    let layout = twitter();
    check(
        Layout::builder("mine").time("ms", 41).build().unwrap_err(),
        "layout \"mine\" is not usable: it has no sequence field",
    );
    check(
        layout.pack(0, 1024, 0).unwrap_err(),
        "worker id 1024 does not fit layout \"twitter\": 10 bits, largest is 1023",
    );
    check(
        layout.tick_at(Timestamp::UNIX_EPOCH).unwrap_err(),
        "1970-01-01T00:00:00Z lies before the epoch of layout \"twitter\", 2010-11-04T01:42:54.657Z",
    );
    check(
        layout.check_at(layout.end()).unwrap_err(),
        "2080-07-10T17:30:30.209Z does not fit layout \"twitter\", whose time field ends at \
         2080-07-10T17:30:30.209Z",
    );
    check(
        layout.unpack(1 << 63).unwrap_err(),
        "9223372036854775808 is not an id of layout \"twitter\"",
    );
    check(
        layout.check_policy(ClockPolicy::Bump).unwrap_err(),
        "cannot make a generator of layout \"twitter\": the clock policy `bump` needs a rollback field, and the \
         layout has none",
    );
}

#[test]
fn what_a_format_cannot_do_is_refused_with_what_it_can() {
    let nothing = GenOptions::default();
    let node = GenOptions {
        node: Some(1),
        ..GenOptions::default()
    };
    let row = |name| format(name).unwrap();
    check(
        row("cuid").make(&nothing).unwrap_err(),
        "format cuid cannot make one",
    );
    check(
        row("ulid").make(&node).unwrap_err(),
        "format ulid takes no node; it takes no options",
    );
    check(
        row("typeid").make(&node).unwrap_err(),
        "format typeid takes no node; it takes prefix",
    );
    check(
        Ulid::from_parts(Timestamp::from_unix_nanos(-1), [0; 10]).unwrap_err(),
        "1969-12-31T23:59:59.999999999Z does not fit this format: it holds 1970-01-01T00:00:00Z to \
         +10889-08-02T05:31:50.655999999Z",
    );
    check(
        row("ulid")
            .text(&Id::from_bytes(&[1, 2, 3]).unwrap())
            .unwrap_err(),
        "3 bytes, ids of format ulid have 16",
    );
    // The errors of generators and of UUIDs say the same as a format's.
    check(
        FormatError::from(MintError::Closed),
        &MintError::Closed.to_string(),
    );
    let before = Timestamp::from_unix_nanos(-12_219_292_800_000_000_001);
    check(
        row("uuid1").min_at(before, &nothing).unwrap_err(),
        "1582-10-14T23:59:59.999999999Z does not fit this format: \
         it holds 1582-10-15T00:00:00Z to 5236-03-31T21:21:00.6846975Z",
    );
    let clock_seq = GenOptions {
        clock_seq: Some(16_384),
        ..GenOptions::default()
    };
    check(
        row("uuid1")
            .make_at(Timestamp::UNIX_EPOCH, &clock_seq, &mut Seeded(1))
            .unwrap_err(),
        "clock_seq: 16384 does not fit, the largest is 16383",
    );
    check(
        FormatError::from(UuidError::Node),
        "uuid: a node id is six octets in hexadecimal, as 9f:6b:de:ce:d8:46",
    );
}

#[test]
fn a_full_ulid_says_to_wait_for_the_next_tick() {
    struct Ones;
    impl Entropy for Ones {
        fn fill(&mut self, out: &mut [u8]) {
            out.fill(0xff);
        }
    }
    let mut full = UlidGenerator::new(FixedClock(Timestamp::UNIX_EPOCH), Ones);
    let mut ids = [Ulid::from_bytes([0; 16]); 3];
    assert_eq!(full.fill(&mut ids), Ok(1), "the largest there is, and no more");
    check(
        full.fill(&mut ids).unwrap_err(),
        "the random part of the last id is the largest there is; wait for the next tick",
    );
}

#[test]
fn what_is_no_series_is_refused_with_what_one_is() {
    check(
        Series::new(1, 15, 0).unwrap_err(),
        "a series needs a step of at least 1",
    );
    check(
        "seq_1".parse::<Series>().unwrap_err(),
        "a series is named seq_FROM_to_TO or seq_FROM_to_TO_step_N, all decimal numbers",
    );
    check(
        number_of_letters("A1").unwrap_err(),
        "letters are A to Z, at most 13 of them",
    );
    check(
        day_of_date("2023-02-29").unwrap_err(),
        "a date is YYYY-MM-DD, years 0001 to 9999, and the day must exist",
    );
    for (from, to, step, says) in [
        ("A", "5", None, "A and 5 are not bounds of one such series"),
        (
            "1#",
            "5",
            None,
            "\"1#\" is not a bound: write a 64-bit number, letters, a date YYYY-MM-DD or a time YYYY-MM-DDTHH:MM:SSZ",
        ),
        (
            "1",
            "5",
            Some("1h"),
            "\"1h\" is not a step of this series: it takes a number",
        ),
        (
            "1",
            "5",
            Some("-1"),
            "the step -1 leads down from 1, and 5 lies above it",
        ),
        (
            "2026-01-01T00:00:00Z",
            "2026-01-02",
            None,
            "a series of times needs a step with its unit",
        ),
        (
            "2026-01-01T00:00:00",
            "2026-01-02",
            Some("1h"),
            "\"2026-01-01T00:00:00\" has no time zone: add Z for UTC, or an offset such as +01:00",
        ),
    ] {
        check(TextSeries::new(from, to, step, None).unwrap_err(), says);
    }
    check(
        TextSeries::new("0", "5", None, Some(SeriesForm::Letter)).unwrap_err(),
        "0 has no letters: 1 is A",
    );
}

#[test]
fn a_sequence_that_cannot_be_or_go_on_says_which_bound_it_met() {
    let none = SequenceOptions::default();
    for (options, expected) in [
        (
            SequenceOptions {
                increment: Some(0),
                ..none
            },
            "increment must not be zero",
        ),
        (
            SequenceOptions {
                min: Some(9),
                max: Some(9),
                ..none
            },
            "min 9 must be less than max 9",
        ),
        (
            SequenceOptions {
                start: Some(0),
                ..none
            },
            "start 0 is less than min 1",
        ),
        (
            SequenceOptions {
                start: Some(6),
                max: Some(5),
                ..none
            },
            "start 6 is greater than max 5",
        ),
    ] {
        check(SequenceDef::new(options).unwrap_err(), expected);
    }
    let five = |increment| {
        SequenceDef::new(SequenceOptions {
            increment: Some(increment),
            min: Some(1),
            max: Some(5),
            ..none
        })
        .unwrap()
    };
    let (up, down) = (five(1), five(-1));
    check(
        up.run(up.origin(), 5, 1).unwrap_err(),
        "reached the maximum 5; raise max, or let the sequence cycle",
    );
    check(
        down.run(down.origin(), 5, 1).unwrap_err(),
        "reached the minimum 1; lower min, or let the sequence cycle",
    );
    let outside = Base {
        value: 6,
        is_called: true,
    };
    check(
        up.run(outside, 0, 1).unwrap_err(),
        "value 6 is greater than max 5",
    );
}

#[test]
fn a_machine_that_cannot_say_who_it_is_says_what_to_use_instead() {
    let io = HostError::Io(std::io::Error::other("out of memory"));
    assert_eq!(io.source().unwrap().to_string(), "out of memory");
    check(io, "cannot ask the system who it is: out of memory");
    check(
        HostError::NoHardware,
        "no interface is up with a hardware address of its maker; use a random node",
    );
    check(
        Node::hardware(Some("no such one")).unwrap_err(),
        "no interface \"no such one\" with a hardware address",
    );
    check(
        HostError::NoPrivateAddress,
        "no interface is up with a private IPv4 address; give the worker as a number, or lease one",
    );
    check(
        HostError::NoOrdinal("mint".into()),
        "the host name \"mint\" does not end in a number",
    );
    let too_large = WorkerSource::Number(1024)
        .resolve(&twitter(), |_| true)
        .unwrap_err();
    let layouts = "worker id 1024 does not fit layout \"twitter\": 10 bits, largest is 1023";
    assert_eq!(too_large.source().unwrap().to_string(), layouts);
    check(too_large, layouts);
    let refused = WorkerSource::Number(7)
        .resolve(&twitter(), |_| false)
        .unwrap_err();
    assert!(refused.source().is_none());
    check(refused, "worker id 7 was refused by the check; choose another");
    check(
        "seven".parse::<WorkerSource>().unwrap_err(),
        "worker \"seven\" is not `ip16`, `ordinal` or a number",
    );
}
