//! Golden bytes of the codec.

use super::*;

/// A call in each form, written by hand: `get_id("web-1")`, number 0.
pub(super) const GET_ID: [(Form, &[u8]); 4] = [
    (
        Form {
            framed: false,
            strict: true,
        },
        b"\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x05web-1\0",
    ),
    (
        Form {
            framed: true,
            strict: true,
        },
        b"\0\0\0\x1f\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x05web-1\0",
    ),
    (
        Form {
            framed: true,
            strict: false,
        },
        b"\0\0\0\x1c\0\0\0\x06get_id\x01\0\0\0\0\x0b\0\x01\0\0\0\x05web-1\0",
    ),
    (
        Form {
            framed: false,
            strict: false,
        },
        b"\0\0\0\x06get_id\x01\0\0\0\0\x0b\0\x01\0\0\0\x05web-1\0",
    ),
];

/// What `input` is read as, whole and byte by byte.
#[track_caller]
fn read(input: &[u8]) -> Step<'_> {
    let whole = Reader::default().read(input);
    let mut slow = Reader::default();
    for cut in 0..input.len() {
        match slow.read(&input[..cut]) {
            Step::Incomplete => {}
            // What is wrong is told as early as it shows.
            early => {
                assert_eq!(early, whole, "cut at {cut}");
                return whole;
            }
        }
    }
    assert_eq!(slow.read(input), whole);
    whole
}

fn changed(input: &[u8], at: usize, to: &[u8]) -> Vec<u8> {
    let mut changed = input.to_vec();
    changed[at..at + to.len()].copy_from_slice(to);
    changed
}

#[test]
fn a_call_is_read_in_each_form() {
    for (form, bytes) in GET_ID {
        let call = Call {
            form,
            name: b"get_id",
            sequence_number: 0,
            oneway: false,
            argument: Argument::Text(b"web-1"),
        };
        let len = bytes.len();
        assert_eq!(read(bytes), Step::Call { call, len }, "{form:?}");
        // What follows is the next call's.
        let two = [bytes, bytes].concat();
        assert_eq!(Reader::default().read(&two), Step::Call { call, len });
    }
}

#[test]
fn a_reply_has_the_form_of_its_call() {
    let replies: [&[u8]; 4] = [
        b"\x80\x01\0\x02\0\0\0\x06get_id\0\0\0\0\x0a\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0",
        b"\0\0\0\x1e\x80\x01\0\x02\0\0\0\x06get_id\0\0\0\0\x0a\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0",
        b"\0\0\0\x1b\0\0\0\x06get_id\x02\0\0\0\0\x0a\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0",
        b"\0\0\0\x06get_id\x02\0\0\0\0\x0a\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0",
    ];
    for ((form, bytes), expected) in GET_ID.into_iter().zip(replies) {
        let Step::Call { call, .. } = read(bytes) else {
            panic!("{form:?}")
        };
        let mut out = b"before".to_vec();
        reply(&mut out, &call, 0x0102_0304_0506_0708);
        assert_eq!(&out[6..], expected, "{form:?}");
    }
}

#[test]
fn a_refusal_has_the_form_of_its_call() {
    let refusals: [&[u8]; 4] = [
        b"\x80\x01\0\x03\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x02no\x08\0\x02\0\0\0\x06\0",
        b"\0\0\0\x23\x80\x01\0\x03\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x02no\x08\0\x02\0\0\0\x06\0",
        b"\0\0\0\x20\0\0\0\x06get_id\x03\0\0\0\0\x0b\0\x01\0\0\0\x02no\x08\0\x02\0\0\0\x06\0",
        b"\0\0\0\x06get_id\x03\0\0\0\0\x0b\0\x01\0\0\0\x02no\x08\0\x02\0\0\0\x06\0",
    ];
    for ((form, bytes), expected) in GET_ID.into_iter().zip(refusals) {
        let Step::Call { call, .. } = read(bytes) else {
            panic!("{form:?}")
        };
        let mut out = Vec::new();
        refuse(&mut out, &call, Exception::InternalError, "no");
        assert_eq!(out, expected, "{form:?}");
    }
}

#[test]
fn oneway_and_other_message_types() {
    for (form, bytes) in GET_ID {
        let at = match (form.framed, form.strict) {
            (framed, true) => 3 + 4 * usize::from(framed),
            (framed, false) => 10 + 4 * usize::from(framed),
        };
        let oneway = changed(bytes, at, &[4]);
        assert!(matches!(read(&oneway), Step::Call { call, .. } if call.oneway));
        for kind in [0, 2, 3, 5, 255] {
            let other = changed(bytes, at, &[kind]);
            let Step::Broken { fault, len, .. } = read(&other) else {
                panic!("{form:?} {kind}")
            };
            // Its end is known all the same.
            assert_eq!((fault, len), (Fault::Kind(kind), Some(other.len())));
        }
    }
}

