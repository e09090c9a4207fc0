//! What servers of ZooKeeper answer: frames, numbers, and the record of each kind.

use std::fmt::Debug;

use mintage_ledger::zookeeper_client::{
    Acl, Answer, Children, Data, Empty, Frames, Header, InFlight, Input, Malformed, Parts, Read, Stat,
};

use crate::{Target, saw};

/// The longest frame that is taken here.
const LONGEST: usize = 400;

pub(super) fn target() -> Target {
    let framed = |body: &[u8]| [&(body.len() as u32).to_be_bytes(), body].concat();
    let answer =
        |xid: u8, err: &[u8], record: &[u8]| framed(&[&[0, 0, 0, xid], &[0; 8][..], err, record].concat());
    let none = &[0; 4][..];
    let stat = [1; 68];
    let data = [b"\0\0\0\x02{}", &stat[..]].concat();
    let children = [b"\0\0\0\x02\0\0\0\x01a\0\0\0\x02bc", &stat[..]].concat();
    let acls = [b"\0\0\0\x01\0\0\0\x1f\0\0\0\x05world\0\0\0\x06anyone", &stat[..]].concat();
    let part = |kind: u8| [&[0, 0, 0, kind, 0], none].concat();
    let end = b"\xff\xff\xff\xff\x01\xff\xff\xff\xff";
    let error = b"\xff\xff\xff\xff\0\xff\xff\xff\x9b\xff\xff\xff\x9b";
    let reads = [&part(4), &data[..], error, &part(8), &children[..13], end].concat();
    let writes = [
        &part(13),
        &part(1)[..],
        b"\0\0\0\x02/a",
        &part(5),
        &stat,
        &part(2),
        end,
    ]
    .concat();
    let refused = [&error[..], error, end].concat();
    let records = [
        &stat[..],
        &data,
        &children,
        &acls,
        &reads,
        &writes,
        &refused,
        b"\0\0\0\x01/",
    ];
    let mut seeds: Vec<Vec<u8>> = records.iter().map(|record| answer(1, none, record)).collect();
    seeds.push([answer(1, none, &data), answer(2, b"\xff\xff\xff\x9b", b"")].concat());
    seeds.push([answer(1, none, &data), answer(1, none, &data)].concat());
    seeds.push(
        [
            framed(b"\xff\xff\xff\xfe\0\0\0\0\0\0\0\0\0\0\0\0"),
            answer(1, none, &data),
        ]
        .concat(),
    );
    Target::new("zookeeper", seeds, check).longest(800).words(&[
        "\0\0\0\x01",
        "\0\0\0\x02",
        "\x7f\x7f\x7f\x7f",
        "\0\0\0\x04\0\0\0\0\0",
        "\0\0\0\x08\0\0\0\0\0",
        "\0\0\0\x0d\0\0\0\0\0",
    ])
}

/// Frames come out however their bytes arrive; a request gets the answer of its number, once and in turn; whatever is
/// read of a record is no more than is there.
fn check(input: &[u8]) {
    let frames = frames_of(input, input.len().max(1));
    assert_eq!(frames_of(input, 1), frames);
    let (frames, broken) = frames;
    saw((frames.len(), broken.is_some()));
    let mut sent = InFlight::default();
    let asked: Vec<i32> = (0..3).map(|_| sent.add(())).collect();
    let pinged = sent.ping();
    let (mut answered, mut pings) = (Vec::new(), 0);
    for frame in &frames {
        let mut rest = Input::new(frame);
        let Ok(header) = Header::read(&mut rest) else {
            return saw("header");
        };
        match sent.answered(header.xid) {
            Ok(Some(())) => answered.push(header.xid),
            Ok(None) => pings += 1,
            Err(why) => {
                assert!(!why.to_string().is_empty());
                saw("number");
                break;
            }
        }
        saw(header.outcome.is_ok());
        check_record(&rest);
    }
    assert!(pinged && pings <= 1, "{pings} answers to one ping");
    assert_eq!(answered, asked[..answered.len()]);
}

/// All frames, and why there are no more.
fn frames_of(input: &[u8], step: usize) -> (Vec<Vec<u8>>, Option<Malformed>) {
    let (mut frames, mut found) = (Frames::new(LONGEST), Vec::new());
    for chunk in input.chunks(step) {
        frames.room().extend(chunk);
        loop {
            match frames.take() {
                Ok(Some(frame)) => found.push(frame.to_vec()),
                Ok(None) => break,
                Err(why) => return (found, Some(why)),
            }
        }
    }
    (found, None)
}

/// A record is read as each kind: what comes out is as long as what was taken.
fn check_record(record: &Input<'_>) {
    let names = |names: &[String]| names.iter().map(|name| 4 + name.len()).sum::<usize>() + 4;
    read::<Stat>(record, |_| 68);
    read::<Data>(record, |(data, _)| 4 + data.len() + 68);
    read::<Children>(record, |(children, _)| names(children) + 68);
    read::<Vec<Acl>>(record, |acls| {
        let one = |acl: &Acl| 12 + acl.scheme.len() + acl.id.len();
        4 + acls.iter().map(one).sum::<usize>() + 68
    });
    read::<Vec<Read>>(record, |reads| {
        let one = |read: &Read| match read {
            Read::Data(data, _) => 9 + 4 + data.len() + 68,
            Read::Children(children) => 9 + names(children),
            Read::Refused(_) => 9 + 4,
        };
        9 + reads.iter().map(one).sum::<usize>()
    });
    // A path may stand in a part, of which nothing is kept.
    let parts = Parts::read(&mut record.clone());
    if let Ok(Parts(parts)) = parts {
        assert!(9 * (parts.len() + 1) <= record.rest(), "{} parts", parts.len());
        saw(("parts", parts.len(), parts.iter().all(Result::is_ok)));
    }
    let mut rest = record.clone();
    if Empty::read(&mut rest).is_ok() {
        saw(("empty", rest.rest() == 0));
    }
}

fn read<A: Answer + Debug>(record: &Input<'_>, length: impl Fn(&A) -> usize) {
    let mut rest = record.clone();
    match A::read(&mut rest) {
        Ok(found) => {
            assert_eq!(record.rest() - rest.rest(), length(&found), "{found:?}");
            saw((
                std::any::type_name::<A>(),
                length(&found).min(100),
                rest.rest() == 0,
            ));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}
