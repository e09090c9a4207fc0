//! What an operator does to a whole store, through the seam: back up, restore, check, move.
//!
//! | file | what |
//! | --- | --- |
//! | `begun` | what was begun and is not finished, as the seal says it |
//! | `backup` | a store as a checksummed file of JSON lines, and back |
//! | `restore` | a store that a backup was restored into: every mark higher |
//! | `target` | finding, making and opening the store for it |
//! | `seal` | a store that takes no reservation |
//! | `migrate` | seal one store and go on in another |
//! | `stripes` | sets of stores: making one, adding to one |
//! | `check` | whether every register makes sense |

mod backup;
mod begun;
mod check;
mod migrate;
mod restore;
mod seal;
mod stripes;
mod target;

pub use crate::guard::note_progress_restored;
pub use crate::notes::sealed;
pub use backup::{BackedUp, Backup, BackupError, BackupLines, back_up, copy_backup};
pub use check::{StoreReport, check, check_store};
pub use migrate::{MigrateReport, migrate};
pub use restore::{Accept, Advance, RestoreReport, raise_in_place, restore_into};
pub use seal::{seal, unseal};
pub use stripes::{add_to_set, make_set};
pub use target::{Restore, restore};

/// The prefixes of everything that a store must not lose. Instances and their changes end with the processes.
pub(super) const PREFIXES: [&str; 4] = ["move/", "pool/", "seq/", "window/"];

/// The prefixes of what a backup holds: also that names begin higher since a restore, and a store's place in its set.
///
/// Moves come first: a sequence that is read after its move can only be further than that says. What was sealed in between
/// stays sealed, and a restore raises the version of the move past the later stamp.
pub(super) const KEPT: [&str; 6] = [
    "cluster/restored",
    "cluster/stripe",
    "move/",
    "seq/",
    "window/",
    "pool/",
];
