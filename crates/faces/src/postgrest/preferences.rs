//! `Prefer`, and what of it was applied (RFC 7240).

use super::refusal::Refusal;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::web::head::Head;

/// What a client prefers, as far as it means something here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Preferences {
    /// `count=…`: the answer says how many rows there are.
    count: Option<&'static str>,
    transaction: Option<&'static str>,
    handling: Option<&'static str>,
}

/// Those that are applied, in the order of `Preference-Applied`.
const COUNTS: [&str; 3] = ["count=exact", "count=planned", "count=estimated"];
const COMMIT: [&str; 1] = ["tx=commit"];
const HANDLING: [&str; 2] = ["handling=strict", "handling=lenient"];
/// Those that PostgREST knows and that mean nothing for a function that gives numbers: no client is refused for them.
const WITHOUT_EFFECT: [&str; 7] = [
    "return=representation",
    "return=minimal",
    "return=headers-only",
    "resolution=merge-duplicates",
    "resolution=ignore-duplicates",
    "missing=default",
    "missing=null",
];

impl Preferences {
    /// Reads them; of two of a kind the first counts.
    ///
    /// # Errors
    /// With `handling=strict`: some are not known, or cannot be kept (`tx=rollback`: a number that was given out stays
    /// so).
    pub(super) fn of(head: &Head<'_>) -> Result<Preferences, Refusal> {
        let mut preferences = Preferences::default();
        let mut others = Vec::new();
        let lines = head.all.map(|all| all.get_all("prefer").iter());
        let lines = lines.into_iter().flatten();
        for given in lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
        {
            let given = given.trim();
            let known = |all: &[&'static str]| all.iter().copied().find(|one| *one == given);
            if let Some(count) = known(&COUNTS) {
                preferences.count.get_or_insert(count);
            } else if let Some(commit) = known(&COMMIT) {
                preferences.transaction.get_or_insert(commit);
            } else if let Some(handling) = known(&HANDLING) {
                preferences.handling.get_or_insert(handling);
            } else if !given.is_empty() && known(&WITHOUT_EFFECT).is_none() {
                others.push(given);
            }
        }
        if preferences.handling != Some(HANDLING[0]) || others.is_empty() {
            return Ok(preferences);
        }
        let refusal = Refusal::parameter(
            Code::InvalidArgument,
            "Invalid preferences given with handling=strict",
        );
        Err(Refusal {
            state: "PGRST122",
            ..refusal.with_details(format!("Invalid preferences: {}", others.join(", ")))
        })
    }

    /// Whether the answer says how many rows there are.
    pub(super) fn counts(&self) -> bool {
        self.count.is_some()
    }

    /// The value of `Preference-Applied`, if any was.
    pub(super) fn applied(&self) -> Option<String> {
        let all = [self.count, self.transaction, self.handling];
        let applied: Vec<&str> = all.into_iter().flatten().collect();
        (!applied.is_empty()).then(|| applied.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;

    use super::*;

    fn read(lines: &[&'static str]) -> Result<Option<String>, Option<String>> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("prefer", line.parse().unwrap());
        }
        let head = Head {
            all: Some(&headers),
            ..Head::default()
        };
        let read = Preferences::of(&head);
        read.map(|read| read.applied()).map_err(|refusal| refusal.details)
    }

    #[test]
    fn what_is_kept_is_said_and_the_rest_refused_where_that_is_asked_for() {
        let applied = |text: &str| Ok(Some(text.to_string()));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["return=minimal, , x=1"]), Ok(None));
        assert_eq!(
            read(&["tx=commit,count=exact"]),
            applied("count=exact, tx=commit")
        );
        assert_eq!(read(&["count=planned", "count=exact"]), applied("count=planned"));
        assert_eq!(read(&["handling=lenient, x=1"]), applied("handling=lenient"));
        assert_eq!(
            read(&["handling=strict, return=minimal", "count=estimated"]),
            applied("count=estimated, handling=strict")
        );
        assert_eq!(
            read(&["tx=rollback, handling=strict", "x=1"]),
            Err(Some("Invalid preferences: tx=rollback, x=1".to_string()))
        );
    }
}
