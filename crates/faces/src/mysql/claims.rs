//! The numbers that a session has reserved by `UPDATE` in a library's table, until its `SELECT` has told them.
//!
//! ```text
//!   session a   UPDATE … + 100     SELECT: 100       its own, whatever others reserved since
//!   session b          UPDATE … + 100     SELECT: 200
//! ```

use super::refusal::Refusal;

/// What a session has reserved, key by key.
#[derive(Debug, Default)]
pub(crate) struct Claims(Vec<Claim>);

/// One run.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Claim {
    sequence: Box<[u8]>,
    told: Told,
    /// Whether a SELECT has told it.
    is_told: bool,
}

/// What is told of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    /// Its last number.
    pub(crate) last: i64,
    /// How many numbers it has, where the table says so of its key.
    pub(crate) step: u64,
}

impl Claims {
    /// Refuses one run more, before it is reserved: a client would reckon two runs as one, which others' numbers may
    /// lie between; or there are too many.
    pub(crate) fn check(&self, sequence: &[u8]) -> Result<(), Refusal> {
        match self.0.iter().find(|claim| *claim.sequence == *sequence) {
            Some(claim) if !claim.is_told => Err(Refusal::arguments(
                "this transaction has added to this row already and not selected it since: the two runs need not follow \
                 each other",
            )),
            Some(_) => Ok(()),
            None if self.0.len() >= CLAIMS_MAX => Err(Refusal::arguments(format!(
                "a transaction adds to at most {CLAIMS_MAX} rows: commit first"
            ))),
            None => Ok(()),
        }
    }

    /// A run was reserved. What was reserved before of the same sequence is told no more; nor, without a
    /// transaction, what was reserved so many sequences ago.
    pub(crate) fn add(&mut self, sequence: &[u8], told: Told) {
        self.0.retain(|claim| *claim.sequence != *sequence);
        if self.0.len() >= CLAIMS_MAX {
            self.0.remove(0);
        }
        self.0.push(Claim {
            sequence: sequence.into(),
            told,
            is_told: false,
        });
    }

    /// What this session reserved of a sequence last.
    pub(crate) fn tell(&mut self, sequence: &[u8]) -> Option<Told> {
        let claim = self.0.iter_mut().find(|claim| *claim.sequence == *sequence)?;
        claim.is_told = true;
        Some(claim.told)
    }

    /// The transaction is over.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// How many rows one transaction adds to: what that takes of memory is little beside a connection.
pub(crate) const CLAIMS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_before_the_next_of_its_sequence_is_reserved() {
        let mut claims = Claims::default();
        let told = |last| Told { last, step: 100 };
        assert_eq!(claims.tell(b"a"), None);
        claims.check(b"a").unwrap();
        claims.add(b"a", told(100));
        let refused = claims.check(b"a").unwrap_err();
        assert!(refused.text.contains("not selected it since"), "{refused:?}");
        claims.check(b"b").unwrap();
        claims.add(b"b", told(7));
        assert_eq!(
            (claims.tell(b"a"), claims.tell(b"a")),
            (Some(told(100)), Some(told(100)))
        );
        claims.check(b"a").unwrap();
        claims.add(b"a", told(300));
        assert_eq!(
            (claims.tell(b"a"), claims.tell(b"b")),
            (Some(told(300)), Some(told(7)))
        );
        for n in 2..CLAIMS_MAX {
            claims.add(format!("c{n}").as_bytes(), told(1));
        }
        claims.check(b"c3").unwrap_err();
        assert!(
            claims
                .check(b"one more")
                .unwrap_err()
                .text
                .contains("at most 16 rows")
        );
        claims.check(b"a").unwrap();
        // Without a transaction nobody asks whether there is room.
        claims.add(b"one more", told(9));
        assert_eq!((claims.0.len(), claims.tell(b"b")), (CLAIMS_MAX, None));
        claims.clear();
        claims.check(b"one more").unwrap();
        assert_eq!(claims.tell(b"a"), None);
    }
}
