//! An audit as lines of text.

use mintage::Timestamp;
use mintage_bulk::{Fault, Report, span_words};

use crate::errors::Failure;
use crate::out::Out;
use crate::rows::thousands;

const HOUR_US: i64 = 3_600_000_000;
/// How many of a kind the text shows; JSON and the page show more.
const SHOWN: usize = 10;

/// Lines for a person, the verdict first.
pub(super) fn text(report: &Report, spread: bool, out: &mut Out) -> Result<(), Failure> {
    verdict(report, out)?;
    let kinds: Vec<String> = match report.formats.as_slice() {
        [one] => vec![one.words()],
        many => many
            .iter()
            .map(|seen| {
                format!(
                    "{} {} (first {})",
                    thousands(seen.ids),
                    seen.words(),
                    printable(&seen.first)
                )
            })
            .collect(),
    };
    row(
        out,
        "ids",
        &format!("{}: {}", thousands(report.ids), kinds.join(", ")),
    )?;
    if report.files.len() > 1 {
        for file in &report.files {
            row(
                out,
                "",
                &format!("{} in {}", thousands(file.ids), printable(&file.name)),
            )?;
        }
    }
    layout(report, out)?;
    without(report, out)?;
    unreadable(report, out)?;
    repeats(report, out)?;
    order(report, out)?;
    times(report, out)?;
    workers(report, out)?;
    numbers(report, out)?;
    series(report, out)?;
    if spread {
        spreads(report, out)?;
    }
    made(report, out)?;
    remarks(report, spread, out)
}

/// Numbers with a prefix: each prefix with what is missing.
fn series(report: &Report, out: &mut Out) -> Result<(), Failure> {
    for (at, series) in report.series.iter().take(SHOWN).enumerate() {
        let name = if at == 0 { "series" } else { "" };
        let missing = match series.lost {
            0 => "none is missing".into(),
            lost => format!("{} missing, in {}", thousands(lost), counted(series.gaps, "gap")),
        };
        let prefix = printable(&series.prefix);
        let words = format!(
            "{prefix}{} to {prefix}{}: {}, {missing}",
            series.first,
            series.last,
            counted(series.ids, "number")
        );
        row(out, name, &words)?;
    }
    match report.series.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => row(out, "", &format!("and {more} series more")),
    }
}

/// Evenness in each way in which stores share out rows.
fn spreads(report: &Report, out: &mut Out) -> Result<(), Failure> {
    for (fault, what, spread) in report.spreads() {
        let words = format!(
            "{what} is {} (chi-square {:.1}, {} degrees of freedom; chance gives more in {:.1} of 100)",
            spread.words,
            spread.chi_square,
            spread.shards - 1,
            spread.p * 100.0
        );
        row(out, fault.name(), &words)?;
        if let (Fault::Ranges, Some(ranges)) = (fault, &report.ranges) {
            row(out, "", &ranges.moving.words)?;
            if !ranges.left_out.is_empty() {
                let others = ranges.left_out.join(", ");
                row(
                    out,
                    "",
                    &format!("left out, as they have ranges of their own: {others}"),
                )?;
            }
        }
    }
    Ok(())
}

/// Who made this from what, and when: for later readers.
fn made(report: &Report, out: &mut Out) -> Result<(), Failure> {
    if !out.verbose {
        return Ok(());
    }
    let made = &report.made;
    row(
        out,
        "made",
        &format!(
            "{} by mint {}: {}",
            time(made.at_us),
            made.version,
            printable(&made.command)
        ),
    )?;
    for file in &report.files {
        if let Some(sha256) = &file.sha256 {
            row(out, "", &format!("{sha256}  {}", printable(&file.name)))?;
        }
    }
    Ok(())
}

fn row(out: &mut Out, name: &str, words: &str) -> Result<(), Failure> {
    out.line(format!("{name:<9} {words}").trim_end())
}

fn layout(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let Some(layout) = &report.layout else {
        return Ok(());
    };
    let words = match (layout.guessed, layout.others.as_slice()) {
        (false, _) => layout.name.clone(),
        (true, []) => format!("{}, as their times suggest", layout.name),
        (true, others) => format!(
            "{}, a guess: {} fit as well; --preset says which",
            layout.name,
            others.join(", ")
        ),
    };
    row(out, "layout", &words)
}

/// Lines without an id, such as empty ones.
fn without(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let without = &report.without;
    let lines = match without.lines {
        0 => return Ok(()),
        1 => "1 line has".into(),
        lines => format!("{} lines have", thousands(lines)),
    };
    let first = without.listed.first().map_or("", |(place, _)| place);
    let (words, first) = (printable(&without.words()), printable(first));
    row(
        out,
        "none",
        &format!("{lines} no id: {words}; the first at {first}"),
    )
}

