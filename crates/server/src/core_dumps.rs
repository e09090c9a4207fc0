//! Core dumps: the memory of a server holds tokens, passwords and keys, and a dump would put them on a disk.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::Config;

/// Has the system write none, unless they are asked for.
pub(crate) fn switch_off(config: &Config) {
    if config.core_dumps {
        return;
    }
    let mut limit = getrlimit(Resource::Core);
    // The most that it may be stays: whoever looks for a bug can raise the limit of a running server (prlimit).
    limit.current = Some(limit.maximum.map_or(NONE, |maximum| maximum.min(NONE)));
    // Nobody is refused a lower limit.
    let _ = setrlimit(Resource::Core, limit);
}

/// No file can be that short (core(5)). Of 0 bytes Linux would still pipe a dump to a program that collects them; 1 is what it takes
/// for none at all (`coredump.c`).
const NONE: u64 = if cfg!(target_os = "linux") { 1 } else { 0 };
