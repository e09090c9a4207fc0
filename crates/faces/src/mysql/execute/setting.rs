//! `SET`, `SHOW`, `KILL`.

use super::like::like;
use super::query::OfNames;
use super::{Done, Execution, Outcome, Rows};
use crate::mysql::answer::Column;
use crate::mysql::kill;
use crate::mysql::plan::{Assignment, Expression, Setting, Show};
use crate::mysql::refusal::{Refusal, Verb};
use crate::mysql::value::{Kind, Value};
use crate::mysql::variables::{NotSet, as_switch};
use mintage_server::chassis::audit::{self, Act, audited_answer};
use mintage_server::chassis::auth::{Right, What};

/// A pattern as the names of columns have it.
fn shown(pattern: &Option<Vec<u8>>) -> String {
    let pattern = pattern.as_ref().map(|pattern| String::from_utf8_lossy(pattern));
    pattern.map_or(String::new(), |pattern| format!(" ({pattern})"))
}

impl Execution<'_> {
    /// `SET`.
    pub(super) async fn set(&mut self, assignments: &[Assignment]) -> Outcome<Done> {
        let before = self.session.set_so_far();
        let set = self.set_all(assignments).await;
        self.session.count_settings(before)?;
        set
    }

    async fn set_all(&mut self, assignments: &[Assignment]) -> Outcome<Done> {
        for assignment in assignments {
            match assignment {
                Assignment::UserVariable(name, expression) => {
                    let value = self.value(expression, &[]).await?;
                    if !self.session.set_user_variable(name, value) {
                        return Err(Refusal::arguments(
                            "a connection has 32 variables of its own, of 1024 bytes each, and no more",
                        ));
                    }
                }
                Assignment::Names(charset, collation) => {
                    let set = charset.as_deref().unwrap_or("utf8mb4");
                    for name in [
                        "character_set_client",
                        "character_set_connection",
                        "character_set_results",
                    ] {
                        self.set_variable(name, Some(Value::text(set)))?;
                    }
                    if let Some(collation) = collation {
                        self.set_variable("collation_connection", Some(Value::text(&**collation)))?;
                    }
                }
                Assignment::Isolation(level, read_only) => {
                    if let Some(level) = level {
                        self.set_variable("tx_isolation", Some(Value::text(level)))?;
                    }
                    if let Some(read_only) = read_only {
                        self.set_variable("tx_read_only", Some(Value::Integer((*read_only).into())))?;
                    }
                }
                Assignment::Variable { is_global: true, .. } => return Err(Refusal::global_variable()),
                Assignment::Variable { name, value, .. } => self.assign(name, value.as_ref()).await?,
            }
        }
        Ok(Done::NOTHING)
    }

    async fn assign(&mut self, name: &str, setting: Option<&Setting>) -> Outcome<()> {
        let value = match setting {
            // An expression that is not evaluated sets nothing; its variable must be there.
            None => {
                let config = self.thread.config();
                let known = self.session.settings.get(name, &config, &self.known());
                return match known {
                    Some(_) => Ok(()),
                    None => Err(Refusal::no_variable(name)),
                };
            }
            Some(Setting::Default) => None,
            Some(Setting::Word(word)) if word.eq_ignore_ascii_case("null") => Some(Value::text("")),
            Some(Setting::Word(word)) => Some(Value::text(&**word)),
            Some(Setting::Value(expression)) => {
                // What was kept in a variable before it was set is NULL where nothing was: the default.
                Some(self.value(expression, &[]).await?).filter(|value| *value != Value::Null)
            }
        };
        self.set_variable(name, value)
    }

    fn set_variable(&mut self, name: &str, value: Option<Value>) -> Outcome<()> {
        let shown = value.as_ref().and_then(Value::to_text).unwrap_or_default();
        let refused = |why| match why {
            NotSet::Unknown => Refusal::no_variable(name),
            NotSet::ReadOnly => Refusal::read_only_variable(name),
            NotSet::Value => Refusal::variable_value(name, &String::from_utf8_lossy(&shown)),
        };
        if name.eq_ignore_ascii_case("autocommit") {
            let on = value.as_ref().map_or(Some(true), as_switch);
            let on = on.ok_or_else(|| refused(NotSet::Value))?;
            if on != self.session.autocommit && (on || !self.session.in_transaction) {
                self.session.end_transaction();
            }
            self.session.autocommit = on;
            return Ok(());
        }
        let (config, known) = (self.thread.config(), self.known());
        let set = self.session.settings.set(name, value, &config, &known);
        set.map_err(refused)
    }

    /// `SHOW`.
    pub(super) async fn show(&mut self, show: &Show) -> Outcome<Done> {
        let (columns, values): (Vec<String>, Vec<Value>) = match show {
            Show::Tables { like, full } => {
                let pattern = self.pattern(like.as_ref()).await?;
                let asked = pattern.clone().map(OfNames::Like).into_iter().collect();
                let names = self.sequence_names(asked).await?;
                let mut columns = vec![format!("Tables_in_{}{}", self.session.database, shown(&pattern))];
                let kind = |name: String| [Value::text(name), Value::text("SEQUENCE")];
                let width = if *full { 2 } else { 1 };
                if *full {
                    columns.push("Table_type".into());
                }
                let rows = names
                    .into_iter()
                    .flat_map(|name| kind(name).into_iter().take(width));
                (columns, rows.collect())
            }
            Show::TableStatus { like } => {
                let pattern = self.pattern(like.as_ref()).await?;
                let asked = pattern.map(OfNames::Like).into_iter().collect();
                let names = self.sequence_names(asked).await?;
                let row = |name: String| TABLE_STATUS.iter().map(move |(_, value)| value.told_of(&name));
                let columns = TABLE_STATUS.iter().map(|(column, _)| column.to_string());
                (columns.collect(), names.into_iter().flat_map(row).collect())
            }
            Show::Databases { like: pattern } => {
                let pattern = self.pattern(pattern.as_ref()).await?;
                let mut names = vec!["information_schema", &*self.session.database];
                names.retain(|name| !name.is_empty());
                names.dedup();
                names.retain(|name| {
                    pattern
                        .as_ref()
                        .is_none_or(|pattern| like(pattern, name.as_bytes()))
                });
                let column = format!("Database{}", shown(&pattern));
                (vec![column], names.into_iter().map(Value::text).collect())
            }
            Show::Variables { like: pattern, names } => {
                let pattern = self.pattern(pattern.as_ref()).await?;
                let mut asked = Vec::new();
                for name in names {
                    asked.push(self.value(name, &[]).await?.to_text().unwrap_or_default());
                }
                let config = self.thread.config();
                let all = self.session.settings.shown(&config, &self.known());
                let rows = all.into_iter().filter(|(name, _)| {
                    let name = name.as_bytes();
                    pattern.as_ref().is_none_or(|pattern| like(pattern, name))
                        && (asked.is_empty() || asked.iter().any(|asked| asked.eq_ignore_ascii_case(name)))
                });
                let values = rows.flat_map(|(name, value)| [Value::text(name), value]);
                (vec!["Variable_name".into(), "Value".into()], values.collect())
            }
            Show::Empty(columns) => (columns.iter().map(ToString::to_string).collect(), Vec::new()),
        };
        let columns = columns.into_iter();
        Ok(Done::Rows(Rows {
            columns: columns.map(|name| Column::new(name, Kind::Text)).collect(),
            values,
        }))
    }

    async fn pattern(&mut self, like: Option<&Expression>) -> Outcome<Option<Vec<u8>>> {
        match like {
            Some(like) => Ok(self.value(like, &[]).await?.to_text()),
            None => Ok(None),
        }
    }

    /// `KILL`: one's own connections, or all for who may do everything.
    pub(super) async fn kill(&mut self, id: &Expression, whole_connection: bool) -> Outcome<Done> {
        let id = self.number(id, "KILL").await?;
        let id = u64::try_from(id).map_err(|_| Refusal::no_thread(0))?;
        Box::pin(self.end(id, whole_connection)).await
    }

    /// Ends a connection, or what it waits for.
    pub(in crate::mysql) async fn end(&mut self, id: u64, whole_connection: bool) -> Outcome<Done> {
        let number = u32::try_from(id).map_err(|_| Refusal::no_thread(id))?;
        let Some(found) = kill::find(self.thread.shared(), number) else {
            return Err(Refusal::no_thread(id));
        };
        let who = &self.session.identity;
        if *found.token == *who.name() {
            found.kill(whole_connection);
            return Ok(Done::NOTHING);
        }
        let service = self.thread.service();
        let act = Act {
            with: Some(format!("connection {id} of {}", found.token)),
            ..self.act("kill")
        };
        if who.check(Right::Admin, What::Everything).is_err() {
            audit::refused(service, act).await;
            return Err(Refusal::not_owner(id));
        }
        self.acting.set(true);
        let killing = async {
            found.kill(whole_connection);
            Ok(())
        };
        let killed = audited_answer(service, act, killing).await;
        self.acting.set(false);
        match killed {
            Ok(()) => Ok(Done::NOTHING),
            Err(error) => Err(Refusal::of(&error, Verb::Id, "")),
        }
    }
}