/// Lines with something else than an id.
fn unreadable(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let lines = report.unreadable.lines;
    if lines == 0 {
        return Ok(());
    }
    let hold = if lines == 1 { "line holds" } else { "lines hold" };
    row(
        out,
        "unread",
        &format!("{} {hold} no id that can be read", thousands(lines)),
    )?;
    for (place, why) in report.unreadable.listed.iter().take(SHOWN) {
        row(out, "", &format!("{}: {}", printable(place), printable(why)))?;
    }
    match lines.saturating_sub(SHOWN as u64) {
        0 => Ok(()),
        more => row(out, "", &format!("and {} more", thousands(more))),
    }
}

fn repeats(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let repeats = &report.repeats;
    if repeats.ids == 0 {
        return row(out, "repeats", "none");
    }
    let across = match repeats.across_files {
        0 => String::new(),
        across => format!(", {} of them in several files", thousands(across)),
    };
    row(
        out,
        "repeats",
        &format!(
            "{}, {} too many{across}",
            counted(repeats.ids, "id"),
            counted(repeats.lines, "line")
        ),
    )?;
    for repeat in repeats.listed.iter().take(SHOWN) {
        // Only what flowed by cannot be read again.
        let id = printable(repeat.id.as_deref().unwrap_or("(text)"));
        let more = match repeat.times as usize - repeat.places.len() {
            0 => String::new(),
            more => format!(" and {more} times more"),
        };
        row(
            out,
            "",
            &format!("{id} at {}{more}", printable(&repeat.places.join(", "))),
        )?;
    }
    match repeats.ids as usize {
        ..=SHOWN => Ok(()),
        many => row(
            out,
            "",
            &format!("and {} ids more", thousands((many - SHOWN) as u64)),
        ),
    }
}

fn order(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let order = &report.order;
    if order.compared == 0 {
        return row(out, "order", "these ids have none");
    }
    let left_out = match order.left_out.as_slice() {
        [] => String::new(),
        few => format!("; left out, as fewer than one in a hundred: {}", few.join(", ")),
    };
    if order.to_move == 0 {
        return row(out, "order", &format!("as in the files{left_out}"));
    }
    let mut words = format!(
        "{}{} of {} rows would have to move, the first at {}; the farthest belongs some {} rows back",
        if order.to_move_at_most { "at most " } else { "" },
        thousands(order.to_move),
        thousands(order.compared),
        printable(order.first.as_deref().unwrap_or_default()),
        thousands(order.farthest_rows)
    );
    if order.farthest_us > 0 {
        words.push_str(&format!(
            " and {} in time ({})",
            span_words(order.farthest_us),
            printable(order.farthest.as_deref().unwrap_or_default())
        ));
    }
    row(out, "order", &format!("{words}{left_out}"))
}

fn times(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let times = &report.times;
    let (Some(first), Some(last)) = (times.first_us, times.last_us) else {
        return Ok(());
    };
    let length = last.saturating_sub(first);
    row(
        out,
        "time",
        &format!("{} to {}, {}", time(first), time(last), span_words(length)),
    )?;
    let (per, units) = units(report);
    let rate = times.ids as f64 / units;
    let mut words = format!("{} {per}", thousands(rate.round() as u64));
    if times.buckets.len() > 1
        && let Some((bucket, most)) = times.buckets.iter().max_by_key(|(_, ids)| ids)
    {
        let at = time(bucket * times.bucket_secs * 1_000_000);
        words.push_str(&format!(", the most {} from {at} on", thousands(*most)));
    }
    if let Some((most, ms)) = report.busiest_ms {
        words.push_str(&format!(
            "; up to {} a millisecond, at {}",
            thousands(most),
            time(ms * 1000)
        ));
    }
    row(out, "rate", &words)?;
    if times.future > 0 {
        let at = printable(
            &times
                .future_at
                .iter()
                .take(SHOWN)
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
        );
        row(
            out,
            "future",
            &format!(
                "{} ids lie after {}: {at}",
                thousands(times.future),
                time(report.now_us)
            ),
        )?;
    }
    Ok(())
}

/// The unit of rates, and how many of it the ids span: short piles are told by the second.
fn units(report: &Report) -> (&'static str, f64) {
    let length = match (report.times.first_us, report.times.last_us) {
        (Some(first), Some(last)) => last.saturating_sub(first),
        _ => 0,
    };
    let (per, unit) = if length < HOUR_US {
        ("a second", 1e6)
    } else {
        ("an hour", 3.6e9)
    };
    (per, (length as f64 / unit).max(1.0))
}

