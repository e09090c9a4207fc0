//! What shared stores cost: `cargo xtask bench stores`.
//!
//! Private servers on this machine with full durability: first what a reservation takes, then how many ids one, two
//! and three servers on one store give out together. Arguments name the stores where fewer will do.

mod claims;
#[path = "../../../bench/src/machine.rs"]
mod machine;
mod nodes;

use mintage_e2e::engine;
use mintage_e2e::store_suite::Engine;

fn main() {
    println!("{}.\n", machine::line());
    println!("{}", claims::HEAD);
    claims::embedded();
    for_each(|engine| claims::shared(engine));
    println!("\n{}", nodes::HEAD);
    for_each(|engine| nodes::rows(engine));
}

/// Every store that is wanted and whose server is here; each server ends before the next one starts.
fn for_each(measure: impl Fn(&dyn Engine)) {
    // Cargo adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    for (name, start) in engine::ALL {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            start().iter().for_each(|engine| measure(&**engine));
        }
    }
}
