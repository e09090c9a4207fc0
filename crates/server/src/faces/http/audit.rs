//! `POST /v1/audit`: whether a pile of ids is sound, as `mint audit` says it.

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::StatusCode;
use mintage::Clock;
use mintage_bulk::{
    AuditOptions, Dialect, Kind, Limits, ReadAs, RowFormat, Source, audit as examine, document,
};
use tokio::sync::OwnedSemaphorePermit;

use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::service::Answer;
use crate::thread::ServingThread;

/// The place of the one file that is looked at at a time.
pub(super) type FileTurn = Arc<OwnedSemaphorePermit>;

/// How much memory sorting has; what does not fit goes to temporary files.
const MEMORY_BYTES: usize = 16 << 20;

/// How many times the bytes that were sent its text may have: what a compressed list of ids comes to.
const TEXT_PER_BYTE: u64 = 16;

/// Ends the work when nobody waits for it any more: its client has left, or the server stops.
struct GivesUp(Arc<AtomicBool>);

impl Drop for GivesUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The place of the one file that is looked at, to be had before it is read.
///
/// # Errors
/// [`Code::RateLimited`]: there is one already.
pub(super) fn turn(thread: &Rc<ServingThread>) -> Answer<FileTurn> {
    let audits = Arc::clone(thread.service().audits());
    audits.try_acquire_owned().map(Arc::new).map_err(|_| {
        ServiceError::new(
            Code::RateLimited,
            "another file is being audited: one is at a time",
        )
        .with_retry_after_s(1)
    })
}

/// Looks at a file; `turn` is held until it has been.
pub(super) async fn audit(
    thread: &Rc<ServingThread>,
    query: &Query<'_>,
    body: &[u8],
    turn: Option<FileTurn>,
) -> Answer<Response> {
    let text = |name: &str| -> Answer<Option<String>> {
        let given = query.get(name)?;
        Ok(given.map(|given| String::from_utf8_lossy(&given).into_owned()))
    };
    let (input, column, format) = (text("input")?, text("column")?, text("as")?);
    let fields = |dialect: Dialect| -> Answer<RowFormat> {
        let header = query.get("header")?.as_deref() != Some(b"false");
        Ok(RowFormat::Fields(Dialect { header, ..dialect }))
    };
    let rows = match (input.as_deref(), &column) {
        (Some("csv"), _) | (None, Some(_)) => fields(Dialect::CSV)?,
        (Some("tsv"), _) => fields(Dialect::TSV)?,
        (Some("jsonl"), _) => RowFormat::JsonLines,
        _ => RowFormat::Lines,
    };
    let given_up = GivesUp(Arc::default());
    let limits = Limits {
        text_bytes: (body.len() as u64).saturating_mul(TEXT_PER_BYTE),
        given_up: given_up.0.clone(),
    };
    let (now, body) = (thread.service().ledger().clock().now(), body.to_vec());
    let work = move || -> Result<Vec<u8>, ServiceError> {
        let _turn = turn;
        let folder = tempfile::tempdir().map_err(|error| no_room(&error))?;
        let path = folder.path().join("file");
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(&body))
            .map_err(|error| no_room(&error))?;
        drop(body);
        let mut options = AuditOptions::new(vec![(Source::Kept(path, "the file".into()), rows)], now);
        options.column = column;
        options.read_as = ReadAs { format, layout: None };
        options.limits = limits;
        options.memory_bytes = MEMORY_BYTES;
        options.temp = folder.path().to_path_buf();
        let report = examine(&options, &mut |_| {}).map_err(refused)?;
        let mut text = document(&report).to_string().into_bytes();
        text.push(b'\n');
        Ok(text)
    };
    // It computes for seconds: on a thread of its own, while this one serves.
    let done = tokio::task::spawn_blocking(work).await;
    let text = done.map_err(|_| ServiceError::new(Code::Unavailable, ServiceError::STOPPING))??;
    Ok(Response::new(StatusCode::OK, "application/json", text))
}

fn no_room(error: &std::io::Error) -> ServiceError {
    ServiceError::new(
        Code::Unavailable,
        format!("the file cannot be kept while it is looked at: {error}"),
    )
}

fn refused(error: mintage_bulk::Error) -> ServiceError {
    match error.kind {
        Kind::Usage => ServiceError::new(Code::InvalidArgument, error.message),
        Kind::Data => ServiceError::new(Code::InvalidBody, error.message),
        Kind::Io => ServiceError::new(Code::Unavailable, error.message),
    }
}
