#![allow(clippy::disallowed_methods)]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mintage_testing::{distinct, invariant, rising};

use super::*;

/// Seconds and ticks after a fixed moment of 2026.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_790_000_000_000 + seconds * 1000)
}

fn draw(out: &mut [u8]) {
    mintage::fill_random(out);
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> StateFile {
        StateFile::new(self.0.path().join("state"))
    }

    fn open(&self, now: Timestamp) -> LocalUuid {
        LocalUuid::open(self.file(), None, &mut draw, now).unwrap()
    }
}

fn make(from: &mut LocalUuid, version: u8, now: Timestamp, n: usize) -> Vec<Uuid> {
    let mut out = vec![Uuid::nil(); n];
    let mut done = 0;
    while done < n {
        done += from.fill(version, &mut draw, now, &mut out[done..]).unwrap();
    }
    out
}

fn tick_of(uuid: &Uuid) -> u64 {
    let (ticks, _) = uuid
        .get_timestamp()
        .expect("versions 1 and 6 have a time")
        .to_gregorian();
    ticks
}

#[test]
fn ids_carry_the_time_and_increase() {
    let folder = Folder::new();
    let mut local = folder.open(at(0));
    let ids = make(&mut local, 1, at(0), 1000);
    let now = GregorianTicks::floor(at(0)).unwrap().get();
    let ticks: Vec<u64> = ids.iter().map(tick_of).collect();
    assert_eq!(ticks, (now..now + 1000).collect::<Vec<_>>());
    let (_, counter) = ids[0].get_timestamp().unwrap().to_gregorian();
    assert_eq!(counter, local.clock_seq());
}

// claim: P69
#[test]
fn processes_that_share_the_file_have_one_order_over_all_versions() {
    let folder = Folder::new();
    let mut locals = [folder.open(at(0)), folder.open(at(0)), folder.open(at(0))];
    assert_eq!(
        (locals[0].node(), locals[0].clock_seq()),
        (locals[2].node(), locals[2].clock_seq())
    );
    let mut last_tick = 0;
    let mut last_seven = Uuid::nil();
    for round in 0..300 {
        let local = &mut locals[round % 3];
        for version in [1, 6] {
            let id = make(local, version, at(0), 1)[0];
            invariant!(tick_of(&id) > last_tick, "{} after {last_tick}", tick_of(&id));
            last_tick = tick_of(&id);
        }
        let seven = make(local, 7, at(0), 1)[0];
        invariant!(seven > last_seven, "{seven} after {last_seven}");
        assert_eq!(seven.get_version_num(), 7);
        assert_eq!(seven.get_timestamp().unwrap().to_unix().0, 1_790_000_000);
        last_seven = seven;
    }
}

#[test]
fn nothing_is_made_beyond_what_was_written() {
    let folder = Folder::new();
    let mut local = folder.open(at(0));
    for second in 0..60 {
        let ids = make(&mut local, 1, at(second), 10);
        let kept = folder
            .file()
            .update::<_, StateFileError>(|found| Ok((None, found.unwrap().payload)))
            .unwrap();
        let record: Record = serde_json::from_str(&kept).unwrap();
        invariant!(
            tick_of(&ids[9]) < record.until,
            "second {second}: {} is beyond {}",
            ids[9],
            record.until
        );
        assert_eq!(record.clock_seq, local.clock_seq());
    }
}

#[test]
fn after_a_power_cut_ids_go_on_above_what_was_written() {
    let folder = Folder::new();
    let mut before = folder.open(at(0));
    let last = make(&mut before, 1, at(0), 500_000).pop().unwrap();
    // The mapped word of another boot is not believed; here it is gone altogether.
    fs::remove_file(folder.0.path().join("state.word")).unwrap();
    let mut after = folder.open(at(1));
    let first = make(&mut after, 1, at(1), 1)[0];
    invariant!(
        after.clock_seq() != before.clock_seq() || tick_of(&first) > tick_of(&last),
        "{first} after {last}"
    );
    // The process of before still lives: what it makes lies below what the other makes.
    let late = make(&mut before, 1, at(1), 10);
    let new = make(&mut after, 1, at(1), 10);
    distinct("ids", late.iter().chain(&new));
}

#[test]
fn a_small_step_back_is_held_and_a_far_one_changes_the_clock_sequence() {
    let folder = Folder::new();
    let mut local = folder.open(at(100));
    let first = make(&mut local, 1, at(100), 10);
    let held = make(&mut local, 1, at(97), 10);
    rising("ticks", [tick_of(&first[9]), tick_of(&held[0])]);
    assert_eq!(local.notice(), None);
    let seq = local.clock_seq();
    let back = make(&mut local, 1, at(-3600), 10);
    assert_eq!(local.notice(), Some(Notice::ClockWentBack));
    assert_eq!(local.clock_seq(), (seq + 1) & CLOCK_SEQ_MAX);
    assert_eq!(tick_of(&back[0]), GregorianTicks::floor(at(-3600)).unwrap().get());
    // And forward again: the same clock sequence goes on.
    let forward = make(&mut local, 1, at(100), 10);
    distinct("ids", first.iter().chain(&held).chain(&back).chain(&forward));
    assert_eq!(folder.open(at(101)).notice(), None);
}

