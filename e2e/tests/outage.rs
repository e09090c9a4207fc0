//! Every shared store frozen, then killed, for a minute, with servers on it that are asked for 10,000 ids a second
//! each: nobody notices. All stores at the same time.
//!
//! `MINT_TEST_OUTAGE` is the length of the outage in seconds (default 60); 600 is the long run. `MINT_TEST_OUTAGE_ON`
//! names the stores where fewer will do: `postgres,redis`.
#![allow(clippy::unwrap_used)]

use std::thread;
use std::time::Duration;

use mintage_e2e::engine;
use mintage_e2e::need::say;
use mintage_e2e::outage::{PHASES, Plan, Report, TABLE, outage};
use mintage_e2e::store_suite::Engine;
use mintage_testing::invariant;

/// Whoever is there and wanted; an absent one says so, or fails where it is required.
fn engines() -> Vec<Box<dyn Engine>> {
    let wanted = std::env::var("MINT_TEST_OUTAGE_ON").ok();
    let is_wanted = |name: &str| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.split(',').any(|one| one == name))
    };
    let starts = engine::ALL.iter().filter(|(name, _)| is_wanted(name));
    starts.filter_map(|(_, start)| start()).collect()
}

fn length() -> Duration {
    let text = std::env::var("MINT_TEST_OUTAGE").unwrap_or_else(|_| "60".into());
    let seconds: u64 = text.parse().expect("MINT_TEST_OUTAGE is a number of seconds");
    // Before it, the rate must have been steady for ten.
    Duration::from_secs(seconds.max(20))
}

#[track_caller]
fn check(report: &Report) {
    let Report { store, readyz, .. } = report;
    for (phase, faces) in PHASES.iter().zip(&report.phases) {
        for seen in faces {
            assert_eq!(seen.failed, 0, "{store}, {phase}: {:?}", seen.failure);
            assert!(seen.served > 0, "{store}, {phase}");
        }
    }
    invariant!(
        report.repeats == 0,
        "{store}: {} repeats of {} ids",
        report.repeats,
        report.ids
    );
    for (status, document) in readyz {
        assert_eq!(
            (*status, &document["ready"]),
            (200, &true.into()),
            "{store}: {document}"
        );
        assert_eq!(document["store"]["up"], false, "{store}: {document}");
        let note = document["notes"][0].as_str().unwrap();
        assert!(note.starts_with("store down for "), "{store}: {note}");
    }
}

// claim: P26, P34
#[test]
#[ignore = "minutes: a minute without any store"]
fn nobody_notices_a_minute_without_the_store() {
    let plan = Plan {
        length: length(),
        nodes: 2,
    };
    let runs: Vec<_> = engines()
        .into_iter()
        .map(|mut engine| thread::spawn(move || outage(&mut *engine, plan)))
        .collect();
    let reports: Vec<Report> = runs
        .into_iter()
        .map(|run| run.join().expect("no panic"))
        .collect();
    let rows: Vec<String> = reports.iter().flat_map(Report::rows).collect();
    say(&format!("{TABLE}\n{}", rows.join("\n")));
    reports.iter().for_each(check);
}