/// What is wrong, and whether the next call can be read.
#[track_caller]
fn check_broken(input: &[u8], expected: Fault, goes_on: bool) {
    let Step::Broken { call, fault, len } = read(input) else {
        panic!("{:?}", read(input))
    };
    assert_eq!(call.name, b"get_id");
    assert_eq!((fault, len.is_some()), (expected, goes_on));
}

#[test]
fn a_frame_whose_length_is_wrong_is_refused_and_the_next_one_read() {
    for (_, bytes) in &GET_ID[1..3] {
        let length = bytes[3];
        check_broken(
            &changed(&bytes[..bytes.len() - 1], 3, &[length - 1]),
            Fault::Short,
            true,
        );
        let longer = [&changed(bytes, 3, &[length + 2])[..], b"xy"].concat();
        check_broken(&longer, Fault::Behind(2), true);
    }
}

#[test]
fn lengths_within_a_call_that_cannot_be_are_refused() {
    let [unframed, framed, framed_old, unframed_old] = GET_ID.map(|(_, bytes)| bytes);
    for (bytes, at, goes_on) in [
        (unframed, 21, false),
        (framed, 25, true),
        (framed_old, 22, true),
        (unframed_old, 18, false),
    ] {
        check_broken(&changed(bytes, at, &[0xff; 4]), Fault::Negative(-1), goes_on);
        check_broken(&changed(bytes, at, &[0, 1, 0, 0]), Fault::TooLong, goes_on);
        check_broken(&changed(bytes, at - 3, &[1]), Fault::Type(1), goes_on);
    }
}

#[test]
fn names_that_are_too_long_are_foreign() {
    for (bytes, at) in [(GET_ID[0].1, 4), (GET_ID[1].1, 8), (GET_ID[2].1, 4)] {
        assert_eq!(read(&changed(bytes, at, &[0, 0, 1, 1])), Step::Foreign);
        assert_eq!(read(&changed(bytes, at, &[0xff; 4])), Step::Foreign);
    }
    // A frame without room for a header.
    assert_eq!(read(b"\0\0\0\x05\x80\x01\0\x01\0"), Step::Foreign);
    assert_eq!(read(b"\0\0\0\x01\0"), Step::Foreign);
}

/// A call whose argument makes it `length` bytes long, without the length of the frame.
fn long(form: Form, length: usize) -> Vec<u8> {
    let (_, short) = GET_ID.iter().find(|(one, _)| *one == form).unwrap();
    let body = &short[4 * usize::from(form.framed)..];
    let begins = body.len() - 10;
    let text = length - begins - 5;
    let mut all = match form.framed {
        true => (length as u32).to_be_bytes().to_vec(),
        false => Vec::new(),
    };
    all.extend(&body[..begins]);
    all.extend((text as u32).to_be_bytes());
    all.extend(vec![b'a'; text]);
    all.push(0);
    all
}

#[test]
fn a_message_has_at_most_64_kib() {
    for (form, short) in GET_ID {
        assert_eq!(
            long(form, short.len() - 4 * usize::from(form.framed)).len(),
            short.len()
        );
        let most = long(form, MESSAGE_BYTES_MAX);
        let Step::Call { len, .. } = Reader::default().read(&most) else {
            panic!("{form:?}")
        };
        assert_eq!(len, most.len());
        assert!(len <= CALL_BYTES_MAX);
        let [one, two] = [1, 2].map(|more| long(form, MESSAGE_BYTES_MAX + more));
        // What can be known before it is all there is refused then.
        for more in [&one[..], &two[..], &two[..64], &two[..4096]] {
            let Step::Broken { fault, len, .. } = Reader::default().read(more) else {
                panic!("{form:?} {}", more.len())
            };
            assert_eq!((fault, len), (Fault::TooLong, None));
        }
    }
}

#[test]
fn small_fields_that_never_end_are_refused_at_64_kib() {
    for (form, bytes) in [GET_ID[0], GET_ID[3]] {
        let mut endless = bytes[..bytes.len() - 1].to_vec();
        while endless.len() < MESSAGE_BYTES_MAX {
            endless.extend(b"\x02\0\x02\x01");
        }
        let mut reader = Reader::default();
        let ended = (0..=endless.len()).find_map(|cut| match reader.read(&endless[..cut]) {
            Step::Incomplete => None,
            Step::Broken { fault, len, .. } => Some((cut, fault, len)),
            other => panic!("{other:?}"),
        });
        assert_eq!(ended, Some((MESSAGE_BYTES_MAX, Fault::TooLong, None)), "{form:?}");
    }
}

#[test]
fn faults_are_told_in_words() {
    for (fault, words) in [
        (Fault::Type(1), "1 is not a type of the binary protocol"),
        (Fault::Negative(-1), "a length of -1 is below 0"),
        (Fault::TooDeep, "a value is nested in more than 16 others"),
        (Fault::TooLong, "a message has at most 65536 bytes"),
        (Fault::Short, "the frame ends before its message does"),
        (Fault::Behind(2), "2 bytes follow the message in its frame"),
        (
            Fault::Kind(9),
            "message type 9 is neither 1, a call, nor 4, oneway",
        ),
    ] {
        assert_eq!(fault.to_string(), words);
    }
}
