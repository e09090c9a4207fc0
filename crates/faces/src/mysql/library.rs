//! What a statement on a library's table means.

use super::plan::{Change, Condition, Expression, Item, Operator, Select};
use super::refusal::Refusal;
use super::tables::Library;

impl Library {
    /// Whether a query asks for nothing but what this table has.
    pub(crate) fn has_all(self, select: &Select) -> bool {
        let is_unknown = |column: &str| self.kind(column).is_none();
        let items = select.items.iter().all(|item| match item {
            Item::All => true,
            Item::One { expression, .. } => expression.column(&is_unknown).is_none(),
        });
        items
            && select.conditions.iter().all(|condition| match condition {
                Condition::OneOf(column, _) | Condition::Above(column, _) | Condition::Like(column, _) => {
                    !is_unknown(column)
                }
                Condition::Other => true,
            })
    }

    /// What an UPDATE means. `None`: nothing that a library does.
    ///
    /// # Errors
    /// It is understood, and cannot be.
    pub(crate) fn update(
        self,
        set: &[(Box<str>, Expression)],
        conditions: &[Condition],
    ) -> Result<Option<Change>, Refusal> {
        let is_set = |column: &str| set.iter().any(|(name, _)| name.eq_ignore_ascii_case(column));
        if self == Library::Leaf && is_set("step") {
            return Err(Refusal::arguments(
                "the step of every biz_tag is faces.mysql.leaf_step: change it there, or let the client add what it needs \
                 (max_id = max_id + n)",
            ));
        }
        if self == Library::Machines {
            return Ok(of_machine(set, conditions));
        }
        let [Condition::OneOf(column, keys)] = conditions else {
            return Ok(None);
        };
        let (true, [key]) = (**column == *self.key(), &keys[..]) else {
            return Ok(None);
        };
        let dropped = |column: &str| match self {
            Library::Cosid | Library::Machines => column.eq_ignore_ascii_case("last_fetch_time"),
            Library::Leaf => ["update_time", "description"]
                .iter()
                .any(|name| column.eq_ignore_ascii_case(name)),
        };
        let mut counted = set.iter().filter(|(column, _)| !dropped(column));
        let (Some((column, to)), None) = (counted.next(), counted.next()) else {
            return Ok(None);
        };
        let Some(added) = added(self.counts(), to).filter(|_| column.eq_ignore_ascii_case(self.counts()))
        else {
            return Ok(None);
        };
        let count = match added {
            Expression::Column(step) if self == Library::Leaf && step.eq_ignore_ascii_case("step") => None,
            added if added.column(&|_| true).is_some() => return Ok(None),
            added => Some(added.clone()),
        };
        Ok(Some(Change::Take {
            key: key.clone(),
            count,
        }))
    }
}

/// What is to be changed of a machine.
fn of_machine(set: &[(Box<str>, Expression)], conditions: &[Condition]) -> Option<Change> {
    let is_set = |columns: &[&str]| {
        let are_all = set.len() == columns.len();
        are_all
            && set
                .iter()
                .zip(columns)
                .all(|((set, _), column)| set.eq_ignore_ascii_case(column))
    };
    let (namespace, instance) = (only(conditions, "namespace")?, only(conditions, "instance_id")?);
    match conditions.len() {
        3 if is_set(&["last_timestamp"]) => Some(Change::Guard {
            namespace,
            instance,
            number: only(conditions, "machine_id")?,
        }),
        2 if is_set(&["instance_id", "last_timestamp", "revert_time"]) => Some(Change::GiveBack {
            namespace,
            instance,
            left: set[0].1.clone(),
        }),
        _ => None,
    }
}

/// The one value that a column must have.
pub(crate) fn only(conditions: &[Condition], wanted: &str) -> Option<Expression> {
    conditions.iter().find_map(|condition| match condition {
        Condition::OneOf(column, values) if **column == *wanted => match &values[..] {
            [value] => Some(value.clone()),
            _ => None,
        },
        _ => None,
    })
}

/// `n` of `column + n` or `n + column`.
pub(crate) fn added<'e>(column: &str, sum: &'e Expression) -> Option<&'e Expression> {
    let is_it =
        |side: &Expression| matches!(side, Expression::Column(name) if name.eq_ignore_ascii_case(column));
    match sum {
        Expression::Arithmetic(Operator::Plus, left, right) if is_it(left) => Some(right),
        Expression::Arithmetic(Operator::Plus, left, right) if is_it(right) => Some(left),
        _ => None,
    }
}
