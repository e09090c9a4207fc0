//! Expressions, as they are evaluated.

use std::pin::Pin;

use jiff::Timestamp;

use super::{Execution, Outcome};
use crate::mysql::plan::{Comparison, Expression, Function, Operator};
use crate::mysql::refusal::Refusal;
use crate::mysql::value::{Kind, Value};
use mintage_server::chassis::formats::Make;

/// A row: its columns by their names in lower case.
pub(super) type Row<'r> = &'r [(&'static str, Value)];

/// The last column of rows that have any column: those that are not told of are this.
pub(super) const ANY_OTHER: &str = "";

type Later<'f> = Pin<Box<dyn Future<Output = Outcome<Value>> + 'f>>;

impl Execution<'_> {
    /// What an expression is, of this row.
    pub(super) async fn value(&mut self, expression: &Expression, row: Row<'_>) -> Outcome<Value> {
        match self.at_once(expression, row) {
            Some(value) => value,
            None => self.later(expression, row).await,
        }
    }

    /// What needs neither a number nor the value of another expression.
    fn at_once(&mut self, expression: &Expression, row: Row<'_>) -> Option<Outcome<Value>> {
        Some(Ok(match expression {
            Expression::Null => Value::Null,
            Expression::Integer(number) => Value::Integer(*number),
            Expression::Unsigned(number) => Value::Unsigned(*number),
            Expression::Decimal(text) => Value::Decimal(text.as_bytes().into()),
            Expression::Text(text) => Value::text(&**text),
            Expression::Parameter(place) => self.parameters.get(*place).cloned().unwrap_or(Value::Null),
            Expression::Column(name) => {
                let is_it = |known: &str| name.eq_ignore_ascii_case(known);
                let found = row.iter().find(|(known, _)| is_it(known) || *known == ANY_OTHER);
                return Some(match found {
                    Some((_, value)) => Ok(value.clone()),
                    None => Err(Refusal::no_column(name, "SELECT")),
                });
            }
            Expression::Previous(name) => {
                let key = self.key(name);
                if let Err(refusal) = self.check_read(&key, name) {
                    return Some(Err(refusal));
                }
                // Whether there is such a sequence is looked for where nothing was taken of it.
                Value::Integer(self.session.numbers.current(key.as_bytes())?)
            }
            Expression::LastInsertId(None) => Value::Unsigned(self.session.last_insert_id),
            Expression::Variable(name, _) => {
                let config = self.thread.config();
                let value = self.session.settings.get(name, &config, &self.known());
                return Some(value.ok_or_else(|| Refusal::no_variable(name)));
            }
            Expression::UserVariable(name) => self.session.user_variable(name),
            Expression::Function(Function::Uuid7) if self.waits_for_time() => return None,
            Expression::Function(function) => return Some(self.function(*function)),
            Expression::Count => Value::Integer(1),
            _ => return None,
        }))
    }

    fn function(&mut self, function: Function) -> Outcome<Value> {
        let now = |format: &str| Value::text(Timestamp::now().strftime(format).to_string());
        let user = |user: &str| Value::text(format!("{user}@{}", self.session.host));
        Ok(match function {
            Function::Version => Value::text(
                self.thread
                    .config()
                    .faces
                    .get::<crate::mysql::Settings>()
                    .server_version
                    .shown(),
            ),
            Function::Database if self.session.database.is_empty() => Value::Null,
            Function::Database => Value::text(&*self.session.database),
            Function::User => user(&self.session.user),
            Function::CurrentUser => user(self.session.identity.name()),
            Function::ConnectionId => Value::Integer(self.session.id.into()),
            Function::Now | Function::UtcNow => now("%Y-%m-%d %H:%M:%S"),
            Function::Today => now("%Y-%m-%d"),
            Function::UnixTime => Value::Integer(Timestamp::now().as_second()),
            Function::RowCount => Value::Integer(self.session.row_count),
            Function::FoundRows => Value::Unsigned(self.session.found_rows),
            Function::Uuid4 => self.uuid(Make::Uuid4)?,
            Function::Uuid7 => self.uuid(Make::Uuid7)?,
        })
    }

    fn later<'f>(&'f mut self, expression: &'f Expression, row: Row<'f>) -> Later<'f> {
        Box::pin(async move {
            Ok(match expression {
                Expression::Next(name) => Value::Integer(self.next(name).await?),
                Expression::Previous(name) => {
                    self.check_exists(name).await?;
                    Value::Null
                }
                Expression::SetValue(asked) => self.set_value(asked, row).await?,
                Expression::LastInsertId(Some(id)) => {
                    let number = self.value(id, row).await?.as_integer().unwrap_or(0);
                    let id = u64::try_from(number).unwrap_or(number as i64 as u64);
                    self.session.last_insert_id = id;
                    Value::Unsigned(id)
                }
                Expression::Function(Function::Uuid7) => self.uuid_later(Make::Uuid7).await?,
                Expression::MintId(format) => {
                    let format = self.value(format, row).await?;
                    self.mint_id(&format).await?
                }
                Expression::MintSnowflake(pool) => {
                    let pool = match pool {
                        Some(pool) => Some(self.value(pool, row).await?),
                        None => None,
                    };
                    self.mint_snowflake(pool.as_ref()).await?
                }
                Expression::Concat(parts) => {
                    let mut all = Vec::new();
                    for part in parts {
                        match self.value(part, row).await?.to_text() {
                            Some(text) => all.extend_from_slice(&text),
                            None => return Ok(Value::Null),
                        }
                        check_length(&all)?;
                    }
                    Value::Text(all.into())
                }
                Expression::Coalesce(parts) => {
                    for part in parts {
                        let value = self.value(part, row).await?;
                        if value != Value::Null {
                            return Ok(value);
                        }
                    }
                    Value::Null
                }
                Expression::Negative(inner) => {
                    let value = self.value(inner, row).await?;
                    arithmetic(Operator::Minus, &Value::Integer(0), &value)?
                }
                Expression::Arithmetic(operator, left, right) => {
                    let left = self.value(left, row).await?;
                    let right = self.value(right, row).await?;
                    arithmetic(*operator, &left, &right)?
                }
                Expression::Compare(comparison, left, right) => {
                    let left = self.value(left, row).await?;
                    let right = self.value(right, row).await?;
                    compare(*comparison, &left, &right)
                }
                Expression::IsNull(inner, is_not) => {
                    let is_null = self.value(inner, row).await? == Value::Null;
                    Value::Integer((is_null != *is_not).into())
                }
                Expression::AsText(inner) => {
                    let text = self.value(inner, row).await?.to_text();
                    text.map_or(Value::Null, Value::text)
                }
                Expression::AsInteger(inner) => match self.value(inner, row).await? {
                    Value::Null => Value::Null,
                    value => whole(value.as_integer().unwrap_or(0))?,
                },
                other => return self.at_once(other, row).unwrap_or(Ok(Value::Null)),
            })
        })
    }

    /// What an expression's values are, as far as that is known before it is evaluated.
    pub(super) fn kind(&self, expression: &Expression) -> Kind {
        match expression {
            Expression::Null => Kind::Null,
            Expression::Unsigned(_) | Expression::LastInsertId(_) => Kind::Unsigned,
            Expression::Function(Function::FoundRows) => Kind::Unsigned,
            Expression::Decimal(_) => Kind::Decimal,
            Expression::Integer(_)
            | Expression::Next(_)
            | Expression::Previous(_)
            | Expression::SetValue(_)
            | Expression::MintSnowflake(_)
            | Expression::Negative(_)
            | Expression::IsNull(..)
            | Expression::AsInteger(_)
            | Expression::Count
            | Expression::Function(Function::ConnectionId | Function::UnixTime | Function::RowCount)
            | Expression::Compare(..) => Kind::Integer,
            Expression::Arithmetic(_, left, right) => {
                let unsigned = [left, right].iter().any(|side| self.kind(side) == Kind::Unsigned);
                if unsigned { Kind::Unsigned } else { Kind::Integer }
            }
            Expression::Text(_)
            | Expression::Column(_)
            | Expression::Function(_)
            | Expression::MintId(_)
            | Expression::Concat(_)
            | Expression::AsText(_) => Kind::Text,
            Expression::Parameter(place) => self.parameters.get(*place).map_or(Kind::Text, Value::kind),
            Expression::Variable(name, _) => {
                let config = self.thread.config();
                let value = self.session.settings.get(name, &config, &self.known());
                value.map_or(Kind::Text, |value| value.kind())
            }
            Expression::UserVariable(name) => match self.session.user_variable(name) {
                Value::Null => Kind::Text,
                value => value.kind(),
            },
            Expression::Coalesce(parts) => {
                let kinds = parts.iter().map(|part| self.kind(part));
                kinds
                    .into_iter()
                    .find(|kind| *kind != Kind::Null)
                    .unwrap_or(Kind::Null)
            }
        }
    }

    /// A number that a statement needs as such.
    pub(super) async fn number(&mut self, expression: &Expression, what: &'static str) -> Outcome<i128> {
        let value = self.value(expression, &[]).await?;
        value
            .as_integer()
            .ok_or_else(|| Refusal::arguments(format!("Incorrect arguments to {what}")))
    }
}

