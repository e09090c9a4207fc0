//! What was found out about everything that was seen.

use mintage::Timestamp;

use super::ends::{End, ends};
use super::look::Seen;
use super::moved::Moves;
use super::pace::{Earlier, Stood, Went, went};
use super::pattern::patterns;
use super::rules::{self, Found, Subject};
use super::workers;
use crate::name::Name;
use crate::source::{Counter, Finding, FindingCode, Mend};

/// One counter, and what was found out about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Examined {
    /// As its source shows it.
    pub counter: Counter,
    /// How it moved since an earlier look.
    pub went: Went,
    /// Where it ends, the nearest first.
    pub ends: Vec<End>,
    /// What is wrong with it, the worst first.
    pub findings: Vec<Finding>,
}

impl Examined {
    /// The worst of its findings.
    pub fn worst(&self) -> Option<&Finding> {
        self.findings.first()
    }
}

/// One place, and what was found out there.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Where it is, without a password.
    pub place: String,
    /// When the look began.
    pub at: Timestamp,
    /// Its counters.
    pub counters: Vec<Examined>,
    /// What is wrong with the server, the worst first.
    pub findings: Vec<Finding>,
    /// What could not be looked at, in words.
    pub failed: Vec<String>,
}

impl Report {
    /// Everything that is wrong, of the place and of its counters.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_counters = self.counters.iter().flat_map(|one| &one.findings);
        self.findings.iter().chain(of_counters)
    }
}

/// Says what is wrong with what was seen in each place. `earlier` are looks before this one, the one that lies further
/// back first: it says more about how fast a counter goes. `moves` are those of our store, if one was named.
pub fn examine(
    seen: Vec<Seen>,
    earlier: &[Earlier],
    moves: Option<&[(Name, crate::moves::Move)]>,
) -> Vec<Report> {
    let patterns = patterns(&seen);
    let moves = moves.map(Moves::new);
    let mut reports = Vec::with_capacity(seen.len());
    for (place_at, place) in seen.into_iter().enumerate() {
        let Seen {
            place,
            at,
            sources,
            counters,
            findings,
            failed,
        } = place;
        let mend = |counter: &Counter, mend: Mend| {
            let source = sources.iter().find(|source| source.kind().name == counter.kind)?;
            source.mend(counter, mend)
        };
        let kinds: Vec<_> = sources.iter().map(|source| source.kind().name).collect();
        // Where something could not be looked at, what is not there may be that.
        let gone = match (&moves, failed.is_empty()) {
            (Some(moves), true) => moves.gone(&place, &kinds, &counters),
            _ => Vec::new(),
        };
        let mut examined: Vec<Examined> = Vec::with_capacity(counters.len());
        for counter in counters {
            let before = earlier
                .iter()
                .find_map(|earlier| earlier.of(&place, counter.kind, &counter.key));
            let mut found = match &moves {
                Some(moves) => moves.judge(&place, &counter),
                None => super::moved::by_form(&counter),
            };
            let patterns = patterns.get(&(place_at, counter.kind));
            found.extend(patterns.and_then(|keys| keys.get(&counter.key)).cloned());
            examined.push(one(counter, at, before, found, &mend));
        }
        examined.extend(gone.into_iter().map(|(counter, found)| Examined {
            counter,
            went: Went::Unknown,
            ends: Vec::new(),
            findings: vec![complete(found, |_| None)],
        }));
        reports.push(Report {
            place,
            at,
            counters: examined,
            findings: sorted(findings),
            failed,
        });
    }
    reports
}

/// One counter, with what is known of it from elsewhere.
fn one(
    mut counter: Counter,
    at: Timestamp,
    before: Option<Stood>,
    mut found: Vec<Found>,
    mend: &dyn Fn(&Counter, Mend) -> Option<String>,
) -> Examined {
    let went = went(&counter, at, before);
    let pace = match went {
        Went::On(pace) => Some(pace),
        _ => None,
    };
    let is_fenced = matches!(counter.fence, crate::source::Fence::Ours { .. });
    let ends = match is_fenced {
        true => Vec::new(),
        false => ends(&counter, pace),
    };
    let subject = Subject {
        counter: &counter,
        went,
        ends: &ends,
    };
    found.extend(match workers::is_of(&counter) {
        true => workers::examine(&subject),
        false => rules::examine(&subject),
    });
    let complete = |found| complete(found, |how| mend(&counter, how));
    let mut findings: Vec<Finding> = found.into_iter().map(complete).collect();
    findings.append(&mut counter.findings);
    Examined {
        counter,
        went,
        ends,
        findings: sorted(findings),
    }
}

/// A finding with the statement that mends it.
fn complete(found: Found, mend: impl Fn(Mend) -> Option<String>) -> Finding {
    Finding {
        code: found.code,
        severity: found.severity,
        text: found.text,
        fix: found.mend.and_then(mend),
    }
}

/// The worst first, and of those equally bad what people should care about first; each said once.
pub(super) fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    let place = |code: FindingCode| super::CODES.iter().position(|row| row.code == code);
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), place(finding.code)));
    findings.dedup_by(|a, b| a.code == b.code && a.text == b.text);
    findings
}
