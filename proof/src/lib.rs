//! Evidence for the promise that no id is ever repeated, which a sceptic can run again.
//!
//! | module | what |
//! | --- | --- |
//! | [`sim`] | the real ledger in virtual time, over a store and machines that fail |
//! | [`disk`] | the embedded store on disks that lose power, fill up, fail and lie |
//! | [`folders`], [`forks`], [`answers`] | copied folders, forked children, answers that could be kept |
//! | [`journeys`] | ordinary commands one after the other, on the built `mint` |
//! | [`planted`] | bugs that are planted on purpose, and what must find them |
//! | [`model`] | small clusters, every state of them |
//! | [`goals`] | what `cargo xtask proof` measures, against what |

pub mod answers;
mod dice;
pub mod disk;
pub mod folders;
pub mod forks;
pub mod goals;
pub mod journeys;
pub mod model;
pub mod page;
pub mod planted;
pub mod sim;
