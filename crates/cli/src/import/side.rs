//! Our side of moves: a running server over HTTP, or a store opened here.

use std::sync::Arc;

use mintage_ledger::moves::{Move, Ours, OursError, OursResult, Stepped, VersionedMove};
use mintage_ledger::{Name, Runtime, SystemRuntime};
use mintage_server::moves as documents;
use mintage_wire as wire;
use mintage_wire::{Op, Problem};
use serde::de::DeserializeOwned;

use crate::ask::Ask;
use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::import::args::Args;
use crate::local::{Absent, Local};
use crate::runtime::runtime;

/// Where counters come to, and the runtime on which that is asked.
pub(super) enum Side {
    Server(tokio::runtime::Runtime, Arc<Server>),
    Store(Local),
}

impl Side {
    pub(super) fn open(args: &Args) -> Result<Side, Failure> {
        // To look is no reason to make a store.
        let absent = match args.apply {
            true => Absent::Make,
            false => Absent::Refuse,
        };
        match &args.store {
            Some(url) => Local::open(url, absent).map(Side::Store),
            None => {
                let url = server_url(args.server.as_deref());
                let client = Arc::new(Client::new(&url, &args.tls)?);
                Ok(Side::Server(runtime()?, Arc::new(Server { client })))
            }
        }
    }

    pub(super) fn ours(&self) -> Arc<dyn Ours> {
        match self {
            Side::Server(_, server) => Arc::clone(server) as Arc<dyn Ours>,
            Side::Store(local) => local.ledger(),
        }
    }

    /// Does work on its runtime, which is told to it.
    pub(super) fn block_on<T, F: Future<Output = T>>(&self, work: impl FnOnce(Arc<dyn Runtime>) -> F) -> T {
        let work = async { work(SystemRuntime::new(tokio::runtime::Handle::current())).await };
        match self {
            Side::Server(runtime, _) => runtime.block_on(work),
            Side::Store(local) => local.block_on(work),
        }
    }

    /// Ends it, whatever came of the work.
    pub(super) fn close_after<T>(self, done: Result<T, Failure>) -> Result<T, Failure> {
        let closed = match self {
            Side::Server(..) => Ok(()),
            Side::Store(local) => local.close(),
        };
        done.and_then(|done| closed.map(|()| done))
    }
}

/// A server that is asked over HTTP.
pub(super) struct Server {
    client: Arc<Client>,
}

impl Server {
    /// What it answers, asked on a thread that may wait.
    async fn answer(&self, ask: Ask) -> Result<(u16, String), OursError> {
        let client = Arc::clone(&self.client);
        let answer = tokio::task::spawn_blocking(move || client.answer(&ask)).await;
        match answer {
            Ok(answer) => answer.map_err(refused),
            Err(error) => Err(OursError::Refused {
                message: format!("the server could not be asked: {error}"),
                hint: None,
            }),
        }
    }

    fn said_no(&self, status: u16, text: &str) -> OursError {
        match serde_json::from_str::<Problem<'_>>(text) {
            Ok(problem) if problem.code == wire::Code::Exists.row().name => {
                OursError::InUse(problem.detail.into_owned())
            }
            _ => refused(self.client.said_no(status, text)),
        }
    }
}

impl Ours for Server {
    fn read<'a>(&'a self, name: &'a Name) -> OursResult<'a, Option<VersionedMove>> {
        Box::pin(async move {
            match self.answer(Ask::new(Op::ShowMove, &[name.as_str()])).await? {
                (404, _) => Ok(None),
                (200, text) => Ok(Some(versioned(read(&text)?)?.1)),
                (status, text) => Err(self.said_no(status, &text)),
            }
        })
    }

    fn list(&self) -> OursResult<'_, Vec<(Name, VersionedMove)>> {
        Box::pin(async move {
            match self.answer(Ask::new(Op::ListMoves, &[])).await? {
                (200, text) => {
                    let found = read::<wire::Moves>(&text)?;
                    found.moves.into_iter().map(versioned).collect()
                }
                (status, text) => Err(self.said_no(status, &text)),
            }
        })
    }

    fn step<'a>(
        &'a self,
        name: &'a Name,
        expected: Option<u64>,
        next: &'a Move,
        into_used: bool,
    ) -> OursResult<'a, Stepped> {
        Box::pin(async move {
            let asked = wire::MoveStep {
                expected: expected.map(wire::Quoted),
                into_used,
                record: documents::record(next),
            };
            let ask = Ask::new(Op::StepMove, &[name.as_str()]).saying(&asked);
            let (status, text) = self.answer(ask).await?;
            match (status, serde_json::from_str::<wire::LostMove>(&text)) {
                (200, _) => {
                    let done = read::<wire::SteppedMove>(&text)?;
                    Ok(Stepped {
                        now: versioned(done.now)?.1,
                        pending: done.pending,
                        reserved: done.reserved.map(|number| number.0),
                    })
                }
                (409, Ok(lost)) if serde_json::from_str::<Problem<'_>>(&text).is_err() => {
                    let now = lost.now.map(versioned).transpose()?;
                    Err(OursError::Lost(now.map(|(_, now)| Box::new(now))))
                }
                _ => Err(self.said_no(status, &text)),
            }
        })
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, OursError> {
    serde_json::from_str(text).map_err(|error| OursError::Refused {
        message: format!("the server's answer about moves cannot be understood: {error}"),
        hint: Some("the command and the server must know the same documents: use one version".into()),
    })
}

fn versioned(document: wire::VersionedMove) -> Result<(Name, VersionedMove), OursError> {
    let refused = |message: String| OursError::Refused { message, hint: None };
    let name = Name::new(&document.name).map_err(|error| refused(error.to_string()))?;
    let version = document.version.0;
    let record = documents::read_record(document.record).map_err(|error| refused(error.message.into()))?;
    Ok((name, VersionedMove { record, version }))
}

fn refused(failure: Failure) -> OursError {
    match failure {
        Failure::Said { message, hint, .. } => OursError::Refused { message, hint },
        other => OursError::Refused {
            message: format!("{other:?}"),
            hint: None,
        },
    }
}
