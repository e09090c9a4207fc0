//! An audit as one page that needs nothing else: no script, no font, no picture from elsewhere.

mod plot;
mod shards;

use std::fmt::Write as _;

use mintage::Timestamp;

use super::report::{Fault, Report};
use plot::{bars, bars_across, points};
use shards::section_shards;

/// The page.
///
/// All that came from the input is escaped; nothing is loaded from anywhere.
pub fn html(report: &Report) -> String {
    let mut page = String::with_capacity(64 * 1024);
    let title = match report.files.as_slice() {
        [one] => one.name.clone(),
        files => format!("{} files", files.len()),
    };
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Audit of {title}</title><style>{STYLE}</style></head><body><main>",
        title = escape(&title)
    );
    head(report, &title, &mut page);
    cards(report, &mut page);
    section_repeats(report, &mut page);
    section_time(report, &mut page);
    section_order(report, &mut page);
    section_workers(report, &mut page);
    section_shards(report, &mut page);
    section_numbers(report, &mut page);
    section_files(report, &mut page);
    let _ = writeln!(
        page,
        "<footer>{}</footer></main></body></html>",
        escape(&made(report))
    );
    page
}

/// Who made the page of what, and when.
fn made(report: &Report) -> String {
    let made = &report.made;
    let mut words = format!("mint {}, {}", made.version, time(made.at_us, 0));
    if !made.command.is_empty() {
        let _ = write!(words, ": {}", made.command);
    }
    words
}

fn head(report: &Report, title: &str, page: &mut String) {
    let verdict = &report.verdict;
    let (class, word) = if verdict.sound {
        ("good", "Sound")
    } else {
        ("bad", "Not sound")
    };
    let _ = write!(
        page,
        "<h1>Audit of {}</h1><div class=\"verdict {class}\"><strong>{word}</strong>",
        escape(title)
    );
    if verdict.sound {
        page.push_str("<span>nothing was found that the audit was to fail for</span>");
    }
    for (_, words) in &verdict.faults {
        let _ = write!(page, "<span>{}</span>", escape(words));
    }
    page.push_str("</div>");
    if !verdict.remarks.is_empty() {
        page.push_str("<ul class=\"remarks\">");
        for (_, words) in &verdict.remarks {
            let _ = write!(page, "<li>{}</li>", escape(words));
        }
        page.push_str("</ul>");
    }
}

fn cards(report: &Report, page: &mut String) {
    page.push_str("<div class=\"cards\">");
    let mut card = |name: &str, value: &str, note: &str| {
        let _ = write!(
            page,
            "<div class=\"card\"><div class=\"name\">{name}</div><div class=\"value\">{}</div><div class=\"note\">{}</div></div>",
            escape(value),
            escape(note)
        );
    };
    let kinds: Vec<String> = report.formats.iter().map(super::FormatSeen::words).collect();
    let layout = report.layout.as_ref().map(|layout| match layout.guessed {
        true => format!(", read as {} (a guess)", layout.name),
        false => format!(", layout {}", layout.name),
    });
    card(
        "ids",
        &count(report.ids),
        &format!("{}{}", kinds.join(", "), layout.unwrap_or_default()),
    );
    card(
        "repeats",
        &count(report.repeats.ids),
        "ids that occur more than once",
    );
    card(
        "out of order",
        &format!("{}{}", at_most(report), count(report.order.to_move)),
        &format!("of {} rows would have to move", count(report.order.compared)),
    );
    if let (Some(first), Some(last)) = (report.times.first_us, report.times.last_us) {
        card(
            "time span",
            &span_words(last.saturating_sub(first)),
            &format!("{} to {}", time(first, 0), time(last, 0)),
        );
    }
    if report.workers.count > 0 {
        let more = if report.workers.more { " or more" } else { "" };
        card(
            "workers",
            &format!("{}{more}", count(report.workers.count)),
            &format!("{} back", counted(report.workers.steps_back, "step")),
        );
    }
    if let Some(numbers) = &report.numbers {
        card(
            "lost numbers",
            &count(numbers.lost),
            &format!("in {}", counted(numbers.gaps, "gap")),
        );
    }
    page.push_str("</div>");
}

/// In front of a number of rows that may be too large.
fn at_most(report: &Report) -> &'static str {
    if report.order.to_move_at_most {
        "at most "
    } else {
        ""
    }
}

