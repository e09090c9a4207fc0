//! How long most of them took, from counts in buckets.

/// What a share of all took at most, in the unit of the bounds: as if those of a bucket lay evenly in it. `counts` has
/// one more than `bounds`; those beyond the last bound count as at it. `None`: there are none.
pub(crate) fn quantile(bounds: &[u64], counts: &[u64], share: f64) -> Option<f64> {
    let all: u64 = counts.iter().sum();
    if all == 0 {
        return None;
    }
    let wanted = all as f64 * share;
    let (mut below, mut from) = (0.0, 0.0);
    for (bound, count) in bounds.iter().zip(counts) {
        let (bound, count) = (*bound as f64, *count as f64);
        if count > 0.0 && below + count >= wanted {
            return Some(from + (bound - from) * (wanted - below) / count);
        }
        below += count;
        from = bound;
    }
    Some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        let bounds = [100, 200, 1000];
        for (counts, share, took) in [
            ([0, 0, 0, 0], 0.5, None),
            ([10, 0, 0, 0], 0.5, Some(50.0)),
            ([10, 0, 0, 0], 1.0, Some(100.0)),
            ([5, 5, 0, 0], 0.5, Some(100.0)),
            ([5, 10, 0, 0], 0.5, Some(125.0)),
            ([98, 0, 2, 0], 0.99, Some(600.0)),
            ([0, 0, 0, 3], 0.5, Some(1000.0)),
        ] {
            assert_eq!(quantile(&bounds, &counts, share), took, "{counts:?} {share}");
        }
    }
}
