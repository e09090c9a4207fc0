//! Every interleaving of takers and the worker on one block of a sequence: `cargo xtask loom`. The file under test is
//! the ledger's own; it is walked here because this crate builds with loom alone.

use std::sync::Arc;

use loom::thread;
use mintage_testing::{distinct, invariant};

#[path = "../../../ledger/src/sequence/counter.rs"]
#[allow(dead_code)]
mod counter;

use counter::{Counter, Take};

/// The offsets that takes of these sizes got.
fn takes(counter: &Counter, sizes: &[u64], exactly: bool) -> Vec<u64> {
    let mut got = Vec::new();
    for n in sizes {
        let take = match exactly {
            true => counter.take_exactly(*n),
            false => counter.take(*n),
        };
        match take {
            Take::Got { at, count, .. } => {
                assert!(count >= 1 && count <= *n && (!exactly || count == *n));
                got.extend(at..at + count);
            }
            Take::Again | Take::Exhausted => {}
            Take::Closed => break,
        }
    }
    got
}

/// Two takers against `work` of the worker, which answers the offsets that it took back and how many there are.
fn check(one: (&'static [u64], bool), two: (&'static [u64], bool), work: fn(&Counter) -> (Vec<u64>, u64)) {
    loom::model(move || {
        let counter = Arc::new(Counter::new(3, 1));
        let other = {
            let counter = Arc::clone(&counter);
            thread::spawn(move || takes(&counter, two.0, two.1))
        };
        let third = {
            let counter = Arc::clone(&counter);
            thread::spawn(move || takes(&counter, one.0, one.1))
        };
        let (back, limit) = work(&counter);
        let mut all = other.join().unwrap();
        all.extend(third.join().unwrap());
        all.extend(back);
        invariant!(all.iter().all(|at| *at < limit), "{all:?} of {limit}");
        distinct("offsets", all);
    });
}

fn closes(counter: &Counter) -> (Vec<u64>, u64) {
    match counter.close() {
        Some((used, limit)) => ((used..limit).collect(), limit),
        None => unreachable!("nobody else closes"),
    }
}

fn extends_and_closes(counter: &Counter) -> (Vec<u64>, u64) {
    counter.extend(2);
    closes(counter)
}

#[test]
fn takers_and_a_close_never_share_an_offset() {
    check((&[2], false), (&[1, 2], false), closes);
}

#[test]
fn takers_and_an_extension_never_share_an_offset() {
    check((&[2], false), (&[2], false), extends_and_closes);
}

#[test]
fn exact_takes_never_share_an_offset() {
    check((&[2], true), (&[2], true), extends_and_closes);
}

#[test]
fn who_asks_after_a_close_learns_how_much_was_used() {
    loom::model(|| {
        let counter = Arc::new(Counter::new(3, 0));
        let taker = {
            let counter = Arc::clone(&counter);
            thread::spawn(move || takes(&counter, &[2], false).len() as u64)
        };
        let closer = {
            let counter = Arc::clone(&counter);
            thread::spawn(move || counter.close().unwrap().0)
        };
        let seen = counter.used();
        let (taken, used) = (taker.join().unwrap(), closer.join().unwrap());
        assert!(used == taken && seen <= used);
        assert_eq!(counter.used(), used);
    });
}
