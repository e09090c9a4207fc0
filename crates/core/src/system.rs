//! The one file that asks the operating system for the time.
//!
//! `unsafe` here: three plain C calls that fill a struct of ours. There is no safe twin: std reaches neither
//! CLOCK_BOOTTIME nor the kernel's synchronisation state.
#![allow(unsafe_code)]

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::{Clock, Timestamp};

/// The system's wall clock. It can stand still, jump and go backwards; generators cope with all three.
///
/// ```
/// use mintage::{Clock, SystemClock, Timestamp};
/// assert!(SystemClock.now() > Timestamp::UNIX_EPOCH);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => Timestamp::UNIX_EPOCH.saturating_add(after),
            Err(before) => Timestamp::UNIX_EPOCH.saturating_sub(before.duration()),
        }
    }

    /// The true millisecond: never more than 0.5 ms older than what the clock shows, and only right after it
    /// was stepped. 0 before 1970.
    #[inline]
    fn unix_millis(&self) -> i64 {
        crate::tsc::unix_millis() as i64
    }

    /// Never ahead of the clock, and behind it by less than 10 µs but for what it was stepped in the last 0.5 ms.
    #[inline]
    fn unix_ticks(&self) -> i64 {
        crate::tsc::unix_ticks() as i64
    }
}

/// How long the machine has been up, time asleep included; it never goes backwards.
///
/// CLOCK_BOOTTIME on Linux and Android; elsewhere the time since the first call on the standard library's
/// monotonic clock, which on some systems stops during sleep. Only differences between two readings mean
/// anything.
///
/// ```
/// let start = mintage::boottime();
/// assert!(mintage::boottime() >= start);
/// ```
pub fn boottime() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(elapsed) = linux_boottime() {
        return elapsed;
    }
    since_first_call()
}

/// [`boottime`] for the price of reading a counter: never ahead of it, and behind it by less than 10 µs, or by at
/// most 0.5 ms where the thread was interrupted or the machine slept.
///
/// ```
/// let (near, exact) = (mintage::boottime_near(), mintage::boottime());
/// assert!(near <= exact);
/// ```
#[inline]
pub fn boottime_near() -> Duration {
    Duration::from_nanos(crate::tsc::boot_nanos())
}

/// Whether the kernel says its clock is synchronised; `None` where it cannot be asked.
///
/// Linux answers through adjtimex(2): a clock whose maximum error grew past 16 s without correction, or that
/// nobody ever disciplined, is not synchronised. In containers the answer is the host's.
///
/// ```
/// match mintage::clock_synchronised() {
///     Some(true) => println!("synchronised"),
///     Some(false) => println!("nobody disciplines this clock"),
///     None => println!("this system does not tell"),
/// }
/// ```
pub fn clock_synchronised() -> Option<bool> {
    #[cfg(target_os = "linux")]
    {
        linux_clock_synchronised()
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn linux_boottime() -> Option<Duration> {
    let mut reading = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec through a pointer to our own.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut reading) } != 0;
    if failed {
        return None;
    }
    Some(Duration::new(
        u64::try_from(reading.tv_sec).ok()?,
        u32::try_from(reading.tv_nsec).ok()?,
    ))
}

fn since_first_call() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

#[cfg(target_os = "linux")]
fn linux_clock_synchronised() -> Option<bool> {
    // SAFETY: timex is plain integers, for which all zero bits are valid; `modes` 0 only reads.
    let mut state: libc::timex = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel writes one timex through a pointer to our own.
    let answer = unsafe { libc::adjtimex(&mut state) };
    if answer < 0 {
        return None;
    }
    Some(answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boottime_never_goes_backwards() {
        let mut last = boottime();
        for _ in 0..1000 {
            let next = boottime();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn the_fallback_never_goes_backwards() {
        let first = since_first_call();
        assert!(since_first_call() >= first);
    }

    #[test]
    fn the_system_clock_is_after_this_code_was_written() {
        assert!(SystemClock.now() > Timestamp::from_unix_millis(1_760_000_000_000));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn it_is_told_whether_the_clock_is_synchronised_wherever_the_kernel_tells() {
        // SAFETY: as in `linux_clock_synchronised`.
        let (answer, state) = unsafe {
            let mut state: libc::timex = core::mem::zeroed();
            (libc::adjtimex(&mut state), state)
        };
        let told = clock_synchronised();
        assert_eq!(told.is_some(), answer >= 0);
        // A clock that nobody disciplines is never called synchronised.
        if state.status & libc::STA_UNSYNC != 0 {
            assert_eq!(told, Some(false));
        }
    }
}
