//! How much the tests do, in the quick run and in the deep one: the one place where both are written.

use std::env;

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Quick,
    Deep,
}

struct Size {
    variable: &'static str,
    quick: u32,
    deep: u32,
    what: &'static str,
}

const fn size(variable: &'static str, quick: u32, deep: u32, what: &'static str) -> Size {
    Size {
        variable,
        quick,
        deep,
        what,
    }
}

/// What the tests read, and without it take the deep size. A variable that is set already wins.
const SIZES: &[Size] = &[
    size("MINT_FUZZ_RUNS", 20_000, 1_000_000, "inputs for each reader"),
    size("MINT_TEST_AUDIT_IDS", 400_000, 2_000_000, "ids audited"),
    size("MINT_TEST_BACKFILL_ROWS", 50_000, 400_000, "rows backfilled"),
    size("MINT_TEST_HISTORY", 500, 2_000, "steps of each history"),
    size("MINT_TEST_IDS", 300_000, 3_000_000, "ids in bulk"),
    size(
        "MINT_TEST_OPERATIONS",
        10_000,
        1_000_000,
        "operations over all faces",
    ),
    size("MINT_TEST_SLOW", 100, 500, "slow connections"),
    size("PROPTEST_CASES", 64, 256, "cases of each property"),
];

/// The sizes as variables and their values.
pub(crate) fn environment(depth: Depth) -> impl Iterator<Item = (String, String)> {
    let unset = SIZES.iter().filter(|size| env::var_os(size.variable).is_none());
    unset.map(move |size| {
        let value = match depth {
            Depth::Quick => size.quick,
            Depth::Deep => size.deep,
        };
        (size.variable.to_string(), value.to_string())
    })
}

/// What the quick run has less of.
pub(crate) fn smaller() -> String {
    let said: Vec<String> = SIZES
        .iter()
        .filter(|size| env::var_os(size.variable).is_none())
        .map(|size| format!("{} of {} {}", size.quick, size.deep, size.what))
        .collect();
    format!(
        "smaller than with --deep: {}; without the proof's own tests",
        said.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::SIZES;

    #[test]
    fn quick_is_never_more_than_deep() {
        for size in SIZES {
            assert!(size.quick <= size.deep, "{}", size.variable);
        }
    }
}