/// How many rows a table leaves out.
fn and_more(all: u64, shown: usize, columns: usize, page: &mut String) {
    if let more @ 1.. = all.saturating_sub(shown as u64) {
        let _ = write!(
            page,
            "<tr><td colspan=\"{columns}\">and {} more</td></tr>",
            count(more)
        );
    }
}

/// A table of lines and what is wrong with them.
fn lines_table(listed: &[(String, String)], all: u64, page: &mut String) {
    page.push_str("<table><tr><th>where</th><th>what</th></tr>");
    for (place, what) in listed {
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td></tr>",
            escape(place),
            escape(what)
        );
    }
    and_more(all, listed.len(), 2, page);
    page.push_str("</table></section>");
}

fn section_repeats(report: &Report, page: &mut String) {
    let repeats = &report.repeats;
    if repeats.ids > 0 {
        let _ = write!(
            page,
            "<section><h2>Repeats</h2><p>{} more than once; {} too many.</p>\
             <table><tr><th>id</th><th>times</th><th>where</th></tr>",
            match repeats.ids {
                1 => "1 id occurs".to_string(),
                many => format!("{} ids occur", count(many)),
            },
            match repeats.lines {
                1 => "1 line is".to_string(),
                many => format!("{} lines are", count(many)),
            }
        );
        for repeat in &repeats.listed {
            let id = repeat.id.as_deref().unwrap_or("(see the line)");
            let _ = write!(
                page,
                "<tr><td class=\"id\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
                escape(id),
                count(repeat.times),
                escape(&repeat.places.join(", "))
            );
        }
        and_more(repeats.ids, repeats.listed.len(), 3, page);
        page.push_str("</table></section>");
    }
    if report.without.lines > 0 {
        let _ = write!(
            page,
            "<section><h2>Without an id</h2><p>{} lines have no id: {}.</p>",
            count(report.without.lines),
            escape(&report.without.words())
        );
        lines_table(&report.without.listed, report.without.lines, page);
    }
    if report.unreadable.lines > 0 {
        let _ = write!(
            page,
            "<section><h2>Unreadable</h2><p>{} lines hold no id.</p>",
            count(report.unreadable.lines)
        );
        lines_table(&report.unreadable.listed, report.unreadable.lines, page);
    }
}

fn section_time(report: &Report, page: &mut String) {
    let times = &report.times;
    let (Some(first), Some(last)) = (times.first_us, times.last_us) else {
        return;
    };
    page.push_str("<section><h2>Rate</h2>");
    if times.buckets.len() < 2 {
        let _ = write!(
            page,
            "<p>All within one hour, from {} to {}.",
            time(first, 3),
            time(last, 3)
        );
        busiest(report, page);
        page.push_str("</p>");
        future(report, page);
        page.push_str("</section>");
        return;
    }
    let (buckets, secs) = joined(&times.buckets, times.bucket_secs);
    let values: Vec<(String, u64)> = buckets
        .iter()
        .map(|(bucket, ids)| (time(bucket * secs * 1_000_000, 0), *ids))
        .collect();
    let per = match secs {
        3600 => "hour".to_string(),
        secs => span_words(secs * 1_000_000),
    };
    let _ = write!(
        page,
        "<p>Ids per {per}, from {} to {}.",
        time(first, 3),
        time(last, 3)
    );
    busiest(report, page);
    page.push_str("</p>");
    page.push_str(&bars(&values, None, &format!("ids per {per}")));
    future(report, page);
    page.push_str("</section>");
}

fn busiest(report: &Report, page: &mut String) {
    if let Some((most, ms)) = report.busiest_ms {
        let _ = write!(
            page,
            " The busiest millisecond, {}, has {}.",
            time(ms * 1000, 3),
            count(most)
        );
    }
}

fn future(report: &Report, page: &mut String) {
    let times = &report.times;
    if times.future > 0 {
        let _ = write!(
            page,
            "<p class=\"bad\">{} ids lie in the future, the first at {}.</p>",
            count(times.future),
            escape(&times.future_at.join(", "))
        );
    }
}

