//! How the server fared: kept in memory for a day, and told second by second to whoever watches.
//!
//! | file | what |
//! | --- | --- |
//! | `series` | the series and their keys |
//! | `counts`, `quantile` | what was counted, and what came of it in a second |
//! | `rings` | what is kept |
//! | `recent` | the rates of the busiest sequences |
//! | `says` | the three sentences |
//! | `frame` | the event |
//!
//! The `sampler` measures, once a second, in a thread of its own: nothing here is touched by a serving thread on the way
//! of a request for ids.

pub(crate) mod counts;
pub(crate) mod frame;
mod quantile;
mod recent;
mod rings;
pub(crate) mod says;
pub(crate) mod series;

use std::collections::BTreeMap;
use std::sync::Mutex;

use hyper::body::Bytes;
use tokio::sync::watch;

use recent::Recent;
pub(crate) use recent::{NAMES_MAX as RECENT_NAMES, STEP_S as RECENT_STEP_S};
use rings::{Rings, SPANS};
use series::Key;

/// What is kept, and what is told.
#[derive(Debug)]
pub(crate) struct History {
    rings: Mutex<Rings>,
    recent: Mutex<Recent>,
    /// The last second as an event, one text for all who watch: a slow one misses some.
    events: watch::Sender<Bytes>,
    /// When the server started, in milliseconds since 1970.
    started_ms: i64,
}

/// A series of documents' values.
pub(crate) type Series = BTreeMap<String, Vec<Option<f32>>>;

impl History {
    pub(crate) fn new(started_ms: i64) -> History {
        History {
            rings: Mutex::default(),
            recent: Mutex::default(),
            events: watch::Sender::new(Bytes::new()),
            started_ms,
        }
    }

    pub(crate) fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// Keeps what was measured, `seconds` after what was measured last.
    pub(crate) fn keep(&self, seconds: u64, at_ms: i64, values: &[(Key, f64)]) {
        let mut rings = self.rings.lock().expect("no panic while held");
        rings.keep(seconds, at_ms, values);
    }

    /// Keeps the rates of the busiest sequences, the busiest first.
    pub(crate) fn keep_rates<'n>(&self, busiest: impl Iterator<Item = (&'n str, f64)>) {
        self.recent.lock().expect("no panic while held").keep(busiest);
    }

    /// The rates of a sequence in the last minutes.
    pub(crate) fn rates(&self, name: &str) -> Vec<f32> {
        self.recent.lock().expect("no panic while held").of(name)
    }

    /// All series over a range, its step in seconds and its end; `None`: there is no such range.
    pub(crate) fn shown(&self, range: &str) -> Option<(u32, i64, Series)> {
        let span = SPANS.iter().position(|span| span.range == range)?;
        let shown = self.rings.lock().expect("no panic while held").shown(span);
        Some((shown.step_s, shown.until_ms, shown.series))
    }

    /// Tells everybody who watches.
    pub(crate) fn tell(&self, event: Bytes) {
        self.events.send_replace(event);
    }

    /// Follows the events. The last one counts as seen; it is empty before the first.
    pub(crate) fn watch(&self) -> watch::Receiver<Bytes> {
        self.events.subscribe()
    }

    /// Whether anybody watches.
    pub(crate) fn is_watched(&self) -> bool {
        self.events.receiver_count() > 0
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::series::{Key, What};
    use crate::error::CODES;
    use crate::metrics::{FACES_MAX, IdKind};

    /// Every series that there can be, of as many faces as there may be.
    pub(crate) fn every_key() -> Vec<Key> {
        let faces: Vec<&'static str> = (0..FACES_MAX)
            .map(|n| &*format!("a_face_{n:02}").leak())
            .collect();
        let faces = || faces.clone().into_iter();
        let of_faces = [What::Requests, What::P50, What::P99, What::Connections];
        let of_faces = of_faces.map(|what| faces().map(move |face| Key::of(what, face)));
        let kinds = IdKind::ALL.iter().map(|kind| Key::of(What::Ids, kind.as_str()));
        let codes = CODES.iter().map(|row| Key::of(What::Refused, row.name));
        let alone = [
            What::ReserveP50,
            What::ReserveP99,
            What::BudgetLeft,
            What::ClockOffset,
            What::ClockSteps,
            What::Lost,
            What::StoreUp,
        ];
        let alone = alone.map(Key::one);
        kinds
            .chain(codes)
            .chain(of_faces.into_iter().flatten())
            .chain(alone)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_kept_of_every_series_takes_4_mib_at_most() {
        let mut rings = Rings::default();
        let values: Vec<_> = testing::every_key().into_iter().map(|key| (key, 1.0)).collect();
        rings.keep(1, 0, &values);
        let all = rings.bytes() + Recent::BYTES_MAX;
        println!(
            "{} series take {} bytes; all at most {all}",
            values.len(),
            rings.bytes()
        );
        assert!(all <= 4 << 20, "{all}");
    }

    #[test]
    fn whoever_watches_gets_one_text_and_a_slow_one_the_last() {
        let history = History::new(0);
        assert!(!history.is_watched());
        let (mut quick, mut slow) = (history.watch(), history.watch());
        history.tell(Bytes::from("a"));
        assert_eq!(quick.borrow_and_update()[..], b"a"[..]);
        history.tell(Bytes::from("b"));
        assert!(std::ptr::eq(
            quick.borrow_and_update().as_ptr(),
            slow.borrow_and_update().as_ptr()
        ));
        assert!(history.is_watched() && history.shown("1h").is_none());
    }
}
