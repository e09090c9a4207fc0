//! The rows of tables that are answered truly.

use mintage_ledger::{Name, SequenceInfo};

use crate::postgres::Settings;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::execute::Client;
use crate::postgres::plan::question::Table;
use crate::postgres::plan::{IntegerKind, OWN_SCHEMA, Target};
use crate::postgres::types::{Type, Value};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::config::Keys;
use mintage_server::chassis::error::Code;

/// The oid of the schema `public`, and of our owner.
pub(super) const PUBLIC: i64 = 2200;
const OWNER: i64 = 10;

/// An oid for a name: always the same, beyond those of PostgreSQL's own.
pub(super) fn oid_of(name: &str) -> i64 {
    // FNV-1a.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    16_384 + i64::from(hash >> 1)
}

/// The schema and the name of a sequence, as its clients know it.
pub(super) fn parted<'n>(name: &'n Name, keys: &Keys) -> (&'n str, &'n str) {
    let own = name
        .as_str()
        .strip_prefix(keys.prefix.0.as_str())
        .unwrap_or(name.as_str());
    match own.split_once('.') {
        Some((schema, name)) if !schema.is_empty() && !name.is_empty() => (schema, name),
        _ => (OWN_SCHEMA, own),
    }
}

pub(super) fn schema_oid(schema: &str) -> i64 {
    if schema == OWN_SCHEMA {
        PUBLIC
    } else {
        oid_of(schema)
    }
}

/// Which sequences a question is about.
pub(super) enum Wanted {
    Named(Vec<String>),
    Fitting(Box<dyn Fn(&SequenceInfo) -> bool + Send + Sync>),
}

