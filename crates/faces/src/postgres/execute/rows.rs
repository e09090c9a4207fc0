//! The rows of portals, sent as they are made.

use std::rc::Rc;

use super::evaluate::Given;
use super::{Client, Halt, Pace, Result, SqlError};
use crate::postgres::backend::{self, Column};
use crate::postgres::plan::{Expr, Fetch, From, Function, Plan, Select};
use crate::postgres::portal::{Portal, Rows, Source};
use crate::postgres::types::{Formats, Type, Value};
use mintage_server::chassis::auth::Right;

/// How a portal's run ended.
#[derive(Debug)]
pub(in crate::postgres) enum Outcome {
    /// With this tag.
    Done(String),
    /// With so many rows of this verb.
    Rows(&'static str, u64),
    /// As many rows as were asked for were sent.
    Suspended,
}

impl Client {
    /// Sends at most `max` rows of a portal, 0 for all that are left.
    pub(super) async fn send_rows(
        &mut self,
        portal: &mut Portal,
        max: u64,
        out: &mut Vec<u8>,
        pace: &mut Pace,
    ) -> std::result::Result<Outcome, Halt> {
        let verb = match portal.statement.plan {
            Plan::Select(_) => "SELECT",
            _ => "SHOW",
        };
        let (sent, _) = self
            .some_rows(portal, max, Some(portal.formats.clone()), out, pace)
            .await?;
        Ok(match (max, verb) {
            (1.., _) if sent == max => Outcome::Suspended,
            (_, "SHOW") => Outcome::Done("SHOW".into()),
            _ => Outcome::Rows(verb, sent),
        })
    }

    /// Sends rows, or passes over them where there are no formats; how many, and whether all are done.
    async fn some_rows(
        &mut self,
        portal: &mut Portal,
        max: u64,
        formats: Option<Formats>,
        out: &mut Vec<u8>,
        pace: &mut Pace,
    ) -> std::result::Result<(u64, bool), Halt> {
        let statement = Rc::clone(&portal.statement);
        let columns = statement.columns.as_deref().unwrap_or_default();
        let wanted = if max == 0 { u64::MAX } else { max };
        let mut source = match std::mem::replace(&mut portal.rows, Rows::Done) {
            Rows::Done => return Ok((0, true)),
            Rows::Of(source) => source,
            // What is refused here is not done again.
            Rows::NotBegun => {
                let source = self.begin(&statement.plan, &portal.parameters).await?;
                if source.left() > wanted {
                    portal.keep_rows(&source).map_err(SqlError::from)?;
                }
                source
            }
        };
        let mut sent = 0;
        let mut look_at = out.len() + mintage_server::chassis::turn::LOOK_BYTES;
        while sent < wanted && source.left() > 0 {
            let left = (wanted - sent).min(source.left());
            let made = match &statement.plan {
                Plan::Select(select) => {
                    self.part(
                        select,
                        &mut source,
                        left,
                        (columns, formats.as_ref()),
                        &portal.parameters,
                        out,
                    )
                    .await?
                }
                _ => kept(&mut source, (columns, formats.as_ref()), out),
            };
            sent += made;
            if out.len() >= look_at || formats.is_none() {
                pace.look(out).await?;
                look_at = out.len() + mintage_server::chassis::turn::LOOK_BYTES;
                self.key.cancel.check(self.deadline)?;
            }
        }
        let done = source.left() == 0;
        if !done || (max > 0 && sent == max) {
            // One that was asked for exactly its rows learns the next time that there are no more.
            portal.rows = Rows::Of(source);
        }
        Ok((sent, done))
    }

    /// Some rows of a SELECT, at least one; how many.
    async fn part(
        &mut self,
        select: &Select,
        source: &mut Source,
        most: u64,
        (columns, formats): (&[Column], Option<&Formats>),
        parameters: &[Value],
        out: &mut Vec<u8>,
    ) -> Result<u64> {
        if let (Source::Next { target, left }, [Expr::Column(0)]) = (&mut *source, select.items.as_slice()) {
            let count = most.min(self.config.turn_ids);
            let run = self.take(target, count, "mint_next()").await?;
            *left -= run.count;
            write_numbers(out, run, formats);
            return Ok(run.count);
        }
        if let (Source::Series { left, .. }, [Expr::Call(Function::Nextval, arguments)]) =
            (&mut *source, select.items.as_slice())
            && let [Expr::Sequence(target)] = &**arguments
        {
            let count = most.min(self.config.turn_ids);
            let run = self.take(target, count, "nextval()").await?;
            *left -= run.count;
            write_numbers(out, run, formats);
            return Ok(run.count);
        }
        let row = self.next_row(source).await?;
        let given = Given {
            parameters,
            columns: &row,
        };
        let mut values = Vec::with_capacity(select.items.len());
        for (item, column) in select.items.iter().zip(columns) {
            let value = self.value(item, given).await?;
            values.push(fitted(value, column.kind)?);
        }
        if let Some(formats) = formats {
            backend::row(out, &values, columns, formats);
        }
        Ok(1)
    }

