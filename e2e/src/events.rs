//! Every store times every event that a test plays on real servers: what the servers do, and which test shows it. A
//! test that has passed prints its row ([`Row`](crate::cluster::Row)), which must stand here; `docs/faults.md` is
//! compared with it.

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// `galera`, or the scheme of the store.
    pub store: &'static str,
    /// What happens.
    pub event: &'static str,
    /// What the servers do; no number and no id twice, in any row.
    pub outcome: &'static str,
    /// The test: its file and the end of its name.
    pub test: &'static str,
}

/// Events that are played on every store.
const EVERY: [&str; 5] = ["etcd", "mysql", "postgres", "redis", "zookeeper"];
/// Those that are not agreed on by members.
const SINGLE: [&str; 3] = ["mysql", "postgres", "redis"];
const MEMBERS: [&str; 2] = ["etcd", "zookeeper"];

const GOES_ON: &str = "goes on";
const STOPS: &str = "stops for good, in words, until `mint store restore`";
const REFUSED: &str = "refused until `mint store restore`";
const HEALS: &str = "who is cut off gives out what it owns, and goes on afterwards";

/// Stores, event, outcome, test.
type Rows = (&'static [&'static str], &'static str, &'static str, &'static str);

const TABLE: &[Rows] = &[
    (
        &EVERY,
        "SET, restart, alter",
        "all servers follow",
        "cluster::set_restart_and_alter_on_one_server_are_followed_by_all",
    ),
    (
        &EVERY,
        "SIGSTOP beyond the window",
        "another server uses the worker; whoever wakes does not",
        "cluster::a_stopped_holder_is_taken_over_and_wakes_without_a_repeat",
    ),
    (
        &EVERY,
        "a clock 30 days ahead",
        "outvoted, or refused in words",
        "cluster::a_clock_a_month_ahead_poisons_nothing",
    ),
    (
        &EVERY,
        "all workers held",
        "the newcomer alone is refused",
        "cluster::an_exhausted_pool_refuses_the_newcomer_and_nobody_else",
    ),
    (
        &EVERY,
        "clocks stepped by hours",
        GOES_ON,
        "cluster::clocks_stepped_by_hours_cost_nothing",
    ),
    (
        &EVERY,
        "partitions (namespaces, nftables)",
        HEALS,
        "cluster::cut_cables_repeat_nothing_and_heal",
    ),
    (
        &EVERY,
        "partitions (proxy)",
        HEALS,
        "cluster::partitions_repeat_nothing_and_heal",
    ),
    (
        &EVERY,
        "rolling kill -9",
        GOES_ON,
        "cluster::rolling_kills_repeat_nothing_and_use_workers_again",
    ),
    (
        &["mysql"],
        "one of two killed (set)",
        "goes on with the other",
        "striped::",
    ),
    (
        &["redis"],
        "a store added to a set",
        "refused until restarted with it",
        "striped::",
    ),
    (
        &EVERY,
        "set back after a kill",
        REFUSED,
        "set_back::a_folder_put_back_after_a_kill_is_refused_until_it_is_restored",
    ),
    (
        &EVERY,
        "set back after a stop",
        REFUSED,
        "set_back::a_folder_put_back_after_a_stop_is_refused_until_it_is_restored",
    ),
    (
        &EVERY,
        "set back under a server that lives",
        REFUSED,
        "set_back::a_new_server_gives_out_nothing_while_one_lives_that_knows",
    ),
    (
        &["postgres", "mysql"],
        "a mark lowered by hand",
        REFUSED,
        "set_back::a_mark_lowered_by_hand_in",
    ),
    (
        &EVERY,
        "an answer comes twice",
        "the outcome counts as unknown, or the server stops in words",
        "answers::an_answer_that_comes_twice_grants_nothing_a_second_time",
    ),
    (
        &EVERY,
        "answers come after the timeout",
        "goes on; what was asked for is spent",
        "answers::answers_that_come_too_late_repeat_nothing",
    ),
    (
        &EVERY,
        "answers from an older copy beside the present one",
        STOPS,
        "answers::an_older_copy_that_answers_beside_the_present_one_stops_the_servers",
    ),
    (
        &EVERY,
        "answers from another cluster",
        STOPS,
        "answers::another_cluster_that_answers_stops_the_servers",
    ),
    (
        &SINGLE,
        "its disk hangs, then it is killed",
        GOES_ON,
        "disks::a_disk_that_hangs_before_the_kill_repeats_nothing",
    ),
    (
        &SINGLE,
        "its disk fails at a write",
        GOES_ON,
        "disks::a_disk_that_fails_repeats_nothing",
    ),
    (
        &SINGLE,
        "its disk tears a write, then it is killed",
        GOES_ON,
        "disks::a_disk_that_tears_before_the_kill_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, primary killed, standby promoted",
        GOES_ON,
        "failover::a_standby_promoted_after_the_primary_died_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, standby promoted beside a primary that lives on",
        GOES_ON,
        "failover::a_standby_promoted_beside_a_primary_that_lives_on_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, standby away before, primary killed, standby promoted",
        GOES_ON,
        "failover::a_standby_that_was_away_and_is_promoted_after_the_primary_died_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, standby away before, promoted beside a primary that lives on",
        GOES_ON,
        "failover::a_standby_that_was_away_and_is_promoted_beside_a_primary_that_lives_on_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, standby away, a waiting claim shown by a restart, standby promoted",
        GOES_ON,
        "standby_away::what_the_primary_shows_and_no_standby_confirmed_is_not_given_out",
    ),
    (
        &["postgres"],
        "class S, standby away, a waiting claim shown by pg_cancel_backend, standby promoted",
        GOES_ON,
        "standby_away::what_the_primary_shows_and_no_standby_confirmed_is_not_given_out",
    ),
    (
        &["postgres"],
        "class S, standby away, a waiting claim shown by pg_terminate_backend, standby promoted",
        GOES_ON,
        "standby_away::what_the_primary_shows_and_no_standby_confirmed_is_not_given_out",
    ),
    (
        &["postgres"],
        "class S switched off for a minute, lagging standby promoted",
        "refused",
        "standby_away::a_copy_that_lagged_does_not_vouch_for_itself",
    ),
    (
        &["postgres"],
        "class S, the old primary back without replication beside the promoted one",
        "nothing is reserved there",
        "standby_away::the_old_primary_without_replication_is_not_used_beside_the_promoted_one",
    ),
    (
        &["postgres"],
        "class S, old primary back by pg_rewind, promoted in turn",
        GOES_ON,
        "rewind::an_old_primary_back_by_pg_rewind_takes_over_again",
    ),
    (
        &["postgres"],
        "old primary back by pg_rewind, synchronous_standby_names off, promoted in turn",
        REFUSED,
        "rewind::an_old_primary_back_by_pg_rewind_without_its_setting_is_refused",
    ),
    (
        &["postgres"],
        "class S, old primary back by pg_rewind, alone and without replication, beside the promoted one",
        "nothing is reserved there",
        "rewind::an_old_primary_back_by_pg_rewind_that_stands_alone_reserves_nothing",
    ),
    (
        &["postgres"],
        "class S, PgBouncer leads to the promoted standby in the middle of a statement",
        GOES_ON,
        "pooled::a_pooler_that_leads_to_the_promoted_standby_mid_statement_repeats_nothing",
    ),
    (
        &["postgres"],
        "class D, PgBouncer leads to a promoted replica in the middle of a statement",
        REFUSED,
        "pooled::a_pooler_that_leads_to_a_promoted_replica_mid_statement_is_refused",
    ),
    (
        &["postgres"],
        "class S, promoted standby's clock a day ahead",
        GOES_ON,
        "failover::a_promoted_standby_whose_clock_is_a_day_ahead_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, promoted standby's clock a day behind",
        GOES_ON,
        "failover::a_promoted_standby_whose_clock_is_a_day_behind_repeats_nothing",
    ),
    (
        &["postgres"],
        "class S, one-way cuts between primary and standby, then promoted beside the primary",
        HEALS,
        "failover::one_way_cuts_between_primary_and_standby_repeat_nothing",
    ),
    (
        &["postgres"],
        "asynchronous replica promoted",
        "goes on above what was lost",
        "lossy::a_promoted_postgres_replica_with_lost_writes_repeats_nothing",
    ),
    (
        &["postgres"],
        "synchronous_commit=off, kill -9",
        "goes on above what was lost",
        "lossy::a_postgres_that_answers_before_it_syncs_and_is_killed_repeats_nothing",
    ),
    (
        &["redis"],
        "Sentinel promotes, primary killed",
        "goes on above what was lost",
        "failover::a_sentinel_that_promotes_after_the_primary_died_repeats_nothing",
    ),
    (
        &["redis"],
        "Sentinel promotes beside a primary that lives on",
        "goes on above what was lost; the old side falls silent first",
        "failover::a_sentinel_that_promotes_beside_a_primary_that_lives_on_repeats_nothing",
    ),
    (
        &["redis"],
        "Sentinel promotes beside a primary that hears nobody, and is heard",
        "goes on above what was lost; the old side falls silent first",
        "failover::a_sentinel_that_promotes_beside_a_primary_that_hears_nobody_repeats_nothing",
    ),
    (
        &["redis"],
        "asynchronous replica promoted",
        "goes on above what was lost",
        "lossy::a_promoted_redis_replica_with_lost_writes_repeats_nothing",
    ),
    (&["redis"], "random faults, one after another", GOES_ON, "soak::"),
    (
        &["redis"],
        "everysec, kill -9",
        "goes on above what was lost",
        "lossy::a_redis_that_syncs_every_second_and_is_killed_repeats_nothing_that_it_lost",
    ),
    (
        &["redis"],
        "killed without syncs",
        "goes on above what was lost",
        "lossy::a_redis_without_syncs_that_is_killed_and_loses_its_tail_repeats_nothing",
    ),
    (
        &MEMBERS,
        "one-way cuts between members",
        GOES_ON,
        "one_way::one_way_cuts_between_members_repeat_nothing",
    ),
    (
        &["galera"],
        "class D, nodes end and come back one by one",
        GOES_ON,
        "galera::nodes_that_come_and_go_one_by_one_stop_nobody",
    ),
    (
        &["galera"],
        "class D, the node most behind is bootstrapped",
        REFUSED,
        "galera::a_bootstrap_of_the_node_most_behind_repeats_nothing",
    ),
    (
        &["galera"],
        "class D, a node cut off is bootstrapped beside the others",
        "stops for good there, goes on at the others",
        "galera::a_node_cut_off_is_not_believed_even_when_bootstrapped",
    ),
    (
        &["galera"],
        "class D, a node is cut off alive, and comes back",
        HEALS,
        "galera::a_node_that_is_cut_off_alive_and_comes_back_stops_nobody",
    ),
    (
        &["galera"],
        "class D, an empty node joins, another is its donor",
        GOES_ON,
        "galera::a_node_that_is_filled_by_another_stops_nobody",
    ),
];

