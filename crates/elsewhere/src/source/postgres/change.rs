//! Writing: takes, fences and lifts, each in one transaction.

use mintage::Run;

use super::note::{Bounds, Fencing};
use super::read::texts;
use super::sequence::{Ending, Sequence};
use super::{PgHeld, Sequences, read};
use crate::source::{Fenced, MoveId, Note, SourceError, SourceErrorKind, Way};
use crate::store::sql::row::{Arg, Column, Field};

/// How many numbers one take brings at most.
const TAKE_MAX: u64 = 1_000_000;
/// How many numbers `nextval` logs ahead, and some: so many always write to the log.
const LOGGED_AHEAD: u64 = 100;
/// How often a take begins again after somebody else took what was left.
const TRIES: u32 = 8;

/// Draws numbers and answers them as runs: others may draw in between. Nothing, where the sequence begins again at its end.
const TAKE: &str = "WITH taken AS (SELECT nextval(s.seqrelid) AS v, i, s.seqincrement AS step \
        FROM pg_sequence s, generate_series(1, $2) AS i WHERE s.seqrelid::bigint = $1 AND NOT s.seqcycle) \
    SELECT (array_agg(v ORDER BY i))[1], count(*), step FROM (SELECT v, i, step, v - i::numeric * step AS run FROM taken) AS r \
    GROUP BY run, step ORDER BY min(i)";

/// Makes the commit wait for the log.
const FLUSH: &str = "SELECT pg_logical_emit_message(true, 'mint', '')::text";

/// Whether that is allowed, and how the function is called: from 17 on it has one argument more, which has a default.
const FLUSH_RIGHT: &str = "SELECT coalesce(bool_or(has_function_privilege(p.oid, 'EXECUTE')), false)::text, \
    min(p.oid::regprocedure::text) FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace \
    AND p.proname = 'pg_logical_emit_message' AND p.proargtypes[2] = 'text'::regtype";

