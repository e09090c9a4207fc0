//! What is asked, in bytes: a frame's length, a number and a kind, and the record of the kind.
//!
//! ```text
//!   length  4    xid  4    kind  4    record …
//! ```
//!
//! Source: `zookeeper.jute` (records `RequestHeader`, `GetDataRequest` and so on), `ZooDefs.OpCode` for the kinds.

use std::marker::PhantomData;

use super::acl::Acl;
use super::answer::{Children, Data, Empty, Read, Stat};
use super::error::{Error, REQUEST_BYTES_MAX};
use super::jute::Output;
use super::numbers::{kind, xid};

/// A request whose answer is an `A`.
#[must_use = "nothing is asked until a client sends it"]
pub struct Request<A> {
    pub(super) frame: Result<Vec<u8>, Error>,
    answer: PhantomData<fn() -> A>,
}

/// Where the number of a request stands in its frame.
pub(super) const XID_AT: std::ops::Range<usize> = 4..8;

/// A frame without a header around what `fill` writes.
pub(super) fn framed(fill: impl FnOnce(&mut Output)) -> Vec<u8> {
    let mut out = Output::default();
    out.int(0);
    fill(&mut out);
    let length = i32::try_from(out.0.len() - 4).unwrap_or(i32::MAX);
    out.0[..4].copy_from_slice(&length.to_be_bytes());
    out.0
}

/// A frame with a header.
fn frame(xid: i32, kind: i32, fill: impl FnOnce(&mut Output)) -> Vec<u8> {
    framed(|out| {
        out.int(xid);
        out.int(kind);
        fill(out);
    })
}

/// The connection gives the number when it sends the request.
fn request<A>(kind: i32, fill: impl FnOnce(&mut Output)) -> Request<A> {
    let frame = frame(0, kind, fill);
    Request {
        frame: match frame.len() - 4 {
            length if length > REQUEST_BYTES_MAX => Err(Error::TooLong(length)),
            _ => Ok(frame),
        },
        answer: PhantomData,
    }
}

pub(super) fn ping() -> Vec<u8> {
    frame(xid::PING, kind::PING, |_| {})
}

pub(super) fn close_session() -> Vec<u8> {
    frame(0, kind::CLOSE_SESSION, |_| {})
}

/// Tells who asks: `secret` is `USER:PASSWORD` in scheme `digest`.
pub(super) fn auth(scheme: &str, secret: &[u8]) -> Vec<u8> {
    frame(xid::AUTH, kind::AUTH, |out| {
        out.int(0);
        out.buffer(scheme.as_bytes());
        out.buffer(secret);
    })
}

/// Requests that follow it on its connection see all that any server had acknowledged before.
pub fn sync(path: &str) -> Request<Empty> {
    request(kind::SYNC, |out| out.buffer(path.as_bytes()))
}

/// What a node holds, and about it.
pub fn get_data(path: &str) -> Request<Data> {
    request(kind::GET_DATA, |out| watched(out, path))
}

/// The names of a node's children, and about the node.
pub fn get_children(path: &str) -> Request<Children> {
    request(kind::GET_CHILDREN_2, |out| watched(out, path))
}

/// About a node: [`Code::NO_NODE`](super::Code::NO_NODE) where there is none.
pub fn exists(path: &str) -> Request<Stat> {
    request(kind::EXISTS, |out| watched(out, path))
}

/// Who may do what with a node.
pub fn get_acl(path: &str) -> Request<Vec<Acl>> {
    request(kind::GET_ACL, |out| out.buffer(path.as_bytes()))
}

/// Says who may do what with a node.
pub fn set_acl(path: &str, acls: &[Acl]) -> Request<Stat> {
    request(kind::SET_ACL, |out| {
        out.buffer(path.as_bytes());
        list(out, acls);
        out.int(ANY_VERSION);
    })
}

/// Makes a node that lasts.
pub fn create(path: &str, data: &[u8], acls: &[Acl]) -> Request<Empty> {
    request(kind::CREATE, |out| new_node(out, path, data, acls))
}

