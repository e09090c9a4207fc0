//! `GET /v1/backup`: the store as a backup, page by page, while ids are given out.
//!
//! An answer that is cut off lacks its last chunk, and its last line with the sum: whoever reads it knows that it is
//! no backup.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame};
use mintage_ledger::tools::BackupLines;
use mintage_ledger::{Ledger, LedgerError};

use crate::error::ServiceError;
use crate::faces::web::answer::{Response, Streamed};
use crate::faces::web::io::One;
use crate::service::from_ledger;
use crate::thread::ServingThread;
use crate::turn::after_the_others;
use crate::watch::{Waiting, Watch};

/// The answer without its body, which [`Pages`] is.
pub(super) fn begin(thread: &Rc<ServingThread>) -> Result<Response, ServiceError> {
    let ledger = thread.service().ledger();
    let lines = ledger.begin_backup().map_err(from_ledger)?;
    drop(lines);
    Ok(Response::streamed(
        StatusCode::OK,
        "application/x-ndjson",
        Streamed::Backup,
    ))
}

/// The body. `None`: the ledger has been closed since.
pub(super) fn pages(thread: &Rc<ServingThread>, watch: Rc<Watch>, one: Rc<One>) -> Option<Pages> {
    let ledger = Arc::clone(thread.service().ledger());
    let lines = ledger.begin_backup().ok()?;
    Some(Pages::new(ledger, lines, watch, one))
}

type Turn = Pin<Box<dyn Future<Output = (BackupLines, Result<Option<Vec<u8>>, LedgerError>)>>>;

/// The lines of a backup as a body.
pub(super) struct Pages {
    ledger: Arc<Ledger>,
    watch: Rc<Watch>,
    one: Rc<One>,
    /// The page that is being read; `None` after the last.
    turn: Option<Turn>,
}

impl Pages {
    fn new(ledger: Arc<Ledger>, lines: BackupLines, watch: Rc<Watch>, one: Rc<One>) -> Pages {
        Pages {
            turn: Some(read(Arc::clone(&ledger), lines)),
            ledger,
            watch,
            one,
        }
    }
}

fn read(ledger: Arc<Ledger>, mut lines: BackupLines) -> Turn {
    Box::pin(async move {
        // A store of a million names is read for minutes: everybody else's requests go first.
        after_the_others().await;
        let page = ledger.backup_lines(&mut lines).await;
        (lines, page)
    })
}

impl Body for Pages {
    type Data = Bytes;
    type Error = LedgerError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, LedgerError>>> {
        let Some(turn) = &mut self.turn else {
            return Poll::Ready(None);
        };
        let (lines, page) = match turn.as_mut().poll(cx) {
            Poll::Ready(read_now) => read_now,
            Poll::Pending => {
                self.watch.wait_for(Waiting::Nothing);
                return Poll::Pending;
            }
        };
        Poll::Ready(match page {
            Ok(Some(text)) => {
                self.watch.wait_for(Waiting::Nothing);
                self.turn = Some(read(Arc::clone(&self.ledger), lines));
                Some(Ok(Frame::data(text.into())))
            }
            Ok(None) => {
                self.turn = None;
                self.one.answered.set(true);
                self.watch.wait_for(Waiting::Request);
                None
            }
            Err(error) => {
                tracing::warn!(%error, "a backup was cut off");
                self.turn = None;
                Some(Err(error))
            }
        })
    }
}
