//! How numbers are taken out of a SEQUENCE of MariaDB, so that a crash gives none of them to anybody else.
//!
//! **NEXTVAL is not durable by itself.** It changes the sequence's row without a transaction, so that nothing is
//! flushed when the statement ends: after a kill -9 within the second the same numbers come again, whatever
//! `innodb_flush_log_at_trx_commit` says, with `NOCACHE` too. A take therefore ends only when the server's log is on
//! disk up to where it was behind the NEXTVAL: `FLUSH ENGINE LOGS` where the account may (RELOAD), and in any case
//! `Innodb_lsn_flushed` is read until it has come that far, which the server's own flush once a second does.
//!
//! **Nor is ALTER SEQUENCE**: a server that was killed behind it had the old bound again, and served. Fences and lifts
//! wait for the log, too.
//!
//! **Many numbers in one statement** come over a recursive query in the outermost select: other than `seq_1_to_N` it
//! needs no right on the database, and no engine.

use std::time::Duration;

use mintage::Run;

use super::bounds::Shown;
use super::shared::{MyHeld, MyLink, error, literal, number, text_row, texts, word};
use crate::source::{SourceError, SourceErrorKind};
use crate::store::sql::row::Column;

/// How many numbers one take brings at most: each is a row of the answer.
const TAKE_MAX: u64 = 100_000;

/// How often the server's log is looked at while it is flushed.
const FLUSH_LOOK: Duration = Duration::from_millis(20);

/// How long the server's own flush may take; it does one every `innodb_flush_log_at_timeout`, by default a second.
const FLUSH_WAIT: Duration = Duration::from_secs(10);

/// Takes about `n` numbers, durably.
pub(super) async fn take(
    link: &MyLink,
    held: &mut MyHeld<'_>,
    key: &str,
    shown: &Shown,
    n: u64,
) -> Result<Vec<Run>, SourceError> {
    may_take(link, key, shown)?;
    // What a session holds beyond that comes singly.
    let n = n.clamp(1, TAKE_MAX).min(shown.left().max(1));
    log_place(held, "Innodb_lsn_flushed")
        .await?
        .ok_or_else(|| unsure(link, key))?;
    // The limit of some versions lies at 1,000.
    held.script(&format!(
        "SET SESSION max_recursive_iterations = {}",
        TAKE_MAX + 1
    ))
    .await?;
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) \
         SELECT CAST(NEXTVAL({}) AS CHAR) FROM n",
        shown.table.quoted()
    );
    let rows = held.writing_rows(&sql, &[], &[Column::Text]).await?;
    flush(link, held, key).await?;
    let numbers = rows
        .into_iter()
        .filter_map(|row| word(&text_row(row), 0).parse().ok());
    let runs = runs(numbers, shown.step());
    match runs.is_empty() {
        true => Err(at_its_end(link, key)),
        false => Ok(runs),
    }
}

fn may_take(link: &MyLink, key: &str, shown: &Shown) -> Result<(), SourceError> {
    let refused = |why: &str| Err(error(link, SourceErrorKind::Refused, &format!("{key} {why}")));
    if shown.note().is_some() {
        return refused("was moved: a fence stands there, and nothing can be taken");
    }
    if shown.cycle {
        return refused("has CYCLE, so that its numbers come again: ALTER SEQUENCE … NOCYCLE first");
    }
    if shown.engine != "InnoDB" {
        return refused(
            "is not kept by InnoDB, so that a crash may lose a take: ALTER TABLE … ENGINE = InnoDB first",
        );
    }
    Ok(())
}

pub(super) fn at_its_end(link: &MyLink, key: &str) -> SourceError {
    error(
        link,
        SourceErrorKind::Exhausted,
        &format!("{key} has reached its end"),
    )
}

fn unsure(link: &MyLink, key: &str) -> SourceError {
    let why = format!(
        "{key}: the server does not say how far its log is flushed (Innodb_lsn_flushed), and NEXTVAL alone is not \
         durable, nor is ALTER SEQUENCE"
    );
    error(link, SourceErrorKind::Refused, &why)
}

/// Ends when all that was done before is on disk; an error says that it may be or not.
pub(super) async fn flush(link: &MyLink, held: &mut MyHeld<'_>, key: &str) -> Result<(), SourceError> {
    let spent = |error: SourceError| error.unknown();
    let place = log_place(held, "Innodb_lsn_current").await.map_err(spent)?;
    let place = place.ok_or_else(|| unsure(link, key).unknown())?;
    // Who has no RELOAD waits for the server's own flush.
    match held.script("FLUSH LOCAL ENGINE LOGS").await {
        Err(error) if error.kind != SourceErrorKind::Denied => return Err(spent(error)),
        _ => {}
    }
    let mut waited = Duration::ZERO;
    while log_place(held, "Innodb_lsn_flushed").await.map_err(spent)? < Some(place) {
        if waited >= FLUSH_WAIT {
            let why = format!("{key}: the server has not flushed its log within {FLUSH_WAIT:?}");
            return Err(error(link, SourceErrorKind::Unavailable, &why).unknown());
        }
        link.runtime.sleep(FLUSH_LOOK).await;
        waited += FLUSH_LOOK;
    }
    Ok(())
}

/// How far the log has come; `None`: the server does not say.
async fn log_place(held: &mut MyHeld<'_>, name: &str) -> Result<Option<i128>, SourceError> {
    let sql = format!("SHOW GLOBAL STATUS LIKE {}", literal(name));
    let rows = texts(held, &sql, &[], 2).await?;
    Ok(rows.first().and_then(|row| number(row, 1)))
}

/// Numbers as runs, in their order.
fn runs(numbers: impl Iterator<Item = i64>, step: i64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut expected = None;
    for number in numbers {
        match runs.last_mut() {
            Some(run) if expected == Some(number) => run.count += 1,
            _ => runs.push(Run {
                first: number,
                step,
                count: 1,
            }),
        }
        expected = number.checked_add(step);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_runs() {
        let run = |first, step, count| Run { first, step, count };
        assert_eq!(runs([1, 2, 3, 7, 8].into_iter(), 1), [run(1, 1, 3), run(7, 1, 2)]);
        assert_eq!(runs([-1, -3, -5].into_iter(), -2), [run(-1, -2, 3)]);
        assert_eq!(runs([i64::MAX].into_iter(), 1), [run(i64::MAX, 1, 1)]);
        assert!(runs([].into_iter(), 1).is_empty());
    }
}
