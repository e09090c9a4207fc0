//! Generators on a clock and an entropy source of the caller's: what they promise one by one.

use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::rc::Rc;
use std::time::Duration;

use mintage::*;
use mintage_testing::{Distinct, distinct, invariant, rising};

use crate::common::sources::{Hand, Seeded, asked};

const NOON: i64 = 1_700_000_000_000;

fn noon() -> FixedClock {
    FixedClock(Timestamp::from_unix_millis(NOON))
}

fn hand(unix_millis: i64) -> Hand {
    Hand(Rc::new(Cell::new(i128::from(unix_millis) * 1_000_000)))
}

#[test]
fn no_generator_makes_ids_of_times_that_its_format_cannot_hold() {
    let mut checked = Vec::new();
    for row in FORMATS.iter().filter(|row| row.has_generator()) {
        let Some(shape) = row.time else { continue };
        let at = |time| {
            let (clock, entropy) = (Box::new(FixedClock(time)), Box::new(Seeded(1)));
            row.generator(&asked(row), clock, entropy).unwrap().next_id()
        };
        let before = shape.first.saturating_sub(Duration::from_millis(1));
        assert_eq!(at(before), Err(MintError::BeforeEpoch.into()), "{}", row.name);
        assert!(at(shape.first).is_ok(), "{}", row.name);
        let past = shape.last.saturating_add(shape.tick);
        // A clock of 64 bits of milliseconds never gets past the end of as many of its own.
        if row.name != "flake" {
            assert!(at(shape.last).is_ok(), "{}", row.name);
            assert_eq!(at(past), Err(MintError::TimeFieldFull.into()), "{}", row.name);
        }
        checked.push(row.name);
    }
    assert!(checked.len() > 10, "{checked:?}");
}

#[test]
fn a_clock_that_went_back_is_held_as_far_as_the_generator_was_told_to() {
    let ahead = Duration::from_secs(3);
    type Next = Box<dyn FnMut() -> Result<Id, FormatError>>;
    macro_rules! next {
        ($generator:ident, $hand:expr) => {{
            let mut generator = $generator::new($hand.clone(), Seeded(1)).max_ahead(ahead);
            Box::new(move || Ok(generator.next_id()?.into())) as Next
        }};
    }
    let hand = hand(NOON);
    let by_millis = [
        next!(UlidGenerator, hand),
        next!(PushIdGenerator, hand),
        next!(Scru128Generator, hand),
        next!(V7Generator, hand),
    ];
    let by_seconds = [
        next!(KsuidGenerator, hand),
        next!(XidGenerator, hand),
        next!(ObjectIdGenerator, hand),
    ];
    let all = by_millis
        .into_iter()
        .map(|next| (next, 2000))
        .chain(by_seconds.into_iter().map(|next| (next, 2)));
    for (i, (mut next, ticks)) in all.enumerate() {
        let start = hand.0.get();
        let first = next().unwrap();
        hand.0.set(start - 3_000_000_000);
        let held = next().unwrap();
        invariant!(first < held, "generator {i}: {held:?} after {first:?}");
        hand.0.set(start - 5_000_000_000);
        assert_eq!(
            next(),
            Err(MintError::TooFarAhead { ticks }.into()),
            "generator {i}"
        );
        hand.0.set(start);
        rising(format_args!("generator {i}"), [held, next().unwrap()]);
    }
}

#[test]
fn a_generator_may_be_told_to_run_ahead_without_end() {
    let hand = hand(NOON);
    let mut uuids = V7Generator::new(hand.clone(), Seeded(1)).max_ahead(Duration::MAX);
    let mut ulids = UlidGenerator::new(hand.clone(), Seeded(1)).max_ahead(Duration::MAX);
    let mut ids = V1Generator::new(hand.clone(), 7, Node::from_octets([1; 6]))
        .unwrap()
        .max_ahead(Duration::MAX);
    let (uuid, ulid, id) = (
        uuids.next_id().unwrap(),
        ulids.next_id().unwrap(),
        ids.next_v6().unwrap(),
    );
    hand.0.set(0);
    rising("version 7", [uuid, uuids.next_id().unwrap()]);
    rising("ulid", [ulid, ulids.next_id().unwrap()]);
    rising("version 6", [id, ids.next_v6().unwrap()]);
}

