//! `/v1/live`, `/v1/history`: how the server fares, and how it fared.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame};
use mintage_wire::History;
use tokio::sync::watch::Receiver;

use super::request::Query;
use crate::auth::Identity;
use crate::faces::web::answer::{Response, Streamed};
use crate::faces::web::head::Head;
use crate::faces::web::io::One;
use crate::opening::node_name;
use crate::service::Answer;
use crate::thread::ServingThread;
use crate::watch::{Waiting, Watch};

/// `GET /v1/history?range=10m|2h|24h`
pub(super) async fn history(thread: &Rc<ServingThread>, query: &Query<'_>) -> Answer<Response> {
    let range = match query.get("range")? {
        None => "10m".to_string(),
        // The table has those that there are.
        Some(range) => String::from_utf8_lossy(&range).into_owned(),
    };
    let shown = thread.service().aside(async move |service| {
        let (step_s, until_ms, series) = service.history().shown(&range).unwrap_or_default();
        let history = History {
            server: node_name(&service.config()),
            started_ms: service.history().started_ms(),
            step_s,
            until_ms,
            series,
        };
        Ok(Response::json(StatusCode::OK, &history))
    });
    shown.await
}

/// `GET /v1/live`: the answer without its body, which [`Events`] is.
pub(super) fn watch(head: &Head<'_>, who: &Identity) -> Response {
    const MEDIA: &str = "text/event-stream";
    match head.method {
        // Over HTTP/2 a body would be sent all the same.
        "HEAD" => Response::new(StatusCode::OK, MEDIA, ""),
        _ => Response::streamed(StatusCode::OK, MEDIA, Streamed::Live(who.clone())),
    }
}

type Next = Pin<Box<dyn Future<Output = Option<Receiver<Bytes>>>>>;

/// Waits for the next event; `None`: there are none any more.
fn next(mut events: Receiver<Bytes>) -> Next {
    Box::pin(async move { events.changed().await.ok().map(|()| events) })
}

/// The events as a body. All who read share the text of an event; who does not read gets no further one, and is cut off
/// after `server.write_timeout`.
pub(super) struct Events {
    thread: Rc<ServingThread>,
    who: Identity,
    watch: Rc<Watch>,
    one: Rc<One>,
    /// `None` after the last.
    next: Option<Next>,
}

impl Events {
    /// Begins with the last event, so that nobody waits for the first.
    pub(super) fn new(thread: Rc<ServingThread>, who: Identity, watch: Rc<Watch>, one: Rc<One>) -> Events {
        let mut events = thread.service().history().watch();
        if !events.borrow().is_empty() {
            events.mark_changed();
        }
        Events {
            thread,
            who,
            watch,
            one,
            next: Some(next(events)),
        }
    }

    /// Whether it goes on: the server serves, and the reader may read.
    fn goes_on(&self) -> bool {
        self.watch.peek().is_none() && self.thread.service().tokens().holds(&self.who)
    }

