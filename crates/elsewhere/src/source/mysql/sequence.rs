//! SEQUENCE of MariaDB 10.3 and later.
//!
//! A fence is a bound, and a note in the table's comment, which survives ALTER. Both are statements of their own, so
//! that the note comes first and says where the bound will lie; what a call finds half done it ends.

use std::sync::Arc;

use mintage::Run;

use super::bounds::{COLUMNS, Shown};
use super::drawn;
use super::shared::{
    CHUNK, ITS_OWN, MyHeld, MyLink, Patience, Table, call, disown, durability, error, explained, gone,
    highest, home, is_wanted_of, joined, limits, missing, number, own, resolved, splits, texts, wait_briefly,
    word,
};
use crate::source::fence::Way;
use crate::source::{
    ColumnUse, Counter, Fence, Fenced, Fill, FillFrom, How, Listed, Mend, Note, Source, SourceError,
    SourceErrorKind, SourceKind, SourceResult, Wanted,
};
use crate::store::sql::row::{Arg, Column};
use crate::store::{Durability, Outcome};

const CUT_RIGHTS: &[&str] = &["SELECT", "INSERT", "ALTER"];
const BESIDE_RIGHTS: &[&str] = &["SELECT", "INSERT"];

/// The sequences of one server.
#[derive(Debug)]
pub(super) struct Sequences {
    link: MyLink,
}

impl Sequences {
    pub(super) fn new(link: &MyLink) -> Sequences {
        Sequences {
            link: Arc::clone(link),
        }
    }

    async fn shown(&self, held: &mut MyHeld<'_>, key: &str) -> Result<Option<Shown>, SourceError> {
        for names in splits(key, 2) {
            let table = Table::new(&names[0], &names[1]);
            let sql = "SELECT table_comment, engine FROM information_schema.tables \
                       WHERE table_type = 'SEQUENCE' AND table_schema = ? AND table_name = ?";
            let args = [Arg::Text(&table.schema), Arg::Text(&table.name)];
            let Some(row) = texts(held, sql, &args, 2).await?.into_iter().next() else {
                continue;
            };
            let sql = format!("SELECT {COLUMNS} FROM {}", table.quoted());
            let found = texts(held, &sql, &[], 7).await?;
            let shown = |found| Shown::of_row(&table, word(&row, 0), word(&row, 1), found, 0);
            return Ok(found.first().and_then(shown));
        }
        Ok(None)
    }

    async fn known(&self, held: &mut MyHeld<'_>, key: &str) -> Result<Shown, SourceError> {
        self.shown(held, key).await?.ok_or_else(|| gone(&self.link, key))
    }

    async fn list_now(&self, wanted: &Wanted) -> Result<Listed, SourceError> {
        let mut held = self.link.hold("list of sequences").await?;
        let sql = format!(
            "SELECT table_schema, table_name, table_comment, engine FROM information_schema.tables \
             WHERE table_type = 'SEQUENCE' AND table_schema NOT IN {ITS_OWN} ORDER BY 1, 2"
        );
        let rows = texts(&mut held, &sql, &[], 4).await?;
        let table = |row: &_| Table::new(word(row, 0), word(row, 1));
        let home = home(&mut held).await?;
        let is_wanted = |table: Table| {
            wanted.is_of(&table.plain()) && is_wanted_of(wanted, home.as_deref(), &table.schema)
        };
        let rows: Vec<_> = rows.into_iter().filter(|row| is_wanted(table(row))).collect();
        let mut listed = Listed::default();
        for (chunk, named) in rows.chunks(CHUNK).enumerate() {
            let one = |(at, row): (usize, &_)| {
                let at = chunk * CHUNK + at;
                format!("SELECT '{at}', {COLUMNS} FROM {}", table(row).quoted())
            };
            let parts: Vec<String> = named.iter().enumerate().map(one).collect();
            for found in joined(&mut held, &parts, 8, &mut listed.failed).await? {
                let at = number(&found, 0).and_then(|at| usize::try_from(at).ok());
                let Some(row) = at.and_then(|at| rows.get(at)) else {
                    continue;
                };
                let shown = Shown::of_row(&table(row), word(row, 2), word(row, 3), &found, 1);
                listed.counters.extend(shown.map(|shown| shown.counter()));
            }
        }
        columns(&mut held, &mut listed, None).await?;
        call(&mut listed.counters, home.as_deref());
        listed.counters.sort_by(|a, b| a.key.cmp(&b.key));
        held.done();
        Ok(listed)
    }