/// What every id type of its own has: its clock's time, its bytes, its text.
macro_rules! tells {
    ($test:ident, $type:ident, $generator:expr, $tick_ms:expr, $bytes:expr) => {
        #[test]
        fn $test() {
            let made = $generator;
            let mut generator = made(1);
            let id: $type = generator.next_id().unwrap();
            assert_eq!(
                id.time(),
                Timestamp::from_unix_millis(NOON / $tick_ms * $tick_ms)
            );
            assert_eq!($bytes(id), id);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(
                format!("{id:?}"),
                format!(concat!(stringify!($type), "({})"), id)
            );
            assert_eq!(id.to_string().as_bytes(), id.text());
            // An empty batch takes nothing from the clock and the entropy.
            let mut other = made(1);
            assert_eq!(other.fill(&mut []), Ok(0));
            assert_eq!(other.next_id(), Ok(id));
            // What it will make next is nobody's business: another seed shows nothing else.
            let shown = format!("{generator:?}");
            assert!(
                shown.starts_with(concat!(stringify!($type), "Generator { ")),
                "{shown}"
            );
            assert_eq!(shown, format!("{:?}", made(2)));
        }
    };
}

tells!(
    a_ulid_tells_its_time,
    Ulid,
    |seed| UlidGenerator::new(noon(), Seeded(seed)),
    1,
    |id: Ulid| { Ulid::from_bytes(id.to_bytes()) }
);
tells!(
    a_ksuid_tells_its_time,
    Ksuid,
    |seed| KsuidGenerator::new(noon(), Seeded(seed)),
    1000,
    |id: Ksuid| { Ksuid::from_bytes(id.to_bytes()) }
);
tells!(
    an_xid_tells_its_time,
    Xid,
    |seed| XidGenerator::new(noon(), Seeded(seed)),
    1000,
    |id: Xid| { Xid::from_bytes(id.to_bytes()) }
);
tells!(
    an_objectid_tells_its_time,
    ObjectId,
    |seed| ObjectIdGenerator::new(noon(), Seeded(seed)),
    1000,
    |id: ObjectId| ObjectId::from_bytes(id.to_bytes())
);
tells!(
    a_push_id_tells_its_time,
    PushId,
    |seed| PushIdGenerator::new(noon(), Seeded(seed)),
    1,
    |id: PushId| { PushId::from_bytes(id.to_bytes()) }
);
tells!(
    a_scru128_tells_its_time,
    Scru128,
    |seed| Scru128Generator::new(noon(), Seeded(seed)),
    1,
    |id: Scru128| { Scru128::from_bytes(id.to_bytes()) }
);
tells!(
    a_tid_tells_its_time,
    Tid,
    |seed| TidGenerator::new(noon(), Seeded(seed)),
    1,
    |id: Tid| { Tid::from_number(id.number()) }
);
tells!(
    a_tsid_tells_its_time,
    Tsid,
    |seed| TsidGenerator::new(&GenOptions::default(), noon(), Seeded(seed)).unwrap(),
    1,
    |id: Tsid| Tsid::from_number(id.number())
);

#[test]
fn the_parts_of_an_id_are_what_it_was_made_of() {
    let at = noon().0;
    let ksuid = Ksuid::from_parts(at, [7; 16]).unwrap();
    assert_eq!(
        (ksuid.payload(), i64::from(ksuid.timestamp())),
        ([7; 16], NOON / 1000 - 1_400_000_000)
    );
    let ulid = Ulid::from_parts(at, [7; 10]).unwrap();
    assert_eq!(ulid.to_uuid().as_bytes()[6..], [7; 10]);
    assert_eq!(Ulid::from_uuid(ulid.to_uuid()), ulid);
    assert_eq!(
        ulid.to_uuid7(),
        uuid7_from(at, Precision::Millis, [7; 10]).unwrap()
    );
    let timeflake = Timeflake::from_parts(at, [7; 10]).unwrap();
    assert_eq!((timeflake, timeflake.time()), (Timeflake::from(ulid), at));
    assert_eq!(Timeflake::from_bytes(ulid.to_bytes()), timeflake);
    let tid = Tid::from_number(1 << 10 | 1023);
    assert_eq!((tid.clock_id(), tid.time().unix_nanos()), (1023, 1000));
    let five = [1, 2, 3, 4, 5];
    let xid = XidGenerator::new(noon(), Seeded(1))
        .process(five)
        .next_id()
        .unwrap();
    assert_eq!(xid.to_bytes()[4..9], five);
    let objectid = ObjectIdGenerator::new(noon(), Seeded(1))
        .process(five)
        .next_id()
        .unwrap();
    assert_eq!(objectid.to_bytes()[4..9], five);
    let options = GenOptions {
        node: Some(3),
        node_bits: Some(2),
        ..GenOptions::default()
    };
    let tsid = TsidGenerator::new(&options, noon(), Seeded(1))
        .unwrap()
        .next_id()
        .unwrap();
    assert_eq!(tsid.number() >> 20 & 3, 3);
}

