//! What a Redis server may forget, from what it says about itself.

use std::collections::BTreeMap;

use super::super::{Class, Durability, Setting, Standing};

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
        let wrong = self
            .bounds()
            .into_iter()
            .find(|one| one.standing > Standing::Good);
        wrong.map(|one| one.why)
    }

    /// What silences a primary that is cut off from its replicas, where it has any.
    fn bounds(&self) -> Vec<Setting> {
        let Some(config) = &self.config else {
            return Vec::new();
        };
        let replicas = self.replicas();
        let value = |name: &str| config.get(name).map_or("", String::as_str);
        let (wanted, lag) = (value("min-replicas-to-write"), value("min-replicas-max-lag"));
        let count = |text: &str| text.parse::<u64>().ok();
        let is_free = replicas == 0 || wanted.is_empty() || lag.is_empty();
        let why = || {
            format!(
                "{replicas} replica(s) follow it: cut off from one that is promoted, it takes writes on \
                 (min-replicas-to-write {wanted}, min-replicas-max-lag {lag}), and workers are lent on both sides"
            )
        };
        let judged = |name, found: &str, right: String, is_good: bool, fix: String| {
            let setting = Setting::good(name, found, right);
            match is_free || is_good {
                true => setting,
                false => setting.but(Standing::Weak, why(), fix),
            }
        };
        vec![
            judged(
                "min-replicas-to-write",
                wanted,
                "1 or more, where replicas follow".to_string(),
                count(wanted) > Some(0),
                "CONFIG SET min-replicas-to-write 1".to_string(),
            ),
            judged(
                "min-replicas-max-lag",
                lag,
                format!("1 to {LAG_MAX_S}, where replicas follow"),
                count(lag).is_some_and(|lag| (1..=LAG_MAX_S).contains(&lag)),
                format!("CONFIG SET min-replicas-max-lag {LAG_MAX_S}"),
            ),
        ]
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

/// After this many seconds without its replica a primary must fall silent: the windows that it renewed last end before
/// the other side lends their workers, however early that was promoted (`guard/recovery`, `OUTLIVES`).
const LAG_MAX_S: u64 = 10;

/// Everything that stands between a write's answer and the disk, each with the setting that changes it.
pub(super) fn judge(found: &Found) -> Durability {
    let name = match found.info.contains_key("valkey_version") {
        true => format!("Valkey {}", found.info("valkey_version")),
        false => format!("Redis {}", found.info("redis_version")),
    };
    let mut settings = found.logged();
    settings.extend(found.configured());
    if !found.info.is_empty() {
        settings.extend(found.kept());
    }
    settings.extend(found.bounds());
    let kept = format!("{name}, appendonly yes, appendfsync always, no eviction, no replica");
    let judged = Durability::judged(Class::Durable, kept, &format!("{name}: "), settings);
    Durability {
        fix: judged
            .fix
            .map(|fix| format!("{fix} (and CONFIG REWRITE to keep it)")),
        ..judged
    }
}

impl Found {
    /// Whether writes reach the append-only file.
    fn logged(&self) -> Vec<Setting> {
        if self.info.is_empty() {
            return vec![Setting::good("INFO", "forbidden", "allowed").but(
                Standing::Lossy,
                "INFO is forbidden, so that nothing is known of it",
                "ACL SETUSER the account of mint with +info",
            )];
        }
        let is_on = self.info("aof_enabled") == "1";
        let on = if is_on { "yes" } else { "no" };
        let mut settings = vec![Setting::good("appendonly", on, "yes").or_lossy(
            is_on,
            "appendonly is off",
            "CONFIG SET appendonly yes",
        )];
        if is_on {
            let is_first = self.info("aof_rewrite_in_progress") == "1" && self.info("aof_base_size") == "0";
            let file = if is_first { "not written yet" } else { "written" };
            let last = self.info("aof_last_write_status");
            settings.extend([
                Setting::good("append-only file", file, "written").or_lossy(
                    !is_first,
                    "appendonly was switched on and its first file is not written yet",
                    "wait until INFO persistence says aof_rewrite_in_progress:0",
                ),
                Setting::good("aof_last_write_status", last, "ok").or_lossy(
                    last == "ok",
                    "its last write to the append-only file failed",
                    "see to its disk",
                ),
            ]);
        }
        settings
    }

    /// Whether that file is synced before a write is answered.
    fn configured(&self) -> Vec<Setting> {
        let Some(config) = &self.config else {
            return vec![Setting::good("CONFIG GET", "forbidden", "allowed").but(
                Standing::Lossy,
                "CONFIG GET is forbidden, so that appendfsync is not known",
                "ACL SETUSER the account of mint with +config|get",
            )];
        };
        let is = |name: &str| config.get(name).map_or("unknown", String::as_str);
        let (sync, on_rewrite) = (is("appendfsync"), is("no-appendfsync-on-rewrite"));
        vec![
            Setting::good("appendfsync", sync, "always").or_lossy(
                sync == "always",
                format_args!("appendfsync is {sync}"),
                "CONFIG SET appendfsync always",
            ),
            Setting::good("no-appendfsync-on-rewrite", on_rewrite, "no").or_lossy(
                on_rewrite == "no",
                "no-appendfsync-on-rewrite is not no",
                "CONFIG SET no-appendfsync-on-rewrite no",
            ),
        ]
    }

    /// Whether what is there stays there, and nobody who has less of it can take over.
    fn kept(&self) -> [Setting; 2] {
        let (limit, policy, replicas) = (
            self.info("maxmemory"),
            self.info("maxmemory_policy"),
            self.replicas(),
        );
        let limited = if limit == "0" { " (no maxmemory)" } else { "" };
        [
            Setting::good(
                "maxmemory-policy",
                format_args!("{policy}{limited}"),
                "noeviction, or no maxmemory",
            )
            .or_lossy(
                limit == "0" || policy == "noeviction",
                format_args!("maxmemory-policy is {policy}"),
                "CONFIG SET maxmemory-policy noeviction",
            ),
            Setting::good("replicas", replicas, "0").or_lossy(
                replicas == 0,
                format_args!(
                    "{replicas} replica(s) follow it, and one that is promoted may lack acknowledged writes"
                ),
                "REPLICAOF NO ONE on each replica, so that none can be promoted",
            ),
        ]
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
