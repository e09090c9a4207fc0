//! The limit of open files: raised as far as the system lets us, and told of where it is too low.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::Config;

/// What a server has open beside its connections: the store, its logs, listeners, each thread's own.
const OWN: u64 = 100;

/// Raises the limit of open files to what the process may have, and says where that is less than the configured
/// connections need.
pub(crate) fn make_room(config: &Config) {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // Where it may not, the limit stays as it is.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return;
    };
    if let Some(connections) = room_for(config, files) {
        tracing::warn!(
            files,
            connections,
            max_connections = config.max_connections,
            "the limit of open files is below server.max_connections: raise it (ulimit -n, LimitNOFILE), or lower that"
        );
    }
}

/// How many connections fit into a limit of open files, where that is fewer than are configured.
fn room_for(config: &Config, files: u64) -> Option<u64> {
    let room = files.saturating_sub(OWN);
    (room < config.max_connections + config.http_health_connections).then_some(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_of_where_the_configured_connections_do_not_fit() {
        let config = Config::default();
        assert_eq!(room_for(&config, 1024), Some(924));
        assert_eq!(room_for(&config, 10_115), Some(10_015));
        assert_eq!(room_for(&config, 10_116), None);
        assert_eq!(room_for(&config, 40), Some(0));
    }
}
