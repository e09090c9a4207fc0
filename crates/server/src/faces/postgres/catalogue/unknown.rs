//! Catalogues that are not here: no row, with the columns asked for, so that clients go on.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Found, Query};
use crate::faces::postgres::backend::Column;
use crate::faces::postgres::errors::{Result, shown};
use crate::faces::postgres::grammar::Parser;
use crate::faces::postgres::types::Type;
use crate::faces::sql::token::Kind;
use crate::metrics::Exposition;
use crate::thread::{ServingThread, Shared};

/// How often such a question was answered.
#[derive(Debug, Default)]
struct Unknown(AtomicU64);

pub(super) fn count(thread: &ServingThread) {
    let unknown = thread.shared().of_face::<Unknown>();
    unknown.0.fetch_add(1, Ordering::Relaxed);
}

/// Tells how often.
pub(crate) fn expose(shared: &Shared, out: &mut Exposition) {
    if shared.service.config().faces.postgres.access.listen.is_off() {
        return;
    }
    let count = shared.of_face::<Unknown>().0.load(Ordering::Relaxed);
    out.metric(
        "mint_sql_unknown_catalogue_total",
        "counter",
        "Questions to catalogues of PostgreSQL that are not here, answered with no row.",
    );
    out.sample("mint_sql_unknown_catalogue_total", &[], count as f64);
}

/// Reads a SELECT for the columns of its list and its parameters alone.
pub(super) fn read(parser: &mut Parser<'_>, text: &str) -> Result<Found> {
    parser.advance()?;
    let mut columns = Vec::new();
    let (mut depth, mut last, mut ended) = (0usize, None::<String>, false);
    let mut named = false;
    while !parser.is_at_end() {
        let token = parser.advance()?;
        if token.kind == Kind::Parameter
            && let Some(number) = token.parameter()
        {
            parser.parameter(usize::from(number), Type::Text.oid())?;
        }
        if ended {
            continue;
        }
        match token.kind {
            Kind::Symbol if token.text == "(" => depth += 1,
            Kind::Symbol if token.text == ")" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            Kind::Symbol if token.text == "," => columns.push(column(last.take())),
            Kind::Symbol if matches!(token.text, "::" | "[" | "]") => named = token.text == "::",
            Kind::Word if token.is("from") => {
                columns.push(column(last.take()));
                ended = true;
            }
            // Behind `::` is a type's name, which names no column.
            Kind::Word | Kind::Name if !token.is("as") && !token.is("end") && !token.is("distinct") => {
                let is_type = std::mem::take(&mut named) && last.is_some();
                last = last
                    .filter(|_| is_type)
                    .or_else(|| Some(token.value().into_owned()));
            }
            _ => {}
        }
    }
    Ok(Found::new(Query::Unknown(shown(text).into()), columns))
}

fn column(name: Option<String>) -> Column {
    const OIDS: [&str; 9] = [
        "oid",
        "typarray",
        "typelem",
        "typrelid",
        "typbasetype",
        "typnamespace",
        "relnamespace",
        "attrelid",
        "atttypid",
    ];
    let name = name.unwrap_or_else(|| "?column?".into());
    let kind = if OIDS.contains(&name.as_str()) {
        Type::Oid
    } else {
        Type::Text
    };
    Column::new(name, kind)
}
