//! Whether a SELECT asks a catalogue, and what.

use super::{Parser, psql, question};
use crate::postgres::backend::Column;
use crate::postgres::errors::{Result, shown};
use crate::postgres::plan::From;
use crate::postgres::plan::question::Query;
use crate::postgres::types::Type;
use crate::sql::token::Kind;

/// A SELECT of a catalogue.
pub(super) struct Found {
    pub(super) from: From,
    pub(super) columns: Vec<Column>,
}

impl Found {
    fn new(query: Query, columns: Vec<Column>) -> Found {
        Found {
            from: From::Catalogue(Box::new(query)),
            columns,
        }
    }
}

/// Reads a SELECT that a catalogue is asked by, up to its end; `None`: it is about none.
///
/// # Errors
/// It is no text of tokens.
pub(super) fn read(parser: &mut Parser<'_>) -> Result<Option<Found>> {
    let Some(text) = about_catalogue(parser)? else {
        return Ok(None);
    };
    if let Some((asked, columns)) = psql::read(text) {
        parser.skip_statement()?;
        return Ok(Some(Found::new(Query::Psql(asked), columns)));
    }
    let place = parser.place();
    let read = question::read(parser);
    if let Ok((question, columns)) = read
        && parser.is_at_end()
    {
        return Ok(Some(Found::new(Query::Tables(question), columns)));
    }
    parser.go_to(place);
    parser.begin_statement();
    unknown(parser, text).map(Some)
}

/// The text of the statement, if FROM or JOIN names a catalogue in it.
fn about_catalogue<'t>(parser: &Parser<'t>) -> Result<Option<&'t str>> {
    let (mut ahead, begins) = (parser.tokens(), parser.token.at);
    let (mut found, mut end) = (false, begins);
    let mut token = parser.token;
    while token.kind != Kind::End && !token.is_symbol(";") {
        end = token.end();
        let reads = token.is("from") || token.is("join") || token.is_symbol(",");
        let comma = token.is_symbol(",");
        token = ahead.next()?;
        if reads && (token.is("pg_catalog") || token.is("information_schema")) {
            // In a list of values it is a function or a column of one.
            found |= !comma;
        } else if reads && !comma && token.kind == Kind::Word {
            let name = token.value();
            found |= name.starts_with("pg_")
                && (!ahead.peek()?.is_symbol("(") || name == "pg_sequence_parameters");
        }
    }
    Ok(found.then(|| &parser.text()[begins..end]))
}

/// Reads a SELECT for the columns of its list and its parameters alone.
fn unknown(parser: &mut Parser<'_>, text: &str) -> Result<Found> {
    parser.advance()?;
    let mut columns = Vec::new();
    let (mut depth, mut last, mut ended) = (0usize, None::<String>, false);
    let mut named = false;
    while !parser.is_at_end() {
        let token = parser.advance()?;
        if token.kind == Kind::Parameter
            && let Some(number) = token.parameter()
        {
            parser.parameter_at(usize::from(number), token.at)?;
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
