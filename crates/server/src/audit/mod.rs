//! The audit trail: who changed what, from where, what it was before and after, and what came of it. One JSON document a line.
//!
//! | file | what |
//! | --- | --- |
//! | `act` | one act: what stands in a line |
//! | `audited` | an act from beginning to end, the same for every face |
//! | `trail` | the file: appended to, synced where that is asked for, rotated |

mod act;
mod audited;
mod trail;

pub use act::{ALLOW_REPEAT, Act};
pub use audited::{audited, audited_answer, refused, refused_for};
pub(crate) use trail::Trail;
