//! Which planted bug is on. `cargo xtask proof` puts this file into its copy of the library; the product has none.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the planted bug `name` is the one that `MINT_PLANTED` names. Says so on standard error the first time it is
/// reached.
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

/// Whether a bug that was planted on purpose is on.
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        $crate::planted::is_planted($name)
    };
}