/// Buckets joined until they fit a plot, with the empty ones between them.
fn joined(buckets: &[(i64, u64)], secs: i64) -> (Vec<(i64, u64)>, i64) {
    let (Some((first, _)), Some((last, _))) = (buckets.first(), buckets.last()) else {
        return (Vec::new(), secs);
    };
    let mut factor = 1;
    while (last / factor).saturating_sub(first / factor) >= BARS_MAX {
        factor *= 2;
    }
    let (low, high) = (first.div_euclid(factor), last.div_euclid(factor));
    let mut joined: Vec<(i64, u64)> = (low..=high).map(|bucket| (bucket, 0)).collect();
    for (bucket, ids) in buckets {
        joined[(bucket.div_euclid(factor) - low) as usize].1 += ids;
    }
    (joined, secs * factor)
}

const BARS_MAX: i64 = 240;

fn section_order(report: &Report, page: &mut String) {
    let order = &report.order;
    if order.compared == 0 {
        return;
    }
    page.push_str("<section><h2>Order</h2>");
    match order.to_move {
        0 => page.push_str("<p>Every id is at least as large as those before it in its file.</p>"),
        rows => {
            let _ = write!(
                page,
                "<p>{}{} of {} rows would have to move",
                at_most(report),
                count(rows),
                count(order.compared)
            );
            if let Some(first) = &order.first {
                let _ = write!(
                    page,
                    "; the first that comes after a larger one is at {}",
                    escape(first)
                );
            }
            let _ = write!(
                page,
                ". The farthest belongs some {} rows back",
                count(order.farthest_rows)
            );
            if order.farthest_us > 0 {
                let _ = write!(page, ", {} in time", span_words(order.farthest_us));
            }
            if let Some(farthest) = &order.farthest {
                let _ = write!(page, " ({})", escape(farthest));
            }
            page.push_str(".</p>");
        }
    }
    if !order.left_out.is_empty() {
        let _ = write!(
            page,
            "<p>Left out, as fewer than one in a hundred: {}.</p>",
            escape(&order.left_out.join(", "))
        );
    }
    if report.along.len() > 1 {
        let labels = |us: i64| time(us, 0);
        page.push_str(&points(
            &report.along,
            &labels,
            "time in the ids, along the rows of the files",
        ));
    }
    page.push_str("</section>");
}

fn section_workers(report: &Report, page: &mut String) {
    let workers = &report.workers;
    if workers.count == 0 {
        return;
    }
    page.push_str("<section><h2>Workers</h2>");
    let length = match (report.times.first_us, report.times.last_us) {
        (Some(first), Some(last)) => last.saturating_sub(first),
        _ => 0,
    };
    let (unit, per) = if length < 3_600_000_000 {
        (1e6, "second")
    } else {
        (3.6e9, "hour")
    };
    let units = (length as f64 / unit).max(1.0);
    let shown: Vec<(String, u64, String)> = workers
        .busiest
        .iter()
        .take(24)
        .map(|worker| {
            let rate = worker.ids as f64 / units;
            let note = format!("{}, {} per {per}", count(worker.ids), count(rate.round() as u64));
            (worker.name.clone(), worker.ids, note)
        })
        .collect();
    let _ = write!(
        page,
        "<p>{} made ids{}.</p>",
        match workers.count {
            1 => "One worker".to_string(),
            many => format!("{} workers", count(many)),
        },
        if workers.count > shown.len() as u64 {
            format!("; the busiest {}", shown.len())
        } else {
            String::new()
        }
    );
    page.push_str(&bars_across(&shown, "ids of each worker"));
    steps_of_clocks(report, page);
    page.push_str("</section>");
}

/// Where workers' times went back, if that can be told.
fn steps_of_clocks(report: &Report, page: &mut String) {
    let workers = &report.workers;
    if !report.in_order_enough() {
        page.push_str(
            "<p>The ids are not in the order in which they were made, so steps of clocks are unknown.</p>",
        );
    } else if workers.steps.is_empty() {
        page.push_str("<p>No worker's time goes back.</p>");
    } else {
        page.push_str(
            "<table><tr><th>a worker's time went back by</th><th>worker</th><th>where</th><th>to</th></tr>",
        );
        for step in &workers.steps {
            let _ = write!(
                page,
                "<tr><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                span_words(step.back_us),
                escape(&step.worker),
                escape(&step.place),
                time(step.to_us, 3)
            );
        }
        page.push_str("</table>");
    }
}