    async fn look_now(&self, key: &str) -> Result<Option<Counter>, SourceError> {
        let mut held = self.link.hold(&format!("look at {key}")).await?;
        let shown = self.shown(&mut held, key).await?;
        let mut listed = Listed::default();
        if let Some(shown) = shown {
            listed.counters.push(shown.counter());
            columns(&mut held, &mut listed, Some(&shown.table)).await?;
            call(&mut listed.counters, home(&mut held).await?.as_deref());
        }
        held.done();
        Ok(listed.counters.pop())
    }

    async fn take_now(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let mut held = self.link.hold(&format!("take from {key}")).await?;
        let shown = self.known(&mut held, key).await?;
        match drawn::take(&self.link, &mut held, key, &shown, n).await {
            Err(error) if error.kind == SourceErrorKind::Refused && error.outcome == Outcome::NotDone => {
                drop(held);
                Err(self.ended(key, error).await)
            }
            taken => {
                held.done();
                taken
            }
        }
    }

    /// Why NEXTVAL was refused.
    async fn ended(&self, key: &str, refused: SourceError) -> SourceError {
        let Ok(mut held) = self.link.hold(&format!("look at {key}")).await else {
            return refused;
        };
        match self.shown(&mut held, key).await {
            Ok(Some(shown)) if shown.note().is_none() && shown.is_exhausted() => {
                drawn::at_its_end(&self.link, key)
            }
            _ => refused,
        }
    }

    async fn fence_now(&self, key: &str, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        let mut patience = Patience::new(&self.link);
        loop {
            match self.fence_once(key, way, note).await {
                Err(error) if patience.again(&error).await => {}
                other => return other,
            }
        }
    }

    /// First the note, then the bound; both are found again.
    async fn fence_once(&self, key: &str, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        let mut held = self.alone(key, "fence").await?;
        let shown = self.known(&mut held, key).await?;
        self.is_of(key, &shown, note)?;
        let is_cut = way == Way::Cut;
        let written = shown.note().filter(|written| shown.is_held(written));
        let bound = match (way, written) {
            (Way::Beside, _) => {
                return Err(error(
                    &self.link,
                    SourceErrorKind::Refused,
                    "beside needs no fence",
                ));
            }
            // Found again: a ceiling where it was put, or a cut.
            (Way::Ceiling(_), Some(_)) => return self.found(held, key, &shown).await,
            (Way::Cut, Some(written)) if written.is_cut => return self.found(held, key, &shown).await,
            (Way::Ceiling(ceiling), None) => self.ceiling(key, &shown, ceiling)?,
            (Way::Cut, _) => shown.cut_at(),
        };
        let comment = shown.noted(note, is_cut, bound);
        if shown.comment != comment {
            held.script(&shown.write_comment(&comment)).await?;
        }
        if is_cut && shown.is_before(bound) {
            held.writing_rows(&shown.set_forward(bound), &[], &[Column::Text])
                .await?;
        }
        held.script(&shown.alter(bound)).await?;
        drawn::flush(&self.link, &mut held, key).await?;
        // Others may have gone on until the ALTER.
        let fenced = self.known(&mut held, key).await.map_err(SourceError::unknown)?;
        self.found(held, key, &fenced).await
    }

    async fn found(&self, held: MyHeld<'_>, key: &str, shown: &Shown) -> Result<Fenced, SourceError> {
        disown(held, key).await;
        Ok(Fenced { mark: shown.mark() })
    }