fn check_length(text: &[u8]) -> Outcome<()> {
    match text.len() > TEXT_BYTES_MAX {
        true => Err(Refusal::arguments("the result of CONCAT is too long")),
        false => Ok(()),
    }
}

/// How long a text that is put together may be.
const TEXT_BYTES_MAX: usize = 65_536;

fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Outcome<Value> {
    if *left == Value::Null || *right == Value::Null {
        return Ok(Value::Null);
    }
    let (Some(left), Some(right)) = (left.as_integer(), right.as_integer()) else {
        return Err(Refusal::not_here("arithmetic with fractions or texts"));
    };
    let result = match operator {
        Operator::Plus => left.checked_add(right),
        Operator::Minus => left.checked_sub(right),
        Operator::Times => left.checked_mul(right),
    };
    match result {
        Some(number) => whole(number),
        None => Err(Refusal::out_of_range("this expression")),
    }
}

/// Numbers as such, anything else as text without regard to case.
fn compare(comparison: Comparison, left: &Value, right: &Value) -> Value {
    if *left == Value::Null || *right == Value::Null {
        return Value::Null;
    }
    let text = |value: &Value| value.to_text().unwrap_or_default().to_ascii_lowercase();
    let order = match (left.as_integer(), right.as_integer()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => text(left).cmp(&text(right)),
    };
    let holds = match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    };
    Value::Integer(holds.into())
}

