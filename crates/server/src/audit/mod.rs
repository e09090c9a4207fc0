//! The audit trail: who changed what, from where, what it was before and after, and what came of it. One JSON document a line.
//!
//! | file | what |
//! | --- | --- |
//! | `act` | one act: what stands in a line |
//! | `trail` | the file: appended to, synced where that is asked for, rotated |

mod act;
mod trail;

pub(crate) use act::{Act, describe};
pub(crate) use trail::Trail;
