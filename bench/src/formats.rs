//! The formats beside UUIDs and Snowflakes, against the crates that make them.

use std::cell::RefCell;
use std::hint::black_box;

use mintage::{Alphabet, GenOptions, Ksuid, ObjectId, SystemEntropy, TypePrefix, Ulid, Xid, format};
use svix_ksuid::KsuidLike as _;

use crate::core::{Measured, Row, in_time, per_id, row, single};

#[derive(Default)]
struct User;

impl type_safe_id::StaticType for User {
    const TYPE: &'static str = "user";
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = ulid_rows();
    rows.extend(random_rows());
    rows.extend(timed_rows());
    rows
}

fn ulid_rows() -> Vec<Row> {
    let id = mintage::ulid();
    let theirs = ulid::Ulid::from_bytes(id.to_bytes());
    let text = id.to_string();
    let (ours_text, their_text) = (text.clone(), text);
    vec![
        row(
            "ULID",
            "ulid",
            1.2,
            || single(mintage::ulid),
            || single(ulid::Ulid::generate),
        ),
        row(
            "ULID in bulk",
            "ulid",
            7.0,
            || {
                let mut ids = vec![Ulid::from_bytes([0; 16]); BATCH];
                per_id(BATCH as u32, || {
                    mintage::ulid_many(&mut ids);
                    black_box(&ids);
                })
            },
            || single(ulid::Ulid::generate),
        ),
        row(
            "ULID to text",
            "ulid",
            2.6,
            // Both into an array of the caller's.
            move || {
                let mut out = [0; 26];
                single(|| {
                    black_box(id).encode(&mut out);
                    // Otherwise nothing needs to be written.
                    black_box(&out)[0]
                })
            },
            move || {
                let mut out = [0; 26];
                single(|| {
                    black_box(theirs).array_to_str(&mut out);
                    black_box(&out)[0]
                })
            },
        ),
        row(
            "ULID from text",
            "ulid",
            3.6,
            move || single(|| Ulid::parse(black_box(ours_text.as_bytes()))),
            move || single(|| ulid::Ulid::from_string(black_box(&their_text))),
        ),
        row(
            "ULID as lines in bulk",
            "ulid",
            5.0,
            || lines("ulid", GenOptions::default()),
            || {
                let mut out = Vec::with_capacity(BATCH * 27);
                per_id(BATCH as u32, || {
                    out.clear();
                    for _ in 0..BATCH {
                        let mut text = [0; 26];
                        out.extend_from_slice(ulid::Ulid::generate().array_to_str(&mut text).as_bytes());
                        out.push(b'\n');
                    }
                    black_box(&out);
                })
            },
        ),
    ]
}

fn random_rows() -> Vec<Row> {
    let alphabet = Alphabet::new("0123456789abcdefghijklmnopqrstuvwxyz").expect("distinct");
    vec![
        row(
            "NanoID, 21 characters",
            "nid",
            5.0,
            || single(mintage::nanoid),
            || single(nid::Nanoid::<21>::new),
        ),
        row(
            "NanoID as lines in bulk",
            "nid",
            5.0,
            || lines("nanoid", GenOptions::default()),
            || {
                let mut out = Vec::with_capacity(BATCH * 22);
                per_id(BATCH as u32, || {
                    out.clear();
                    for _ in 0..BATCH {
                        let id: nid::Nanoid = nid::Nanoid::new();
                        out.extend_from_slice(id.as_str().as_bytes());
                        out.push(b'\n');
                    }
                    black_box(&out);
                })
            },
        ),
        row(
            "NanoID of 36 letters, 21 characters",
            "nid",
            1.0,
            move || {
                let mut out = Vec::with_capacity(21);
                single(|| {
                    out.clear();
                    alphabet.draw(21, &mut SystemEntropy, &mut out);
                    out.len()
                })
            },
            || single(nid::Nanoid::<21, nid::alphabet::Base36LowercaseAlphabet>::new),
        ),
    ]
}

fn timed_rows() -> Vec<Row> {
    let user = TypePrefix::new("user").expect("a prefix");
    let ksuid = in_time(mintage::ksuid);
    let their_ksuid = svix_ksuid::Ksuid::from_base62(&ksuid.to_string()).expect("a ksuid");
    vec![
        row(
            "TypeID with text",
            "type-safe-id",
            8.0,
            move || {
                let out = RefCell::new(Vec::with_capacity(64));
                single(|| {
                    let mut out = out.borrow_mut();
                    out.clear();
                    user.mint().write(&mut out);
                    out.len()
                })
            },
            || single(|| type_safe_id::TypeSafeId::<User>::new().to_string()),
        ),
        row(
            "TypeID as lines in bulk",
            "type-safe-id",
            8.0,
            || {
                lines(
                    "typeid",
                    GenOptions {
                        prefix: Some("user".into()),
                        ..GenOptions::default()
                    },
                )
            },
            || single(|| type_safe_id::TypeSafeId::<User>::new().to_string()),
        ),
        row(
            "KSUID with text",
            "svix-ksuid",
            18.0,
            || single(|| in_time(mintage::ksuid).text()),
            || single(|| svix_ksuid::Ksuid::new(None::<std::time::SystemTime>, None).to_string()),
        ),
        row(
            "KSUID to text",
            "svix-ksuid",
            5.0,
            move || single(|| black_box(ksuid).text()),
            move || single(|| black_box(&their_ksuid).to_base62()),
        ),
        row(
            "KSUID in bulk",
            "svix-ksuid",
            30.0,
            || {
                let mut ids = vec![Ksuid::from_bytes([0; 20]); BATCH];
                per_id(BATCH as u32, || {
                    in_time(|| mintage::ksuid_many(&mut ids));
                    black_box(&ids);
                })
            },
            || single(|| svix_ksuid::Ksuid::new(None::<std::time::SystemTime>, None)),
        ),
        row(
            "xid",
            "xid",
            1.5,
            || single(|| in_time(mintage::xid)),
            || single(xid::new),
        ),
        row(
            "xid in bulk",
            "xid",
            3.0,
            || {
                let mut ids = vec![Xid::from_bytes([0; 12]); BATCH];
                per_id(BATCH as u32, || {
                    in_time(|| mintage::xid_many(&mut ids));
                    black_box(&ids);
                })
            },
            || single(xid::new),
        ),
        row(
            "xid with text",
            "xid",
            1.5,
            || single(|| in_time(mintage::xid).text()),
            || single(|| xid::new().to_string()),
        ),
        row(
            "ObjectId",
            "bson",
            1.5,
            || single(|| in_time(mintage::objectid)),
            || single(bson::oid::ObjectId::new),
        ),
        row(
            "ObjectId in bulk",
            "bson",
            3.0,
            || {
                let mut ids = vec![ObjectId::from_bytes([0; 12]); BATCH];
                per_id(BATCH as u32, || {
                    in_time(|| mintage::objectid_many(&mut ids));
                    black_box(&ids);
                })
            },
            || single(bson::oid::ObjectId::new),
        ),
        row(
            "SCRU128",
            "scru128",
            5.0,
            || single(|| in_time(mintage::scru128)),
            || single(scru128::new),
        ),
    ]
}

const BATCH: usize = 1024;

/// Text lines by the table of formats, as the command writes them.
fn lines(name: &str, options: GenOptions) -> Measured {
    let row = format(name).expect("a format");
    let mut out = Vec::with_capacity(BATCH * 64);
    per_id(BATCH as u32, || {
        in_time(|| {
            out.clear();
            row.write_lines(&options, BATCH, &mut out)
        });
        black_box(&out);
    })
}