/// What repeated ids in releases before 0.2, each as a store and an event of the table.
pub const ONCE_REPEATED: [(&str, &str); 7] = [
    (
        "postgres",
        "class S, standby away, a waiting claim shown by a restart, standby promoted",
    ),
    (
        "postgres",
        "class S, standby away, a waiting claim shown by pg_cancel_backend, standby promoted",
    ),
    (
        "postgres",
        "class S, standby away, a waiting claim shown by pg_terminate_backend, standby promoted",
    ),
    (
        "postgres",
        "class S switched off for a minute, lagging standby promoted",
    ),
    (
        "postgres",
        "class S, the old primary back without replication beside the promoted one",
    ),
    ("redis", "Sentinel promotes beside a primary that lives on"),
    ("mysql", "its disk hangs, then it is killed"),
];

/// All rows, in order.
pub fn table() -> Vec<Event> {
    let rows = |(stores, event, outcome, test): &Rows| {
        let row = |store: &&'static str| Event {
            store,
            event,
            outcome,
            test,
        };
        stores.iter().map(row).collect::<Vec<_>>()
    };
    let mut all: Vec<Event> = TABLE.iter().flat_map(rows).collect();
    all.sort_by_key(|row| row.store);
    all
}

/// The row of a test that has passed.
///
/// # Panics
/// When the table has none: it must say what the servers do.
#[track_caller]
pub fn row(store: &str, event: &str) -> Event {
    let mut rows = table()
        .into_iter()
        .filter(|row| (row.store, row.event) == (store, event));
    rows.next()
        .unwrap_or_else(|| panic!("the table of e2e/src/events.rs has no row for {store}: {event}"))
}
