//! What a Redis server may forget, from what it says about itself.

use std::collections::BTreeMap;

use super::super::{Class, Durability};

/// What `INFO` and `CONFIG GET` answered.
pub(super) struct Found {
    info: BTreeMap<String, String>,
    /// `None`: the server does not let us ask.
    config: Option<BTreeMap<String, String>>,
}

impl Found {
    pub(super) fn new(info: Option<&str>, config: Option<Vec<String>>) -> Found {
        let lines = info.unwrap_or_default().lines();
        let info = lines.filter_map(|line| line.split_once(':'));
        Found {
            info: info
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            config: config.map(|flat| {
                let (pairs, _) = flat.as_chunks::<2>();
                pairs
                    .iter()
                    .map(|[name, value]| (name.clone(), value.clone()))
                    .collect()
            }),
        }
    }

    fn info(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    /// The master, if this is a replica.
    pub(super) fn replica_of(&self) -> Option<String> {
        let replica = self.info("role") == "slave";
        replica.then(|| format!("{}:{}", self.info("master_host"), self.info("master_port")))
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.info("redis_mode") == "cluster"
    }

    /// Why it would take writes on beside a replica of it that was promoted.
    pub(super) fn unbounded(&self) -> Option<String> {
        let replicas = self.replicas();
        let setting = |name: &str| self.config.as_ref()?.get(name)?.parse::<u64>().ok();
        let (wanted, lag) = (
            setting("min-replicas-to-write")?,
            setting("min-replicas-max-lag")?,
        );
        let is_bounded = wanted > 0 && (1..=LAG_MAX_S).contains(&lag);
        (replicas > 0 && !is_bounded).then(|| {
            format!(
                "{replicas} replica(s) follow it: cut off from one that is promoted, it takes writes on \
                 (min-replicas-to-write {wanted}, min-replicas-max-lag {lag}), and workers are lent on both sides"
            )
        })
    }

    fn replicas(&self) -> u32 {
        self.info("connected_slaves").parse().unwrap_or(0)
    }

    /// Changes when the process is another one, or when the data came from another one.
    pub(super) fn incarnation(&self) -> String {
        format!(
            "run {} replication {}",
            self.info("run_id"),
            self.info("master_replid")
        )
    }
}

/// After this many seconds without its replica a primary must fall silent: windows of class L end 30 s later, before the other
/// side lends their workers (40 s after its promotion).
const LAG_MAX_S: u64 = 10;

/// Everything that stands between a write's answer and the disk, each with the setting that changes it.
pub(super) fn judge(found: &Found) -> Durability {
    let name = match found.info.contains_key("valkey_version") {
        true => format!("Valkey {}", found.info("valkey_version")),
        false => format!("Redis {}", found.info("redis_version")),
    };
    let mut wrong: Vec<(String, String)> = Vec::new();
    let mut add = |why: &str, fix: &str| wrong.push((why.to_string(), fix.to_string()));
    if found.info.is_empty() {
        add(
            "INFO is forbidden, so that nothing is known of it",
            "ACL SETUSER the account of mint with +info",
        );
    } else if found.info("aof_enabled") != "1" {
        add("appendonly is off", "CONFIG SET appendonly yes");
    } else {
        if found.info("aof_rewrite_in_progress") == "1" && found.info("aof_base_size") == "0" {
            add(
                "appendonly was switched on and its first file is not written yet",
                "wait until INFO persistence says aof_rewrite_in_progress:0",
            );
        }
        if found.info("aof_last_write_status") != "ok" {
            add("its last write to the append-only file failed", "see to its disk");
        }
    }
    match &found.config {
        None => add(
            "CONFIG GET is forbidden, so that appendfsync is not known",
            "ACL SETUSER the account of mint with +config|get",
        ),
        Some(config) => {
            let is = |name: &str| config.get(name).map_or("unknown", String::as_str);
            if is("appendfsync") != "always" {
                let why = format!("appendfsync is {}", is("appendfsync"));
                add(&why, "CONFIG SET appendfsync always");
            }
            if is("no-appendfsync-on-rewrite") != "no" {
                add(
                    "no-appendfsync-on-rewrite is not no",
                    "CONFIG SET no-appendfsync-on-rewrite no",
                );
            }
        }
    }
    let evicts = found.info("maxmemory") != "0" && found.info("maxmemory_policy") != "noeviction";
    if !found.info.is_empty() && evicts {
        let why = format!("maxmemory-policy is {}", found.info("maxmemory_policy"));
        add(&why, "CONFIG SET maxmemory-policy noeviction");
    }
    let replicas = found.replicas();
    if replicas > 0 {
        add(
            &format!(
                "{replicas} replica(s) follow it, and one that is promoted may lack acknowledged writes"
            ),
            "REPLICAOF NO ONE on each replica, so that none can be promoted",
        );
    }
    if wrong.is_empty() {
        return Durability {
            class: Class::Durable,
            why: format!("{name}, appendonly yes, appendfsync always, no eviction, no replica"),
            fix: None,
        };
    }
    let (why, fix): (Vec<_>, Vec<_>) = wrong.into_iter().unzip();
    Durability {
        class: Class::Lossy,
        why: format!("{name}: {}", why.join("; ")),
        fix: Some(format!("{} (and CONFIG REWRITE to keep it)", fix.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_that_would_live_on_beside_a_promoted_replica_says_so() {
        let info =
            |replicas: u32| GOOD.replace("connected_slaves:0", &format!("connected_slaves:{replicas}"));
        let config = |wanted: &str, lag: &str| {
            let flat = ["min-replicas-to-write", wanted, "min-replicas-max-lag", lag];
            Some(flat.map(String::from).to_vec())
        };
        for (replicas, wanted, lag, says) in [
            (0, "0", "10", false),
            (1, "0", "10", true),
            (1, "1", "10", false),
            (2, "1", "5", false),
            (1, "1", "0", true),
            (1, "1", "60", true),
        ] {
            let found = Found::new(Some(&info(replicas)), config(wanted, lag));
            assert_eq!(found.unbounded().is_some(), says, "{replicas} {wanted} {lag}");
        }
        assert_eq!(
            Found::new(Some(&info(1)), None).unbounded(),
            None,
            "nothing is known of it"
        );
    }

    const GOOD: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:ab\r\nmaxmemory:0\r\n\
        maxmemory_policy:noeviction\r\naof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_base_size:88\r\n\
        aof_last_write_status:ok\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:cd\r\n";

    fn config(fsync: &str, on_rewrite: &str) -> Option<Vec<String>> {
        let flat = [
            "appendfsync",
            fsync,
            "no-appendfsync-on-rewrite",
            on_rewrite,
            "appendonly",
            "yes",
        ];
        Some(flat.map(String::from).to_vec())
    }

    #[test]
    fn a_server_that_syncs_every_write_and_forgets_nothing_is_durable() {
        let found = Found::new(Some(GOOD), config("always", "no"));
        assert_eq!(judge(&found).class, Class::Durable);
        assert_eq!(found.incarnation(), "run ab replication cd");
        assert_eq!(found.replica_of(), None);
        // Without a limit of memory no policy evicts.
        let other = GOOD.replace("policy:noeviction", "policy:allkeys-lru");
        assert_eq!(
            judge(&Found::new(Some(&other), config("always", "no"))).class,
            Class::Durable
        );
    }

    #[test]
    fn whatever_may_forget_is_named_with_the_setting_that_changes_it() {
        let with = |from: &str, to: &str| GOOD.replace(from, to);
        for (info, config, why, fix) in [
            (
                GOOD.to_string(),
                config("everysec", "no"),
                "appendfsync is everysec",
                "CONFIG SET appendfsync always",
            ),
            (
                GOOD.to_string(),
                config("always", "yes"),
                "no-appendfsync-on-rewrite",
                "CONFIG SET no-appendfsync-on-rewrite no",
            ),
            (GOOD.to_string(), None, "CONFIG GET is forbidden", "+config|get"),
            (
                with("aof_enabled:1", "aof_enabled:0"),
                config("always", "no"),
                "appendonly is off",
                "CONFIG SET appendonly yes",
            ),
            (
                with(
                    "maxmemory:0\r\nmaxmemory_policy:noeviction",
                    "maxmemory:9\r\nmaxmemory_policy:volatile-ttl",
                ),
                config("always", "no"),
                "maxmemory-policy is volatile-ttl",
                "CONFIG SET maxmemory-policy noeviction",
            ),
            (
                with("slaves:0", "slaves:2"),
                config("always", "no"),
                "2 replica(s) follow it",
                "REPLICAOF NO ONE",
            ),
            (
                with("write_status:ok", "write_status:err"),
                config("always", "no"),
                "last write",
                "disk",
            ),
            (
                with("progress:0\r\naof_base_size:88", "progress:1\r\naof_base_size:0"),
                config("always", "no"),
                "first file is not written yet",
                "wait",
            ),
        ] {
            let found = judge(&Found::new(Some(&info), config));
            assert_eq!(found.class, Class::Lossy, "{why}");
            assert!(found.why.contains(why), "{}", found.why);
            let said = found.fix.unwrap_or_default();
            assert!(said.contains(fix), "{said}");
        }
        let silent = judge(&Found::new(None, None));
        assert_eq!(silent.class, Class::Lossy);
        assert!(silent.why.contains("INFO is forbidden"), "{}", silent.why);
    }

    #[test]
    fn replicas_name_their_master() {
        let info = GOOD.replace("role:master", "role:slave\r\nmaster_host:db\r\nmaster_port:6379");
        let found = Found::new(Some(&info), None);
        assert_eq!(found.replica_of().as_deref(), Some("db:6379"));
    }
}
