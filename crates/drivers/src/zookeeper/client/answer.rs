//! What servers answer, read from bytes: a number, a transaction and an error, and the record of what was asked.
//!
//! ```text
//!   xid  4    zxid  8    err  4    record …
//! ```
//!
//! Source: `zookeeper.jute` (records `ReplyHeader`, `Stat`, `GetDataResponse` and so on), `MultiResponse` for lists of
//! results.

use super::acl::Acl;
use super::error::Code;
use super::jute::{Input, Malformed, malformed};
use super::numbers::kind;

/// A record that a server answers with.
pub trait Answer: Sized {
    /// Reads it; what follows is left.
    ///
    /// # Errors
    /// The bytes are another record, or none.
    fn read(input: &mut Input<'_>) -> Result<Self, Malformed>;
}

/// In front of every answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The number of the request.
    pub xid: i32,
    /// The newest transaction that the server has: that of a write, if it is an answer to one.
    pub zxid: i64,
    /// Whether the request was served; if not, no record follows.
    pub outcome: Result<(), Code>,
}

impl Answer for Header {
    fn read(input: &mut Input<'_>) -> Result<Header, Malformed> {
        Ok(Header {
            xid: input.int()?,
            zxid: input.long()?,
            outcome: match input.int()? {
                0 => Ok(()),
                code => Err(Code(code)),
            },
        })
    }
}

/// About a node: what is used of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The transaction that made it.
    pub czxid: i64,
    /// How often its data were changed.
    pub version: i32,
    /// How often children of it were made or removed.
    pub cversion: i32,
}

impl Answer for Stat {
    fn read(input: &mut Input<'_>) -> Result<Stat, Malformed> {
        let czxid = input.long()?;
        // The transaction of the last change; when it was made and changed.
        input.bytes(3 * 8)?;
        let (version, cversion) = (input.int()?, input.int()?);
        // How often its access list was changed; its session; how many bytes and children it has; the transaction of
        // the last change of its children.
        input.bytes(4 + 8 + 2 * 4 + 8)?;
        Ok(Stat {
            czxid,
            version,
            cversion,
        })
    }
}

/// Nothing that is used: an empty record, or a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Empty;

impl Answer for Empty {
    fn read(input: &mut Input<'_>) -> Result<Empty, Malformed> {
        match input.rest() {
            0 => Ok(Empty),
            _ => input.text().map(|_| Empty),
        }
    }
}

/// What a node holds, and about it.
pub type Data = (Vec<u8>, Stat);

impl Answer for Data {
    fn read(input: &mut Input<'_>) -> Result<Data, Malformed> {
        let data = input.buffer()?;
        Ok((data.to_vec(), Stat::read(input)?))
    }
}

/// The names of a node's children, in no order, and about the node.
pub type Children = (Vec<String>, Stat);

impl Answer for Children {
    fn read(input: &mut Input<'_>) -> Result<Children, Malformed> {
        Ok((names(input)?, Stat::read(input)?))
    }
}

fn names(input: &mut Input<'_>) -> Result<Vec<String>, Malformed> {
    input.list(4, |input| input.text().map(str::to_string))
}

impl Answer for Vec<Acl> {
    fn read(input: &mut Input<'_>) -> Result<Vec<Acl>, Malformed> {
        let acls = input.list(12, |input| {
            let rights = input.int()?;
            Ok(Acl::new(rights, input.text()?, input.text()?))
        })?;
        Stat::read(input)?;
        Ok(acls)
    }
}

/// One result of a [`multi_read`](super::multi_read).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// What a node holds, and about it.
    Data(Vec<u8>, Stat),
    /// The names of a node's children.
    Children(Vec<String>),
    /// Why this read was not served; the others are.
    Refused(Code),
}

impl Answer for Vec<Read> {
    fn read(input: &mut Input<'_>) -> Result<Vec<Read>, Malformed> {
        results(input, |kind, input| match kind {
            kind::GET_DATA => Data::read(input).map(|(data, stat)| Read::Data(data, stat)),
            kind::GET_CHILDREN => names(input).map(Read::Children),
            kind::ERROR => Ok(Read::Refused(Code(input.int()?))),
            other => malformed(format!("a result of kind {other} among reads")),
        })
    }
}

/// What became of each part of a [`Multi`](super::Multi): its kind, or an error, which is 0 for a part that failed
/// only because another one did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts(pub Vec<Result<i32, Code>>);

impl Answer for Parts {
    fn read(input: &mut Input<'_>) -> Result<Parts, Malformed> {
        results(input, |kind, input| {
            match kind {
                kind::CREATE => input.text().map(drop)?,
                kind::SET_DATA => Stat::read(input).map(drop)?,
                kind::DELETE | kind::CHECK => {}
                kind::ERROR => return Ok(Err(Code(input.int()?))),
                other => return malformed(format!("a result of kind {other} among writes")),
            }
            Ok(Ok(kind))
        })
        .map(Parts)
    }
}

/// Results, each behind a header that says of what kind it is, and a header that says that they end.
fn results<T>(
    input: &mut Input<'_>,
    mut one: impl FnMut(i32, &mut Input<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut all = Vec::new();
    loop {
        let (kind, done) = (input.int()?, input.boolean()?);
        // The error, which stands behind the header of kind -1 once more.
        input.int()?;
        if done {
            return Ok(all);
        }
        all.push(one(kind, input)?);
    }
}

/// The end of a [`Multi`](super::Multi).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Committed {
    /// All was done, and the server has come to this transaction: its own, or one after it.
    Done(i64),
    /// Nothing was done.
    Refused {
        /// Which part, from 0.
        index: usize,
        /// Why.
        code: Code,
    },
}