    /// A session that alone changes this counter's fence. One whose client is gone keeps its place until the server has
    /// done its last statement, so that none of an earlier call comes behind those of a later one.
    async fn alone(&self, key: &str, what: &str) -> Result<MyHeld<'_>, SourceError> {
        let mut held = self.link.hold(&format!("{what} of {key}")).await?;
        wait_briefly(&self.link, &mut held).await?;
        own(&self.link, &mut held, key).await?;
        Ok(held)
    }

    fn is_of(&self, key: &str, shown: &Shown, note: &Note) -> Result<(), SourceError> {
        match shown.note() {
            Some(written) if written.id != note.id => Err(error(
                &self.link,
                SourceErrorKind::Foreign,
                &format!(
                    "{key} was fenced by the move {}, this one is {}",
                    written.id, note.id
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The bound that makes a sequence end before this number.
    fn ceiling(&self, key: &str, shown: &Shown, ceiling: i128) -> Result<i128, SourceError> {
        let step = i128::from(shown.step()).signum();
        let bound = ceiling - step;
        // The bound may lie no nearer than where the server would have a cut.
        let least = match shown.is_exhausted() || (shown.next - ceiling) * step > 0 {
            true => shown.next,
            false => shown.cut_at() + step,
        };
        let is_in = (shown.min..=shown.max).contains(&bound);
        if (ceiling - least) * step >= 0 && is_in {
            return Ok(bound);
        }
        let why = format!(
            "{key} cannot have the ceiling {ceiling}: it must be {least} or further, within {} to {}",
            shown.min, shown.max
        );
        Err(error(&self.link, SourceErrorKind::Refused, &why))
    }

    async fn lift_now(&self, key: &str, note: &Note, issued: Option<i64>) -> Result<(), SourceError> {
        let mut patience = Patience::new(&self.link);
        loop {
            match self.lift_once(key, note, issued).await {
                Err(error) if patience.again(&error).await => {}
                other => return other,
            }
        }
    }

    /// Bounds and place in one statement, so that it never serves below what was issued; then the comment.
    async fn lift_once(&self, key: &str, note: &Note, issued: Option<i64>) -> Result<(), SourceError> {
        if self.serves_below_a_ceiling(key, note).await? {
            // What its clients take between a look and a new place would be given out again.
            self.fence_once(key, Way::Cut, note).await?;
        }
        let mut held = self.alone(key, "lift of the fence").await?;
        let shown = self.known(&mut held, key).await?;
        self.is_of(key, &shown, note)?;
        if shown.note().is_none() {
            let next = shown.next_behind(issued);
            if next != shown.next {
                return Err(self.would_repeat(key, &shown, next));
            }
            disown(held, key).await;
            return Ok(());
        }
        let next = shown.next_in_step(issued, note);
        let before = |name: &str| note.before.get(name).cloned().unwrap_or_default();
        let cycle = before("cycle") == "true";
        // Whoever has put the bounds back by hand may have left the place below what was issued.
        if !shown.has_bounds_of(note) || shown.cycle != cycle || shown.next != next {
            let (min, max) = (before("min"), before("max"));
            self.fits(key, next, &min, &max)?;
            let cycle = if cycle { "CYCLE" } else { "NOCYCLE" };
            held.script(&format!(
                "ALTER SEQUENCE {} MINVALUE = {min} MAXVALUE = {max} {cycle} RESTART WITH {next}",
                shown.table.quoted()
            ))
            .await?;
            drawn::flush(&self.link, &mut held, key).await?;
        }
        held.script(&shown.write_comment(&before("comment"))).await?;
        disown(held, key).await;
        Ok(())
    }

    async fn serves_below_a_ceiling(&self, key: &str, note: &Note) -> Result<bool, SourceError> {
        let mut held = self.link.hold(&format!("look at {key}")).await?;
        let shown = self.known(&mut held, key).await?;
        held.done();
        self.is_of(key, &shown, note)?;
        let written = shown.note().filter(|written| shown.is_held(written));
        Ok(written.is_some_and(|written| !written.is_cut) && !shown.is_exhausted())
    }

    /// Nothing of the move stands there, but it serves, or would serve, numbers that were issued here.
    fn would_repeat(&self, key: &str, shown: &Shown, next: i128) -> SourceError {
        let why = format!(
            "no fence stands at {key}, and it would give out {} again, which was given out here",
            shown.next
        );
        let last = next - i128::from(shown.step());
        let fix = shown.set_forward(last);
        error(&self.link, SourceErrorKind::Foreign, &why).with_fix(fix)
    }

    fn fits(&self, key: &str, next: i128, min: &str, max: &str) -> Result<(), SourceError> {
        let bounds = (min.parse::<i128>().ok(), max.parse::<i128>().ok());
        match bounds {
            (Some(min), Some(max)) if (min..=max).contains(&next) => Ok(()),
            _ => Err(error(
                &self.link,
                SourceErrorKind::Refused,
                &format!("{key} cannot go on at {next}: its bounds before the move were {min} to {max}"),
            )),
        }
    }

    async fn check_now(&self, key: &str) -> Result<Fence, SourceError> {
        let mut held = self.link.hold(&format!("check of {key}")).await?;
        let shown = self.shown(&mut held, key).await?;
        held.done();
        Ok(shown.map_or(Fence::None, |shown| shown.fence()))
    }

    fn table(key: &str) -> Table {
        let names = splits(key, 2).into_iter().next().unwrap_or_default();
        match &names[..] {
            [schema, name] => Table::new(schema, name),
            _ => Table::new("", key),
        }
    }
}

/// Adds the columns whose defaults draw from the sequences; from one alone where that is asked.
async fn columns(held: &mut MyHeld<'_>, listed: &mut Listed, of: Option<&Table>) -> Result<(), SourceError> {
    let called = |table: &Table| format!("nextval({})", table.quoted());
    let filter = of.map_or_else(|| "%".to_string(), |table| called(table).replace('\\', "\\\\"));
    let sql = format!(
        "SELECT table_schema, table_name, column_name, column_type, column_key, column_default \
         FROM information_schema.columns WHERE table_schema NOT IN {ITS_OWN} \
         AND column_default LIKE 'nextval(%' AND (? = '%' OR column_default = ?)"
    );
    let rows = texts(held, &sql, &[Arg::Text(&filter), Arg::Text(&filter)], 6).await?;
    let place = |row: &_| (Table::new(word(row, 0), word(row, 1)), word(row, 2).to_string());
    let indexed: Vec<_> = rows
        .iter()
        .filter(|row| !word(row, 4).is_empty())
        .map(place)
        .collect();
    let numbers = highest(held, &indexed, &mut listed.failed).await?;
    for row in &rows {
        let (table, column) = place(row);
        let at = indexed
            .iter()
            .position(|found| *found == (table.clone(), column.clone()));
        let Some((min, max)) = limits(word(row, 3)) else {
            continue;
        };
        let found = ColumnUse {
            table: table.plain(),
            column,
            type_name: word(row, 3).to_string(),
            min,
            max,
            highest: at.and_then(|at| numbers[at]),
            unique: matches!(word(row, 4), "PRI" | "UNI"),
            how: How::Default,
        };
        let is_called = |names: &Vec<String>| called(&Table::new(&names[0], &names[1])) == word(row, 5);
        let draws_from = |counter: &&mut Counter| splits(&counter.key, 2).iter().any(is_called);
        if let Some(counter) = listed.counters.iter_mut().find(draws_from) {
            counter.columns.push(found);
        }
    }
    Ok(())
}

impl Source for Sequences {
    fn kind(&self) -> &'static SourceKind {
        &super::MARIADB
    }

    fn place(&self) -> String {
        self.link.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        Box::pin(durability(&self.link))
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        Box::pin(self.list_now(wanted))
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        Box::pin(self.look_now(key))
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        Box::pin(async move {
            let taken = self.take_now(key, n).await;
            explained(&self.link, (key, 2), BESIDE_RIGHTS, taken).await
        })
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(async move {
            let fenced = self.fence_now(key, way, note).await;
            explained(&self.link, (key, 2), CUT_RIGHTS, fenced).await
        })
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        Box::pin(async move {
            let lifted = self.lift_now(key, note, issued).await;
            explained(&self.link, (key, 2), CUT_RIGHTS, lifted).await
        })
    }

    fn check<'a>(&'a self, key: &'a str, _: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(self.check_now(key))
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        let name = Sequences::table(&counter.key).quoted();
        let word = if counter.increment > 0 {
            "MAXVALUE"
        } else {
            "MINVALUE"
        };
        let end = |bound: String| {
            vec![
                format!(
                    "ALTER TABLE {name} COMMENT = 'mint MOVE-ID: {} at {bound}; was min {} max {} …'",
                    if way == Way::Cut { "cut" } else { "ends" },
                    counter.min,
                    counter.max
                ),
                format!("ALTER SEQUENCE {name} {word} = {bound} NOCYCLE"),
            ]
        };
        let step = i128::from(counter.increment.signum());
        match way {
            Way::Cut => end(counter
                .mark
                .map_or("its last number".into(), |mark| (mark - step).to_string())),
            Way::Ceiling(ceiling) => end((ceiling - step).to_string()),
            Way::Beside => vec![
                format!("SELECT NEXTVAL({name}) FROM as many rows as numbers are wanted"),
                "FLUSH LOCAL ENGINE LOGS".into(),
            ],
        }
    }

    fn mend(&self, counter: &Counter, mend: Mend) -> Option<String> {
        super::mend::sequence(counter, mend)
    }

    fn fill(&self, counter: &Counter, _: &str, _: &FillFrom) -> Option<Fill> {
        super::fill::sequence(counter)
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(async move {
            let mut held = self.link.hold(&format!("rights on {key}")).await?;
            let needed = if way == Way::Beside {
                BESIDE_RIGHTS
            } else {
                CUT_RIGHTS
            };
            let table = resolved(&mut held, key, 2).await?;
            let lacking = missing(&mut held, &table, needed).await?;
            held.done();
            Ok(lacking)
        })
    }
}
