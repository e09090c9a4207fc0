//! The simulator: the real core and ledger, in virtual time, over a store and machines that fail.
//!
//! ```text
//!   users ──▶ process (real ledger) ── requests ──▶ network ──▶ store (the registers of `memory:`)
//!                │  tasks, timers, clocks, randomness: `machine`       │
//!                ▼                                                     ▼
//!             ids seen ─────────────▶ check ◀───────────── registers changed
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `dice` | the one source of chance |
//! | `machine` | a machine as a `Runtime`: tasks, timers, clocks |
//! | `wire`, `server` | the store as a process sees it, and as it is |
//! | `op`, `subject` | what is asked, and of what |
//! | `process` | a process, and exact copies of one |
//! | `fault` | the kinds of fault, and which a run has |
//! | `world` | one run: time, machines, processes |
//! | `network`, `users`, `borrowers`, `borrowed`, `beside`, `nemesis`, `backup`, `set_back`, `ending` | what happens in it |
//! | `trace` | what a replay prints |
//! | `check`, `lines` | what must hold after every step |
//! | `elsewhere` | a counter elsewhere that a sequence takes its numbers from |
//! | `many` | many runs on all cores |

mod backup;
mod beside;
mod borrowed;
mod borrowers;
mod check;
mod elsewhere;
mod ending;
mod failover;
mod fault;
mod lines;
mod machine;
mod many;
mod nemesis;
mod network;
mod op;
mod process;
mod server;
mod set_back;
mod standby;
mod subject;
mod trace;
mod users;
mod wire;
mod world;

pub use fault::{Fault, FaultCounts, focus};
pub use many::{Failure, Runs, run_many};
pub use world::Tally;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs one seed; with `trace`, prints everything that happens as it happens.
///
/// # Errors
/// What was violated, in words.
pub fn run(seed: u64, trace: bool) -> Result<Tally, String> {
    let world = AssertUnwindSafe(|| world::World::new(seed, trace).run());
    catch_unwind(world).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}
