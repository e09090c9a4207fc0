//! Ids without a server and without a store: any number of commands of one machine share a file and never repeat one.
//!
//! | module | what |
//! | --- | --- |
//! | [`state_file`] | a register of two records in one file, under a lock |
//! | [`snowflake`] | snowflakes reserved in such a file |
//! | [`own_files`] | the files of a user, and which worker is the user's own |
//! | [`uuid`] | UUIDs of versions 1, 6 and 7, in one order for all processes that share one |
//! | [`file_system`], [`private`], [`trusted`] | what locks reach on which file system; files that are nobody else's; files that nobody else can write |
//! | [`workers`] | sets of workers as ranges, and their text |
//! | [`name`] | the one grammar of names, of which no program without a store has a use but to check them |
//!
//! Nothing here reads a clock, waits or starts a thread: the time comes in as an argument, and what has to be waited
//! for is answered. Errors are kinds and values; what to do about one is in the words of whoever shows it.

pub mod file_system;
pub mod name;
mod name_key;
pub mod own_files;
pub mod private;
pub mod snowflake;
pub mod state_file;
pub mod trusted;
#[cfg(target_os = "linux")]
pub mod uuid;
pub mod workers;
