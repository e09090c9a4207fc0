//! How many random ids it takes until two of them may be equal.

/// How many ids, each of `bits` random bits, give the chance `chance` (above 0, below 1) of one repeat or more:
/// the smallest such number, as near as `f64` tells it.
///
/// Below 2^20 different ids the exact product is computed; above, the birthday bound with its first
/// correction, which is then right to less than one id in a million.
///
/// ```
/// use mintage::ids_until_repeat;
/// assert_eq!(ids_until_repeat(365f64.log2(), 0.5), 23.0); // birthdays
/// let uuid4 = ids_until_repeat(122.0, 0.5);
/// assert!((2.71e18..2.72e18).contains(&uuid4));
/// assert_eq!(ids_until_repeat(0.0, 0.01), 2.0); // without randomness the second repeats the first
/// ```
#[cfg(feature = "std")]
pub fn ids_until_repeat(bits: f64, chance: f64) -> f64 {
    let all = bits.exp2();
    let wanted = -(-chance).ln_1p();
    if all < f64::from(1 << 20) {
        // -ln of the chance that all ids so far differ.
        let (mut ids, mut sum) = (1.0, 0.0);
        while sum < wanted - 1e-12 && ids < all + 1.0 {
            sum -= (-ids / all).ln_1p();
            ids += 1.0;
        }
        return ids.max(2.0);
    }
    // n (n - 1) / 2 all = wanted, less the next term of the logarithm's series.
    let ids = 0.5 + (0.25 + 2.0 * all * wanted).sqrt() - wanted / 3.0;
    ids.max(2.0).ceil()
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// The chance that `ids` of `all` are not all different, multiplied out.
    fn chance(ids: f64, all: f64) -> f64 {
        let mut different = 1.0;
        let mut i = 0.0;
        while i < ids {
            different *= 1.0 - i / all;
            i += 1.0;
        }
        1.0 - different
    }

    #[test]
    fn the_bound_is_the_first_number_that_reaches_the_chance() {
        for bits in [1.0, 8.0, 12.3, 16.0, 19.9, 20.1, 24.0, 30.0] {
            for wanted in [0.01, 0.1, 0.5, 0.9] {
                let ids = ids_until_repeat(bits, wanted);
                let all = f64::exp2(bits);
                assert!(chance(ids, all) >= wanted * (1.0 - 1e-6), "{bits} {wanted} {ids}");
                assert!(
                    ids == 2.0 || chance(ids - 2.0, all) < wanted,
                    "{bits} {wanted} {ids}"
                );
            }
        }
    }

    #[test]
    fn both_ways_agree_where_they_meet() {
        for wanted in [1e-9, 0.01, 0.5] {
            let below = ids_until_repeat(20.0 - 1e-9, wanted);
            let above = ids_until_repeat(20.0 + 1e-9, wanted);
            assert!((below - above).abs() <= 1.0, "{wanted}: {below} {above}");
        }
    }
}