fn quoted(text: &str) -> String {
    // Said with its own escapes, whatever the server's settings.
    match text.contains('\\') {
        true => format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

impl Sequences {
    pub(super) async fn take_now(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let mut tries = 0;
        loop {
            let mut held = self.link.begin(&format!("take from {key}")).await?;
            let taken = self.take_in(&mut held, key, n).await;
            match held.end(taken).await {
                // Somebody took what was left, so that fewer are asked for.
                Err(error)
                    if error.kind == SourceErrorKind::Refused && error.fix.is_none() && tries < TRIES =>
                {
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    async fn take_in(&self, held: &mut PgHeld<'_>, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let sequence = self.known(held, key).await?;
        let (n, may_flush) = self.may_take(held, key, &sequence, n).await?;
        let args = [
            Arg::Int(sequence.oid),
            Arg::Int(i64::try_from(n).unwrap_or(i64::MAX)),
        ];
        let rows = held.writing_rows(TAKE, &args, &[Column::Int; 3]).await?;
        let runs: Vec<Run> = rows.iter().filter_map(|row| run_of(row)).collect();
        if runs.is_empty() {
            return Err(self.gone(key));
        }
        // Else there are so many that they write to the log themselves.
        if may_flush {
            texts(held, FLUSH, &[], 1).await?;
        }
        Ok(runs)
    }

    /// How many numbers a take brings, and whether it may write into the log; why it may not take, else.
    async fn may_take(
        &self,
        held: &mut PgHeld<'_>,
        key: &str,
        sequence: &Sequence,
        n: u64,
    ) -> Result<(u64, bool), SourceError> {
        let refused = |why: &str, fix: &str| {
            let error = self.error(SourceErrorKind::Refused, &format!("{key} {why}"));
            Err(error.with_fix(fix.to_string()))
        };
        let fenced = sequence.fencing().is_some();
        match () {
            () if sequence.bounds.cycle => refused(
                "begins again at its end, so that its numbers repeat",
                &format!("ALTER SEQUENCE {} NO CYCLE", sequence.key),
            ),
            () if sequence.is_unlogged => refused(
                "is unlogged, so that its numbers repeat after a crash",
                &format!("ALTER SEQUENCE {} SET LOGGED", sequence.key),
            ),
            () if sequence.left() == 0 => {
                let why = match fenced {
                    true => format!("{key} was moved: a fence stands there, and nothing is left below it"),
                    false => format!("{key} has no further number"),
                };
                Err(self.error(SourceErrorKind::Exhausted, &why))
            }
            () => {
                let n = n.clamp(1, TAKE_MAX).min(sequence.left());
                let rows = texts(held, FLUSH_RIGHT, &[], 2).await?;
                let of = |at: usize| rows.first().and_then(|row| row[at].clone());
                let may_flush = of(0).as_deref() == Some("true");
                let enough = LOGGED_AHEAD + sequence.cache;
                match may_flush {
                    true => Ok((n, true)),
                    false if n.max(enough) <= sequence.left().min(TAKE_MAX) => Ok((n.max(enough), false)),
                    false => refused(
                        "is near its end or has a large CACHE, and without a message in the log its last numbers may come again",
                        &format!(
                            "GRANT EXECUTE ON FUNCTION {} TO {}",
                            of(1).unwrap_or_else(|| "pg_logical_emit_message".into()),
                            read::account(held).await?
                        ),
                    ),
                }
            }
        }
    }

    pub(super) async fn fence_now(&self, key: &str, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        if way == Way::Beside {
            return Err(self.error(SourceErrorKind::Refused, "what stands beside has no fence"));
        }
        let mut held = self.link.begin(&format!("fence of {key}")).await?;
        let fenced = self.fence_in(&mut held, key, way, note).await;
        held.end(fenced).await
    }

    async fn fence_in(
        &self,
        held: &mut PgHeld<'_>,
        key: &str,
        way: Way,
        note: &Note,
    ) -> Result<Fenced, SourceError> {
        let before = self.known(held, key).await?;
        let standing = self.standing(key, &before, note.id)?;
        if let Some(mark) = standing
            && (matches!(way, Way::Ceiling(_)) || !before.has_more())
        {
            // It was shown, and need not be kept (protocol R6): written again, it is once this is acknowledged.
            let fencing = before.fencing().map(|fencing| fencing.to_string());
            held.script(&comment_on(&before.key, fencing.as_deref())).await?;
            return Ok(Fenced { mark });
        }
        self.lock(held, &before.key).await?;
        // Protocol M2: every nextval waits from here on, and numbers that sessions kept are dropped.
        let now = self.known(held, key).await?;
        self.standing(key, &now, note.id)?;
        let ending = self.ending(key, &now, way)?;
        let fencing = match now.fencing() {
            Some(fencing) => fencing,
            None => Fencing {
                id: note.id,
                end: 0,
                was: Bounds {
                    // The lock took it away.
                    cycle: before.bounds.cycle,
                    ..now.bounds.clone()
                },
                comment: now.comment.clone(),
            },
        };
        let fencing = Fencing {
            end: if now.is_up() { ending.max } else { ending.min },
            ..fencing
        };
        held.script(&alter_to(&now.key, &ending)).await?;
        if ending.draw.is_some() {
            let sql = format!("SELECT nextval({})::text", quoted(&now.key));
            texts(held, &sql, &[], 1).await?;
        }
        held.script(&comment_on(&now.key, Some(&fencing.to_string())))
            .await?;
        let after = self.known(held, key).await?;
        match after.mark_of(&fencing) {
            Ok(mark) => Ok(Fenced { mark }),
            Err(why) => Err(self.error(SourceErrorKind::Refused, &format!("{key}: {why}"))),
        }
    }

    /// The mark of this move's fence, if it stands; an error, if another one does.
    fn standing(&self, key: &str, sequence: &Sequence, id: MoveId) -> Result<Option<i128>, SourceError> {
        let Some(fencing) = sequence.fencing() else {
            return Ok(None);
        };
        if fencing.id != id {
            let why = format!(
                "{key} was fenced by another move {}: that one has to end it or take it back",
                fencing.id
            );
            return Err(self.error(SourceErrorKind::Foreign, &why));
        }
        sequence.mark_of(&fencing).map(Some).map_err(|why| {
            let why = format!("the fence of {key} does not hold: {why}");
            self.error(SourceErrorKind::Foreign, &why)
        })
    }

    /// Takes the lock that every nextval waits for. Others queue behind who waits for it: not for long.
    async fn lock(&self, held: &mut PgHeld<'_>, key: &str) -> Result<(), SourceError> {
        let patience_ms = self.link.settings.request_timeout.as_millis() * 3 / 4;
        held.script(&format!(
            "SET LOCAL lock_timeout = {}; ALTER SEQUENCE {key} NO CYCLE",
            patience_ms.max(1)
        ))
        .await
    }

    fn ending(&self, key: &str, sequence: &Sequence, way: Way) -> Result<Ending, SourceError> {
        let refused = |why: String| Err(self.error(SourceErrorKind::Refused, &why));
        let end = match way {
            Way::Ceiling(ceiling) => {
                let end = ceiling - i128::from(sequence.increment.signum());
                let mark = sequence.mark().unwrap_or(ceiling);
                if sequence.is_beyond(ceiling, mark) {
                    return refused(format!(
                        "{key} has given out numbers up to the ceiling {ceiling} or beyond: the least is {mark}"
                    ));
                }
                if sequence.is_beyond(sequence.end(), end) {
                    return refused(format!(
                        "{key} ends at {} by itself, before the ceiling {ceiling}",
                        sequence.end()
                    ));
                }
                Some(end)
            }
            Way::Cut | Way::Beside => None,
        };
        match sequence.ending(end) {
            Some(ending) => Ok(ending),
            None => refused(format!(
                "type {} has no room for the bounds of {key}",
                sequence.type_name
            )),
        }
    }

    pub(super) async fn lift_now(
        &self,
        key: &str,
        note: &Note,
        issued: Option<i64>,
    ) -> Result<(), SourceError> {
        let mut held = self.link.begin(&format!("lift of the fence of {key}")).await?;
        let lifted = self.lift_in(&mut held, key, note, issued).await;
        held.end(lifted).await
    }

    async fn lift_in(
        &self,
        held: &mut PgHeld<'_>,
        key: &str,
        note: &Note,
        issued: Option<i64>,
    ) -> Result<(), SourceError> {
        let before = self.known(held, key).await?;
        if before.fencing().is_none() {
            return self.already_lifted(key, &before, issued);
        }
        self.lock(held, &before.key).await?;
        let now = self.known(held, key).await?;
        let Some(fencing) = now.fencing() else {
            return self.already_lifted(key, &now, issued);
        };
        if fencing.id != note.id {
            self.standing(key, &now, note.id)?;
        }
        let was = &fencing.was;
        let resumes = now.resumes(was, issued).ok_or_else(|| self.gone(key))?;
        let ends_at = if now.is_up() { was.max } else { was.min };
        if let Err(last) = resumes
            && now.is_beyond(ends_at, last)
        {
            let why = format!("{key} cannot go on above {last}: it ends at {ends_at}");
            let fix = format!(
                "widen its type and that of its column, and give it a further bound: {}",
                now.key
            );
            return Err(self.error(SourceErrorKind::Refused, &why).with_fix(fix));
        }
        held.script(&alter_back(&now.key, was, resumes)).await?;
        if let Err(last) = resumes {
            texts(
                held,
                &format!("SELECT setval({}, {last})::text", quoted(&now.key)),
                &[],
                1,
            )
            .await?;
        }
        held.script(&comment_on(&now.key, fencing.comment.as_deref()))
            .await
    }

    /// A lift that finds no fence: right if the sequence stands above what was issued.
    fn already_lifted(&self, key: &str, sequence: &Sequence, issued: Option<i64>) -> Result<(), SourceError> {
        let Some(issued) = issued else {
            return Ok(());
        };
        if sequence
            .mark()
            .is_some_and(|mark| sequence.is_beyond(issued.into(), mark))
        {
            return Ok(());
        }
        let why = format!(
            "no fence stands at {key}, and it would give out {issued} again, which was given out here"
        );
        let fix = format!("SELECT setval({}, {issued})", quoted(&sequence.key));
        Err(self.error(SourceErrorKind::Foreign, &why).with_fix(fix))
    }
}

fn run_of(row: &[Field]) -> Option<Run> {
    let [first, count, step] = [0, 1, 2].map(|at| row.get(at).and_then(Field::int));
    Some(Run {
        first: first?,
        count: u64::try_from(count?).ok()?,
        step: step?,
    })
}

/// The statement that ends a sequence.
pub(super) fn alter_to(key: &str, ending: &Ending) -> String {
    let Ending {
        min,
        max,
        start,
        draw,
    } = ending;
    let restart = draw.map_or(String::new(), |at| format!(" RESTART WITH {at}"));
    format!("ALTER SEQUENCE {key} MINVALUE {min} MAXVALUE {max} START WITH {start}{restart} NO CYCLE")
}

/// The statement that gives it back its bounds.
fn alter_back(key: &str, was: &Bounds, resumes: Result<i128, i128>) -> String {
    let Bounds {
        min,
        max,
        start,
        cycle,
    } = was;
    let next = resumes.unwrap_or(if *start >= *min { *start } else { *min });
    let cycle = if *cycle { "CYCLE" } else { "NO CYCLE" };
    format!(
        "ALTER SEQUENCE {key} MINVALUE {min} MAXVALUE {max} START WITH {start} RESTART WITH {next} {cycle}"
    )
}

/// The statement that sets or takes away a comment.
pub(super) fn comment_on(key: &str, comment: Option<&str>) -> String {
    let comment = comment.map_or("NULL".to_string(), quoted);
    format!("COMMENT ON SEQUENCE {key} IS {comment}")
}
