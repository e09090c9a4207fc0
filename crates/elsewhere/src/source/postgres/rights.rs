//! What the account lacks for a move, and the statements of a plan.

use super::Sequences;
use super::change::{alter_to, comment_on};
use super::read::{account, texts};
use super::sequence::Ending;
use crate::source::{Counter, SourceError, SourceErrorKind, Way};
use crate::store::sql::row::Arg;

/// Whether the account may do what the owner may, and whether it may draw.
const RIGHTS: &str = "SELECT pg_has_role(c.relowner, 'USAGE')::text, \
    (has_schema_privilege(c.relnamespace, 'USAGE') AND (has_sequence_privilege(c.oid, 'USAGE') \
     OR has_sequence_privilege(c.oid, 'UPDATE')))::text FROM pg_class c WHERE c.oid::bigint = $1";

impl Sequences {
    pub(super) async fn rights_now(&self, key: &str, way: Way) -> Result<Vec<String>, SourceError> {
        let mut held = self.link.hold(&format!("rights on {key}")).await?;
        let found = self.find(&mut held, key).await?;
        let sequence = found.ok_or_else(|| self.gone(key))?;
        let account = account(&mut held).await?;
        let rows = texts(&mut held, RIGHTS, &[Arg::Int(sequence.oid)], 2).await?;
        let has = |at: usize| rows.iter().any(|row| row[at].as_deref() == Some("true"));
        let mut lacking = Vec::new();
        if sequence.stands.is_none() {
            lacking.push(sequence.grant("SELECT", &account));
        }
        match way {
            Way::Beside if !has(1) => lacking.push(sequence.grant("USAGE", &account)),
            // A sequence of a column belongs to who owns the table.
            Way::Cut | Way::Ceiling(_) if !has(0) => {
                lacking.push(format!("GRANT {} TO {account}", sequence.owner));
            }
            _ => {}
        }
        held.done();
        Ok(lacking)
    }

    /// Adds to a refusal for want of rights what would allow it.
    pub(super) async fn advised<T>(
        &self,
        key: &str,
        way: Way,
        answer: Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let error = match answer {
            Err(error) if error.kind == SourceErrorKind::Denied && error.fix.is_none() => error,
            other => return other,
        };
        match self.rights_now(key, way).await {
            Ok(lacking) if !lacking.is_empty() => Err(error.with_fix(lacking.join("; "))),
            // Who may not even connect has no account to grant anything to.
            _ => Err(error),
        }
    }
}

/// The statements of a fence or a take, for people.
pub(super) fn statements(counter: &Counter, way: Way) -> Vec<String> {
    let key = &counter.key;
    if way == Way::Beside {
        return vec![
            "BEGIN".to_string(),
            format!(
                "SELECT nextval('{}') FROM generate_series(1, n)",
                key.replace('\'', "''")
            ),
            "SELECT pg_logical_emit_message(true, 'mint', '')".to_string(),
            "COMMIT".to_string(),
        ];
    }
    let step = i128::from(counter.increment);
    let end = match way {
        Way::Ceiling(ceiling) => ceiling - step.signum(),
        _ => counter.mark.unwrap_or_default() - step,
    };
    let (min, max) = match step > 0 {
        true => (counter.min.min(end - 1), end),
        false => (end, counter.max.max(end + 1)),
    };
    let is_cut = !matches!(way, Way::Ceiling(_));
    let is_unused = is_cut
        && counter
            .details
            .get("is_called")
            .is_some_and(|called| called == "false");
    let ending = Ending {
        min,
        max,
        start: counter.start.unwrap_or(min).clamp(min, max),
        draw: is_unused.then_some(end),
    };
    let draw = format!("SELECT nextval('{}')", key.replace('\'', "''"));
    let mut statements = vec![
        "BEGIN".to_string(),
        format!("ALTER SEQUENCE {key} NO CYCLE"),
        alter_to(key, &ending),
    ];
    statements.extend(is_unused.then_some(draw));
    statements.push(comment_on(key, Some("mint MOVE-ID: ends at …; was …")));
    statements.push("COMMIT".to_string());
    statements
}
