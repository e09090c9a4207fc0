//! What users and operators ask of a process, against the real ledger's public interface.

use std::sync::{Arc, Mutex};

use mintage::{Base, Clock, FormatError, GenOptions, Id, Run, SequenceOptions, Timestamp, Uuid};
use mintage_ledger::{
    BoxFuture, ClockRefusal, LateStore, Ledger, LedgerError, LedgerSettings, LentWindow, Name, OpenMember,
    Origins, Outcome, RenewalAttempt, Runtime, Seen, SequencePatch, Store, StoreError, StoreErrorKind,
    Striped, remembering, stripe_of,
};
use tempfile::TempDir;

use super::machine::lock;
use super::subject::{POOLS, SEQUENCES, formats, pool_spec};

/// One request, by somebody.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Open(LedgerSettings),
    /// Makes a sequence that is not made by its first use.
    Create {
        sequence: usize,
    },
    CreatePool {
        pool: usize,
    },
    Take {
        sequence: usize,
        n: u64,
        contiguous: bool,
    },
    TryTake {
        sequence: usize,
        n: u64,
    },
    Mint {
        pool: usize,
        n: usize,
    },
    TryMint {
        pool: usize,
        n: usize,
    },
    /// Ids of a format that needs no window, by its place among [`subject::formats`](super::subject::formats).
    Format {
        format: usize,
    },
    Set {
        sequence: usize,
        to: i64,
    },
    Alter {
        sequence: usize,
        max_gap: u64,
        increment: i64,
    },
    Restart {
        sequence: usize,
        to: i64,
    },
    Drop {
        sequence: usize,
    },
    Lend {
        pool: usize,
    },
    RenewLent {
        pool: usize,
        window: LentWindow,
        attempt: u64,
    },
    EndLent {
        pool: usize,
        window: LentWindow,
    },
    Release {
        pool: usize,
        worker: u64,
    },
    Look {
        sequence: usize,
    },
    Close,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) enum Came {
    Opened {
        away: bool,
    },
    Numbers(Run),
    Ids(Ids),
    Times(Times),
    Lent(LentWindow),
    Closed,
    /// Done, with nothing to show.
    Done,
    Refused(LedgerError),
}

/// Ids as (worker, place), with the process's id clock before and after.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    pub places: Vec<(u64, u64)>,
    pub before: Timestamp,
    pub after: Timestamp,
    /// Raised when the id clock began anew.
    pub epoch: u64,
    pub at_once: bool,
}

/// The first and last time in ids of a format, with the process's id clock before and after.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub format: &'static str,
    pub oldest: Timestamp,
    pub newest: Timestamp,
    pub before: Timestamp,
    pub after: Timestamp,
    /// Whether a format that sorts did.
    pub rising: bool,
}

/// What a process's requests share.
#[derive(Clone)]
pub(crate) struct Desk {
    pub runtime: Arc<dyn Runtime>,
    /// The store, or the stores of a set.
    pub stores: Vec<Arc<dyn Store>>,
    pub journal: Option<Arc<dyn Store>>,
    /// It may begin on the journal while the store is away.
    pub begins_away: bool,
    /// The counter elsewhere, if the run has one.
    pub origins: Option<Arc<dyn Origins>>,
    /// Where the machine remembers what it saw of the store, if it does.
    pub state: Option<Arc<TempDir>>,
    /// What it remembers there, for the end of the process.
    pub seen: Arc<Mutex<Vec<Arc<Seen>>>>,
    pub ledger: Arc<Mutex<Option<Arc<Ledger>>>>,
    /// What came of requests since the last look, by their number.
    pub came: Arc<Mutex<Vec<(u64, Came)>>>,
}

