//! Series over HTTP beside those of MariaDB itself: its Sequence engine, and its calendar.

use mintage_e2e::random::Random;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::sql::mariadb::Mariadb;

/// What our server answers, page by page of at most `count`.
fn pages(server: &Server, path: &str, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let answer = server.http("GET", &format!("{path}{after}"), "").json();
        let values = answer["values"].as_array().expect("values");
        assert!(values.len() <= count, "{path}{after}");
        all.extend(
            values
                .iter()
                .map(|value| value.as_str().expect("text").to_string()),
        );
        match answer["next"].as_str() {
            None => return all,
            Some(next) => after = format!("&after={next}"),
        }
    }
}

#[test]
fn series_are_those_that_mariadb_itself_answers() {
    let Some(mariadb) = Mariadb::with_pack() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut random = Random::announced("series of MariaDB");
    for case in 0..60 {
        let below = [20, 1000, 1 << 40][case % 3];
        let (from, to) = (random.below(below), random.below(below));
        // At most some hundred values.
        let step = 1 + from.abs_diff(to) / 300 + random.below(5);
        let name = format!("seq_{from}_to_{to}_step_{step}");
        let theirs = mariadb.lines(&format!("SELECT seq FROM {name}"));
        assert_eq!(
            pages(&server, &format!("/v1/series/{name}?count=100"), 100),
            theirs,
            "{name}"
        );
        let query = format!("/v1/series?from={from}&to={to}&step={step}&count=7");
        assert_eq!(pages(&server, &query, 7), theirs, "{query}");
    }
}

#[test]
fn months_and_years_are_those_of_mariadbs_calendar() {
    let Some(mariadb) = Mariadb::with_pack() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut random = Random::announced("months of MariaDB");
    for case in 0..60 {
        let (year, month) = (1600 + random.below(800), 1 + random.below(12));
        // Mostly days that some months lack.
        let from = mariadb.lines(&format!(
            "SELECT DATE_SUB(LAST_DAY('{year:04}-{month:02}-01'), INTERVAL {} DAY)",
            random.below(4)
        ));
        let (from, step) = (&from[0], 1 + random.below(30));
        let (steps, unit) = [(40, "mo"), (12, "y")][case % 2];
        let word = if unit == "mo" { "MONTH" } else { "YEAR" };
        let theirs = mariadb.lines(&format!(
            "SELECT DATE_ADD('{from}', INTERVAL seq * {step} {word}) FROM seq_0_to_{steps}"
        ));
        let to = theirs.last().expect("many");
        let query = format!("/v1/series?from={from}&to={to}&step={step}{unit}");
        assert_eq!(pages(&server, &query, 100), theirs, "{query}");
        let down = mariadb.lines(&format!(
            "SELECT DATE_SUB('{from}', INTERVAL seq * {step} {word}) FROM seq_0_to_5"
        ));
        let query = format!("/v1/series?from={from}&to={}&step=-{step}{unit}", down[5]);
        assert_eq!(pages(&server, &query, 100), down, "{query}");
    }
}