#[test]
fn version_4_in_batches_is_version_4_one_by_one() {
    let mut entropy = Seeded(4);
    let singly: Vec<Uuid> = V4Generator::new(&mut entropy).take(200).collect();
    let mut batch = [Uuid::nil(); 200];
    V4Generator::new(Seeded(4)).fill(&mut batch);
    assert_eq!(singly, batch);
    assert!(batch.iter().all(|id| id.get_version_num() == 4));
    assert!(batch.iter().all(|id| id.as_bytes()[8] >> 6 == 0b10));
    distinct("version 4", batch);
}

#[test]
fn version_7_in_batches_counts_on_from_one_by_one() {
    let mut generator = V7Generator::new(noon(), Seeded(7));
    let mut ids = vec![generator.next_id().unwrap()];
    assert_eq!(generator.fill(&mut []), Ok(0));
    let mut batch = [Uuid::nil(); 200];
    assert_eq!(generator.fill(&mut batch), Ok(200));
    ids.extend(batch);
    ids.extend(generator.by_ref().take(3));
    rising("version 7", &ids);
    assert_eq!(ids.len(), 204);
    assert!(ids.iter().all(|id| id.get_version_num() == 7));
    assert_eq!(
        format!("{generator:?}"),
        "V7Generator { max_ahead_ms: 10000, .. }"
    );
}

#[test]
fn a_version_1_generator_tells_what_its_ids_tell_and_refuses_what_does_not_fit() {
    let node: Node = "9f:6b:de:ce:d8:46".parse().unwrap();
    let generator = V1Generator::new(noon(), 0x33c8, node).unwrap();
    let shown = format!("{generator:?}");
    assert!(
        shown.starts_with("V1Generator { clock_seq: 13256, node: "),
        "{shown}"
    );
    let max = CLOCK_SEQ_MAX.into();
    let refused = V1Generator::new(noon(), CLOCK_SEQ_MAX + 1, node).unwrap_err();
    assert_eq!(
        refused,
        UuidError::TooLarge {
            what: "clock_seq",
            value: max + 1,
            max
        }
    );
}

#[test]
fn version_2_holds_its_user_and_is_new_every_time() {
    let mut seen = Distinct::of("version 2");
    for (domain, number) in [(Domain::Person, 0), (Domain::Group, 1), (Domain::Org, 2)] {
        for _ in 0..100 {
            let id = uuid2(domain, 0xdead_beef);
            let bytes = id.as_bytes();
            assert_eq!(bytes[..4], 0xdead_beef_u32.to_be_bytes());
            assert_eq!((bytes[6] >> 4, bytes[8] >> 6, bytes[9]), (2, 0b10, number));
            assert_eq!(bytes[10] & 1, 1, "a random node is no hardware address");
            seen.add(id);
        }
    }
}

#[test]
fn uuids_of_a_node_of_the_callers_have_it_and_never_repeat() {
    let options = GenOptions {
        node: Some(0x9f6b_dece_d846),
        clock_seq: Some(0x33c8),
        ..GenOptions::default()
    };
    let mut seen = Distinct::of("ids of one node");
    for name in ["uuid1", "uuid6"] {
        let row = format(name).unwrap();
        let mut ids = vec![Id::default(); 300];
        row.make_many(&options, &mut ids).unwrap();
        ids.push(row.make(&options).unwrap());
        if name != "uuid1" {
            rising(name, &ids);
        }
        for id in ids {
            // As in RFC 9562 appendices A.1 and A.5.
            assert_eq!(
                id.bytes()[8..],
                [0xb3, 0xc8, 0x9f, 0x6b, 0xde, 0xce, 0xd8, 0x46],
                "{name}"
            );
            seen.add(id);
        }
    }
}