/// Changes what a node holds, if it has this version; `None`: whatever version it has.
pub fn set_data(path: &str, data: &[u8], version: Option<i32>) -> Request<Stat> {
    request(kind::SET_DATA, |out| new_data(out, path, data, version))
}

/// Removes a node without children, if it has this version; `None`: whatever version it has.
pub fn delete(path: &str, version: Option<i32>) -> Request<Empty> {
    request(kind::DELETE, |out| at_version(out, path, version))
}

/// Several reads at one moment, from ZooKeeper 3.6 on.
pub fn multi_read<'a>(reads: impl IntoIterator<Item = Ask<'a>>) -> Request<Vec<Read>> {
    request(kind::MULTI_READ, |out| {
        for read in reads {
            let (kind, path) = match read {
                Ask::Data(path) => (kind::GET_DATA, path),
                Ask::Children(path) => (kind::GET_CHILDREN, path),
            };
            multi_header(out, kind, false);
            watched(out, path);
        }
        multi_header(out, -1, true);
    })
}

/// One read of [`multi_read`].
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// What the node of this path holds.
    Data(&'a str),
    /// The names of its children.
    Children(&'a str),
}

/// Several writes that are done together or not at all.
#[derive(Default)]
#[must_use = "nothing is asked until a client sends it"]
pub struct Multi {
    parts: Output,
    /// The kinds of the parts, which the results must have, too.
    pub(super) kinds: Vec<i32>,
}

impl Multi {
    /// The node has this version.
    pub fn check(mut self, path: &str, version: i32) -> Multi {
        at_version(self.part(kind::CHECK), path, Some(version));
        self
    }

    /// As [`create`].
    pub fn create(mut self, path: &str, data: &[u8], acls: &[Acl]) -> Multi {
        new_node(self.part(kind::CREATE), path, data, acls);
        self
    }

    /// As [`set_data`].
    pub fn set_data(mut self, path: &str, data: &[u8], version: Option<i32>) -> Multi {
        new_data(self.part(kind::SET_DATA), path, data, version);
        self
    }

    /// As [`delete`].
    pub fn delete(mut self, path: &str, version: Option<i32>) -> Multi {
        at_version(self.part(kind::DELETE), path, version);
        self
    }

    fn part(&mut self, kind: i32) -> &mut Output {
        self.kinds.push(kind);
        multi_header(&mut self.parts, kind, false);
        &mut self.parts
    }

    pub(super) fn request<A>(&self) -> Request<A> {
        request(kind::MULTI, |out| {
            out.0.extend(&self.parts.0);
            multi_header(out, -1, true);
        })
    }
}

fn multi_header(out: &mut Output, kind: i32, done: bool) {
    out.int(kind);
    out.boolean(done);
    out.int(-1);
}

/// A path, and no watch on it.
fn watched(out: &mut Output, path: &str) {
    out.buffer(path.as_bytes());
    out.boolean(false);
}

const ANY_VERSION: i32 = -1;

fn at_version(out: &mut Output, path: &str, version: Option<i32>) {
    out.buffer(path.as_bytes());
    out.int(version.unwrap_or(ANY_VERSION));
}

fn new_data(out: &mut Output, path: &str, data: &[u8], version: Option<i32>) {
    out.buffer(path.as_bytes());
    out.buffer(data);
    out.int(version.unwrap_or(ANY_VERSION));
}

/// With no flag: neither ephemeral nor sequential.
fn new_node(out: &mut Output, path: &str, data: &[u8], acls: &[Acl]) {
    out.buffer(path.as_bytes());
    out.buffer(data);
    list(out, acls);
    out.int(0);
}

fn list(out: &mut Output, acls: &[Acl]) {
    out.count(acls.len());
    for acl in acls {
        out.int(acl.rights);
        out.buffer(acl.scheme.as_bytes());
        out.buffer(acl.id.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame in hexadecimal digits, with blanks between its parts.
    #[track_caller]
    fn check(frame: &[u8], parts: &str) {
        let digits: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digits, parts.replace(' ', ""));
    }

    /// As ZooKeeper's own client writes them: each line of a frame is the header, then the record.
    #[test]
    fn requests_are_written_as_servers_read_them() {
        let sent = |request: Request<Stat>| request.frame.unwrap();
        let none = |request: Request<Empty>| request.frame.unwrap();
        let acls = [Acl::anyone()];
        let list = "00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65";
        check(&none(sync("/")), "0000000d 00000000 00000009 00000001 2f");
        check(&sent(exists("/a")), "0000000f 00000000 00000003 00000002 2f61 00");
        check(
            &get_data("/a").frame.unwrap(),
            "0000000f 00000000 00000004 00000002 2f61 00",
        );
        check(
            &get_children("/a").frame.unwrap(),
            "0000000f 00000000 0000000c 00000002 2f61 00",
        );
        check(
            &get_acl("/a").frame.unwrap(),
            "0000000e 00000000 00000006 00000002 2f61",
        );
        check(
            &sent(set_acl("/a", &acls)),
            &format!("0000002d 00000000 00000007 00000002 2f61 {list} ffffffff"),
        );
        check(
            &none(create("/a", b"xyz", &acls)),
            &format!("00000034 00000000 00000001 00000002 2f61 00000003 78797a {list} 00000000"),
        );
        check(
            &sent(set_data("/a", b"x", Some(7))),
            "00000017 00000000 00000005 00000002 2f61 00000001 78 00000007",
        );
        check(
            &sent(set_data("/a", b"", None)),
            "00000016 00000000 00000005 00000002 2f61 00000000 ffffffff",
        );
        check(
            &none(delete("/a", Some(0))),
            "00000012 00000000 00000002 00000002 2f61 00000000",
        );
        check(
            &none(delete("/a", None)),
            "00000012 00000000 00000002 00000002 2f61 ffffffff",
        );
    }

    #[test]
    fn requests_of_several_parts_end_in_a_header_that_says_so() {
        let end = "ffffffff 01 ffffffff";
        let reads = multi_read([Ask::Data("/a"), Ask::Children("/b")]);
        check(
            &reads.frame.unwrap(),
            &format!(
                "00000031 00000000 00000016 00000004 00 ffffffff 00000002 2f61 00 \
                 00000008 00 ffffffff 00000002 2f62 00 {end}"
            ),
        );
        let multi = Multi::default()
            .check("/a", 3)
            .create("/b", b"", &[])
            .set_data("/c", b"x", Some(1))
            .delete("/d", Some(2));
        check(
            &multi.request::<Empty>().frame.unwrap(),
            &format!(
                "0000006a 00000000 0000000e 0000000d 00 ffffffff 00000002 2f61 00000003 \
                 00000001 00 ffffffff 00000002 2f62 00000000 00000000 00000000 \
                 00000005 00 ffffffff 00000002 2f63 00000001 78 00000001 \
                 00000002 00 ffffffff 00000002 2f64 00000002 {end}"
            ),
        );
        assert_eq!(multi.kinds, [13, 1, 5, 2]);
    }

    #[test]
    fn what_nobody_asks_for_has_numbers_of_its_own() {
        check(&ping(), "00000008 fffffffe 0000000b");
        check(&close_session(), "00000008 00000000 fffffff5");
        check(
            &auth("digest", b"a:b"),
            "0000001d fffffffc 00000064 00000000 00000006 646967657374 00000003 613a62",
        );
    }

    #[test]
    fn a_request_that_no_server_takes_is_not_made() {
        let data = vec![0; REQUEST_BYTES_MAX];
        let room = REQUEST_BYTES_MAX - (8 + 4 + 2 + 4 + 4);
        assert!(set_data("/a", &data[..room], None).frame.is_ok());
        let error = set_data("/a", &data[..=room], None).frame.unwrap_err();
        assert_eq!(error, Error::TooLong(REQUEST_BYTES_MAX + 1));
        let error = Multi::default()
            .set_data("/a", &data, None)
            .request::<Empty>()
            .frame;
        assert!(matches!(error, Err(Error::TooLong(_))));
    }
}