/// What `SHOW TABLE STATUS` says of a sequence in one column.
enum Status {
    Name,
    Word(&'static str),
    Number(i64),
    Unknown,
}

impl Status {
    fn told_of(&self, name: &str) -> Value {
        match self {
            Status::Name => Value::text(name),
            Status::Word(word) => Value::text(*word),
            Status::Number(number) => Value::Integer(*number),
            Status::Unknown => Value::Null,
        }
    }
}

/// Its columns, and what MariaDB says there of a sequence: a table of one row.
const TABLE_STATUS: [(&str, Status); 18] = [
    ("Name", Status::Name),
    ("Engine", Status::Word("SEQUENCE")),
    ("Version", Status::Number(10)),
    ("Row_format", Status::Word("Fixed")),
    ("Rows", Status::Number(1)),
    ("Avg_row_length", Status::Number(8)),
    ("Data_length", Status::Number(8)),
    ("Max_data_length", Status::Number(0)),
    ("Index_length", Status::Number(0)),
    ("Data_free", Status::Number(0)),
    ("Auto_increment", Status::Unknown),
    ("Create_time", Status::Unknown),
    ("Update_time", Status::Unknown),
    ("Check_time", Status::Unknown),
    ("Collation", Status::Unknown),
    ("Checksum", Status::Unknown),
    ("Create_options", Status::Word("")),
    ("Comment", Status::Word("")),
];
