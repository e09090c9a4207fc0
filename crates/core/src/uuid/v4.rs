//! UUID version 4: random.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                           random_a                            |
//! |          random_a             |  ver  |       random_b        |
//! |var|                       random_c                            |
//! |                           random_c                            |
//! ```
//!
//! 122 random bits around the version (4) and the variant (binary 10). Nothing can run out and no clock is
//! involved (RFC 9562 section 5.4).

use ::uuid::Uuid;

use crate::Entropy;

/// A new random UUID (version 4) from the process's cryptographic source. Thread-safe and fork-safe.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let id = mintage::uuid4();
/// assert_eq!(id.get_version_num(), 4);
/// assert_ne!(id, mintage::uuid4());
/// ```
#[cfg(feature = "std")]
#[inline]
pub fn uuid4() -> Uuid {
    v4_from(crate::entropy::random_array())
}

/// Fills `out` with new random UUIDs; several times faster per id than [`uuid4`].
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let mut ids = [mintage::Uuid::nil(); 100];
/// mintage::uuid4_many(&mut ids);
/// assert!(ids.iter().all(|id| id.get_version_num() == 4));
/// ```
#[cfg(feature = "std")]
pub fn uuid4_many(out: &mut [Uuid]) {
    if out.len() < BATCH_PAYS_FROM {
        out.fill_with(uuid4);
        return;
    }
    crate::entropy::Batch::new().fill_stamped(
        crate::keystream::Stamp {
            keep: RANDOM,
            set: FIXED,
        },
        crate::keystream::bytes_of(out),
    );
}

/// Makes version 4 UUIDs from an entropy source of your choice.
///
/// ```
/// use mintage::{SystemEntropy, V4Generator};
/// let mut generator = V4Generator::new(SystemEntropy);
/// assert_eq!(generator.next_id().get_version_num(), 4);
/// ```
#[derive(Clone, Debug)]
pub struct V4Generator<E> {
    entropy: E,
}

impl<E: Entropy> V4Generator<E> {
    /// A generator that draws from `entropy`, whose quality decides how unique and how guessable the ids are.
    pub const fn new(entropy: E) -> Self {
        V4Generator { entropy }
    }

    /// The next UUID.
    #[inline]
    pub fn next_id(&mut self) -> Uuid {
        let mut random = [0; 16];
        self.entropy.fill(&mut random);
        v4_from(random)
    }

    /// Fills `out`, drawing entropy 64 ids at a time.
    pub fn fill(&mut self, out: &mut [Uuid]) {
        let mut random = [[0; 16]; 64];
        for chunk in out.chunks_mut(random.len()) {
            let random = &mut random[..chunk.len()];
            self.entropy.fill(random.as_flattened_mut());
            for (id, random) in chunk.iter_mut().zip(random) {
                *id = v4_from(*random);
            }
        }
    }
}

impl<E: Entropy> Iterator for V4Generator<E> {
    type Item = Uuid;

    fn next(&mut self) -> Option<Uuid> {
        Some(self.next_id())
    }
}

/// From this many ids on, a key of its own costs less than going through the thread's buffer.
#[cfg(feature = "std")]
const BATCH_PAYS_FROM: usize = 64;

/// The bits that are random, and the version and variant that the others hold.
const RANDOM: u128 = !(0xf << 76 | 0b11 << 62);
const FIXED: u128 = 4 << 76 | 0b10 << 62;

/// Sets version and variant in 128 random bits.
#[inline]
fn v4_from(random: [u8; 16]) -> Uuid {
    Uuid::from_u128(u128::from_be_bytes(random) & RANDOM | FIXED)
}

#[cfg(test)]
mod tests {
    use mintage_testing::Distinct;

    use super::*;
    use crate::entropy::Same;

    // claim: P66
    #[test]
    fn only_version_and_variant_are_set() {
        let ones = V4Generator::new(Same(0xff)).next_id();
        assert_eq!(ones.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let zeros = V4Generator::new(Same(0)).next_id();
        assert_eq!(zeros.to_string(), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn batches_of_any_length_are_all_new() {
        let mut seen = Distinct::of("version 4");
        for length in [0, 1, 63, 64, 65, 1000] {
            let mut ids = std::vec![Uuid::nil(); length];
            uuid4_many(&mut ids);
            assert!(ids.iter().all(|id| id.get_version_num() == 4));
            seen.extend(ids);
        }
    }
}