/// One by one, in a batch, and one by one again.
fn rises<T: Copy + Ord + Display + Debug>(one: impl Fn() -> T, many: impl Fn(&mut [T])) {
    let mut ids = vec![one(), one()];
    let mut batch = [ids[0]; 300];
    many(&mut batch);
    ids.extend(batch);
    ids.push(one());
    rising("ids", &ids);
    rising("texts", ids.iter().map(T::to_string));
}

#[test]
fn ids_of_the_process_rise_in_bytes_and_text() {
    rises(ulid, ulid_many);
    rises(timeflake, timeflake_many);
    rises(pushid, pushid_many);
    rises(|| ksuid().unwrap(), |out| ksuid_many(out).unwrap());
    rises(|| xid().unwrap(), |out| xid_many(out).unwrap());
    rises(|| objectid().unwrap(), |out| objectid_many(out).unwrap());
    rises(|| scru128().unwrap(), |out| scru128_many(out).unwrap());
    rises(|| tid().unwrap(), |out| tid_many(out).unwrap());
    let one = || tsid(&GenOptions::default()).unwrap();
    rises(one, |out| out.fill_with(one));
    let users = TypePrefix::new("user").unwrap();
    rises(|| users.mint(), |out| out.fill_with(|| users.mint()));
    rises(uuid7, uuid7_many);
}

#[test]
fn ids_that_are_text_alone_are_their_formats_and_new_every_time() {
    let nothing = GenOptions::default();
    let mut seen = Distinct::of("ids");
    for _ in 0..1000 {
        let id = cuid2();
        assert!(
            format("cuid2").unwrap().parse(id.as_bytes(), &nothing).is_ok(),
            "{id}"
        );
        assert_eq!(id.len(), 24);
        seen.add(id);
        let id = nanoid();
        assert_eq!(id.as_bytes(), id.as_str().as_bytes());
        assert_eq!(id.as_ref(), id.to_string());
        assert_eq!(format!("{id:?}"), format!("NanoId({id})"));
        assert_eq!(
            format("nanoid").unwrap().parse(id.as_bytes(), &nothing),
            Ok(id.into())
        );
        seen.add(id.to_string());
    }
}

#[test]
fn a_typeid_is_its_prefix_and_its_uuid() {
    // The specification's.
    let id: TypeId = "prefix_01h455vb4pex5vsknk084sn02q".parse().unwrap();
    assert_eq!(id.prefix(), &TypePrefix::new("prefix").unwrap());
    assert_eq!(id.uuid().to_string(), "01890a5d-ac96-774b-bcce-b302099a8057");
    assert_eq!(id.prefix().with(id.uuid()), id);
    assert_eq!(id.to_string(), "prefix_01h455vb4pex5vsknk084sn02q");
    assert_eq!(format!("{id:?}"), "TypeId(prefix_01h455vb4pex5vsknk084sn02q)");
    assert_eq!(format!("{:?}", id.prefix()), "TypePrefix(\"prefix\")");
    let bare = TypePrefix::EMPTY.with(id.uuid());
    assert_eq!(
        bare.encode(&mut [0; TypeId::CHARS_MAX]),
        "01h455vb4pex5vsknk084sn02q"
    );
    let longest = TypePrefix::new(&"z".repeat(TypePrefix::CHARS_MAX))
        .unwrap()
        .with(Uuid::max());
    assert_eq!(longest.to_string().len(), TypeId::CHARS_MAX);
    assert_eq!(longest.to_string().parse(), Ok(longest));
}

#[test]
fn the_text_of_a_uuid_is_the_one_that_everybody_writes() {
    for id in V4Generator::new(Seeded(9)).take(100) {
        assert_eq!(uuid_text(&id), id.to_string().as_bytes());
        assert_eq!(parse_uuid(uuid_text(&id)), Ok(id));
        for (name, form) in UuidText::ALL.iter().filter(|(_, form)| *form != UuidText::Raw) {
            let (mut one, mut lines) = (Vec::new(), Vec::new());
            form.write(&id, &mut one);
            form.write_lines(&[id, id], &mut lines);
            one.push(b'\n');
            assert_eq!(lines, one.repeat(2), "{name}");
        }
    }
    let mut raw = Vec::new();
    UuidText::Raw.write_lines(&[Uuid::max(), Uuid::nil()], &mut raw);
    assert_eq!(raw, [[0xff; 16], [0; 16]].concat());
}
