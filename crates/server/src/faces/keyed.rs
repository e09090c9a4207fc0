//! Numbers for the keys of other systems' clients.

use std::rc::Rc;
use std::sync::Arc;

use mintage::Run;
use mintage_ledger::{Name, Sequence, SequenceInfo};

use crate::auth::{Identity, Right, What};
use crate::config::Keys;
use crate::error::{Answer, Code, ServiceError};
use crate::noise::{Asker, Noise};
use crate::thread::ServingThread;
use crate::transport::Peer;
use crate::turn::take_in_turns;

/// Takes numbers for one client of a face.
pub struct Keyed<'a> {
    /// The thread that serves the client.
    pub thread: &'a Rc<ServingThread>,
    /// How the face reads keys.
    pub keys: &'a Keys,
    /// Who asks.
    pub who: &'a Identity,
    /// Where it asks from.
    pub peer: Peer,
}

impl Keyed<'_> {
    /// Takes exactly `n` numbers, handing them to `each` run by run.
    ///
    /// # Errors
    /// [`Code::NotFound`] for a key that is not known, and what the store says; runs handed out before are used up.
    pub async fn take(&self, key: &[u8], n: u64, mut each: impl FnMut(Run)) -> Answer<()> {
        let mut buffer = NameBuffer::default();
        let name = self.name(key, &mut buffer)?;
        self.who.check(Right::Allocate, What::Named(name))?;
        self.thread.service().spend(self.who, self.peer, n);
        let mut left = n;
        if let Some(run) = self.thread.try_take(name, n.min(self.thread.config().turn_ids)) {
            left -= run.count;
            each(run);
        }
        if left > 0 {
            self.must_exist(name).await?;
            take_in_turns(self.thread, name, left, &self.asker(), each).await?;
        }
        Ok(())
    }

    /// Takes one number.
    ///
    /// # Errors
    /// As [`Keyed::take`].
    pub async fn take_one(&self, key: &[u8]) -> Answer<i64> {
        let mut number = 0;
        self.take(key, 1, |run| number = run.first).await?;
        Ok(number)
    }

    /// Takes exactly `n` numbers as one run without a hole, of which the client is told one and reckons the others.
    ///
    /// # Errors
    /// As [`Keyed::take`]; [`Code::Exhausted`] when fewer are left before the bound, and what has other steps than 1.
    pub async fn take_counted(&self, key: &[u8], n: u64) -> Answer<(Run, Arc<Sequence>)> {
        let mut buffer = NameBuffer::default();
        let name = self.name(key, &mut buffer)?;
        self.who.check(Right::Allocate, What::Named(name))?;
        self.thread.service().spend(self.who, self.peer, n);
        self.must_exist(name).await?;
        self.thread.take_counted(name, n, &self.asker()).await
    }

    /// Takes one run that spans about `span`, of which the client is told the step too.
    ///
    /// # Errors
    /// As [`Keyed::take`]; [`Code::Exhausted`] when fewer are left before the bound.
    pub async fn take_spanning(&self, key: &[u8], span: u64) -> Answer<Run> {
        let mut buffer = NameBuffer::default();
        let name = self.name(key, &mut buffer)?;
        self.who.check(Right::Allocate, What::Named(name))?;
        self.must_exist(name).await?;
        let run = self.thread.take_spanning(name, span, &self.asker()).await?;
        self.thread.service().spend(self.who, self.peer, run.count);
        Ok(run)
    }

    /// Whether a key's sequence is there.
    ///
    /// # Errors
    /// [`Code::NotFound`]: it cannot have one; and what the store says.
    pub async fn exists(&self, key: &[u8]) -> Answer<bool> {
        let mut buffer = NameBuffer::default();
        let name = self.name(key, &mut buffer)?;
        self.thread.exists(name).await
    }

    /// What a key's sequence is.
    ///
    /// # Errors
    /// [`Code::NotFound`] for a key that is not known, and what the store says.
    pub async fn find(&self, key: &[u8]) -> Answer<SequenceInfo> {
        let mut buffer = NameBuffer::default();
        let name = self.name(key, &mut buffer)?;
        self.who.check(Right::Read, What::Named(name))?;
        let name = self.thread.service().name(name)?;
        self.thread.service().show(&name).await
    }

    /// The name of a key's sequence.
    ///
    /// # Errors
    /// [`Code::NotFound`]: it cannot have one; the log says why, once a minute.
    pub fn name<'b>(&self, key: &[u8], buffer: &'b mut NameBuffer) -> Answer<&'b [u8]> {
        joined(self.keys, key, buffer).ok_or_else(|| self.unknown(key, "it is empty or too long"))
    }

    /// Refuses a key whose sequence does not exist, where its first use may not make it.
    async fn must_exist(&self, name: &[u8]) -> Answer<()> {
        let known = Name::from_bytes(name).map_err(|error| self.unknown(name, &error.to_string()))?;
        if self.keys.create && self.who.may(Right::Allocate, What::Named(name))
            || self.thread.exists(name).await?
        {
            return Ok(());
        }
        Err(ServiceError::new(
            Code::NotFound,
            format!("there is no sequence {known}"),
        ))
    }

    fn unknown(&self, key: &[u8], why: &str) -> ServiceError {
        let shown: String = String::from_utf8_lossy(key).chars().take(80).collect();
        let log = self.thread.service().log();
        log.note_sent(Noise::NoName, format!("{shown:?}: {why}"), self.peer);
        ServiceError::new(
            Code::NotFound,
            format!("there is no sequence for {shown:?}: {why}"),
        )
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            token: self.who.name().into(),
            peer: self.peer,
        }
    }
}

/// The name of a key's sequence: the one that is listed for it, else the key behind the prefix. `None`: it is empty or too
/// long.
#[inline]
pub fn joined<'b>(keys: &Keys, key: &[u8], buffer: &'b mut NameBuffer) -> Option<&'b [u8]> {
    let listed = (!keys.names.0.is_empty())
        .then(|| keys.names.0.get(std::str::from_utf8(key).ok()?))
        .flatten();
    let fits = match listed {
        Some(name) => buffer.fill(&[name.as_str().as_bytes()]),
        None => !key.is_empty() && buffer.fill(&[keys.prefix.0.as_bytes(), key]),
    };
    fits.then(|| buffer.bytes())
}

/// The longest name of a key's sequence, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Where a name is put together.
#[derive(Debug)]
pub struct NameBuffer {
    bytes: [u8; NAME_BYTES_MAX],
    len: usize,
}

impl Default for NameBuffer {
    fn default() -> Self {
        NameBuffer {
            bytes: [0; NAME_BYTES_MAX],
            len: 0,
        }
    }
}

impl NameBuffer {
    fn fill(&mut self, parts: &[&[u8]]) -> bool {
        self.len = 0;
        for part in parts {
            let end = self.len + part.len();
            let Some(place) = self.bytes.get_mut(self.len..end) else {
                return false;
            };
            place.copy_from_slice(part);
            self.len = end;
        }
        true
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_put_together_within_its_length() {
        let mut buffer = NameBuffer::default();
        assert!(buffer.fill(&[b"leaf:", b"order"]));
        assert_eq!(buffer.bytes(), b"leaf:order");
        assert!(buffer.fill(&[&[b'x'; NAME_BYTES_MAX]]));
        assert!(!buffer.fill(&[b"p", &[b'x'; NAME_BYTES_MAX]]));
    }
}