    async fn next_row(&mut self, source: &mut Source) -> Result<Vec<Value>> {
        Ok(match source {
            Source::One => {
                *source = Source::Kept(Vec::new().into_iter());
                Vec::new()
            }
            Source::Series { next, step, left } => {
                let value = *next;
                *left -= 1;
                // Behind the last one it is not used.
                *next = next.wrapping_add(*step);
                vec![Value::Int(value)]
            }
            Source::Next { target, left } => {
                let run = self.take(target, 1, "mint_next()").await?;
                *left -= 1;
                vec![Value::Int(run.first)]
            }
            Source::Kept(rows) => rows.next().unwrap_or_default(),
        })
    }

    /// Where the rows of a statement come from.
    async fn begin(&mut self, plan: &Plan, parameters: &[Value]) -> Result<Source> {
        let select = match plan {
            Plan::Select(select) => select,
            Plan::Show(name) => {
                let value = self.setting(name)?;
                return Ok(Source::Kept(vec![vec![Value::Text(value)]].into_iter()));
            }
            _ => {
                let all = self.session.variables.all(&self.session.facts);
                let row = |(name, value): (String, Rc<str>)| {
                    vec![Value::text(name), Value::Text(value), Value::text("")]
                };
                return Ok(Source::Kept(
                    all.into_iter().map(row).collect::<Vec<_>>().into_iter(),
                ));
            }
        };
        let given = Given {
            parameters,
            columns: &[],
        };
        let mut source = self.source(select, given).await?;
        if let Some(limit) = &select.limit {
            let limit = match self.value(limit, given).await? {
                Value::Null => u64::MAX,
                value => u64::try_from(value.integer(Type::Int8)?)
                    .map_err(|_| SqlError::new("2201W", "LIMIT must not be negative"))?,
            };
            limit_to(&mut source, limit);
        }
        self.check_rows(source.left())?;
        Ok(source)
    }

    async fn source(&mut self, select: &Select, given: Given<'_>) -> Result<Source> {
        Ok(match &select.from {
            From::Nothing => Source::One,
            From::Series { first, last, step } => {
                let first = self.value(first, given).await?;
                let last = self.value(last, given).await?;
                let step = match step {
                    Some(step) => self.value(step, given).await?,
                    None => Value::Int(1),
                };
                series(&first, &last, &step)?
            }
            From::Next { sequence, count } => {
                let (sequence, count) = (
                    self.named(sequence, given).await?,
                    self.value(count, given).await?,
                );
                let Some(target) = sequence else {
                    return Ok(Source::Kept(Vec::new().into_iter()));
                };
                Source::Next {
                    left: self.count(&count)?,
                    target,
                }
            }
            From::Run { sequence, count } => {
                let (sequence, count) = (
                    self.named(sequence, given).await?,
                    self.value(count, given).await?,
                );
                let Some(target) = sequence else {
                    return Ok(Source::Kept(Vec::new().into_iter()));
                };
                let count = self.count(&count)?;
                let run = self.take_run(&target, count).await?;
                let row = [run.first, run.last(), run.step].map(Value::Int).to_vec();
                Source::Kept(vec![row].into_iter())
            }
            From::Value(call) => {
                let value = self.value(call, given).await?;
                Source::Kept(vec![vec![value]].into_iter())
            }
            From::State(target) => {
                self.needs(Right::Read, target)?;
                let info = self.show(target).await?;
                let row = vec![
                    Value::Int(info.last.unwrap_or(info.first)),
                    Value::Int(0),
                    Value::Bool(info.last.is_some()),
                ];
                Source::Kept(vec![row].into_iter())
            }
            From::NextOf(target) => Source::Next {
                target: target.clone(),
                left: 1,
            },
            From::Catalogue(query) => {
                Source::Kept(self.catalogue(query, given.parameters).await?.into_iter())
            }
        })
    }

    /// The sequence that an expression names; `None` for NULL.
    async fn named(
        &mut self,
        sequence: &Expr,
        given: Given<'_>,
    ) -> Result<Option<crate::postgres::plan::Target>> {
        if let Expr::Sequence(target) = sequence {
            return Ok(Some(target.clone()));
        }
        match self.value(sequence, given).await? {
            Value::Null => Ok(None),
            value => self.target(&value).map(Some),
        }
    }