impl Client {
    /// The sequences of these keys that this client may see.
    pub(super) async fn sequences_named(&mut self, keys: &[String]) -> Result<Vec<SequenceInfo>> {
        let mut found: Vec<SequenceInfo> = Vec::new();
        for key in keys {
            if found.iter().any(|info| info.name.as_str() == key) {
                continue;
            }
            let sees = |info: &SequenceInfo| {
                let name = What::Named(info.name.as_str().as_bytes());
                self.who.may(Right::Read, name)
            };
            found.extend(self.find(&Target::of_key(key)).await?.filter(sees));
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// The sequences that fit, of those that this client may see. There may be any number of others.
    pub(super) async fn sequences(
        &mut self,
        fits: impl Fn(&SequenceInfo) -> bool + Send + Sync + 'static,
    ) -> Result<Vec<SequenceInfo>> {
        let who = self.who.clone();
        let sees = move |name: &Name| who.may(Right::Read, What::Named(name.as_str().as_bytes()));
        let (most, prefix) = (
            self.config.max_count,
            self.config.faces.get::<Settings>().keys.prefix.0.clone(),
        );
        let listing = self.thread.service().aside(move |service| async move {
            let fits = |info: &SequenceInfo| fits(info) && sees(&info.name);
            service.sequences_matching(most, &prefix, fits).await
        });
        match self.key.cancel.unless(self.deadline, listing).await? {
            Err(error) if error.code == Code::TooMany => Err(SqlError::new(
                "54000",
                format!("more than {most} sequences are asked for (server.max_count)"),
            )
            .with_hint("ask for fewer of them, such as those LIKE 'orders%'")),
            answered => Ok(answered?),
        }
    }

    /// The rows of a table: of the sequences of these keys, or of those that fit.
    pub(super) async fn rows_of(&mut self, table: Table, wanted: Wanted) -> Result<Vec<Vec<Value>>> {
        Ok(match table {
            Table::Namespace => vec![vec![
                Value::Int(PUBLIC),
                Value::text(OWN_SCHEMA),
                Value::Int(OWNER),
            ]],
            Table::Types => types(),
            Table::Database => vec![vec![
                Value::Int(1),
                Value::Text(self.session.database.clone()),
                Value::Int(6),
            ]],
            Table::Settings => {
                let all = self.session.variables.all(&self.session.facts);
                all.into_iter()
                    .map(|(name, value)| vec![Value::text(name), Value::Text(value)])
                    .collect()
            }
            table => {
                let all = match wanted {
                    Wanted::Named(keys) => self.sequences_named(&keys).await?,
                    Wanted::Fitting(fits) => self.sequences(fits).await?,
                };
                all.iter().map(|info| self.row_of(table, info)).collect()
            }
        })
    }

    fn row_of(&self, table: Table, info: &SequenceInfo) -> Vec<Value> {
        let (schema, name) = parted(&info.name, &self.config.faces.get::<Settings>().keys);
        let def = &info.def;
        let kind = IntegerKind::of_bounds(def.min, def.max);
        let int = Value::Int;
        match table {
            Table::Sequences => vec![
                Value::text(schema),
                Value::text(name),
                Value::Text(self.session.facts.user.clone()),
                Value::text(kind.title()),
                int(def.start),
                int(def.min),
                int(def.max),
                int(def.increment),
                Value::Bool(def.cycle),
                int(1),
                info.last.map_or(Value::Null, int),
            ],
            Table::InformationSequences => {
                let text = |number: i64| Value::text(number.to_string());
                let bits = match kind {
                    IntegerKind::Small => 16,
                    IntegerKind::Integer => 32,
                    IntegerKind::Big => 64,
                };
                vec![
                    Value::Text(self.session.database.clone()),
                    Value::text(schema),
                    Value::text(name),
                    Value::text(kind.title()),
                    int(bits),
                    int(2),
                    int(0),
                    text(def.start),
                    text(def.min),
                    text(def.max),
                    text(def.increment),
                    Value::text(if def.cycle { "YES" } else { "NO" }),
                ]
            }
            Table::Class => vec![
                int(oid_of(info.name.as_str())),
                Value::text(name),
                int(schema_oid(schema)),
                int(OWNER),
                Value::text("S"),
                Value::text("p"),
                Value::Bool(false),
            ],
            Table::Parameters => vec![
                int(def.start),
                int(def.min),
                int(def.max),
                int(def.increment),
                Value::Bool(def.cycle),
                int(1),
                int(type_oid(kind)),
            ],
            _ => vec![
                int(oid_of(info.name.as_str())),
                int(type_oid(kind)),
                int(def.start),
                int(def.increment),
                int(def.max),
                int(def.min),
                int(1),
                Value::Bool(def.cycle),
            ],
        }
    }
}

pub(super) fn type_oid(kind: IntegerKind) -> i64 {
    i64::from(match kind {
        IntegerKind::Small => Type::Int2.oid(),
        IntegerKind::Integer => Type::Int4.oid(),
        IntegerKind::Big => Type::Int8.oid(),
    })
}

/// A type of PostgreSQL: name, oid, size, by value, category, oid of its array.
type TypeRow = (&'static str, i64, i64, bool, &'static str, i64);

const TYPES: [TypeRow; 25] = [
    ("bool", 16, 1, true, "B", 1000),
    ("bytea", 17, -1, false, "U", 1001),
    ("char", 18, 1, true, "Z", 1002),
    ("name", 19, 64, false, "S", 1003),
    ("int8", 20, 8, true, "N", 1016),
    ("int2", 21, 2, true, "N", 1005),
    ("int4", 23, 4, true, "N", 1007),
    ("text", 25, -1, false, "S", 1009),
    ("oid", 26, 4, true, "N", 1028),
    ("json", 114, -1, false, "U", 199),
    ("float4", 700, 4, true, "N", 1021),
    ("float8", 701, 8, true, "N", 1022),
    // ruby-pg casts no value at all without it.
    ("inet", 869, -1, false, "I", 1041),
    ("unknown", 705, -2, false, "X", 0),
    ("bpchar", 1042, -1, false, "S", 1014),
    ("varchar", 1043, -1, false, "S", 1015),
    ("date", 1082, 4, true, "D", 1182),
    ("time", 1083, 8, true, "D", 1183),
    ("timestamp", 1114, 8, true, "D", 1115),
    ("timestamptz", 1184, 8, true, "D", 1185),
    ("numeric", 1700, -1, false, "N", 1231),
    ("regclass", 2205, 4, true, "N", 2210),
    ("void", 2278, 4, true, "P", 0),
    ("uuid", 2950, 16, false, "U", 2951),
    ("jsonb", 3802, -1, false, "U", 3807),
];

/// The function that reads its texts, as PostgreSQL calls it: `int8in`, and `uuid_in` of younger types.
fn input_of(name: &str) -> String {
    const YOUNGER: [&str; 10] = [
        "date",
        "inet",
        "json",
        "jsonb",
        "numeric",
        "time",
        "timestamp",
        "timestamptz",
        "uuid",
        "void",
    ];
    let joint = if YOUNGER.contains(&name) { "_" } else { "" };
    format!("{name}{joint}in")
}

fn types() -> Vec<Vec<Value>> {
    let row = |name: &str,
               oid: i64,
               len: i64,
               by_value: bool,
               category: &str,
               element: i64,
               array: i64,
               input: String| {
        let int = Value::Int;
        vec![
            int(oid),
            Value::text(name),
            int(11),
            int(len),
            Value::Bool(by_value),
            Value::text(if category == "P" { "p" } else { "b" }),
            Value::text(category),
            Value::text(","),
            int(0),
            int(element),
            int(array),
            Value::text(input),
            int(0),
            Value::Bool(false),
        ]
    };
    let mut all = Vec::new();
    for (name, oid, len, by_value, category, array) in TYPES {
        all.push(row(name, oid, len, by_value, category, 0, array, input_of(name)));
        if array > 0 {
            all.push(row(
                &format!("_{name}"),
                array,
                -1,
                false,
                "A",
                oid,
                0,
                "array_in".into(),
            ));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parted_as_clients_know_them() {
        let parted = |name: &str| {
            let name = Name::new(name).unwrap();
            let (schema, name) = super::parted(&name, &Keys::default());
            (schema.to_string(), name.to_string())
        };
        assert_eq!(parted("orders"), ("public".into(), "orders".into()));
        assert_eq!(parted("shop.orders"), ("shop".into(), "orders".into()));
        assert_eq!(parted(".x"), ("public".into(), ".x".into()));
        assert!((16_384..=i64::from(i32::MAX) + 16_384).contains(&oid_of("orders")));
    }

    #[test]
    fn every_row_has_a_value_for_every_column() {
        for row in types() {
            assert_eq!(row.len(), Table::Types.columns().len());
        }
    }
}