fn workers(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let workers = &report.workers;
    if workers.count == 0 {
        return Ok(());
    }
    let total: u64 = workers.busiest.iter().map(|worker| worker.ids).sum();
    let (per, units) = units(report);
    let listed: Vec<String> = workers
        .busiest
        .iter()
        .take(SHOWN)
        .map(|worker| {
            let share = worker.ids as f64 * 100.0 / total.max(1) as f64;
            let rate = (worker.ids as f64 / units).round() as u64;
            let ids = thousands(worker.ids);
            format!("{} {ids} ({share:.1} %, {} {per})", worker.name, thousands(rate))
        })
        .collect();
    let more = if workers.more { " or more" } else { "" };
    row(
        out,
        "workers",
        &format!("{}{more}: {}", thousands(workers.count), listed.join(", ")),
    )?;
    if !report.in_order_enough() {
        return row(
            out,
            "clocks",
            "unknown: the ids are not in the order in which they were made",
        );
    }
    let changes: u64 = workers
        .busiest
        .iter()
        .map(|worker| worker.clock_seq_changes)
        .sum();
    let changes = match changes {
        0 => String::new(),
        changes => format!("; clock sequences changed {} times", thousands(changes)),
    };
    if workers.steps_back == 0 {
        return row(out, "clocks", &format!("no worker's time goes back{changes}"));
    }
    let steps = counted(workers.steps_back, "step");
    row(out, "clocks", &format!("{steps} back{changes}; the largest:"))?;
    for step in workers.steps.iter().take(SHOWN) {
        let words = format!(
            "worker {} by {} to {}, {}",
            step.worker,
            span_words(step.back_us),
            time(step.to_us),
            printable(&step.place)
        );
        row(out, "", &words)?;
    }
    Ok(())
}

fn numbers(report: &Report, out: &mut Out) -> Result<(), Failure> {
    if report.random {
        return row(
            out,
            "numbers",
            "random: they spread over all 64 bits, so that neither gaps nor order say anything",
        );
    }
    let Some(numbers) = &report.numbers else {
        return Ok(());
    };
    let step = match numbers.step {
        1 => String::new(),
        step => format!(" in steps of {step}"),
    };
    let span = format!("{} to {}{step}", numbers.min, numbers.max);
    if numbers.lost == 0 {
        return row(out, "numbers", &format!("{span}, none is missing"));
    }
    row(
        out,
        "numbers",
        &format!(
            "{span}, {} {} missing, in {}; the largest:",
            thousands(numbers.lost),
            if numbers.lost == 1 { "is" } else { "are" },
            counted(numbers.gaps, "gap")
        ),
    )?;
    for gap in numbers.largest.iter().take(SHOWN) {
        row(
            out,
            "",
            &format!("{} between {} and {}", thousands(gap.lost), gap.after, gap.before),
        )?;
    }
    Ok(())
}

/// What else is worth a look; the spread only where somebody asked for it.
fn remarks(report: &Report, spread: bool, out: &mut Out) -> Result<(), Failure> {
    let of_spread = [Fault::Shards, Fault::Ranges, Fault::Hot, Fault::Hash];
    for (fault, remark) in &report.verdict.remarks {
        if spread || !of_spread.contains(fault) {
            row(out, "note", remark)?;
        }
    }
    Ok(())
}

fn verdict(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let verdict = &report.verdict;
    let names = |faults: &mut dyn Iterator<Item = &Fault>| {
        faults.map(|fault| fault.name()).collect::<Vec<_>>().join(", ")
    };
    let looked_at = names(&mut verdict.looked_at.iter());
    let words = |found: &[(mintage_bulk::Fault, String)]| {
        found
            .iter()
            .map(|(_, words)| words.clone())
            .collect::<Vec<_>>()
            .join("; ")
    };
    match verdict.sound {
        true => row(out, "verdict", &format!("sound: looked at {looked_at}"))?,
        false => row(out, "verdict", &format!("not sound: {}", words(&verdict.faults)))?,
    }
    match verdict.not_judged.as_slice() {
        [] => Ok(()),
        left => {
            let left = left
                .iter()
                .map(|(fault, why)| format!("{}, as {why}", fault.name()));
            row(
                out,
                "",
                &format!("not judged: {}", left.collect::<Vec<_>>().join("; ")),
            )
        }
    }
}

fn time(micros: i64) -> String {
    Timestamp::from_unix_nanos(i128::from(micros) * 1000).to_string()
}

/// A number of things.
fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{} {thing}s", thousands(number)),
    }
}

/// What came from the files must not drive the terminal.
fn printable(text: &str) -> String {
    mintage::Plain(text).to_string()
}
