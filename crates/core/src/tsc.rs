//! The millisecond of the wall clock, and the time since boot, for the price of reading a counter.
//!
//! Where the processor reports an invariant time-stamp counter, every thread remembers the last millisecond it
//! read from the real clock and the counter value until which that millisecond is certainly not over: the end
//! of the millisecond or 0.5 ms, whichever comes first. Until then a call is one `rdtsc` and a comparison;
//! after it the real clock is read again. So no answer is older than 0.5 ms whatever the wall clock did
//! meanwhile, and the counter decides only *whether* to look, never what the time is. Elsewhere every call
//! reads the real clock. The time since boot is remembered beside it, in the same way.
//!
//! `unsafe` here: the two intrinsics `rdtsc` and `cpuid`, which every x86-64 processor has. The safe twin is
//! [`real_unix_millis`]; a test checks that they agree.
#![allow(unsafe_code)]

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z by the system's wall clock, rounded down; 0 before 1970.
#[inline]
pub(crate) fn unix_millis() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        counter::unix_millis()
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        real_unix_millis()
    }
}

/// Nanoseconds since 1970-01-01T00:00:00Z by the system's wall clock; 0 before 1970.
///
/// Never ahead of it, and behind it by less than 10 µs, but for what the clock was stepped or the thread was
/// interrupted while it last read the clock, at most 0.5 ms.
#[inline]
pub(crate) fn unix_nanos() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        counter::unix_nanos()
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        real_unix_nanos()
    }
}

/// Ticks of 100 ns since 1970: [`unix_nanos`].
#[inline]
pub(crate) fn unix_ticks() -> u64 {
    unix_nanos() / 100
}

/// Nanoseconds of [`crate::boottime`], as [`unix_nanos`] has those of the wall clock.
#[inline]
pub(crate) fn boot_nanos() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        counter::boot_nanos()
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        real_boot_nanos()
    }
}

fn real_boot_nanos() -> u64 {
    u64::try_from(crate::boottime().as_nanos()).unwrap_or(u64::MAX)
}

/// [`unix_millis`], always from the system.
#[cfg(any(test, not(all(target_arch = "x86_64", not(miri)))))]
pub(crate) fn real_unix_millis() -> u64 {
    real_unix_nanos() / 1_000_000
}

