//! `mint init`: the schema, the cluster id, and the row that tells an emptied table from a fresh one.

use std::sync::Arc;
use std::time::Duration;

use super::super::probed::Probed;
use super::super::settings::Initialised;
use super::super::{Outcome, StoreError, StoreSettings};
use super::SqlStore;
use super::connections::{Connections, Kept};
use super::eyes::{ATTEMPT_MAX, Eyes, attempt, first_run, read_meta, step, within};
use super::identity::{MetaRow, check_head, damaged, hex, letter, other_schema};
use super::row::{Arg, Column};
use super::session::{Dialect, Fault, Session, Sort};
use super::statements::{SCHEMA_VERSION, Statements};
use crate::runtime::{Runtime, fresh_token};

/// Making tables may wait for the locks of others.
const TABLES_TIMEOUT: Duration = Duration::from_secs(30);

/// Look, make the tables, fill them, and see what another one did meanwhile.
const LOOKS_MAX: usize = 5;

/// Makes what is absent. Several at a time are fine: one of them makes it.
///
/// The tables may have been made by hand (docs/stores-sql.md shows them); registers without a cluster id are refused.
pub(in super::super) async fn init<D: Dialect>(
    dialect: D,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Initialised, StoreError> {
    let (eyes, mut session) = connected(dialect, settings, &runtime).await?;
    let dialect = &eyes.dialect;
    let cluster = settings.expect_cluster.unwrap_or_else(|| fresh_token(&*runtime));
    let limit = TABLES_TIMEOUT.max(settings.request_timeout);
    let making = make(dialect, &mut session, cluster, settings.expect_cluster);
    match within(&*runtime, runtime.boottime() + limit, making).await {
        Some(made) => {
            let made = made?;
            session.end().await;
            Ok(made)
        }
        None => Err(Fault::late(limit).error(dialect.label(), "cannot initialise", Outcome::Unknown)),
    }
}

/// Asks the server what it may forget, and writes nothing. Tables of ours need not be there.
pub(in super::super) async fn probe<D: Dialect>(
    dialect: D,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Probed, StoreError> {
    let (eyes, mut session) = connected(dialect, settings, &runtime).await?;
    let limit = first_run(settings) * D::PROBE_STATEMENTS;
    let found = step(&eyes.dialect, &*runtime, limit, eyes.dialect.probe(&mut session)).await;
    let what = "cannot read its settings";
    let found = found.map_err(|fault| fault.error(eyes.dialect.label(), what, Outcome::NotDone))?;
    session.end().await;
    Ok(Probed {
        durability: found.durability,
        unwritable: found.unwritable,
    })
}

/// A connection that was not looked at.
async fn connected<D: Dialect>(
    dialect: D,
    settings: &StoreSettings,
    runtime: &Arc<dyn Runtime>,
) -> Result<(Arc<Eyes<D>>, D::Session), StoreError> {
    let eyes = Eyes::new(dialect, settings, Arc::clone(runtime));
    let until = runtime.boottime() + ATTEMPT_MAX;
    let connecting = Arc::clone(&eyes);
    let making = async move {
        Ok(Kept {
            session: connecting.connect().await?,
            probed_at: Duration::ZERO,
            answered_at: Duration::ZERO,
            view: None,
            news: None,
        })
    };
    let made = attempt(&eyes, &Arc::new(Connections::new()), until, Box::pin(making)).await?;
    Ok((eyes, made.session))
}

async fn make<D: Dialect>(
    dialect: &D,
    session: &mut D::Session,
    cluster: u128,
    expected: Option<u128>,
) -> Result<Initialised, StoreError> {
    let statements = Statements::new(&D::TEXTS);
    let store = dialect.label();
    let failed = |fault: Fault| fault.error(store, "cannot initialise", Outcome::Unknown);
    for _ in 0..LOOKS_MAX {
        match read_meta(dialect, &statements, session).await {
            Ok(Some(meta)) => return found(store, &meta, expected),
            Ok(None) if fill(dialect, &statements, session, cluster).await? => {
                return Ok(Initialised {
                    cluster_id: cluster,
                    created: true,
                });
            }
            // Another one filled it just now: look again.
            Ok(None) => {}
            Err(fault) if fault.sort == Sort::Missing => {
                let made = session.script(D::TEXTS.schema).await;
                match made.map_err(|error| Fault::new(dialect, &error)) {
                    // Two that make tables at a time may trip over each other: look again.
                    Err(fault) if !matches!(fault.sort, Sort::Duplicate | Sort::Again) => {
                        return Err(failed(fault));
                    }
                    _ => {}
                }
            }
            Err(fault) => return Err(failed(fault)),
        }
    }
    Err(damaged(store, "mint_meta takes no row".into()))
}

/// What an initialised store answers.
fn found(store: &str, meta: &MetaRow, expected: Option<u128>) -> Result<Initialised, StoreError> {
    if meta.head.schema_version != SCHEMA_VERSION {
        return Err(other_schema(store, meta.head.schema_version));
    }
    check_head(store, &meta.head, expected)?;
    Ok(Initialised {
        cluster_id: meta.head.cluster_id,
        created: false,
    })
}

fn sentinel_body(id: &str) -> String {
    format!(
        "{{\"cluster_id\":\"{id}\",\"note\":\"never remove this row: without it the store counts as emptied\"}}"
    )
}

impl<D: Dialect> SqlStore<D> {
    /// Gives the tables another cluster id, in one transaction.
    pub(super) async fn rename(&self, id: u128) -> Result<(), StoreError> {
        let what = "cannot change the cluster id";
        let mut checkout = self.checkout(what).await?;
        let (id, eyes) = (hex(id), &self.eyes);
        let body = sentinel_body(&id);
        let session = &mut checkout.kept.session;
        let changing = async {
            session.script("BEGIN").await?;
            let args = [Arg::Text(&id), Arg::Text(&self.cluster)];
            let rows = session.execute(&eyes.statements.rename_meta, &args).await?;
            let args = [Arg::Text(&id), Arg::Text(&body)];
            session.execute(&eyes.statements.rename_sentinel, &args).await?;
            session.script("COMMIT").await?;
            Ok::<_, sqlx::Error>(rows)
        };
        // A connection that is not given back is closed, and with it the transaction.
        match within(&*eyes.runtime, checkout.until, changing).await {
            Some(Ok(1)) => {
                checkout.done();
                Ok(())
            }
            Some(Ok(_)) => Err(damaged(self.label(), "mint_meta was changed meanwhile".into())),
            Some(Err(error)) => {
                let fault = Fault::new(&eyes.dialect, &error);
                Err(checkout.failed(fault, what, Outcome::Unknown))
            }
            None => Err(checkout.failed(Fault::late(eyes.settings.request_timeout), what, Outcome::Unknown)),
        }
    }
}

/// Writes cluster id and sentinel in one transaction; `false` when somebody else did.
async fn fill<D: Dialect>(
    dialect: &D,
    statements: &Statements,
    session: &mut D::Session,
    cluster: u128,
) -> Result<bool, StoreError> {
    let store = dialect.label();
    let failed =
        |error: sqlx::Error| Fault::new(dialect, &error).error(store, "cannot initialise", Outcome::Unknown);
    let registers = session.rows(&statements.any_register, &[], &[Column::Int]).await;
    if !registers.map_err(failed)?.is_empty() {
        // Another one may have filled both since we looked.
        return match read_meta(dialect, statements, session).await {
            Ok(Some(_)) => Ok(false),
            Ok(None) => Err(damaged(
                store,
                "mint_register has rows, and mint_meta, which says whose they are, has none".into(),
            )),
            Err(fault) => Err(fault.error(store, "cannot initialise", Outcome::Unknown)),
        };
    }
    let probe = dialect.probe(session).await.map_err(failed)?;
    let (id, class) = (hex(cluster), letter(probe.durability.class));
    let body = sentinel_body(&id);
    session.script("BEGIN").await.map_err(failed)?;
    let meta = [Arg::Text(&id), Arg::Text(&probe.copy), Arg::Text(class)];
    let sentinel = [Arg::Text(&id), Arg::Text(&body)];
    for (sql, args) in [
        (&statements.insert_meta, &meta[..]),
        (&statements.insert_sentinel, &sentinel[..]),
    ] {
        if let Err(error) = session.execute(sql, args).await {
            let fault = Fault::new(dialect, &error);
            if fault.sort != Sort::Duplicate {
                return Err(fault.error(store, "cannot initialise", Outcome::Unknown));
            }
            session.script("ROLLBACK").await.map_err(failed)?;
            return Ok(false);
        }
    }
    session.script("COMMIT").await.map_err(failed)?;
    Ok(true)
}
