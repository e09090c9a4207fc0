//! Who vouches for the class of a copy: never the copy itself, which may lag in what it says of that, too (protocol R7).

use std::time::Duration;

use super::row::{Column, Row};

/// For so long after its last look a server that runs vouches for the class that it has seen.
pub(super) const LATELY: Duration = Duration::from_secs(600);
/// What a server has written into a copy vouches for so long that this copy had all by then.
pub(super) const WRITTEN_WITHIN_S: i64 = 60;
/// A server that lives writes its register once a second: a second look so much later shows whether one does.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// Key, age in seconds by the database's own clock, and body, of what servers write once a second.
pub(super) const BEATS: [Column; 3] = [Column::Text, Column::Int, Column::Text];

/// When servers wrote into a copy last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Beats {
    /// Of anything.
    newest_s: Option<i64>,
    /// Of the register of each server that has not said that it stops.
    servers_s: Vec<i64>,
}

impl Beats {
    pub(super) fn read(rows: &[Row]) -> Beats {
        let ages = rows.iter().filter_map(|row| row.get(1)?.int());
        let servers = rows.iter().filter(|row| is_server(row).unwrap_or(false));
        Beats {
            newest_s: ages.min(),
            servers_s: servers.filter_map(|row| row.get(1)?.int()).collect(),
        }
    }

    /// Whether a server wrote into this copy so lately that the primary cannot have been of another class for long.
    pub(super) fn vouch_for_class(&self) -> bool {
        // One from the future is of a clock that is wrong.
        self.newest_s.is_some_and(|age| age.abs() <= WRITTEN_WITHIN_S)
    }

    /// Whether the other servers use this copy, as far as there are any: one has written since the look `before`, or there
    /// was but one when this copy was written to last.
    pub(super) fn vouch_for_copy(&self, before: &Beats) -> bool {
        let Some(newest) = self.servers_s.iter().copied().min() else {
            return true;
        };
        let was = before.servers_s.iter().copied().min();
        let lived = self
            .servers_s
            .iter()
            .filter(|age| **age <= newest.saturating_add(WRITTEN_WITHIN_S));
        was.is_some_and(|was| newest <= was) || lived.count() <= 1
    }
}

/// Whether a row is the register of a server that has not said that it stops.
fn is_server(row: &Row) -> Option<bool> {
    let body: serde_json::Value = serde_json::from_str(row.get(2)?.text()?).unwrap_or_default();
    Some(row.first()?.text()?.starts_with("instance/") && body["stopped"] != true)
}

#[cfg(test)]
mod tests {
    use super::super::row::Field;
    use super::*;

    #[track_caller]
    fn check(beats: &[(&str, i64)], class: bool, copy: bool) {
        let beats = read(beats);
        // Nobody has written in between.
        let later = LOOK_AGAIN.as_secs() as i64;
        let before = Beats {
            newest_s: beats.newest_s.map(|age| age - later),
            servers_s: beats.servers_s.iter().map(|age| age - later).collect(),
        };
        let found = (beats.vouch_for_class(), beats.vouch_for_copy(&before));
        assert_eq!(found, (class, copy), "{beats:?}");
    }

    fn read(beats: &[(&str, i64)]) -> Beats {
        let row = |(key, age): &(&str, i64)| {
            let body = format!(r#"{{"stopped":{}}}"#, key.ends_with("stopped"));
            vec![Field::Text(key.to_string()), Field::Int(*age), Field::Text(body)]
        };
        Beats::read(&beats.iter().map(row).collect::<Vec<_>>())
    }

    #[test]
    fn a_copy_is_vouched_for_by_what_servers_wrote_into_it_lately() {
        check(&[], false, true);
        check(&[("cluster/progress", 3)], true, true);
        check(&[("cluster/progress", 61)], false, true);
        check(&[("cluster/progress", -3_600)], false, true);
        // One server, which is the one that asks.
        check(&[("cluster/progress", 70), ("instance/a", 70)], false, true);
        check(&[("instance/a", 20), ("instance/b", 21)], true, false);
        // Lately, and not since the look before.
        check(&[("instance/a", 4), ("instance/b", 4)], true, false);
        // The second one had gone long before.
        check(&[("instance/a", 20), ("instance/b", 90)], true, true);
        check(&[("instance/a", 20), ("instance/b-stopped", 21)], true, true);
        let (before, after) = (
            [("instance/a", 1), ("instance/b", 21)],
            [("instance/a", 0), ("instance/b", 24)],
        );
        assert!(
            read(&after).vouch_for_copy(&read(&before)),
            "one of them lives here"
        );
    }
}
