//! `SELECT nextval('s')` while numbers are in stock: no wait, no portal, and messages that repeat are one take.

use std::rc::Rc;

use super::backend;
use super::cache;
use super::frontend::{Bind, read_query};
use super::plan::{Statement, Target};
use super::portal::Rows;
use super::talk::Talk;
use super::types::{Formats, utf8};

impl Talk<'_> {
    /// Whether numbers may be taken without being asked for one by one.
    fn may_take_at_once(&self) -> bool {
        let client = &*self.client;
        !client.thread.service().has_limits() && !client.session.has_failed()
    }

    /// `Q` of nextval, as often as it follows itself; how many bytes were used. `None`: it is another, or must wait.
    pub(super) fn queries_at_once(&mut self, body: &[u8], len: usize, rest: &[u8]) -> Option<usize> {
        if !self.may_take_at_once() {
            return None;
        }
        let parsed = cache::parse(read_query(body).ok()?, &self.client.config);
        let [statement] = parsed.as_ref().as_ref().ok()?.as_slice() else {
            return None;
        };
        let target = statement.next.as_ref()?;
        let taken = self.take_repeated(target, rest, len)?;
        self.client.session.portals.take("");
        self.client.session.statements.take("");
        let columns = statement.columns.as_deref().unwrap_or_default();
        let status = self.client.session.status();
        for number in taken.iter() {
            backend::row_description(self.out, columns, &Formats::Text);
            backend::number_row(self.out, number, false);
            self.out.extend_from_slice(backend::SELECT_1);
            backend::ready(self.out, status);
        }
        self.count(taken.count);
        Some(len * taken.count as usize)
    }

    /// Bind, Describe if it is there, and Execute of nextval, with their Sync or without, as often as they follow each
    /// other.
    pub(super) fn runs_at_once(&mut self, body: &[u8], len: usize, rest: &[u8]) -> Option<usize> {
        if !self.may_take_at_once() {
            return None;
        }
        let bind = Bind::read(body).ok()?;
        if !bind.portal.is_empty() || bind.parameter_count > 1 {
            return None;
        }
        let prepared = self.prepared(bind.statement).ok()?;
        let (statement, plan) = (Rc::clone(prepared.statement.as_ref()?), Rc::clone(&prepared.plan));
        // Texts are the same in both formats.
        let is_text = |oid: &u32| matches!(oid, 0 | 19 | 25 | 705 | 1043);
        if prepared.parameters.len() != bind.parameter_count || !prepared.parameters.iter().all(is_text) {
            return None;
        }
        Formats::of_codes(bind.formats, bind.parameter_count, "parameter").ok()?;
        let target = self.target_of(&statement, &bind)?;
        let formats = Formats::of_codes(bind.results, 1, "result").ok()?;
        let behind = Behind::read(rest.get(len..)?)?;
        let unit = len + behind.len;
        // The portal is there until the transaction ends, and has no more rows.
        self.client.session.portals.take("");
        let of = (Rc::clone(&statement), plan);
        let portal = self.client.session.portal("", of, Rc::default(), formats.clone());
        let mut portal = portal.ok()?;
        let taken = self.take_repeated(&target, rest, unit)?;
        let columns = statement.columns.as_deref().unwrap_or_default();
        let (binary, status) = (formats.is_binary(0), self.client.session.status());
        for number in taken.iter() {
            self.out.extend_from_slice(backend::BIND_COMPLETE);
            if behind.describes {
                backend::row_description(self.out, columns, &formats);
            }
            backend::number_row(self.out, number, binary);
            self.out.extend_from_slice(backend::SELECT_1);
            if behind.syncs {
                backend::ready(self.out, status);
            }
        }
        portal.rows = Rows::Done;
        self.client.session.portals.put("", portal);
        if behind.syncs {
            self.client.session.sync();
        }
        self.count(taken.count);
        Some(unit * taken.count as usize)
    }

    /// The sequence that a statement takes one number of: the one that it names, or that its one parameter does.
    fn target_of(&self, statement: &Statement, bind: &Bind<'_>) -> Option<Target> {
        match (&statement.next, bind.parameter_count) {
            (Some(target), 0) => Some(target.clone()),
            (None, 1) if statement.takes_next_of_parameter() => {
                let name = utf8(bind.parameters().next()??).ok()?;
                Target::of_text(
                    name,
                    &self.client.config.faces.get::<crate::postgres::Settings>().keys,
                )
                .ok()
            }
            _ => None,
        }
    }

    /// Takes as many numbers as the first `len` bytes follow each other, as far as they are in stock.
    fn take_repeated(&mut self, target: &Target, rest: &[u8], len: usize) -> Option<mintage::Run> {
        let (first, others) = rest.split_at_checked(len)?;
        let again = others.chunks_exact(len).take_while(|next| *next == first).count() as u64;
        let count = (again + 1).min(self.client.config.turn_ids.max(1));
        self.client.try_next(target, count)
    }
}

/// What is behind a Bind of the portal without a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Behind {
    len: usize,
    describes: bool,
    syncs: bool,
}

impl Behind {
    /// `None`: it is not run at once, to its end.
    fn read(rest: &[u8]) -> Option<Behind> {
        let after = rest.strip_prefix(DESCRIBE);
        let describes = after.is_some();
        let after = after.unwrap_or(rest).strip_prefix(EXECUTE)?;
        let (after, syncs) = match after.strip_prefix(SYNC) {
            Some(after) => (after, true),
            None => (after, false),
        };
        Some(Behind {
            len: rest.len() - after.len(),
            describes,
            syncs,
        })
    }
}

/// Of the portal without a name.
const DESCRIBE: &[u8] = b"D\0\0\0\x06P\0";
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
const SYNC: &[u8] = b"S\0\0\0\x04";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_bind_is_found() {
        let behind = |parts: &[&[u8]]| Behind::read(&parts.concat());
        let of = |len, describes, syncs| {
            Some(Behind {
                len,
                describes,
                syncs,
            })
        };
        assert_eq!(behind(&[EXECUTE]), of(10, false, false));
        assert_eq!(behind(&[EXECUTE, SYNC, EXECUTE]), of(15, false, true));
        assert_eq!(behind(&[DESCRIBE, EXECUTE, SYNC]), of(22, true, true));
        for other in [
            &[][..],
            &[DESCRIBE],
            &[SYNC],
            &[b"E\0\0\0\x09\0\0\0\0\x01"],
            &[b"E\0\0\0\x0ac\0\0\0\0\0"],
        ] {
            assert_eq!(behind(other), None);
        }
    }
}
