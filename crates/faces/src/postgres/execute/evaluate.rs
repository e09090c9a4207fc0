//! Expressions: those that give their value at once, and those that wait.

use std::pin::Pin;

use mintage::{Base, GenOptions, Uuid};
use mintage_ledger::{DEFAULT_POOL, UUID1_POOL};

use super::{Client, Result, SqlError};
use crate::postgres::known;
use crate::postgres::plan::{Expr, Function, OWN_SCHEMA, Operator, Target};
use crate::postgres::types::{Type, Value};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::Code;
use mintage_server::chassis::formats::{Make, format};

/// What an expression is computed over.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) parameters: &'a [Value],
    pub(super) columns: &'a [Value],
}

impl Client {
    /// A value that needs no waiting; `None`: it may have to be waited for. Nothing was done then.
    fn at_once(&mut self, expr: &Expr, given: Given<'_>) -> Option<Result<Value>> {
        Some(Ok(match expr {
            Expr::Constant(value) => value.clone(),
            Expr::Sequence(target) => Value::Text(target.shown.clone()),
            Expr::Parameter(at) => given.parameters.get(*at).cloned().unwrap_or(Value::Null),
            Expr::Column(at) => given.columns.get(*at).cloned().unwrap_or(Value::Null),
            Expr::Cast(inner, kind) => {
                return Some(self.at_once(inner, given)?.and_then(|value| value.cast(*kind)));
            }
            Expr::Call(Function::Nextval, arguments) => match &**arguments {
                [Expr::Sequence(target)] => Value::Int(self.try_next(target, 1)?.first),
                _ => return None,
            },
            Expr::Call(..) | Expr::Calculate(..) => return None,
        }))
    }

    /// The value of an expression.
    pub(super) async fn value(&mut self, expr: &Expr, given: Given<'_>) -> Result<Value> {
        match self.at_once(expr, given) {
            Some(value) => value,
            None => self.later(expr, given).await,
        }
    }

    /// The value of an expression where there is no row.
    pub(in crate::postgres) async fn value_without_row(
        &mut self,
        expr: &Expr,
        parameters: &[Value],
    ) -> Result<Value> {
        let given = Given {
            parameters,
            columns: &[],
        };
        self.value(expr, given).await
    }