fn section_numbers(report: &Report, page: &mut String) {
    let Some(numbers) = &report.numbers else { return };
    let _ = write!(
        page,
        "<section><h2>Numbers</h2><p>{} different numbers from {} to {} in steps of {}; {} {} missing, in {}.</p>",
        count(numbers.distinct),
        numbers.min,
        numbers.max,
        numbers.step,
        count(numbers.lost),
        if numbers.lost == 1 { "is" } else { "are" },
        counted(numbers.gaps, "gap")
    );
    if !numbers.largest.is_empty() {
        page.push_str("<table><tr><th>missing</th><th>after</th><th>before</th></tr>");
        for gap in &numbers.largest {
            let _ = write!(
                page,
                "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
                count(gap.lost),
                gap.after,
                gap.before
            );
        }
        page.push_str("</table>");
    }
    page.push_str("</section>");
}

fn section_files(report: &Report, page: &mut String) {
    page.push_str(
        "<section><h2>Files and formats</h2><table><tr><th>file</th><th>ids</th><th>SHA-256</th></tr>",
    );
    for file in &report.files {
        let _ = write!(
            page,
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"id\">{}</td></tr>",
            escape(&file.name),
            count(file.ids),
            file.sha256.as_deref().unwrap_or_default()
        );
    }
    page.push_str("</table><table><tr><th>format</th><th>ids</th><th>first</th></tr>");
    let mixed = report
        .verdict
        .faults
        .iter()
        .any(|(fault, _)| *fault == Fault::Mixed);
    for seen in &report.formats {
        let _ = write!(
            page,
            "<tr{}><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            if mixed { " class=\"bad\"" } else { "" },
            escape(&seen.words()),
            count(seen.ids),
            escape(&seen.first)
        );
    }
    page.push_str("</table>");
    if let Some(layout) = &report.layout
        && layout.guessed
        && !layout.others.is_empty()
    {
        let _ = write!(
            page,
            "<p>Nobody said which layout the Snowflakes have; {} fits, and so do {}.</p>",
            escape(&layout.name),
            escape(&layout.others.join(", "))
        );
    }
    page.push_str("</section>");
}

/// A number of things.
fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{} {thing}s", count(number)),
    }
}

/// A number with its thousands apart.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A length of time, in microseconds, in words that fit it.
///
/// ```
/// use mintage_bulk::span_words;
/// assert_eq!((span_words(6_660_000_000), span_words(3_200_000)), ("1 h 51 min".into(), "3.2 s".into()));
/// ```
pub fn span_words(micros: i64) -> String {
    let secs = micros / 1_000_000;
    match micros {
        ..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        1_000_000..60_000_000 => format!("{:.1} s", micros as f64 / 1e6),
        60_000_000..3_600_000_000 => format!("{} min {} s", secs / 60, secs % 60),
        3_600_000_000..172_800_000_000 => format!("{} h {} min", secs / 3600, secs / 60 % 60),
        _ => format!("{} days {} h", secs / 86_400, secs / 3600 % 24),
    }
}

/// A time in UTC with this many digits after the second.
fn time(micros: i64, digits: u32) -> String {
    let unit = 10i64.pow(6 - digits);
    let cut = micros.div_euclid(unit) * unit;
    Timestamp::from_unix_nanos(i128::from(cut) * 1000).to_string()
}

/// Text that means only itself.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            hidden if !mintage::is_plain(hidden) => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

const STYLE: &str = include_str!("style.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units_that_fit() {
        for (micros, words) in [
            (999, "999 µs"),
            (1_500, "1.5 ms"),
            (3_200_000, "3.2 s"),
            (61_000_000, "1 min 1 s"),
            (6_660_000_000, "1 h 51 min"),
            (200_000_000_000, "2 days 7 h"),
        ] {
            assert_eq!(span_words(micros), words);
        }
    }

    #[test]
    fn names_of_files_cannot_write_into_the_page() {
        assert_eq!(
            escape("<script>\"&\n\u{202e}"),
            "&lt;script&gt;&quot;&amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn buckets_are_joined_until_they_fit_and_nothing_is_lost() {
        let buckets: Vec<(i64, u64)> = (-500..1500).step_by(3).map(|bucket| (bucket, 2)).collect();
        let (joined, secs) = joined(&buckets, 3600);
        assert!(joined.len() as i64 <= BARS_MAX + 1, "{}", joined.len());
        assert_eq!(
            joined.iter().map(|(_, ids)| ids).sum::<u64>(),
            buckets.len() as u64 * 2
        );
        assert_eq!(secs % 3600, 0);
    }
}
