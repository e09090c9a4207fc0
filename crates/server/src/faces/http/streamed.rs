//! Bodies that are made while they are sent, beside those that are whole.

use std::rc::Rc;

use http_body_util::{Either, Full};
use hyper::body::Bytes;
use mintage_wire::Op;

use super::backup::{self, Pages};
use super::live::Events;
use crate::faces::web::answer::{Response, Streamed};
use crate::faces::web::io::One;
use crate::thread::ServingThread;
use crate::watch::Watch;

/// What any answer consists of.
pub(super) type AnyBody = Either<Either<Pages, Events>, Full<Bytes>>;

/// Whether what is answered at a path may be such a body: its length is not known, so hyper frames it.
pub(super) fn is_at(path: &str) -> bool {
    [Op::Backup, Op::WatchLive].iter().any(|op| op.row().path == path)
}

/// An answer for hyper, with its body; `one` is answered once hyper has all of it.
pub(super) fn for_hyper(
    mut response: Response,
    thread: &Rc<ServingThread>,
    watch: Rc<Watch>,
    one: Rc<One>,
) -> hyper::Response<AnyBody> {
    let body = match response.take_streamed() {
        Some(Streamed::Backup) => backup::pages(thread, watch, Rc::clone(&one)).map(Either::Left),
        Some(Streamed::Live(who)) => {
            let events = Events::new(Rc::clone(thread), who, watch, Rc::clone(&one));
            Some(Either::Right(events))
        }
        None => None,
    };
    let response = response.for_hyper();
    match body {
        Some(body) => response.map(|_| Either::Left(body)),
        None => {
            one.answered.set(true);
            response.map(Either::Right)
        }
    }
}
