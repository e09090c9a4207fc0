//! Forked children of the library: parent and children never share an id.
//!
//! `unsafe` here: `fork`, in a program with one thread, whose child writes to a pipe and ends. There is no safe twin:
//! forking is what is tested.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::sync::Arc;

use mintage::{Layout, Snowflake, Window, preset, uuid4, uuid7};

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Forks {
    /// Children.
    pub forks: u64,
    /// Ids compared.
    pub ids: u64,
    /// The first id that was made twice, if any.
    pub failure: Option<String>,
}

/// Ids that each child makes of every kind.
const EACH: usize = 2;

/// Forks `count` times; the children mint from what they inherited. Call it in a process with one thread.
///
/// # Errors
/// The system refuses another process.
pub fn run(count: u64) -> Result<Forks, String> {
    let layout = Arc::new(preset("twitter").expect("a row of PRESETS").layout());
    let window = Window {
        worker: 1,
        from_tick: 0,
        until_tick: layout.ticks_max(),
    };
    let generator = Snowflake::new(Arc::clone(&layout), window, 1000).map_err(|e| e.to_string())?;
    let mut done = Forks::default();
    let mut seen = HashSet::new();
    // The buffers are filled before the first fork, so that children inherit them.
    for id in [uuid4(), uuid7()] {
        seen.insert(id.as_u128());
    }
    while done.forks < count && done.failure.is_none() {
        let ids = child(&generator, &layout)?;
        done.forks += 1;
        let own = [uuid4().as_u128(), uuid7().as_u128()];
        for id in ids.into_iter().chain(own) {
            done.ids += 1;
            if !seen.insert(id) {
                done.failure = Some(format!("{id:032x} was made twice, after {} forks", done.forks));
            }
        }
    }
    Ok(done)
}

/// Forks once; the child's ids.
fn child(generator: &Snowflake, layout: &Layout) -> Result<Vec<u128>, String> {
    let mut ends = [0; 2];
    // SAFETY: the array holds two integers, which the call writes.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: both descriptors were just made and belong to nobody else.
    let (mut from, mut to) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    // SAFETY: this process has one thread, so the child finds every lock free.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().to_string()),
        0 => {
            let mut out = Vec::new();
            for _ in 0..EACH {
                out.extend(uuid4().as_u128().to_be_bytes());
                out.extend(uuid7().as_u128().to_be_bytes());
                // A generator that was reserved before the fork is the parent's alone.
                if let Ok(id) = generator.mint(layout.time_of(1_000_000)) {
                    out.extend(u128::from(id).to_be_bytes());
                }
            }
            let _ = to.write_all(&out);
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(0) }
        }
        pid => {
            drop(to);
            let mut bytes = Vec::new();
            let read = from.read_to_end(&mut bytes);
            // SAFETY: waits for the child that was just made.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
            read.map_err(|e| e.to_string())?;
            let ids = bytes.chunks_exact(16);
            Ok(ids
                .map(|id| id.iter().fold(0, |n, b| n << 8 | u128::from(*b)))
                .collect())
        }
    }
}
