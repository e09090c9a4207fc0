//! Baidu's uid-generator: the table `WORKER_NODE`, a row for every start of a server, whose number is the row's id. No
//! row says whether its server still runs, so that every number up to the highest may be in use.

use super::found::{HeldNumber, WorkersFound, strange};
use super::kind::{Asked, Place};
use crate::source::SourceResult;
use crate::store::sql::row::Column;
use crate::workers::WorkerRanges;

/// How many of the newest servers are named.
const NAMED_MAX: u64 = 1000;

pub(super) fn read<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::MySql(link) = place else {
            return Ok(Vec::new());
        };
        let mut session = link.hold("WORKER_NODE").await?;
        let sql = format!(
            "SELECT CAST(ID AS SIGNED), CONCAT(HOST_NAME, ':', PORT) FROM WORKER_NODE \
             ORDER BY ID DESC LIMIT {NAMED_MAX}"
        );
        let rows = session.rows(&sql, &[], &[Column::Int, Column::Text]).await?;
        session.done();
        let shown = link.place();
        let mut held = Vec::with_capacity(rows.len());
        for row in &rows {
            let number = row[0].int().and_then(|id| u64::try_from(id).ok());
            let number =
                number.ok_or_else(|| strange(&shown, "a row of WORKER_NODE", "ID is no number from 0 on"))?;
            held.push(HeldNumber {
                number,
                name: row[1].text().unwrap_or_default().to_string(),
                last: None,
            });
        }
        held.reverse();
        let next = held.last().map_or(0, |last| last.number.saturating_add(1));
        Ok(vec![WorkersFound {
            system: asked.system.name,
            place: asked.url(&shown, None),
            bits: asked.system.bits,
            taken: match next.checked_sub(1) {
                Some(last) => WorkerRanges::span(0, last),
                None => WorkerRanges::NONE,
            },
            held,
            next: Some(next),
            spare: asked.system.spare,
        }])
    })
}
