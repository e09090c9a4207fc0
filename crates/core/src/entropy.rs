//! Randomness: the trait through which generators draw it, and the process's own fork-safe source.

#[cfg(feature = "std")]
pub use system::{SystemEntropy, fill_random};

use alloc::boxed::Box;

/// Where random bytes come from. Ids that must not be guessed need a cryptographic source.
///
/// ```
/// use mintage::Entropy;
///
/// /// Counts; only for tests that want the same ids every time.
/// struct Counting(u8);
/// impl Entropy for Counting {
///     fn fill(&mut self, out: &mut [u8]) {
///         for byte in out {
///             self.0 = self.0.wrapping_add(1);
///             *byte = self.0;
///         }
///     }
/// }
/// let mut bytes = [0; 3];
/// Counting(0).fill(&mut bytes);
/// assert_eq!(bytes, [1, 2, 3]);
/// ```
pub trait Entropy {
    /// Overwrites `out` with random bytes.
    fn fill(&mut self, out: &mut [u8]);
}

impl<E: Entropy + ?Sized> Entropy for &mut E {
    fn fill(&mut self, out: &mut [u8]) {
        (**self).fill(out);
    }
}

impl<E: Entropy + ?Sized> Entropy for Box<E> {
    fn fill(&mut self, out: &mut [u8]) {
        (**self).fill(out);
    }
}

/// For tests: the same byte for ever.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct Same(pub(crate) u8);

#[cfg(test)]
impl Entropy for Same {
    fn fill(&mut self, out: &mut [u8]) {
        out.fill(self.0);
    }
}

#[cfg(feature = "std")]
mod system {
    use core::cell::RefCell;

    use super::Entropy;
    use crate::fork::fork_generation;
    use crate::keystream;

    /// The process's random source: the same bytes as [`fill_random`].
    ///
    /// ```
    /// use mintage::{Entropy, SystemEntropy};
    /// let mut bytes = [0; 32];
    /// SystemEntropy.fill(&mut bytes);
    /// assert_ne!(bytes, [0; 32]);
    /// ```
    #[derive(Clone, Copy, Debug, Default)]
    pub struct SystemEntropy;

    impl Entropy for SystemEntropy {
        #[inline]
        fn fill(&mut self, out: &mut [u8]) {
            fill_random(out);
        }
    }

    /// Overwrites `out` with bytes from the process's cryptographic random source.
    ///
    /// Every thread owns a buffer of AES-128-CTR keystream under a key from the kernel (getrandom). The first
    /// bytes of each buffer are the next key and are erased there, and bytes are erased as they are given out:
    /// what was issued cannot be computed back from memory. A fresh key from the kernel is mixed in every
    /// 256 KiB. A forked child notices by [`fork_generation`](crate::fork_generation) and starts from the
    /// kernel again, so parent and child never share a byte. A *copied virtual machine* shares at most the
    /// 4 KiB buffered per thread when it was copied.
    ///
    /// # Panics
    /// If the kernel has no randomness to give: there is no weaker source to fall back to. Linux fails only
    /// before version 3.17 without a readable /dev/urandom, or where a sandbox forbids both.
    ///
    /// ```
    /// let mut key = [0; 16];
    /// mintage::fill_random(&mut key);
    /// assert_ne!(key, [0; 16]);
    /// ```
    #[inline]
    pub fn fill_random(out: &mut [u8]) {
        POOL.with_borrow_mut(|pool| pool.fill(out));
    }

    /// One random array; the form the id generators use.
    #[inline]
    pub(crate) fn random_array<const N: usize>() -> [u8; N] {
        POOL.with_borrow_mut(Pool::take)
    }

    /// Random bytes for one batch: keystream of its own key, written straight to where it is wanted.
    ///
    /// Lives no longer than one call, so no fork can split it: a child has no copy of the running call.
    pub(crate) struct Batch {
        key: [u8; KEY],
        next_block: u64,
    }

    impl Batch {
        pub(crate) fn new() -> Self {
            Batch {
                key: random_array(),
                next_block: 0,
            }
        }

        /// Overwrites `out`; fastest in multiples of 256 bytes.
        pub(crate) fn fill(&mut self, out: &mut [u8]) {
            keystream::write(&self.key, self.next_block, out);
            self.next_block += out.len().div_ceil(16) as u64;
        }

        /// Overwrites `out` with stamped blocks; fastest in multiples of 16.
        pub(crate) fn fill_stamped(&mut self, stamp: keystream::Stamp, out: &mut [[u8; 16]]) {
            let (whole, rest) = out.split_at_mut(out.len() / 16 * 16);
            keystream::write_stamped(&self.key, self.next_block, stamp, whole.as_flattened_mut());
            self.next_block += whole.len() as u64;
            if !rest.is_empty() {
                // A whole step costs less than a short one, which goes the portable way.
                let mut step = [[0; 16]; 16];
                keystream::write_stamped(&self.key, self.next_block, stamp, step.as_flattened_mut());
                self.next_block += 16;
                rest.copy_from_slice(&step[..rest.len()]);
            }
        }
    }

    impl Drop for Batch {
        fn drop(&mut self) {
            // Through a black box, so that the last write of a dying value is not optimised away.
            core::hint::black_box(&mut self.key).fill(0);
        }
    }

    /// Keystream made at a time: small enough to stay in the first-level cache, large enough to make the key
    /// schedule and the kernel's share disappear.
    const BUFFER: usize = 4096;
    const KEY: usize = 16;
    /// Buffers between two draws from the kernel: 256 KiB.
    const BUFFERS_PER_SEED: u32 = 64;

