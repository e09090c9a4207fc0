//! Tells a forked child from its parent with one load.
//!
//! One page of memory is marked MADV_WIPEONFORK, so the kernel gives a child zeros in its place. The word in
//! it holds this process's generation; a child that finds zero there takes the next one. It works for every
//! way to fork, raw system calls included, which pthread_atfork misses.
//!
//! `unsafe` here: one mmap, one madvise, and the reference to the page, which is never unmapped. The safe
//! twin is [`by_pid`], used where the kernel has no such page; a test checks that both agree.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// A number that stays the same for the life of a process and differs in every forked child of it.
///
/// Never zero. Whatever must not be used by both sides of a fork (random buffers, reserved ids) remembers the
/// generation it was made in and drops itself when this one differs. Costs one load (Linux 4.14 and later;
/// elsewhere a getpid call, which misses a grandchild that was given its grandparent's process id).
///
/// ```
/// let made_in = mintage::fork_generation();
/// // … later, before using what must not be shared with a child:
/// assert_eq!(mintage::fork_generation(), made_in);
/// ```
#[inline]
pub fn fork_generation() -> u64 {
    // Acquire pairs with the release in `set_up`, so that the page's first value is seen with the pointer.
    let page = PAGE.load(Ordering::Acquire);
    if !page.is_null() {
        // SAFETY: a non-null PAGE points to a mapping that is never unmapped, is page-aligned and is only
        // ever accessed as this one atomic word.
        let generation = unsafe { &*page }.load(Ordering::Relaxed);
        if generation != 0 {
            return generation;
        }
    }
    cold()
}

static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// The last generation given out; ordinary memory, so a child goes on counting from its parent's.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Set once it is known that this kernel has no such page.
static UNSUPPORTED: AtomicU32 = AtomicU32::new(0);

#[cold]
fn cold() -> u64 {
    if UNSUPPORTED.load(Ordering::Relaxed) != 0 {
        return by_pid();
    }
    let mut page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        let Some(new) = wiped_on_fork() else {
            UNSUPPORTED.store(1, Ordering::Relaxed);
            return by_pid();
        };
        // SAFETY: `new` was just mapped and nobody else knows it.
        unsafe { &*new }.store(next_generation(), Ordering::Relaxed);
        // A thread that loses this race leaks one page, once.
        page = match PAGE.compare_exchange(core::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(first) => first,
        };
    }
    // SAFETY: as in `fork_generation`.
    let word = unsafe { &*page };
    let seen = word.load(Ordering::Relaxed);
    if seen != 0 {
        return seen;
    }
    // The first call in a forked child. The threads of the child agree on one value.
    let next = next_generation();
    match word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => next,
        Err(other) => other,
    }
}

fn next_generation() -> u64 {
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The same answer from the process id alone.
fn by_pid() -> u64 {
    /// Process id (high half) and generation (low half) in one word, so that both change together.
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let pid = u64::from(std::process::id());
    let mut seen = SEEN.load(Ordering::Relaxed);
    loop {
        if seen >> 32 == pid && seen != 0 {
            return seen & 0xffff_ffff;
        }
        let next = pid << 32 | ((seen & 0xffff_ffff) + 1).max(1) & 0xffff_ffff;
        match SEEN.compare_exchange(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return next & 0xffff_ffff,
            Err(other) => seen = other,
        }
    }
}

#[cfg(target_os = "linux")]
fn wiped_on_fork() -> Option<*mut AtomicU64> {
    let length = 4096; // madvise rounds up to the page size, and so does mmap
    // SAFETY: a fresh private anonymous mapping at an address of the kernel's choice touches nothing of ours.
    let page = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: advises on the mapping that was just made.
    if unsafe { libc::madvise(page, length, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: unmaps what was just mapped; no pointer to it is kept.
        unsafe { libc::munmap(page, length) };
        return None;
    }
    Some(page.cast())
}

#[cfg(not(target_os = "linux"))]
fn wiped_on_fork() -> Option<*mut AtomicU64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `child` in a forked child and returns the eight bytes it answers.
    #[cfg(target_os = "linux")]
    fn in_child(child: impl FnOnce() -> u64) -> u64 {
        let mut ends = [0; 2];
        // SAFETY: plain C calls on our own descriptors; the child calls only async-signal-safe functions
        // besides the code under test, and leaves by _exit.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let pid = libc::fork();
            assert!(pid >= 0);
            if pid == 0 {
                let answer = child().to_be_bytes();
                libc::write(ends[1], answer.as_ptr().cast(), 8);
                libc::_exit(0);
            }
            libc::close(ends[1]);
            let mut answer = [0u8; 8];
            assert_eq!(libc::read(ends[0], answer.as_mut_ptr().cast(), 8), 8);
            libc::close(ends[0]);
            libc::waitpid(pid, core::ptr::null_mut(), 0);
            u64::from_be_bytes(answer)
        }
    }

    #[test]
    fn the_generation_is_stable_and_never_zero() {
        let first = fork_generation();
        assert_ne!(first, 0);
        assert_eq!(fork_generation(), first);
        assert_ne!(by_pid(), 0);
        assert_eq!(by_pid(), by_pid());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn page_and_pid_agree_that_a_child_is_another_process() {
        let (page, pid) = (fork_generation(), by_pid());
        assert_ne!(in_child(fork_generation), page);
        assert_ne!(in_child(by_pid), pid);
        assert_eq!(
            (fork_generation(), by_pid()),
            (page, pid),
            "the parent keeps its own"
        );
        let grandchild = in_child(|| {
            let child = fork_generation();
            if in_child(fork_generation) == child { 0 } else { 1 }
        });
        assert_eq!(grandchild, 1);
    }
}
