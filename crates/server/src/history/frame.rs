//! A second of the server as an event, of bounded length.

use hyper::body::Bytes;
use mintage_wire::Frame;

use super::says::shortened;

/// The longest event.
pub(crate) const FRAME_MAX: usize = 8 * 1024;
/// So many sequences are named.
pub(crate) const BUSIEST: usize = 20;

/// Texts of others stand in an event so far.
const NAME_MAX: usize = 100;
const WHY_MAX: usize = 400;

/// The event (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). What would make it too long is cut or
/// left out, the least busy sequences first.
pub(crate) fn event(mut frame: Frame) -> Bytes {
    for name in frame.busiest.iter_mut().map(|busy| &mut busy.name) {
        *name = shortened(name, NAME_MAX);
    }
    if let Some(first) = &mut frame.store.status.first_to_end {
        first.name = shortened(&first.name, NAME_MAX);
    }
    let whys = frame
        .store
        .stopped
        .iter_mut()
        .chain([&mut frame.store.why, &mut frame.server]);
    for why in whys {
        *why = shortened(why, WHY_MAX);
    }
    frame.busiest.truncate(BUSIEST);
    loop {
        let text = written(&frame);
        if text.len() <= FRAME_MAX {
            return Bytes::from(text);
        }
        if frame.busiest.pop().is_none() && frame.series.pop_last().is_none() {
            return Bytes::new();
        }
    }
}

fn written(frame: &Frame) -> String {
    let json = mintage_wire::json::to_vec(frame).expect("texts and numbers are JSON");
    format!("data: {}\n\n", String::from_utf8_lossy(&json))
}

/// A number as people read it: six digits tell apart what can be seen.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    match scale.is_finite() && scale > 0.0 {
        true => (value * scale).round() / scale,
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use mintage_wire::{Busy, FirstToEnd, StoreStatus};

    use super::super::series::{Key, What};
    use super::super::testing::every_key;
    use super::*;

    fn full(keys: &[Key]) -> Frame {
        let long = "ж".repeat(127);
        let busy = |n: usize| Busy {
            name: format!("{n}{long}"),
            per_second: 123_456.0,
            left_s: Some(12_345.6),
        };
        let mut frame = Frame {
            server: long.clone(),
            version: "1.2.3".into(),
            series: keys.iter().map(|key| (key.name(), 123_456.0)).collect(),
            busiest: (0..30).map(busy).collect(),
            ..Frame::default()
        };
        frame.says.well = "x".repeat(100);
        (frame.says.ends, frame.says.wrong) = ("x".repeat(200), "x".repeat(600));
        (frame.store.why, frame.store.stopped) = ("y".repeat(5000), Some("z".repeat(5000)));
        frame.store.status = StoreStatus {
            first_to_end: Some(FirstToEnd {
                kind: "sequence".into(),
                name: long,
            }),
            ..StoreStatus::default()
        };
        frame
    }

    #[test]
    fn an_event_is_never_longer_than_8_kib_and_says_every_series() {
        let event = event(full(&every_key()));
        assert!(event.len() <= FRAME_MAX, "{}", event.len());
        let json = event.strip_prefix(b"data: ").unwrap();
        let read: Frame = serde_json::from_slice(json).unwrap();
        assert_eq!(read.series.len(), every_key().len());
        assert!(read.busiest.iter().all(|busy| busy.name.ends_with('…')));
        println!("{} bytes, {} sequences named", event.len(), read.busiest.len());
    }

    #[test]
    fn twenty_sequences_are_named_where_there_is_room() {
        let keys: Vec<Key> = [What::StoreUp, What::Lost].map(Key::one).into();
        let event = event(full(&keys));
        let read: Frame = serde_json::from_slice(event.strip_prefix(b"data: ").unwrap()).unwrap();
        assert_eq!(read.busiest.len(), BUSIEST);
    }

    #[test]
    fn numbers_have_six_digits() {
        for (value, shown) in [
            (0.0, 0.0),
            (1_234.567_89, 1_234.57),
            (0.000_123_456_78, 0.000_123_457),
            (-2.5, -2.5),
            (12_345_678.0, 12_345_700.0),
            (f64::NAN, 0.0),
        ] {
            assert!((rounded(value) - shown).abs() <= shown.abs() * 1e-12, "{value}");
        }
    }
}
