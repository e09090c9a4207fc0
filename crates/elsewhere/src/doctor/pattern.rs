//! What is wrong with several servers that generate numbers for the same column.

use std::collections::{BTreeMap, BTreeSet};

use super::look::Seen;
use super::rules::Found;
use crate::source::{Counter, FindingCode, Mend, Severity};

/// What a reader says of a server's numbering.
struct Numbering<'a> {
    place: usize,
    server: &'a str,
    increment: u64,
    offset: u64,
}

/// The findings of the counters of one kind in one place, by their keys.
type Patterns = BTreeMap<(usize, &'static str), BTreeMap<String, Found>>;

/// The findings. Two URLs of one server are one server.
pub(super) fn patterns(seen: &[Seen]) -> Patterns {
    let mut columns: BTreeMap<(&'static str, &str), Vec<Numbering<'_>>> = BTreeMap::new();
    for (place, seen) in seen.iter().enumerate() {
        for counter in &seen.counters {
            if let Some(numbering) = numbering(place, counter) {
                let same = columns.entry((counter.kind, &counter.key)).or_default();
                if same.iter().all(|other| other.server != numbering.server) {
                    same.push(numbering);
                }
            }
        }
    }
    let mut found = Patterns::new();
    for ((kind, key), servers) in columns {
        let Some(text) = clash(&servers) else { continue };
        for (of, server) in servers.iter().enumerate() {
            let finding = Found {
                mend: Some(Mend::Stripe {
                    of: of as u64 + 1,
                    servers: servers.len() as u64,
                }),
                ..Found::new(FindingCode::Pattern, Severity::Error, text.clone())
            };
            let of_place = found.entry((server.place, kind)).or_default();
            of_place.insert(key.to_string(), finding);
        }
    }
    found
}

fn numbering(place: usize, counter: &Counter) -> Option<Numbering<'_>> {
    let number = |name: &str| counter.details.get(name)?.parse().ok();
    Some(Numbering {
        place,
        server: counter.details.get("server")?,
        increment: number("increment")?,
        offset: number("offset")?,
    })
}

/// Why these servers give out the same numbers; `None`: they do not.
fn clash(servers: &[Numbering<'_>]) -> Option<String> {
    let many = servers.len() as u64;
    if many < 2 {
        return None;
    }
    if let Some(small) = servers.iter().find(|server| server.increment < many) {
        return Some(format!(
            "pattern: {many} servers generate it with a step of {} on {}; it must be {many} at least on each",
            small.increment, small.server
        ));
    }
    let steps: BTreeSet<u64> = servers.iter().map(|server| server.increment).collect();
    if steps.len() > 1 {
        return Some(format!(
            "pattern: {many} servers generate it with different steps, {steps:?}; it must be one on all"
        ));
    }
    let mut places: BTreeMap<u64, &str> = BTreeMap::new();
    for server in servers {
        // An offset above the step counts as 1.
        let offset = if server.offset > server.increment {
            1
        } else {
            server.offset
        };
        if let Some(other) = places.insert(offset, server.server) {
            return Some(format!(
                "pattern: {other} and {} generate it with the offset {offset}; each must have its own",
                server.server
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Counter;

    /// `(server, increment, offset)` of one column each.
    fn found(servers: &[(&str, u64, u64)]) -> Vec<(usize, String)> {
        let seen = |(server, increment, offset): &(&str, u64, u64)| {
            let mut counter = Counter::new("auto_increment", "shop.orders.id");
            let details = [
                ("server", server.to_string()),
                ("increment", increment.to_string()),
                ("offset", offset.to_string()),
            ];
            counter.details = details.map(|(name, value)| (name.to_string(), value)).into();
            Seen {
                counters: vec![counter],
                ..Seen::default()
            }
        };
        let seen: Vec<Seen> = servers.iter().map(seen).collect();
        let found = patterns(&seen).into_iter();
        let of_place = |((place, _), keys): ((usize, _), BTreeMap<String, Found>)| {
            keys.into_values().map(move |found| (place, found.text))
        };
        found.flat_map(of_place).collect()
    }

    #[track_caller]
    fn check(servers: &[(&str, u64, u64)], says: Option<&str>) {
        let found = found(servers);
        match says {
            None => assert_eq!(found, []),
            Some(says) => {
                assert_eq!(found.len(), servers.len(), "{found:?}");
                assert!(found.iter().all(|(_, text)| text.contains(says)), "{found:?}");
            }
        }
    }

    #[test]
    fn servers_need_a_step_and_an_offset_each() {
        check(&[("a", 1, 1)], None);
        check(&[("a", 2, 1), ("b", 2, 2)], None);
        check(&[("a", 5, 1), ("b", 5, 2), ("c", 5, 3)], None);
        check(&[("a", 1, 1), ("b", 1, 1)], Some("with a step of 1 on a"));
        check(
            &[("a", 3, 1), ("b", 3, 2), ("c", 2, 2)],
            Some("with a step of 2 on c"),
        );
        check(
            &[("a", 2, 2), ("b", 2, 2)],
            Some("a and b generate it with the offset 2"),
        );
        check(&[("a", 2, 1), ("b", 3, 2)], Some("different steps, {2, 3}"));
        // The server takes no notice of an offset above the step.
        check(&[("a", 2, 1), ("b", 2, 3)], Some("with the offset 1"));
    }

    #[test]
    fn one_server_under_two_urls_is_one() {
        assert_eq!(found(&[("a", 1, 1), ("a", 1, 1)]), []);
    }

    #[test]
    fn counters_that_no_pattern_is_known_of_have_none() {
        let seen = || Seen {
            counters: vec![Counter::new("postgres", "public.s")],
            ..Seen::default()
        };
        assert!(patterns(&[seen(), seen()]).is_empty());
    }
}
