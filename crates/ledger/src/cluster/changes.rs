//! Changes of definitions that every process must see (protocol S5): one register that counts them and names the
//! last ones.
//!
//! Who changes a definition first writes the sequence's own record and then counts the change here. Everybody
//! looks at this register eight times a second, looks the named sequences up, drops what it holds of an older
//! generation, and says in its instance register how far it has followed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::name::Name;
use crate::runtime::fresh_token;
use crate::store::{
    BODY_MAX_BYTES, CHANGES_KEY, Cas, Key, Marks, Outcome, StoreError, StoreErrorKind, Value, Versioned,
};

/// How many changes are named; who has missed more looks at everything it has.
const NAMED_MAX: usize = 32;
/// How many bytes their names have, so that the record fits a register however many of them JSON has to escape.
const NAMED_BYTES_MAX: usize = BODY_MAX_BYTES / 4;
/// How often a lost race for the register is tried again.
const TRIES: usize = 64;

/// How long a change waits for the others at most: longer than one that has just died counts as alive.
const SEEN_WITHIN: Duration = Duration::from_millis(3_500);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Serialize, Deserialize, Default)]
struct Body {
    /// The names last changed as keys have them, oldest first; the register's mark is the number of the last change.
    last: Vec<String>,
}

impl Body {
    /// Adds a change, and forgets the oldest ones if there are too many.
    fn name(&mut self, name: &Name) {
        self.last.push(name.to_key().into_owned());
        let mut bytes = 0;
        let named = self.last.iter().rev().take(NAMED_MAX).take_while(|key| {
            bytes += key.len();
            bytes <= NAMED_BYTES_MAX
        });
        let surplus = self.last.len() - named.count();
        self.last.drain(..surplus);
    }
}

/// What happened since a change that was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Missed {
    /// Changes of these sequences.
    These(Vec<Name>),
    /// More than are named.
    Many,
}

/// Where changes are counted.
pub(crate) fn key() -> Key {
    Key::new(CHANGES_KEY).expect("a constant within the key grammar")
}

/// The number of the last change, and what was missed by who has seen up to `seen`.
pub(crate) fn since(found: Option<&Versioned>, seen: u64) -> (u64, Missed) {
    let Some(found) = found else {
        return (0, Missed::Many);
    };
    let last = found.value.mark;
    let body: Body = serde_json::from_str(&found.value.body).unwrap_or_default();
    let missed = last.checked_sub(seen).and_then(|n| usize::try_from(n).ok());
    let named = missed.and_then(|n| body.last.len().checked_sub(n));
    let names = named.map(|from| {
        body.last[from..]
            .iter()
            .map(|key| Name::from_key(key))
            .collect::<Result<_, _>>()
    });
    match names {
        Some(Ok(names)) => (last, Missed::These(names)),
        // A name that is none was written by a newer program.
        Some(Err(_)) | None => (last, Missed::Many),
    }
}

/// Counts a change of `name` and answers its number.
pub(crate) async fn count(context: &Context, name: &Name) -> Result<u64, StoreError> {
    let key = key();
    let mut found = context.store.get(&key).await?;
    for _ in 0..TRIES {
        let (mut body, mark, version) = match &found {
            Some(found) => (
                serde_json::from_str::<Body>(&found.value.body).unwrap_or_default(),
                found.value.mark,
                Some(found.version),
            ),
            None => (Body::default(), 0, None),
        };
        body.name(name);
        let value = Value {
            mark: mark + 1,
            token: fresh_token(&*context.runtime),
            body: serde_json::to_string(&body).expect("names always serialise"),
        };
        match context
            .store
            .compare_and_set(&key, version, value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(_)) => return Ok(mark + 1),
            Ok(Cas::Lost(now)) => found = now,
            // Counted twice costs others a look, nothing more; not counted at all would leave them behind.
            Err(error) if error.outcome == Outcome::Unknown => found = context.store.get(&key).await?,
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::new(
        StoreErrorKind::Unavailable,
        Outcome::NotDone,
        format!("too many writers on {key}"),
    ))
}

impl Context {
    /// Counts a change of a definition and waits until everybody who lives follows it; the names of those who do
    /// not in time (protocol S5).
    pub(crate) async fn seen_by_all(&self, name: &Name) -> Vec<String> {
        if self.store.exclusive() {
            return Vec::new();
        }
        let begun = self.runtime.boottime();
        let late = || self.runtime.boottime().saturating_sub(begun) > SEEN_WITHIN;
        let peers = || self.cluster.peers.lock().expect("no panic while held");
        let number = loop {
            match count(self, name).await {
                Ok(number) => break number,
                Err(error) => {
                    tracing::warn!(sequence = %name, %error, "others could not be told of a change");
                    if late() {
                        return peers().peers.names(self.runtime.boottime());
                    }
                }
            }
            self.runtime.sleep(LOOK_EVERY).await;
        };
        loop {
            let looked = self.observe().await;
            let behind = peers().peers.behind(number, self.runtime.boottime());
            if (looked.is_ok() && behind.is_empty()) || late() {
                return behind;
            }
            self.runtime.sleep(LOOK_EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Version;

    #[test]
    fn as_many_names_are_kept_as_fit_the_record() {
        let longest = Name::new("\"".repeat(255)).unwrap();
        let mut body = Body::default();
        for n in 1..=2 * NAMED_MAX {
            body.name(&longest);
            assert!(serde_json::to_string(&body).unwrap().len() <= BODY_MAX_BYTES);
            assert_eq!(body.last.len(), n.min(NAMED_BYTES_MAX / longest.to_key().len()));
        }
        for n in 0..=NAMED_MAX {
            body.name(&Name::new(format!("s{n}")).unwrap());
        }
        assert_eq!(body.last.len(), NAMED_MAX);
    }

    #[test]
    fn what_was_missed_is_named_as_far_back_as_it_goes() {
        let name = |n: u32| Name::new(format!("s{n}")).unwrap();
        let body = Body {
            last: (6..=9).map(|n| name(n).to_string()).collect(),
        };
        let found = Versioned {
            value: Value {
                mark: 9,
                token: 1,
                body: serde_json::to_string(&body).unwrap(),
            },
            version: Version::of(9),
        };
        assert_eq!(since(Some(&found), 9), (9, Missed::These(vec![])));
        assert_eq!(since(Some(&found), 7), (9, Missed::These(vec![name(8), name(9)])));
        assert_eq!(
            since(Some(&found), 5),
            (9, Missed::These((6..=9).map(name).collect()))
        );
        assert_eq!(since(Some(&found), 4), (9, Missed::Many));
        // A store that went back: nothing is known.
        assert_eq!(since(Some(&found), 12), (9, Missed::Many));
        assert_eq!(since(None, 3), (0, Missed::Many));
    }
}