/// A number of 64 bits, signed or not.
fn whole(number: i128) -> Outcome<Value> {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => Ok(Value::Integer(number)),
        (_, Ok(number)) => Ok(Value::Unsigned(number)),
        _ => Err(Refusal::out_of_range(&number.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stays_within_64_bits() {
        let of = |operator, left: i64, right: i64| {
            arithmetic(operator, &Value::Integer(left), &Value::Integer(right))
                .map_err(|refusal| refusal.errno)
        };
        assert_eq!(of(Operator::Plus, i64::MAX, 1), Ok(Value::Unsigned(1 << 63)));
        assert_eq!(of(Operator::Minus, i64::MIN, 1), Err(1690));
        assert_eq!(of(Operator::Times, i64::MAX, i64::MAX), Err(1690));
        let null = arithmetic(Operator::Plus, &Value::Null, &Value::Integer(1));
        assert_eq!(null, Ok(Value::Null));
        let compared = |comparison, left: &str, right: &str| {
            compare(comparison, &Value::text(left), &Value::text(right))
        };
        assert_eq!(compared(Comparison::Equal, "A", "a"), Value::Integer(1));
        assert_eq!(compared(Comparison::Less, "9", "10"), Value::Integer(1));
        assert_eq!(compared(Comparison::GreaterOrEqual, "a", "b"), Value::Integer(0));
    }
}
