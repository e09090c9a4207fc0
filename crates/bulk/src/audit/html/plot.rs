//! Plots as inline SVG.

use std::fmt::Write as _;

use super::{count, escape};

const WIDTH: f64 = 920.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// Upright bars, each with its name and value; `line` is drawn across at that value.
pub(super) fn bars(values: &[(String, u64)], line: Option<f64>, title: &str) -> String {
    let highest = values.iter().map(|(_, value)| *value).max().unwrap_or(0).max(1);
    let top = nice(highest.max(line.map_or(0, |line| line.ceil() as u64)));
    let mut svg = open(HEIGHT, title);
    grid(&mut svg, top);
    let room = WIDTH - LEFT - RIGHT;
    let step = room / values.len().max(1) as f64;
    let gap = if step > 6.0 { step * 0.15 } else { 0.0 };
    for (at, (name, value)) in values.iter().enumerate().filter(|(_, (_, value))| *value > 0) {
        let height = (*value as f64 / top as f64 * (HEIGHT - TOP - BOTTOM)).max(0.8);
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{}: {}</title></rect>",
            LEFT + at as f64 * step + gap / 2.0,
            HEIGHT - BOTTOM - height,
            (step - gap).max(0.6),
            escape(name),
            count(*value)
        );
    }
    if let Some(line) = line {
        let y = HEIGHT - BOTTOM - line / top as f64 * (HEIGHT - TOP - BOTTOM);
        let _ = write!(
            svg,
            "<line class=\"share\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
            WIDTH - RIGHT
        );
    }
    let last = values.len().saturating_sub(1);
    let ends = [
        (0, "start", LEFT),
        (last / 2, "middle", LEFT + room / 2.0),
        (last, "end", WIDTH - RIGHT),
    ];
    for (at, anchor, x) in ends.iter().take(if last == 0 { 1 } else { 3 }) {
        if let Some((name, _)) = values.get(*at) {
            label(&mut svg, *x, HEIGHT - 8.0, anchor, name);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Bars that lie, one below the other: name, value, and the text beside it.
pub(super) fn bars_across(values: &[(String, u64, String)], title: &str) -> String {
    const ROW: f64 = 22.0;
    const NAMES: f64 = 140.0;
    const NOTES: f64 = 210.0;
    let height = ROW * values.len() as f64 + 6.0;
    let most = values
        .iter()
        .map(|(_, value, _)| *value)
        .max()
        .unwrap_or(1)
        .max(1);
    let mut svg = open(height, title);
    for (at, (name, value, note)) in values.iter().enumerate() {
        let y = at as f64 * ROW + 3.0;
        let width = (*value as f64 / most as f64 * (WIDTH - NAMES - NOTES)).max(1.0);
        label(&mut svg, NAMES - 10.0, y + 14.0, "end", name);
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{NAMES}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\"/>",
            ROW - 6.0
        );
        label(&mut svg, NAMES + width + 8.0, y + 14.0, "start", note);
    }
    svg.push_str("</svg>");
    svg
}

/// Points by row and value, with the value's labels at the side.
pub(super) fn points(values: &[(u64, i64)], name: &dyn Fn(i64) -> String, title: &str) -> String {
    const SIDE: f64 = 158.0;
    let (low, high) = values.iter().fold((i64::MAX, i64::MIN), |(low, high), (_, v)| {
        (low.min(*v), high.max(*v))
    });
    let rows = values.last().map_or(1, |(row, _)| *row).max(1) as f64;
    let spread = (i128::from(high) - i128::from(low)).max(1) as f64;
    let mut svg = open(HEIGHT, title);
    for part in 0..=2 {
        let y = TOP + (HEIGHT - TOP - BOTTOM) * f64::from(part) / 2.0;
        rule(&mut svg, SIDE, y);
        let value = (i128::from(high) - (i128::from(high) - i128::from(low)) * i128::from(part) / 2) as i64;
        label(&mut svg, SIDE - 8.0, y + 4.0, "end", &name(value));
    }
    for (row, value) in values {
        let x = SIDE + *row as f64 / rows * (WIDTH - SIDE - RIGHT);
        let part = (i128::from(*value) - i128::from(low)) as f64 / spread;
        let y = HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
        let _ = write!(
            svg,
            "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.4\"/>"
        );
    }
    label(&mut svg, SIDE, HEIGHT - 8.0, "start", "first row");
    label(&mut svg, WIDTH - RIGHT, HEIGHT - 8.0, "end", "last row");
    svg.push_str("</svg>");
    svg
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>",
        escape(title)
    )
}

/// Lines at nothing, half and all, with their values.
fn grid(svg: &mut String, top: u64) {
    for part in 0..=2 {
        let y = TOP + (HEIGHT - TOP - BOTTOM) * f64::from(part) / 2.0;
        rule(svg, LEFT, y);
        label(
            svg,
            LEFT - 8.0,
            y + 4.0,
            "end",
            &short(top as f64 * f64::from(2 - part) / 2.0),
        );
    }
}

fn rule(svg: &mut String, from: f64, y: f64) {
    let _ = write!(
        svg,
        "<line class=\"rule\" x1=\"{from}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
        WIDTH - RIGHT
    );
}

fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = write!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(text)
    );
}

/// The next number that is 1, 2 or 5 and zeros, and even.
fn nice(highest: u64) -> u64 {
    let mut unit = 1u64;
    loop {
        for digit in [2, 4, 5, 10] {
            match unit.checked_mul(digit) {
                Some(top) if top >= highest => return top,
                Some(_) => {}
                None => return highest,
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// A number in few letters.
fn short(value: f64) -> String {
    for (unit, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value >= unit {
            let scaled = value / unit;
            return match scaled.fract() == 0.0 {
                true => format!("{scaled:.0} {letter}"),
                false => format!("{scaled:.1} {letter}"),
            };
        }
    }
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (highest, top) in [
            (1, 2),
            (3, 4),
            (5, 5),
            (41, 50),
            (99, 100),
            (101, 200),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(nice(highest), top, "{highest}");
        }
        assert_eq!(
            (short(1500.0), short(2e6), short(0.5)),
            ("1.5 k".into(), "2 M".into(), "0.5".into())
        );
    }

    #[test]
    fn plots_of_nothing_and_of_one_are_plots() {
        for svg in [
            bars(&[], None, "x"),
            bars(&[("a".into(), 0)], Some(3.0), "x"),
            points(&[(0, i64::MIN), (1, i64::MAX)], &|v| v.to_string(), "x"),
            points(&[], &|v| v.to_string(), "x"),
            bars_across(&[], "x"),
        ] {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