impl Desk {
    /// The request as a task of the process.
    pub(crate) fn task(&self, number: u64, op: Op) -> BoxFuture<'static, ()> {
        let desk = self.clone();
        Box::pin(async move {
            let came = match desk.perform(op).await {
                Ok(came) => came,
                Err(error) => Came::Refused(error),
            };
            lock(&desk.came).push((number, came));
        })
    }

    /// The store, or the set of them, opened as a server does.
    async fn store(&self) -> Result<Arc<dyn Store>, StoreError> {
        if let [store] = &self.stores[..] {
            return self.remembered(0, store);
        }
        let member = |(number, store): (usize, &Arc<dyn Store>)| {
            let (desk, store) = (self.clone(), Arc::clone(store));
            let open: OpenMember = Box::new(move || {
                let (desk, store) = (desk.clone(), Arc::clone(&store));
                Box::pin(async move {
                    // A store that does not answer does not open.
                    stripe_of(&*store).await?;
                    desk.remembered(number, &store)
                })
            });
            (format!("store {number}"), open)
        };
        let members = self.stores.iter().enumerate().map(member).collect();
        let set = Striped::open(members, Arc::clone(&self.runtime)).await?;
        Ok(set)
    }

    /// A store, with what this machine has seen of it.
    fn remembered(&self, number: usize, store: &Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        let Some(state) = &self.state else {
            return Ok(Arc::clone(store));
        };
        let url = format!("simulated://store-{number}");
        let store = remembering(Arc::clone(store), &url, state.path(), Arc::clone(&self.runtime))?;
        lock(&self.seen).extend(store.seen());
        Ok(store)
    }

    /// A start on the journal, as a server's whose store cannot be opened.
    async fn begin_away(
        &self,
        store: Arc<dyn Store>,
        settings: LedgerSettings,
        why: String,
    ) -> Result<Arc<Ledger>, LedgerError> {
        let (scheme, cluster_id, seen) = (store.scheme(), store.cluster_id(), store.seen());
        let open: OpenMember = Box::new(move || {
            let store = Arc::clone(&store);
            Box::pin(async move {
                // A store that does not answer does not open.
                stripe_of(&*store).await?;
                Ok(store)
            })
        });
        let store = LateStore {
            scheme,
            cluster_id,
            seen,
            open,
            why: StoreError::new(StoreErrorKind::Unavailable, Outcome::NotDone, why),
        };
        Ledger::open_without_store(store, settings, Arc::clone(&self.runtime)).await
    }

    async fn perform(&self, op: Op) -> Result<Came, LedgerError> {
        if let Op::Open(mut settings) = op {
            settings.journal = self.journal.clone();
            settings.origins = self.origins.clone();
            let store = self.store().await.map_err(refused)?;
            let opened = Ledger::open(Arc::clone(&store), settings.clone(), Arc::clone(&self.runtime)).await;
            let (ledger, away) = match opened {
                Err(LedgerError::Unavailable { message, .. }) if self.begins_away && !store.exclusive() => {
                    (self.begin_away(store, settings, message).await?, true)
                }
                opened => (opened?, false),
            };
            *lock(&self.ledger) = Some(ledger);
            return Ok(Came::Opened { away });
        }
        let open = lock(&self.ledger).clone();
        let Some(ledger) = open else {
            return Err(LedgerError::Closing);
        };
        match op {
            Op::Open(_) => unreachable!("handled above"),
            Op::Create { sequence } => {
                let spec = SEQUENCES[sequence].spec().unwrap_or_default();
                ledger.create(&sequence_name(sequence), &spec).await?;
            }
            Op::CreatePool { pool } => {
                let spec = pool_spec(pool, None).expect("only pools that are not made by their first use");
                ledger.create_pool(&pool_name(pool), spec).await?;
            }
            Op::Take {
                sequence,
                n,
                contiguous,
            } => {
                let sequence = ledger.sequence_or_create(&sequence_name(sequence)).await?;
                let run = match contiguous {
                    true => sequence.take_contiguous(n).await?,
                    false => sequence.take(n).await?,
                };
                return Ok(Came::Numbers(run));
            }
            Op::TryTake { sequence, n } => {
                let sequence = ledger.sequence(SEQUENCES[sequence].name);
                if let Some(run) = sequence.and_then(|sequence| sequence.try_take(n)) {
                    return Ok(Came::Numbers(run));
                }
            }
            Op::Mint { pool, n } => return mint(&ledger, pool, n).await.map(Came::Ids),
            Op::TryMint { pool, n } => {
                if let Some(ids) = try_mint(&ledger, pool, n) {
                    return Ok(Came::Ids(ids));
                }
            }
            Op::Format { format } => {
                return match times(&ledger, format) {
                    Ok(Ok(times)) => Ok(Came::Times(times)),
                    Ok(Err(error)) => Err(LedgerError::Invalid(error.to_string())),
                    Err(refusal) => Err(LedgerError::Unavailable {
                        message: refusal.to_string(),
                        retry_after_s: ClockRefusal::RETRY_AFTER_S,
                    }),
                };
            }
            Op::Set { sequence, to } => drop(ledger.set(&sequence_name(sequence), called(to)).await?),
            Op::Alter {
                sequence,
                max_gap,
                increment,
            } => {
                let patch = SequencePatch {
                    options: SequenceOptions {
                        increment: Some(increment),
                        ..SequenceOptions::default()
                    },
                    max_gap: Some(max_gap),
                    ..SequencePatch::default()
                };
                ledger.alter(&sequence_name(sequence), &patch).await?;
            }
            Op::Restart { sequence, to } => {
                ledger.restart(&sequence_name(sequence), called(to), true).await?;
            }
            Op::Drop { sequence } => drop(ledger.drop_sequence(&sequence_name(sequence)).await?),
            Op::Lend { pool } => {
                let pool = ledger.pool_or_default(&pool_name(pool)).await?;
                return Ok(Came::Lent(pool.lend("borrower").await?));
            }
            Op::RenewLent {
                pool,
                window,
                attempt,
            } => {
                let pool = ledger.pool_or_default(&pool_name(pool)).await?;
                let attempt = RenewalAttempt::new(&format!("{attempt:016x}"))?;
                let renewed = pool
                    .renew_lent(window.worker, &window.owner, window.version, Some(&attempt))
                    .await?;
                return Ok(Came::Lent(renewed));
            }
            Op::EndLent { pool, window } => {
                let pool = ledger.pool_or_default(&pool_name(pool)).await?;
                pool.end_lent(window.worker, &window.owner, window.version)
                    .await?;
            }
            Op::Release { pool, worker } => {
                let pool = ledger.pool_or_default(&pool_name(pool)).await?;
                pool.release(worker).await?;
            }
            Op::Look { sequence } => {
                ledger.show(&sequence_name(sequence)).await?;
                ledger.list(None, 100).await?;
                ledger.pools(None, 100).await?;
            }
            Op::Close => {
                let closed = ledger.close().await;
                return closed.map(|()| Came::Closed);
            }
        }
        Ok(Came::Done)
    }
}

