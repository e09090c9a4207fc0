//! Moves: counters that live elsewhere come to us, beside their originals, and go back.
//!
//! | file | what |
//! | --- | --- |
//! | `record` | the register of a move, and its phases |
//! | `masters` | several counters that gave out the numbers of one name together |
//! | `ours` | what a move asks of our side: a ledger, or a server over HTTP |
//! | `plan` | what an import of one counter would do, and what stands in its way |
//! | `plan_masters` | the same of several masters into one name |
//! | `goal`, `drive`, `drive_back`, `drive_error` | takes a move from where it stands to where it shall be |
//! | `order` | which step may follow which |
//! | `verify` | whether both sides are as a move left them |
//!
//! A phase is written before its deeds, and every deed may be done again: who finds a move at a phase does that phase's
//! deeds and only then writes the next. So a crash anywhere leaves a move that the same command ends, and at no instant
//! may both sides give out the same number. The rules are M1 to M4 of the protocol; `proof/src/model/moves.rs` walks every
//! order of two imports that stop anywhere, and shows what each rule is for.
//!
//! - **M1** A phase is written before its deeds, by compare-and-set.
//! - **M2** The source's mark is read in the transaction that builds its fence.
//! - **M3** A deed of an older step changes nothing of our sequence.
//! - **M4** What ours has reserved is read once ours is sealed; the source goes on above that, and above what others of its
//!   masters may have given out.

mod drive;
mod drive_back;
mod drive_error;
#[cfg(test)]
mod drive_tests;
mod goal;
mod masters;
mod of_masters;
mod order;
#[cfg(test)]
mod orders_tests;
mod ours;
mod plan;
mod plan_masters;
mod record;
mod verify;

pub use drive::{At, DriveSettings, Driven, Driver};
pub use drive_error::{DriveError, DriveErrorKind};
pub use goal::Goal;
pub use masters::{MASTERS_MAX, Master, Told, increment_of, is_counted_by_clients, of_class, that_meet};
pub use ours::{Ours, OursError, OursResult, Stepped, VersionedMove};
pub use plan::{CeilingAt, Plan, PlanOptions, Wish, first_number};
pub use plan_masters::Part;
pub use record::{Definition, FORMER_MAX, MOVE_PREFIX, Move, Phase};
pub use verify::wrong_at;
