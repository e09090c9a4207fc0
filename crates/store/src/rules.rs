//! The checks that every in-process store shares: what is invalid to ask, and which write wins.

use super::{
    BODY_MAX_BYTES, Claim, Key, Marks, Outcome, StoreError, StoreErrorKind, Value, Version, Versioned,
};

/// What a check needs to know of a register: no body, so that a cache can answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Current {
    /// Its mark.
    pub mark: u64,
    /// Its version.
    pub version: Version,
}

impl Current {
    /// What was found.
    pub fn of(found: &Versioned) -> Current {
        Current {
            mark: found.value.mark,
            version: found.version,
        }
    }
}

/// How a write stands before it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It may be written and becomes this version.
    Go(Version),
    /// The register is at another version, or absent.
    Lost,
}

fn invalid(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, message)
}

/// Judges what a compare-and-set would write, before anything is known of the register.
pub fn check_value(key: &Key, new: &Value) -> Result<(), StoreError> {
    if new.body.len() > BODY_MAX_BYTES {
        return Err(invalid(format!(
            "body of {key} has {} bytes, largest is {BODY_MAX_BYTES}",
            new.body.len()
        )));
    }
    if let Some(at) = new.body.bytes().position(|byte| byte == 0) {
        return Err(invalid(format!("body of {key} has a NUL character at byte {at}")));
    }
    if new.mark > i64::MAX as u64 {
        return Err(invalid(format!("mark {} of {key} passes 2^63-1", new.mark)));
    }
    Ok(())
}

/// Judges a compare-and-set. The version is compared before the mark, so that a lost race is never
/// reported as an invalid request.
pub fn judge_set(
    key: &Key,
    current: Option<Current>,
    expected: Option<Version>,
    new: &Value,
    marks: Marks,
) -> Result<Verdict, StoreError> {
    check_value(key, new)?;
    if current.map(|c| c.version) != expected {
        return Ok(Verdict::Lost);
    }
    if let Some(current) = current
        && new.mark < current.mark
        && marks == Marks::NeverLower
    {
        return Err(invalid(format!(
            "mark of {key} is {}, asked to lower it to {}",
            current.mark, new.mark
        )));
    }
    next_version(key, expected).map(Verdict::Go)
}

/// Judges a removal (protocol R2).
pub fn judge_remove(key: &Key, current: Option<Current>, expected: Version) -> Result<Verdict, StoreError> {
    match current {
        Some(c) if c.version == expected && c.mark > 0 => Err(invalid(format!(
            "{key} carries the mark {}: it is never removed",
            c.mark
        ))),
        Some(c) if c.version == expected => Ok(Verdict::Go(expected)),
        _ => Ok(Verdict::Lost),
    }
}

/// Judges a claim; `Ok(Some((version, mark)))` is what the register becomes, `Ok(None)` a lost race.
pub fn judge_claim(claim: &Claim, current: Option<Current>) -> Result<Option<(Version, u64)>, StoreError> {
    if claim.add == 0 {
        return Err(invalid(format!("claim of 0 on {}: at least 1", claim.key)));
    }
    let Some(current) = current.filter(|c| c.version == claim.expected) else {
        return Ok(None);
    };
    match current
        .mark
        .checked_add(claim.add)
        .filter(|m| *m <= i64::MAX as u64)
    {
        Some(mark) => Ok(Some((next_version(&claim.key, Some(current.version))?, mark))),
        None => Err(invalid(format!(
            "mark {} of {} plus {} passes 2^63-1",
            current.mark, claim.key, claim.add
        ))),
    }
}

/// The version after `expected`: exactly one more (protocol R3).
fn next_version(key: &Key, expected: Option<Version>) -> Result<Version, StoreError> {
    let next = expected.map_or(1, |v| v.number().saturating_add(1));
    // The embedded store keeps 56 bits of it; a million writes a second last two thousand years.
    if next >= 1 << 56 {
        return Err(invalid(format!("version of {key} would pass 2^56-1")));
    }
    Ok(Version::of(next))
}

/// Checks the page size of a scan.
pub fn check_limit(limit: u16) -> Result<usize, StoreError> {
    if limit == 0 || limit > super::SCAN_LIMIT_MAX {
        return Err(invalid(format!(
            "page of {limit} registers: 1 to {}",
            super::SCAN_LIMIT_MAX
        )));
    }
    Ok(usize::from(limit))
}

/// Whether an answer reports a write.
#[cfg(any(test, feature = "testing"))]
pub fn wrote(answer: &Result<super::Cas, StoreError>) -> bool {
    matches!(answer, Ok(super::Cas::Done(_)))
}
