//! What ratios are wanted, told beside the tables: those are for users.

/// Says on standard error how a ratio compares with the least that we want it to be; the tables are for users.
pub(crate) fn beside_goal(what: &str, ratio: f64, least: f64) {
    let verdict = if ratio >= least { "reached" } else { "missed" };
    eprintln!("goal {verdict}: {what}: {ratio:.2}x, at least {least}x wanted");
}

/// The same of a ratio that should be at most so large.
pub(crate) fn beside_limit(what: &str, ratio: f64, most: f64) {
    let verdict = if ratio <= most { "reached" } else { "missed" };
    eprintln!("goal {verdict}: {what}: {ratio:.2}x, at most {most}x wanted");
}

/// The same of so many a second, whatever the machine.
pub(crate) fn at_least(what: &str, per_second: f64, least: f64) {
    let verdict = if per_second >= least { "reached" } else { "missed" };
    eprintln!("goal {verdict}: {what}: {per_second:.0} a second, at least {least:.0} wanted");
}
