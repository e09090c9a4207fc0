//! Bugs that are planted on purpose, to test the tests: compiled in only with the feature `planted`, and then on
//! only where `MINT_PLANTED` names one. Never ship a build with it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the planted bug `name` is on. Says so on standard error the first time it is reached.
#[must_use]
pub fn is_planted(name: &str) -> bool {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    static REACHED: AtomicBool = AtomicBool::new(false);
    let chosen = CHOSEN.get_or_init(|| std::env::var("MINT_PLANTED").ok().filter(|name| !name.is_empty()));
    let on = chosen.as_deref() == Some(name);
    if on && !REACHED.swap(true, Ordering::Relaxed) {
        eprintln!("planted bug {name} was reached");
    }
    on
}