    thread_local! {
        // Constant initial value and nothing to drop: an access is one address computation.
        static POOL: RefCell<Pool> = const { RefCell::new(Pool::EMPTY) };
    }

    /// Aligned so that the 16 bytes of an id never lie across two cache lines.
    #[repr(align(64))]
    struct Pool {
        /// Keystream; `[..used]` is zero, the rest is unused.
        buffer: [u8; BUFFER],
        used: usize,
        key: [u8; KEY],
        /// Buffers left before the kernel is asked again.
        left: u32,
        /// The fork generation all of this belongs to; zero is nobody's.
        generation: u64,
    }

    impl Pool {
        // All zero but `used`, which says that nothing is there.
        const EMPTY: Pool = Pool {
            buffer: [0; BUFFER],
            used: BUFFER,
            key: [0; KEY],
            left: 0,
            generation: 0,
        };

        #[inline]
        fn take<const N: usize>(&mut self) -> [u8; N] {
            const { assert!(N <= BUFFER - KEY) };
            if BUFFER - self.used < N || self.generation != fork_generation() {
                self.refill();
            }
            let mut out = [0; N];
            let fresh = &mut self.buffer[self.used..self.used + N];
            out.copy_from_slice(fresh);
            fresh.fill(0);
            self.used += N;
            out
        }

        #[inline]
        fn fill(&mut self, out: &mut [u8]) {
            if self.generation != fork_generation() || out.len() > BUFFER - self.used {
                return self.fill_in_parts(out);
            }
            // Inlined, so that a caller's fixed length becomes a few moves.
            let fresh = &mut self.buffer[self.used..self.used + out.len()];
            out.copy_from_slice(fresh);
            fresh.fill(0);
            self.used += out.len();
        }

        #[cold]
        fn fill_in_parts(&mut self, out: &mut [u8]) {
            for part in out.chunks_mut(BUFFER - KEY) {
                if self.generation != fork_generation() || part.len() > BUFFER - self.used {
                    self.refill();
                }
                self.fill(part);
            }
        }

        /// Makes the next buffer of keystream; a remainder too short for the caller is discarded.
        #[cold]
        #[inline(never)]
        fn refill(&mut self) {
            let generation = fork_generation();
            if generation != self.generation {
                self.key = [0; KEY];
                self.left = 0;
            }
            if self.left == 0 {
                let mut fresh = [0; KEY];
                getrandom::fill(&mut fresh).expect("the kernel's random source answers");
                // Mixed, not replaced: a weak kernel draw cannot make a good key worse.
                for (key, fresh) in self.key.iter_mut().zip(fresh) {
                    *key ^= fresh;
                }
                self.left = BUFFERS_PER_SEED;
            }
            // A key serves for one buffer, so the counter can always start at zero.
            keystream::write(&self.key, 0, &mut self.buffer);
            let (key, _) = self.buffer.split_at_mut(KEY);
            self.key.copy_from_slice(key);
            key.fill(0);
            self.used = KEY;
            self.left -= 1;
            self.generation = generation;
        }
    }

    #[cfg(test)]
    mod tests {
        use mintage_testing::Distinct;

        use super::*;

        #[test]
        fn given_out_bytes_and_keys_are_erased() {
            let mut pool = Pool::EMPTY;
            let first: [u8; 16] = pool.take();
            assert_ne!(first, [0; 16]);
            assert_eq!(pool.buffer[..KEY + 16], [0; KEY + 16]);
            assert!(pool.buffer[KEY + 16..].iter().any(|b| *b != 0));
        }

        #[test]
        fn the_key_changes_with_every_buffer() {
            let mut pool = Pool::EMPTY;
            let mut keys = Distinct::of("keys");
            for _ in 0..3 * BUFFERS_PER_SEED {
                pool.refill();
                keys.add(pool.key);
            }
        }

        #[test]
        fn a_buffer_is_aes_128_ctr_under_the_previous_key() {
            use aes::Aes128;
            use aes::cipher::{BlockCipherEncrypt, KeyInit};
            let mut pool = Pool::EMPTY;
            pool.refill();
            let key = pool.key;
            pool.refill();
            let block = |n: u128| {
                let mut block = n.swap_bytes().to_be_bytes().into();
                Aes128::new(&key.into()).encrypt_block(&mut block);
                <[u8; 16]>::from(block)
            };
            assert_eq!(pool.key, block(0));
            for n in 1..BUFFER / 16 {
                assert_eq!(pool.buffer[n * 16..n * 16 + 16], block(n as u128));
            }
        }

        #[test]
        fn small_and_large_draws_never_repeat_a_block() {
            let mut seen = Distinct::of("random blocks");
            for _ in 0..10_000 {
                seen.add(random_array::<16>());
            }
            let mut large = std::vec![0u8; 3 * BUFFER + 5];
            fill_random(&mut large);
            seen.extend(large.as_chunks::<16>().0.iter().copied());
        }

        #[test]
        fn another_generation_drops_the_buffer() {
            let mut pool = Pool::EMPTY;
            pool.refill();
            let stale = pool.buffer;
            pool.generation = u64::MAX; // as if the process had forked
            let _: [u8; 16] = pool.take();
            assert_ne!(pool.buffer[32..], stale[32..]);
            assert_eq!(pool.generation, fork_generation());
        }
    }
}

#[cfg(feature = "std")]
pub(crate) use system::{Batch, random_array};