/// What a store that does not open means for whoever starts on it.
fn refused(error: StoreError) -> LedgerError {
    match error.kind {
        StoreErrorKind::Unavailable => LedgerError::Unavailable {
            message: error.message,
            retry_after_s: 1,
        },
        _ => LedgerError::Stopped(error),
    }
}

fn sequence_name(sequence: usize) -> Name {
    Name::new(SEQUENCES[sequence].name).expect("within the grammar")
}

fn pool_name(pool: usize) -> Name {
    Name::new(POOLS[pool]).expect("within the grammar")
}

fn called(value: i64) -> Base {
    Base {
        value,
        is_called: true,
    }
}

async fn mint(ledger: &Ledger, pool: usize, n: usize) -> Result<Ids, LedgerError> {
    let before = ledger.clock().now();
    let held = ledger.pool_or_default(&pool_name(pool)).await?;
    let places = if POOLS[pool] == mintage_ledger::UUID1_POOL {
        let mut out = vec![Uuid::nil(); n];
        held.mint_uuid1(&mut out).await?;
        out.iter().map(uuid_place).collect()
    } else {
        let mut out = vec![0; n];
        held.mint(&mut out).await?;
        id_places(&held, &out)
    };
    Ok(Ids {
        places,
        before,
        after: ledger.clock().now(),
        epoch: ledger.clock().epoch(),
        at_once: false,
    })
}

fn try_mint(ledger: &Ledger, pool: usize, n: usize) -> Option<Ids> {
    let before = ledger.clock().now();
    let held = ledger.pool(POOLS[pool])?;
    let places = if POOLS[pool] == mintage_ledger::UUID1_POOL {
        let mut out = vec![Uuid::nil(); n];
        let minted = held.try_mint_uuid1(&mut out).ok()?;
        out[..minted].iter().map(uuid_place).collect()
    } else {
        let mut out = vec![0; n];
        let minted = held.try_mint(&mut out).ok()?;
        id_places(&held, &out[..minted])
    };
    Some(Ids {
        places,
        before,
        after: ledger.clock().now(),
        epoch: ledger.clock().epoch(),
        at_once: true,
    })
}

/// Makes a few ids of a format, as the server does.
fn times(ledger: &Ledger, format: usize) -> Result<Result<Times, FormatError>, ClockRefusal> {
    let (row, options) = (formats()[format], GenOptions::default());
    let mut ids = vec![Id::default(); 5];
    let before = ledger.clock().now();
    let made = ledger
        .clock()
        .make(|generators, clock| row.make_many_by(generators, clock, &options, &mut ids))?;
    let after = ledger.clock().now();
    Ok(made.and_then(|()| {
        let (mut oldest, mut newest) = (None, None);
        for id in &ids {
            let time = row.read(id, &options)?.time.map(|time| time.at);
            oldest = oldest.into_iter().chain(time).min();
            newest = newest.into_iter().chain(time).max();
        }
        Ok(Times {
            format: row.name,
            oldest: oldest.expect("formats() have a time"),
            newest: newest.expect("formats() have a time"),
            before,
            after,
            rising: !row.bytes_sort || ids.windows(2).all(|two| two[0] < two[1]),
        })
    }))
}

fn id_places(pool: &mintage_ledger::Pool, ids: &[u64]) -> Vec<(u64, u64)> {
    let layout = pool.layout();
    let bits = layout.sequence_bits();
    let place = |id: &u64| {
        let parts = layout.unpack(*id).expect("an id of the layout");
        (parts.worker, parts.tick << bits | parts.sequence)
    };
    ids.iter().map(place).collect()
}

/// Clock sequence and 60-bit timestamp (RFC 9562 section 5.1).
fn uuid_place(uuid: &Uuid) -> (u64, u64) {
    let (low, mid, high, rest) = uuid.as_fields();
    let timestamp = u64::from(high & 0x0fff) << 48 | u64::from(mid) << 32 | u64::from(low);
    let clock_seq = u64::from(rest[0] & 0x3f) << 8 | u64::from(rest[1]);
    (clock_seq, timestamp)
}
