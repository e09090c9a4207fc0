//! No id and no random byte is seen on both sides of a fork.
//!
//! One test in a process of its own: forking a process whose other threads hold locks is asking for trouble.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used)] // a failed call is a failed test

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::sync::Arc;

#[path = "it/common/sources.rs"]
#[allow(dead_code)] // this program uses its own part
mod sources;

use mintage::*;
use mintage_testing::invariant;
use sources::repeats;

/// How many forks; 100,000 take minutes: `MINT_TEST_FORKS=100000 cargo test -p mintage --test fork`.
fn forks() -> u32 {
    std::env::var("MINT_TEST_FORKS")
        .ok()
        .map_or(500, |text| text.parse().unwrap())
}

/// The bytes that `child` writes in a forked child.
fn in_child(child: impl FnOnce(&mut File)) -> Vec<u8> {
    let mut ends = [0; 2];
    // SAFETY: plain C calls on descriptors made here, each owned by one File; the child leaves by _exit.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        match libc::fork() {
            0 => {
                child(&mut File::from_raw_fd(ends[1]));
                libc::_exit(0);
            }
            pid => {
                assert!(pid > 0, "fork failed");
                libc::close(ends[1]);
                let mut answer = Vec::new();
                File::from_raw_fd(ends[0]).read_to_end(&mut answer).unwrap();
                libc::waitpid(pid, std::ptr::null_mut(), 0);
                answer
            }
        }
    }
}

/// Ids of every kind that a process can make without being told anything: 16 bytes each.
fn some_of_each() -> Vec<u8> {
    let mut batch = [Uuid::nil(); 70];
    let mut ids = vec![uuid4(), uuid7(), uuid6().unwrap(), uuid1().unwrap()];
    uuid4_many(&mut batch[..3]);
    ids.extend_from_slice(&batch[..3]);
    uuid4_many(&mut batch);
    ids.extend_from_slice(&batch);
    uuid7_many(&mut batch);
    ids.extend_from_slice(&batch);
    let mut bytes: Vec<u8> = ids.iter().flat_map(|id| id.into_bytes()).collect();
    let mut random = [0; 32];
    fill_random(&mut random);
    bytes.extend_from_slice(&random);
    for row in FORMATS
        .iter()
        .filter(|row| row.can_make() && !repeats_by_design(row))
    {
        let mut ids = [Id::default(), Id::default(), Id::default()];
        row.make_many(&GenOptions::default(), &mut ids).unwrap();
        for id in ids {
            // The text of any length as 16 bytes: FNV-1a.
            let text = row.text(&id).unwrap();
            let digest =
                text.bytes()
                    .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |digest: u128, byte| {
                        (digest ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
                    });
            bytes.extend_from_slice(&digest.to_be_bytes());
        }
    }
    bytes
}

/// Made from names and numbers; or with a node that, unless given, is one of 1024: two processes may share it.
fn repeats_by_design(row: &Format) -> bool {
    repeats(row) || matches!(row.name, "uuid2" | "tsid" | "tid")
}

/// Ids with a node of the caller's: a child that has it from its parent must be refused.
fn with_node() -> [Result<Id, FormatError>; 3] {
    let options = GenOptions {
        node: Some(7),
        ..GenOptions::default()
    };
    ["tsid", "tid", "flake"].map(|name| format(name).unwrap().make(&options))
}

// claim: P67
#[test]
fn nothing_repeats_across_forks() {
    let layout = Arc::new(preset("twitter").unwrap().layout());
    let snowflakes = Snowflake::unguarded(layout, 1).unwrap();
    snowflakes.mint_now().unwrap();
    assert!(with_node().iter().all(Result::is_ok));
    let mut seen: HashSet<[u8; 16]> = HashSet::new();
    let mut keep = |bytes: &[u8]| {
        for id in bytes.as_chunks::<16>().0 {
            invariant!(seen.insert(*id), "{id:02x?} was made twice");
        }
        // Compared with the last hundreds of processes: enough to find a shared buffer or generator.
        // (A large set also makes every fork slow: its pages are copied.)
        if seen.len() > 50_000 {
            seen.clear();
        }
    };
    keep(&some_of_each());
    for _ in 0..forks() {
        let child = in_child(|out| {
            let mut answer = some_of_each();
            // A generator from before the fork must refuse: its parent goes on with the same ids.
            let forked = Err(FormatError::Mint(MintError::Forked));
            let refused = snowflakes.mint_now() == Err(MintError::Forked)
                && with_node().iter().all(|made| *made == forked);
            answer.push(u8::from(refused));
            out.write_all(&answer).unwrap();
        });
        let (refused, ids) = child.split_last().expect("the child answered");
        invariant!(
            *refused == 1,
            "a generator from before the fork minted in the child"
        );
        keep(ids);
        keep(&some_of_each());
    }
    assert!(snowflakes.mint_now().is_ok(), "the parent's generator goes on");
}
