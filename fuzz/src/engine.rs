//! The loop: take an input, change it, try it, keep it if something new was seen.

use std::collections::HashSet;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Once;

use crate::mutate::mutate;
use crate::random::Random;
use crate::{Target, take_seen};

/// What a run did.
#[derive(Debug)]
pub struct Report {
    /// How often the target ran.
    pub runs: u64,
    /// How many different things were seen.
    pub seen: usize,
}

/// An input that breaks a promise.
#[derive(Debug)]
pub struct Broken {
    /// The input, as short as it could be made.
    pub input: Vec<u8>,
    /// What the panic said.
    pub message: String,
}

/// Runs `target` `runs` times, the same way for the same seed: every seed and every input of its corpus once, then
/// changed ones.
///
/// # Errors
/// The first input that makes it panic.
pub fn fuzz(target: &Target, runs: u64, seed: u64) -> Result<Report, Broken> {
    quiet_panics();
    let mut kept = target.seeds.clone();
    kept.extend(corpus(&target.name));
    kept.push(Vec::new());
    let mut seen = HashSet::new();
    let mut done = 0;
    for input in &kept {
        attempt(target, input)?;
        seen.insert(take_seen());
        done += 1;
    }
    let mut random = Random::new(seed);
    let mut input = Vec::new();
    while done < runs {
        input.clear();
        // Recent finds and the seeds take turns.
        let recent = kept.len().saturating_sub(RECENT);
        let from = if random.below(2) == 0 {
            recent + random.below(kept.len() - recent)
        } else {
            random.below(kept.len())
        };
        input.extend_from_slice(&kept[from]);
        let other = random.below(kept.len());
        mutate(
            &mut input,
            &kept[other],
            target.words,
            target.longest,
            &mut random,
        );
        attempt(target, &input)?;
        done += 1;
        if seen.insert(take_seen()) && kept.len() < KEPT_MAX {
            kept.push(input.clone());
        }
    }
    Ok(Report {
        runs: done,
        seen: seen.len(),
    })
}

/// Finds of late, from which every other input is made.
const RECENT: usize = 64;
/// More inputs are not kept.
const KEPT_MAX: usize = 4096;

/// Runs `target` once; its panic is not caught.
pub fn run_one(target: &Target, input: &[u8]) {
    (target.run)(input);
}

/// Committed inputs that once broke something.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

fn attempt(target: &Target, input: &[u8]) -> Result<(), Broken> {
    match panics(target, input) {
        None => Ok(()),
        Some(message) => Err(shortest(target, input, message)),
    }
}

/// What the panic says, if there is one.
fn panics(target: &Target, input: &[u8]) -> Option<String> {
    let run = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let payload = run.err()?;
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_string()));
    Some(text.unwrap_or_else(|| "a panic without words".into()))
}

/// Leaves out pieces as long as it still panics.
fn shortest(target: &Target, input: &[u8], message: String) -> Broken {
    let mut broken = Broken {
        input: input.to_vec(),
        message,
    };
    let mut size = broken.input.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < broken.input.len() {
            let mut less = broken.input.clone();
            less.drain(at..(at + size).min(less.len()));
            match panics(target, &less) {
                Some(message) => broken = Broken { input: less, message },
                None => at += size,
            }
        }
        size /= 2;
    }
    broken
}

/// Panics are caught and told of once, so the usual report on standard error is left out, in threads that fuzz.
fn quiet_panics() {
    thread_local! {
        static FUZZES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    FUZZES.set(true);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !FUZZES.get() {
                usual(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saw;

    /// Breaks at "bug", and sees how near an input comes.
    fn planted() -> Target {
        Target::new("planted", ["a"], |input| {
            let near = input.iter().zip(b"bug").take_while(|(a, b)| a == b).count();
            saw(near);
            assert!(near < 3, "found");
        })
    }

    #[test]
    fn a_planted_bug_is_found_and_made_short() {
        let broken = fuzz(&planted(), 1_000_000, 1).expect_err("there is a bug");
        assert_eq!((&broken.input[..], &*broken.message), (&b"bug"[..], "found"));
    }

    #[test]
    fn a_seed_determines_the_run() {
        let inputs = |seed| {
            let all = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let keep = all.clone();
            let target = Target::new("inputs", ["seed"], move |input: &[u8]| {
                keep.lock().expect("no panic").push(input.to_vec());
            });
            fuzz(&target, 100, seed).expect("nothing breaks");
            let inputs = all.lock().expect("no panic").clone();
            inputs
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }
}