    fn end(&mut self) {
        self.next = None;
        self.one.answered.set(true);
        self.watch.wait_for(Waiting::Request);
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        while let Some(waited) = &mut self.next {
            let come = waited.as_mut().poll(cx);
            if !self.goes_on() {
                break;
            }
            let mut events = match come {
                Poll::Ready(Some(events)) => events,
                Poll::Ready(None) => break,
                Poll::Pending => {
                    // While the reader is waited for, its deadline stays.
                    if self.watch.waiting() != Waiting::Writing {
                        self.watch.wait_for(Waiting::Nothing);
                    }
                    return Poll::Pending;
                }
            };
            let event = events.borrow_and_update().clone();
            self.next = Some(next(events));
            // Whoever has not read the last one yet misses this one.
            if self.watch.waiting() != Waiting::Writing {
                return Poll::Ready(Some(Ok(Frame::data(event))));
            }
        }
        if self.next.is_some() {
            self.end();
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Waker;

    use mintage_ledger::{Ledger, LedgerSettings, StoreSettings, SystemRuntime, open_store};

    use super::*;
    use crate::auth::{Proof, Right, Token, TokenDigest};
    use crate::config::Config;
    use crate::faces::web::health_deadlines;
    use crate::faces::web::strict::Framing;
    use crate::service::Service;
    use crate::thread::Shared;
    use crate::watch::{Verdict, WatchedConnection};

    async fn thread() -> Rc<ServingThread> {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let ledger = Ledger::open(store, LedgerSettings::default(), runtime).await;
        let service = Service::new(ledger.unwrap(), Arc::new(Config::default()));
        ServingThread::new(Shared::new(service), 0, 1, 1024)
    }

    fn watch(thread: &Rc<ServingThread>) -> WatchedConnection {
        thread.watches().add(health_deadlines(&thread.config()))
    }

    fn events(thread: &Rc<ServingThread>, who: Identity, watch: &Rc<Watch>) -> Events {
        let one = Rc::new(One::new(Vec::new(), Framing::Bytes(0)));
        Events::new(Rc::clone(thread), who, Rc::clone(watch), one)
    }

    fn tell(thread: &ServingThread, event: &'static str) {
        thread.service().history().tell(Bytes::from(event));
    }

    /// What comes now: an event, `None` at the end.
    fn poll(events: &mut Events) -> Poll<Option<Bytes>> {
        let polled = Pin::new(events).poll_frame(&mut Context::from_waker(Waker::noop()));
        polled.map(|frame| frame.map(|frame| frame.unwrap().into_data().unwrap()))
    }

    fn is(event: &'static str) -> Poll<Option<Bytes>> {
        Poll::Ready(Some(Bytes::from(event)))
    }

    #[tokio::test]
    async fn the_last_event_comes_at_once_and_the_others_as_they_are_told() {
        let thread = thread().await;
        let watch = watch(&thread);
        let mut early = events(&thread, Identity::ANYBODY, &watch);
        assert_eq!(poll(&mut early), Poll::Pending, "there is none yet");
        tell(&thread, "1");
        assert_eq!(poll(&mut early), is("1"));
        let mut late = events(&thread, Identity::ANYBODY, &watch);
        assert_eq!(poll(&mut late), is("1"));
        assert_eq!(poll(&mut late), Poll::Pending);
        tell(&thread, "2");
        assert_eq!((poll(&mut early), poll(&mut late)), (is("2"), is("2")));
    }

    #[tokio::test]
    async fn whoever_does_not_read_misses_events_and_keeps_the_deadline() {
        let thread = thread().await;
        let watch = watch(&thread);
        let mut slow = events(&thread, Identity::ANYBODY, &watch);
        tell(&thread, "1");
        assert_eq!(poll(&mut slow), is("1"));
        watch.wait_for(Waiting::Writing);
        for event in ["2", "3", "4"] {
            tell(&thread, event);
            assert_eq!(poll(&mut slow), Poll::Pending);
            assert_eq!(watch.waiting(), Waiting::Writing);
        }
        watch.wait_for(Waiting::Request);
        tell(&thread, "5");
        assert_eq!(poll(&mut slow), is("5"));
        assert_eq!(poll(&mut slow), Poll::Pending);
        assert_eq!(watch.waiting(), Waiting::Nothing, "who reads may wait for ever");
    }

    #[tokio::test]
    async fn a_stop_ends_it() {
        let thread = thread().await;
        let watch = watch(&thread);
        let mut reader = events(&thread, Identity::ANYBODY, &watch);
        assert_eq!(poll(&mut reader), Poll::Pending);
        thread.watches().stop(Verdict::Stopping);
        assert_eq!(poll(&mut reader), Poll::Ready(None));
        assert!(reader.one.answered.get());
    }

    // claim: P71
    #[tokio::test]
    async fn a_revoked_token_ends_it() {
        let thread = thread().await;
        let tokens = thread.service().tokens();
        let web = Token {
            name: "web".into(),
            shows: Proof::Digest(TokenDigest::of(b"secret")),
            may: vec![Right::Read.into()],
            faces: None,
            until: None,
            rates: Default::default(),
            sql: Default::default(),
        };
        tokens.replace(vec![web], true);
        let who = tokens.identify(b"secret", "http").unwrap();
        let watch = watch(&thread);
        let mut reader = events(&thread, who, &watch);
        tell(&thread, "1");
        assert_eq!(poll(&mut reader), is("1"));
        tokens.replace(vec![], true);
        tell(&thread, "2");
        assert_eq!(poll(&mut reader), Poll::Ready(None));
    }
}