fn real_unix_nanos() -> u64 {
    // 584 years of nanoseconds from 1970; later times saturate.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod counter {
    use core::arch::x86_64::{__cpuid, _rdtsc};
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Mutex;
    use std::thread::LocalKey;
    use std::time::Instant;

    use super::{real_boot_nanos, real_unix_nanos};

    thread_local! {
        static LAST: Cell<Reading> = const { Cell::new(Reading::NONE) };
        static LAST_BOOT: Cell<Reading> = const { Cell::new(Reading::NONE) };
    }

    #[derive(Clone, Copy)]
    struct Reading {
        millis: u64,
        nanos: u64,
        /// The counter after the clock was read: time that passed in between makes ticks late, never early.
        told: u64,
        /// The counter when the clock was read.
        taken: u64,
        /// For how many counts from there `millis` stays right.
        valid_for: u64,
        /// Times 2^32, rounded down by 1 %.
        nanos_per_count: u64,
    }

    impl Reading {
        const NONE: Reading = Reading {
            millis: 0,
            nanos: 0,
            told: 0,
            taken: 0,
            valid_for: 0,
            nanos_per_count: 0,
        };
    }

    #[inline]
    pub(super) fn unix_nanos() -> u64 {
        nanos(&LAST, real_unix_nanos)
    }

    #[inline]
    pub(super) fn boot_nanos() -> u64 {
        nanos(&LAST_BOOT, real_boot_nanos)
    }

    #[inline]
    fn nanos(of: &'static LocalKey<Cell<Reading>>, real: fn() -> u64) -> u64 {
        let now = counter();
        let last = of.get();
        if now.wrapping_sub(last.taken) < last.valid_for {
            let age = now.saturating_sub(last.told);
            return last.nanos + ((age * last.nanos_per_count) >> 32);
        }
        read_clock(of, real).nanos
    }

    #[inline]
    pub(super) fn unix_millis() -> u64 {
        let now = counter();
        let last = LAST.get();
        // Unsigned: a counter that went backwards gives a huge age, and the clock is read.
        if now.wrapping_sub(last.taken) < last.valid_for {
            return last.millis;
        }
        read_clock(&LAST, real_unix_nanos).millis
    }

    #[inline]
    fn counter() -> u64 {
        // SAFETY: reads a register; every x86-64 processor has it and Linux leaves it enabled.
        unsafe { _rdtsc() }
    }

    #[cold]
    #[inline(never)]
    fn read_clock(of: &'static LocalKey<Cell<Reading>>, real: fn() -> u64) -> Reading {
        // The counter first: time that passes between the two readings makes the deadline early, never late.
        let taken = counter();
        let nanos = real();
        let told = counter();
        let millis = nanos / 1_000_000;
        let left = (1_000_000 - nanos % 1_000_000).min(LONGEST_NS);
        // Counts per 1024 ns; zero while unknown, so that the clock is read every time.
        let rate = rate();
        let valid_for = (left * rate) >> 10;
        // `rate` was rounded down by 1 %; 2 % more makes it too high, and what passes by it too little.
        let nanos_per_count = (1024 << 32) / (rate + rate / 50 + 1);
        let reading = Reading {
            millis,
            nanos,
            told,
            taken,
            valid_for,
            nanos_per_count,
        };
        of.set(reading);
        reading
    }

    /// How long a reading may serve.
    const LONGEST_NS: u64 = 500_000;

    /// Counts per 1024 ns, rounded down by 1 %; 0 while unknown or if the counter is not invariant.
    fn rate() -> u64 {
        static RATE: AtomicU64 = AtomicU64::new(UNKNOWN);
        match RATE.load(Ordering::Relaxed) {
            UNKNOWN => {
                let rate = measure();
                RATE.store(rate, Ordering::Relaxed);
                if rate == UNKNOWN { 0 } else { rate }
            }
            rate => rate,
        }
    }

    const UNKNOWN: u64 = u64::MAX;

    /// The rate over 2 ms to 1 s between two calls, [`UNKNOWN`] until there are such, 0 for unusable.
    ///
    /// Nothing waits for it: until it is known, every id costs a clock reading.
    fn measure() -> u64 {
        static FIRST: Mutex<Option<Pair>> = Mutex::new(None);
        if !invariant() {
            return 0;
        }
        let (Some(now), Ok(mut first)) = (Pair::read(), FIRST.try_lock()) else {
            return UNKNOWN;
        };
        let Some(start) = *first else {
            *first = Some(now);
            return UNKNOWN;
        };
        let nanos = now.instant.duration_since(start.instant).as_nanos();
        if nanos < 2_000_000 {
            return UNKNOWN;
        }
        // After a long time the machine may have slept, which the two count differently: measure anew.
        *first = Some(now);
        if nanos > 1_000_000_000 {
            return UNKNOWN;
        }
        let rate = u128::from(now.counter.wrapping_sub(start.counter)) * 1024 / nanos;
        // 0.3 to 20 counts a nanosecond; anything else cannot be a clock.
        if (300..20_000).contains(&rate) {
            (rate - rate / 100) as u64
        } else {
            0
        }
    }

    /// Counter and monotonic clock at the same moment.
    #[derive(Clone, Copy)]
    struct Pair {
        counter: u64,
        instant: Instant,
    }

    impl Pair {
        /// `None` if something came between the readings: 2^14 counts are 3 to 16 µs, less than what the rate is
        /// rounded down by in the shortest time that it is measured over.
        fn read() -> Option<Pair> {
            let before = counter();
            let instant = Instant::now();
            (counter().wrapping_sub(before) < 1 << 14).then_some(Pair {
                counter: before,
                instant,
            })
        }
    }

    /// Whether the counter ticks at one rate through every power state: CPUID 8000_0007h, EDX bit 8.
    fn invariant() -> bool {
        // The intrinsic is a safe function where the target guarantees cpuid, which x86-64 does.
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_counter_that_went_back_makes_the_clock_be_read() {
            LAST.set(Reading {
                millis: 7,
                nanos: 0,
                told: 0,
                taken: u64::MAX / 2,
                valid_for: 1000,
                nanos_per_count: 0,
            });
            assert!(unix_millis() > 1_760_000_000_000);
        }

        #[test]
        fn a_reading_serves_until_its_deadline_and_no_longer() {
            LAST.set(Reading {
                millis: 7,
                nanos: 0,
                told: 0,
                taken: counter(),
                valid_for: 1 << 50,
                nanos_per_count: 0,
            });
            assert_eq!(unix_millis(), 7);
            LAST.set(Reading {
                millis: 7,
                nanos: 0,
                told: 0,
                taken: counter(),
                valid_for: 0,
                nanos_per_count: 0,
            });
            assert!(unix_millis() > 7);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_never_ahead_of_the_clock_and_hardly_behind() {
        let (mut ahead, mut late) = (0, 0);
        let rounds = 300_000;
        for _ in 0..rounds {
            let (before, ticks, after) = (real_unix_nanos(), unix_ticks(), real_unix_nanos());
            ahead += u32::from(ticks > after / 100);
            late += u32::from(ticks + 100 < before / 100);
        }
        assert!(ahead < rounds / 10, "{ahead} of {rounds} ahead");
        assert!(late < rounds / 10, "{late} of {rounds} more than 10 µs late");
    }

    #[test]
    fn the_near_time_since_boot_is_never_ahead_and_hardly_behind() {
        let (mut ahead, mut late) = (0, 0);
        let rounds = 300_000;
        for _ in 0..rounds {
            let (before, near, after) = (real_boot_nanos(), boot_nanos(), real_boot_nanos());
            ahead += u32::from(near > after);
            late += u32::from(near + 10_000 < before);
        }
        assert!(ahead < rounds / 10, "{ahead} of {rounds} ahead");
        assert!(late < rounds / 10, "{late} of {rounds} more than 10 µs late");
    }

    #[test]
    fn the_counter_and_the_clock_tell_the_same_millisecond() {
        // Readings in the order real, fast, real: the fast one lies between the two, unless the wall clock
        // was set back meanwhile. Many rounds, so that the rate becomes known on the way.
        let mut between = 0;
        let rounds = 300_000;
        for _ in 0..rounds {
            let (before, fast, after) = (real_unix_millis(), unix_millis(), real_unix_millis());
            between += u32::from((before..=after).contains(&fast));
        }
        // A stepped wall clock may spoil 0.5 ms of readings, some thousand rounds; a wrong clock spoils all.
        assert!(between > rounds - rounds / 10, "only {between} of {rounds}");
    }
}