    fn count(&self, count: &Value) -> Result<u64> {
        let given = count.integer(Type::Int8)?;
        let most = self.config.max_count;
        match u64::try_from(given) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(SqlError::new(
                "54000",
                format!("count must be a whole number from 1 to {most}"),
            )),
        }
    }

    fn check_rows(&self, rows: u64) -> Result<()> {
        let most = self.config.max_count;
        match rows <= most {
            true => Ok(()),
            false => Err(SqlError::new(
                "54000",
                format!("a statement gives {most} rows at most (server.max_count)"),
            )),
        }
    }

    /// FETCH and MOVE: some rows of a cursor.
    pub(super) async fn fetch(
        &mut self,
        fetch: &Fetch,
        of: &Portal,
        out: &mut Vec<u8>,
        pace: &mut Pace,
    ) -> std::result::Result<Outcome, Halt> {
        let name = &*fetch.cursor;
        let no_cursor = || SqlError::new("34000", format!("cursor \"{name}\" does not exist"));
        let mut portal = self.session.portals.take(name).ok_or_else(no_cursor)?;
        // Rows come in the formats that this statement was asked for in.
        let formats = (!fetch.moves).then(|| of.formats.clone());
        let verb = if fetch.moves { "MOVE" } else { "FETCH" };
        if fetch.count == Some(0) {
            self.session.portals.put(name, portal);
            return Ok(Outcome::Rows(verb, 0));
        }
        let sent = self
            .some_rows(&mut portal, fetch.count.unwrap_or(0), formats, out, pace)
            .await;
        self.session.portals.put(name, portal);
        Ok(Outcome::Rows(verb, sent?.0))
    }

    /// The columns of a statement's rows: those of FETCH are its cursor's.
    pub(in crate::postgres) fn columns_of(
        &self,
        plan: &Plan,
        columns: Option<&[Column]>,
    ) -> Option<Vec<Column>> {
        match plan {
            Plan::Fetch(fetch) if !fetch.moves => {
                let cursor = self.session.portals.get(&fetch.cursor)?;
                cursor.statement.columns.clone()
            }
            _ => columns.map(<[Column]>::to_vec),
        }
    }
}

fn kept(source: &mut Source, (columns, formats): (&[Column], Option<&Formats>), out: &mut Vec<u8>) -> u64 {
    if let Source::Kept(rows) = source
        && let (Some(row), Some(formats)) = (rows.next(), formats)
    {
        backend::row(out, &row, columns, formats);
    }
    1
}

fn write_numbers(out: &mut Vec<u8>, run: mintage::Run, formats: Option<&Formats>) {
    if let Some(formats) = formats {
        let binary = formats.is_binary(0);
        run.iter()
            .for_each(|number| backend::number_row(out, number, binary));
    }
}

/// A value as its column has it, so that it can be written in either format.
fn fitted(value: Value, kind: Type) -> Result<Value> {
    match (&value, kind) {
        (Value::Int(_), Type::Int8) | (Value::Text(_), Type::Text | Type::Name | Type::Varchar) => Ok(value),
        (Value::Text(_), Type::Void) => Ok(value),
        _ => value.cast(kind),
    }
}

fn limit_to(source: &mut Source, limit: u64) {
    match source {
        Source::One if limit == 0 => *source = Source::Kept(Vec::new().into_iter()),
        Source::One => {}
        Source::Series { left, .. } | Source::Next { left, .. } => *left = limit.min(*left),
        Source::Kept(rows) => {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            *source = Source::Kept(rows.take(limit).collect::<Vec<_>>().into_iter());
        }
    }
}

/// From the first to the last, as far as the steps fit.
fn series(first: &Value, last: &Value, step: &Value) -> Result<Source> {
    if [first, last, step].contains(&&Value::Null) {
        return Ok(Source::Kept(Vec::new().into_iter()));
    }
    let [first, last, step] = [
        first.integer(Type::Int8)?,
        last.integer(Type::Int8)?,
        step.integer(Type::Int8)?,
    ];
    if step == 0 {
        return Err(SqlError::new("22023", "step size cannot equal zero"));
    }
    let apart = (i128::from(last) - i128::from(first)) * i128::from(step.signum());
    let left = match apart < 0 {
        true => 0,
        false => apart / i128::from(step).abs() + 1,
    };
    Ok(Source::Series {
        next: first,
        step,
        left: u64::try_from(left).unwrap_or(u64::MAX),
    })
}
