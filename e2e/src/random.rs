//! A small seeded generator, so that every random test can be run again.

/// SplitMix64. Prints its seed when made; `MINT_TEST_SEED` sets it.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From `MINT_TEST_SEED`, else from the clock.
    pub fn announced(what: &str) -> Random {
        let given = std::env::var("MINT_TEST_SEED").ok().and_then(|s| s.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(1, |since| since.as_nanos() as u64)
        });
        crate::need::say(&format!("{what}: MINT_TEST_SEED={seed}"));
        Random(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