    fn later<'a>(
        &'a mut self,
        expr: &'a Expr,
        given: Given<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Value>> + 'a>> {
        Box::pin(async move {
            match expr {
                Expr::Cast(inner, kind) => self.value(inner, given).await?.cast(*kind),
                Expr::Calculate(left, operator, right) => {
                    let left = self.value(left, given).await?;
                    let right = self.value(right, given).await?;
                    calculate(left, *operator, right)
                }
                Expr::Call(function, arguments) => {
                    let mut values = Vec::with_capacity(arguments.len());
                    let mut target = None;
                    for argument in arguments {
                        if let Expr::Sequence(named) = argument {
                            target = Some(named.clone());
                        }
                        values.push(self.value(argument, given).await?);
                    }
                    self.call(*function, target, &values).await
                }
                other => self.at_once(other, given).unwrap_or(Ok(Value::Null)),
            }
        })
    }

    async fn call(&mut self, function: Function, target: Option<Target>, values: &[Value]) -> Result<Value> {
        let is_null = values.contains(&Value::Null);
        let about_sequence = matches!(
            function,
            Function::Nextval | Function::Currval | Function::Setval | Function::SequenceLastValue
        );
        if is_null && (about_sequence || function == Function::MintId) {
            return Ok(Value::Null);
        }
        if about_sequence {
            let target = match target {
                Some(target) => target,
                None => self.target(&values[0])?,
            };
            return self.call_of_sequence(function, &target, values).await;
        }
        let text = |at: usize| values.get(at).and_then(Value::shown);
        let facts = &self.session.facts;
        Ok(match function {
            Function::Lastval => Value::Int(self.last().await?),
            Function::Uuid7 => Value::Uuid(self.uuid(Make::Uuid7).await?),
            Function::Uuid4 => Value::Uuid(self.uuid(Make::Uuid4).await?),
            Function::MintId => Value::text(self.id_of(&text(0).unwrap_or_default()).await?),
            Function::MintSnowflake => {
                let pool = text(0).unwrap_or_else(|| DEFAULT_POOL.to_string());
                Value::Int(self.snowflake(&pool).await?.cast_signed())
            }
            Function::Version => Value::text(format!("PostgreSQL {}", facts.server_version)),
            Function::CurrentSchema => Value::text(OWN_SCHEMA),
            Function::CurrentUser => Value::Text(facts.user.clone()),
            Function::CurrentDatabase => Value::Text(self.session.database.clone()),
            Function::BackendPid => Value::Int(i64::from(self.key.process)),
            Function::IsInRecovery => Value::Bool(false),
            Function::SetConfig => self.set_config(values).await?,
            Function::CurrentSetting => {
                let name = text(0).unwrap_or_default();
                match self.session.variables.get(&name, facts) {
                    Some(value) => Value::Text(value),
                    None if values.get(1) == Some(&Value::Bool(true)) => Value::Null,
                    None => return Err(known::not_known(&name)),
                }
            }
            Function::AdvisoryUnlockAll => Value::text(""),
            Function::Nextval | Function::Currval | Function::Setval | Function::SequenceLastValue => {
                Value::Null
            }
        })
    }

    async fn call_of_sequence(
        &mut self,
        function: Function,
        target: &Target,
        values: &[Value],
    ) -> Result<Value> {
        Ok(match function {
            Function::Nextval => Value::Int(self.next(target).await?),
            Function::Currval => Value::Int(self.current(target).await?),
            Function::Setval => {
                let to = Base {
                    value: values[1].integer(Type::Int8)?,
                    is_called: values.get(2) != Some(&Value::Bool(false)),
                };
                Value::Int(self.set_to(target, to).await?)
            }
            _ => {
                self.needs(Right::Read, target)?;
                self.show(target).await?.last.map_or(Value::Null, Value::Int)
            }
        })
    }

    /// The sequence that a value names.
    pub(in crate::postgres) fn target(&self, value: &Value) -> Result<Target> {
        let name = value.shown().unwrap_or_default();
        Target::of_text(&name, &self.config.faces.get::<crate::postgres::Settings>().keys)
    }

    fn may_make(&self) -> Result<()> {
        let checked = self.who.check(Right::Allocate, What::Nothing);
        checked.map_err(|denied| SqlError::new("42501", denied.message))
    }

    async fn uuid(&self, make: Make) -> Result<Uuid> {
        self.may_make()?;
        self.thread.service().spend(&self.who, self.peer, 1);
        let mut made = [Uuid::nil()];
        self.thread.mint_timed(make, &[], &mut made).await?;
        Ok(made[0])
    }

    /// An id of any format that is made here, as text.
    async fn id_of(&mut self, name: &str) -> Result<String> {
        let row = format(name.as_bytes())?;
        match row.make {
            Make::Snowflake => Ok(self.snowflake(DEFAULT_POOL).await?.to_string()),
            Make::Uuid4 | Make::Uuid7 => Ok(self.uuid(row.make).await?.hyphenated().to_string()),
            Make::Uuid1 | Make::Uuid6 => {
                let pool = UUID1_POOL.as_bytes();
                if self.who.check(Right::Allocate, What::Named(pool)).is_err() {
                    return Err(SqlError::new(
                        "42501",
                        format!("permission denied for pool {UUID1_POOL}"),
                    ));
                }
                self.thread.service().spend(&self.who, self.peer, 1);
                let mut made = [Uuid::nil()];
                let minting = self.thread.mint_timed(row.make, pool, &mut made);
                self.key.cancel.unless(self.deadline, minting).await??;
                Ok(made[0].hyphenated().to_string())
            }
            Make::Core => {
                self.may_make()?;
                self.thread.service().spend(&self.who, self.peer, 1);
                let made = self.thread.make(&row, &GenOptions::default(), 1).await?;
                let mut text = Vec::new();
                if let Some(id) = made.first() {
                    row.format.write(id, &mut text).expect("made by this format");
                }
                Ok(String::from_utf8_lossy(&text).into_owned())
            }
        }
    }

    async fn snowflake(&mut self, pool: &str) -> Result<u64> {
        if self
            .who
            .check(Right::Allocate, What::Named(pool.as_bytes()))
            .is_err()
        {
            return Err(SqlError::new(
                "42501",
                format!("permission denied for pool {pool}"),
            ));
        }
        self.thread.service().spend(&self.who, self.peer, 1);
        let mut made = [0];
        if self.thread.try_mint(pool.as_bytes(), &mut made) == 1 {
            return Ok(made[0]);
        }
        let minting = self.thread.mint(pool.as_bytes(), &mut made);
        match self.key.cancel.unless(self.deadline, minting).await? {
            Ok(()) => Ok(made[0]),
            Err(error) if error.code == Code::NotFound => {
                Err(SqlError::new("42704", format!("pool \"{pool}\" does not exist")))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn calculate(left: Value, operator: Operator, right: Value) -> Result<Value> {
    if left == Value::Null || right == Value::Null {
        return Ok(Value::Null);
    }
    let (left, right) = (left.integer(Type::Int8)?, right.integer(Type::Int8)?);
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
    };
    result
        .map(Value::Int)
        .ok_or_else(|| SqlError::new("22003", "bigint out of range"))
}