#[test]
fn more_than_ten_million_a_second_is_refused_and_said() {
    let folder = Folder::new();
    let mut local = folder.open(at(0));
    let mut out = vec![Uuid::nil(); 1_000_000];
    let mut made = 0u64;
    let refused = loop {
        match local.fill(6, &mut draw, at(0), &mut out) {
            Ok(count) => made += count as u64,
            Err(error) => break error,
        }
    };
    assert_eq!(made, MAX_AHEAD);
    assert_eq!(
        refused.to_string(),
        "ids run ahead of the clock: there are 10 million a second, wait 1ms"
    );
    assert_eq!(make(&mut local, 6, at(1), 10).len(), 10);
}

#[test]
fn another_node_gets_a_random_clock_sequence() {
    let folder = Folder::new();
    let first = folder.open(at(0));
    let node = Node::from_octets([2, 0, 0, 0, 0, 1]);
    let other = LocalUuid::open(folder.file(), Some(node), &mut draw, at(0)).unwrap();
    assert_eq!((other.notice(), other.node()), (Some(Notice::OtherNode), node));
    assert_ne!(first.node(), node);
    let again = folder.open(at(0));
    assert_eq!(
        (again.node(), again.clock_seq(), again.notice()),
        (node, other.clock_seq(), None)
    );
}

#[test]
fn a_damaged_file_is_set_aside_and_a_half_damaged_one_not_trusted() {
    let folder = Folder::new();
    let mut local = folder.open(at(0));
    // A second write, so that both slots are in use.
    make(&mut local, 1, at(20), 1);
    let path = folder.0.path().join("state");
    let whole = fs::read(&path).unwrap();
    for (damage, aside) in [
        (vec![30], false),
        (vec![1024 + 30], false),
        (vec![30, 1024 + 30], true),
    ] {
        let mut bytes = whole.clone();
        for at in &damage {
            bytes[*at] ^= 1;
        }
        fs::write(&path, bytes).unwrap();
        let reopened = folder.open(at(21));
        assert_eq!(reopened.notice(), Some(Notice::Unreadable), "{damage:?}");
        assert_ne!(reopened.node(), local.node(), "{damage:?}");
        assert_eq!(folder.0.path().join("state.damaged").exists(), aside);
    }
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let folder = Folder::new();
    folder
        .file()
        .update::<_, StateFileError>(|_| Ok((Some("{}".to_string()), ())))
        .unwrap();
    let error = LocalUuid::open(folder.file(), None, &mut draw, at(0)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("does not hold the state of a UUID generator"),
        "{error}"
    );
}

#[test]
fn after_all_clock_sequences_a_drawn_node_is_drawn_anew_and_an_asked_one_refused() {
    for asked in [None, Some(Node::from_octets([2, 0, 0, 0, 0, 1]))] {
        let folder = Folder::new();
        let first = LocalUuid::open(folder.file(), asked, &mut draw, at(0)).unwrap();
        folder
            .file()
            .update::<_, StateFileError>(|found| {
                let mut record: Record = serde_json::from_str(&found.unwrap().payload).unwrap();
                record.changes = CLOCK_SEQ_MAX;
                Ok((Some(serde_json::to_string(&record).unwrap()), ()))
            })
            .unwrap();
        match LocalUuid::open(folder.file(), asked, &mut draw, at(-3600)) {
            Ok(again) => assert!(asked.is_none() && again.node() != first.node()),
            Err(LocalUuidError::ClockSequencesSpent { node }) => assert_eq!(Some(node), asked),
            Err(other) => panic!("{other}"),
        }
    }
}

// claim: P69
#[test]
fn threads_with_stepping_clocks_never_repeat() {
    let folder = Arc::new(Folder::new());
    let clock = Arc::new(AtomicU64::new(1_000));
    let threads: Vec<_> = (0..4u8)
        .map(|thread| {
            let (folder, clock) = (folder.clone(), clock.clone());
            std::thread::spawn(move || {
                let now = || at(clock.load(Ordering::Relaxed) as i64);
                let mut local = folder.open(now());
                let mut ids = Vec::new();
                for round in 0..400u64 {
                    match (thread, round % 50) {
                        (0, 20) => drop(clock.fetch_sub(300, Ordering::Relaxed)),
                        (0, 40) => drop(clock.fetch_add(310, Ordering::Relaxed)),
                        (1, 10) => local = folder.open(now()),
                        _ => {}
                    }
                    let mut out = [Uuid::nil(); 50];
                    if let Ok(count) = local.fill(1, &mut draw, now(), &mut out) {
                        ids.extend_from_slice(&out[..count]);
                    }
                }
                ids
            })
        })
        .collect();
    let ids: Vec<Uuid> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    distinct("ids", &ids);
    assert!(ids.len() > 50_000, "{}", ids.len());
}