impl Parts {
    /// Judges the results of parts of these kinds.
    pub(super) fn judge(&self, kinds: &[i32], zxid: i64) -> Result<Committed, Malformed> {
        if self.0.len() != kinds.len() {
            return malformed(format!("{} results of {} writes", self.0.len(), kinds.len()));
        }
        let done = self.0.iter().zip(kinds).all(|(part, kind)| *part == Ok(*kind));
        if done {
            return Ok(Committed::Done(zxid));
        }
        let failed = |part: &Result<i32, Code>| part.is_err_and(|code| code.0 != 0);
        match (self.0.iter().all(Result::is_err), self.0.iter().position(failed)) {
            (true, Some(index)) => Ok(Committed::Refused {
                index,
                code: self.0[index].expect_err("it failed"),
            }),
            _ => malformed("writes of which some were done, or none failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::jute::Output;
    use super::*;

    fn written(fill: impl FnOnce(&mut Output)) -> Vec<u8> {
        let mut out = Output::default();
        fill(&mut out);
        out.0
    }

    /// The eleven fields of a node's stat, told apart by their values.
    fn stat(out: &mut Output) {
        (1..=4).for_each(|n| out.long(n));
        (5..=7).for_each(|n| out.int(n));
        out.long(8);
        (9..=10).for_each(|n| out.int(n));
        out.long(11);
    }

    const STAT: Stat = Stat {
        czxid: 1,
        version: 5,
        cversion: 6,
    };

    /// Whole it is read, and no shorter part of it is; a byte more is left over.
    #[track_caller]
    fn check<A: Answer + PartialEq + std::fmt::Debug>(bytes: &[u8], expected: A) {
        for end in 0..bytes.len() {
            assert!(
                A::read(&mut Input(&bytes[..end])).is_err(),
                "{end} of {} bytes",
                bytes.len()
            );
        }
        let more = [bytes, &[0]].concat();
        let mut input = Input(&more);
        assert_eq!(A::read(&mut input), Ok(expected));
        assert_eq!(input.rest(), 1);
    }

    #[test]
    fn records_are_read_whole_or_not_at_all() {
        check(&written(stat), STAT);
        let data = written(|out| {
            out.buffer(b"xyz");
            stat(out);
        });
        check(&data, (b"xyz".to_vec(), STAT));
        let children = written(|out| {
            out.count(2);
            out.buffer(b"a");
            out.buffer(b"");
            stat(out);
        });
        check(&children, (vec!["a".to_string(), String::new()], STAT));
        let acls = written(|out| {
            out.count(1);
            out.int(31);
            out.buffer(b"world");
            out.buffer(b"anyone");
            stat(out);
        });
        check(&acls, vec![Acl::anyone()]);
        let header = written(|out| {
            out.int(7);
            out.long(8);
            out.int(-101);
        });
        let outcome = Err(Code::NO_NODE);
        check(
            &header,
            Header {
                xid: 7,
                zxid: 8,
                outcome,
            },
        );
    }

    fn part(out: &mut Output, kind: i32, done: bool) {
        out.int(kind);
        out.boolean(done);
        out.int(if done { -1 } else { 0 });
    }

    #[test]
    fn reads_of_one_moment_are_read_in_order() {
        let bytes = written(|out| {
            part(out, kind::GET_DATA, false);
            out.buffer(b"x");
            stat(out);
            part(out, kind::ERROR, false);
            out.int(-101);
            part(out, kind::GET_CHILDREN, false);
            out.count(1);
            out.buffer(b"a");
            part(out, -1, true);
        });
        check(
            &bytes,
            vec![
                Read::Data(b"x".to_vec(), STAT),
                Read::Refused(Code::NO_NODE),
                Read::Children(vec!["a".to_string()]),
            ],
        );
        let write = written(|out| part(out, kind::DELETE, false));
        assert!(<Vec<Read>>::read(&mut Input(&write)).is_err());
    }

    #[test]
    fn writes_are_done_together_or_refused_together() {
        let kinds = [kind::CHECK, kind::CREATE, kind::SET_DATA, kind::DELETE];
        let bytes = written(|out| {
            part(out, kind::CHECK, false);
            part(out, kind::CREATE, false);
            out.buffer(b"/a");
            part(out, kind::SET_DATA, false);
            stat(out);
            part(out, kind::DELETE, false);
            part(out, -1, true);
        });
        check(&bytes, Parts(kinds.map(Ok).to_vec()));
        let judged = |parts: &[Result<i32, i32>]| {
            let parts = parts.iter().map(|part| part.map_err(Code)).collect();
            Parts(parts).judge(&kinds, 9)
        };
        assert_eq!(judged(&kinds.map(Ok)), Ok(Committed::Done(9)));
        let refused = |index, code| Ok(Committed::Refused { index, code });
        assert_eq!(
            judged(&[Err(0), Err(-101), Err(-2), Err(-2)]),
            refused(1, Code::NO_NODE)
        );
        assert_eq!(
            judged(&[Err(-103), Err(-2), Err(-2), Err(-2)]),
            refused(0, Code::BAD_VERSION)
        );
        // Too few, too many, another kind, half done, failed without a reason.
        for parts in [
            &kinds.map(Ok)[..3],
            &[kinds.map(Ok).as_slice(), &[Ok(2)]].concat(),
            &[Ok(13), Ok(1), Ok(2), Ok(2)],
            &[Ok(13), Err(-101), Err(-2), Err(-2)],
            &[Err(0), Err(0), Err(0), Err(0)],
            &[],
        ] {
            assert!(judged(parts).is_err(), "{parts:?}");
        }
    }
}
