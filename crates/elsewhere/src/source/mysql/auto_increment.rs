//! AUTO_INCREMENT: the numbers that a table generates for one of its columns.
//!
//! Fence, lift and take each hold `LOCK TABLES … WRITE`, which waits for every open transaction that has touched the
//! table: between reading the counter and the statement that changes something nobody generates a number. The fence's
//! trigger says its mark, since our own numbers, inserted explicitly, move the table's counter later.

use std::collections::BTreeSet;
use std::sync::Arc;

use mintage::Run;

use super::generated::{Generated, ticket_tables, worker_nodes};
use super::shared::{
    Host, MyHeld, MyLink, Patience, Table, call, durability, error, explained, gone, highest, home,
    is_wanted_of, lock, missing, name, resolved, splits,
};
use crate::source::fence::Way;
use crate::source::rows;
use crate::source::{
    Counter, Fence, Fenced, Fill, FillFrom, Listed, Mend, Note, Source, SourceError, SourceErrorKind,
    SourceKind, SourceResult, Wanted,
};
use crate::store::Durability;

/// What the ways ask of an account.
const CUT_RIGHTS: &[&str] = &["SELECT", "TRIGGER", "ALTER", "LOCK TABLES"];
const BESIDE_RIGHTS: &[&str] = &["SELECT", "TRIGGER", "ALTER", "INSERT", "LOCK TABLES"];

/// The generated columns of one server.
#[derive(Debug)]
pub(super) struct AutoIncrement {
    link: MyLink,
    /// Those of uid-generator alone, and how many bits its workers have.
    worker_bits: Option<u32>,
}

impl AutoIncrement {
    pub(super) fn new(link: &MyLink, worker_bits: Option<u32>) -> AutoIncrement {
        AutoIncrement {
            link: Arc::clone(link),
            worker_bits,
        }
    }

    fn shown(&self, found: &Generated, host: &Host, home: Option<&str>) -> Counter {
        let mut counter = found.shown(self.kind().name, &key_of(found), host);
        counter.fence = found.fence();
        if let Some(bits) = self.worker_bits {
            counter.max = counter.max.min((1 << bits.min(62)) - 1);
        }
        call(std::slice::from_mut(&mut counter), home);
        counter
    }

    /// Which columns are this source's: others count by some of them, and would be moved twice.
    async fn is_ours(
        &self,
        held: &mut MyHeld<'_>,
    ) -> Result<impl Fn(&Generated) -> bool + use<>, SourceError> {
        let workers: BTreeSet<Table> = worker_nodes(held).await?.into_iter().collect();
        let (mut others, wants_workers) = (BTreeSet::new(), self.worker_bits.is_some());
        if !wants_workers {
            let tickets = ticket_tables(held, None).await?;
            others.extend(tickets.into_iter().map(|table| (table.schema, table.name)));
            others.extend(rows::claimed(&self.link).await?);
        }
        Ok(move |one: &Generated| {
            let table = (one.table.schema.clone(), one.table.name.clone());
            workers.contains(&one.table) == wants_workers && !others.contains(&table)
        })
    }

    /// The table and column of a key. Names may hold full stops, so that the server is asked which table is meant.
    async fn find(&self, held: &mut MyHeld<'_>, key: &str) -> Result<Option<Generated>, SourceError> {
        for names in splits(key, 3) {
            let table = Table::new(&names[0], &names[1]);
            if let Some(found) = Generated::of_table(held, &table).await?
                && found.column == names[2]
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn known(&self, held: &mut MyHeld<'_>, key: &str) -> Result<Generated, SourceError> {
        self.find(held, key).await?.ok_or_else(|| gone(&self.link, key))
    }

    /// Locks the table, and reads it again under the lock.
    async fn locked(&self, held: &mut MyHeld<'_>, key: &str) -> Result<(Host, Generated), SourceError> {
        let host = Host::read(held).await?;
        let found = self.known(held, key).await?;
        lock(&self.link, held, &found.table).await?;
        let found = Generated::of_table(held, &found.table).await?;
        Ok((host, found.ok_or_else(|| gone(&self.link, key))?))
    }

    async fn list_now(&self, wanted: &Wanted) -> Result<Listed, SourceError> {
        let mut held = self.link.hold("list of AUTO_INCREMENT columns").await?;
        let host = Host::read(&mut held).await?;
        let home = home(&mut held).await?;
        let is_ours = self.is_ours(&mut held).await?;
        let mut found = Generated::all(&mut held).await?;
        found.retain(|one| {
            let is_wanted = is_wanted_of(wanted, home.as_deref(), &one.table.schema);
            is_wanted && wanted.is_of(&key_of(one)) && is_ours(one)
        });
        found.sort_by_key(key_of);
        let mut listed = Listed::default();
        let columns: Vec<_> = found
            .iter()
            .map(|one| (one.table.clone(), one.column.clone()))
            .collect();
        let numbers = highest(&mut held, &columns, &mut listed.failed).await?;
        held.done();
        for (mut one, number) in found.into_iter().zip(numbers) {
            one.highest = number;
            listed.counters.push(self.shown(&one, &host, home.as_deref()));
        }
        Ok(listed)
    }

    async fn look_now(&self, key: &str) -> Result<Option<Counter>, SourceError> {
        let mut held = self.link.hold(&format!("look at {key}")).await?;
        let host = Host::read(&mut held).await?;
        let found = self.find(&mut held, key).await?;
        let home = home(&mut held).await?;
        held.done();
        Ok(found.map(|found| self.shown(&found, &host, home.as_deref())))
    }

    /// A hole: the table's counter jumps over the numbers that are ours.
    async fn take_once(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let mut held = self.link.hold(&format!("take from {key}")).await?;
        let (host, found) = self.locked(&mut held, key).await?;
        self.may_take(key, &found, &host)?;
        let base = found.known_mark(&self.link, &host)?;
        let step = i128::from(host.increment);
        // The counter itself must fit into the type, and our numbers into 63 bits.
        let max = found.limits().1.min(i64::MAX.into());
        let count = i128::from(n.max(1)).min((max - base) / step);
        if base >= max || count < 1 {
            let why = format!(
                "{key} has reached the end of {}: the next number is {base}",
                found.column_type
            );
            return Err(error(&self.link, SourceErrorKind::Exhausted, &why));
        }
        held.script(&found.set(base + count * step)).await?;
        held.script("UNLOCK TABLES").await.map_err(SourceError::unknown)?;
        held.done();
        Ok(vec![Run {
            first: i64::try_from(base).expect("it is below a bound of 63 bits"),
            step: host.increment,
            count: u64::try_from(count).expect("it is at least one, and at most n"),
        }])
    }

    fn may_take(&self, key: &str, found: &Generated, host: &Host) -> Result<(), SourceError> {
        let why = if found.fence.is_some() {
            "was moved: a fence stands there, and nothing can be taken".to_string()
        } else if found.engine != "InnoDB" {
            format!(
                "is kept by {}, which may forget a take: ALTER TABLE … ENGINE = InnoDB first",
                found.engine
            )
        } else if host.forgets_counters() {
            format!(
                "lives in {}, which forgets its counter at a restart and with it what was taken: cut it",
                host.version
            )
        } else {
            return Ok(());
        };
        Err(error(
            &self.link,
            SourceErrorKind::Refused,
            &format!("{key} {why}"),
        ))
    }

    async fn fence_once(&self, key: &str, note: &Note) -> Result<Fenced, SourceError> {
        let mut held = self.link.hold(&format!("fence of {key}")).await?;
        let (host, found) = self.locked(&mut held, key).await?;
        let mark = match &found.fence {
            Some(_) => self.ours(key, &found, note)?,
            None => {
                let mark = found.known_mark(&self.link, &host)?;
                let sql = found.create_trigger(&note.id.to_string(), &mark.to_string());
                held.script(&sql).await?;
                mark
            }
        };
        held.script("UNLOCK TABLES").await.map_err(SourceError::unknown)?;
        held.done();
        Ok(Fenced { mark })
    }

    /// The mark of a fence, if this move has built it.
    fn ours(&self, key: &str, found: &Generated, note: &Note) -> Result<i128, SourceError> {
        match &found.fence {
            Some(trigger) if trigger.id == note.id => Ok(trigger.mark),
            Some(trigger) => {
                let why = format!(
                    "{key} was fenced by the move {}, this one is {}",
                    trigger.id, note.id
                );
                Err(error(&self.link, SourceErrorKind::Foreign, &why))
            }
            None => Err(gone(&self.link, key)),
        }
    }

    /// The counter first, then the trigger: an end in between leaves it fenced.
    async fn lift_once(&self, key: &str, note: &Note, issued: Option<i64>) -> Result<(), SourceError> {
        let mut held = self.link.hold(&format!("lift of the fence of {key}")).await?;
        let (host, found) = self.locked(&mut held, key).await?;
        if let Some(trigger) = &found.fence {
            self.ours(key, &found, note)?;
            if let Some(issued) = issued {
                let next = found.known_mark(&self.link, &host)?.max(i128::from(issued) + 1);
                let max = found.limits().1;
                if next > max {
                    let why = format!(
                        "{key} cannot go on at {next}: {} ends at {max}; widen the column first",
                        found.column_type
                    );
                    return Err(error(&self.link, SourceErrorKind::Refused, &why));
                }
                held.script(&found.set(next)).await?;
            }
            let trigger = format!("{}.{}", name(&found.table.schema), name(&trigger.name));
            held.script(&format!("DROP TRIGGER {trigger}")).await?;
        } else {
            found.is_behind(&self.link, &host, key, issued)?;
        }
        held.script("UNLOCK TABLES").await.map_err(SourceError::unknown)?;
        held.done();
        Ok(())
    }

    async fn check_now(&self, key: &str) -> Result<Fence, SourceError> {
        let mut held = self.link.hold(&format!("check of {key}")).await?;
        let found = self.find(&mut held, key).await?;
        let Some(found) = found else {
            held.done();
            return Ok(Fence::None);
        };
        // Who may not make triggers does not see any.
        let lacking = missing(&mut held, &found.table, &["TRIGGER"]).await?;
        held.done();
        match (found.fence(), lacking.first()) {
            (Fence::None, Some(grant)) => {
                let why = format!("{key}: the account may not see triggers");
                Err(error(&self.link, SourceErrorKind::Denied, &why).with_fix(grant))
            }
            (fence, _) => Ok(fence),
        }
    }

    /// Adds the GRANT to a refusal.
    async fn explained<T>(
        &self,
        key: &str,
        needed: &[&str],
        answer: Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        explained(&self.link, (key, 3), needed, answer).await
    }
}

fn key_of(found: &Generated) -> String {
    format!("{}.{}", found.table.plain(), found.column)
}

impl Source for AutoIncrement {
    fn kind(&self) -> &'static SourceKind {
        match self.worker_bits {
            Some(_) => &super::UID_GENERATOR,
            None => &super::AUTO_INCREMENT,
        }
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
            let mut patience = Patience::new(&self.link);
            loop {
                match self.take_once(key, n).await {
                    Err(error) if patience.again(&error).await => {}
                    other => return self.explained(key, BESIDE_RIGHTS, other).await,
                }
            }
        })
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(async move {
            if way != Way::Cut {
                let why = format!("{key}: AUTO_INCREMENT takes no {}: cut it", way.as_str());
                return Err(error(&self.link, SourceErrorKind::Refused, &why));
            }
            let mut patience = Patience::new(&self.link);
            loop {
                match self.fence_once(key, note).await {
                    Err(error) if patience.again(&error).await => {}
                    other => return self.explained(key, CUT_RIGHTS, other).await,
                }
            }
        })
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        Box::pin(async move {
            let mut patience = Patience::new(&self.link);
            loop {
                match self.lift_once(key, note, issued).await {
                    Err(error) if patience.again(&error).await => {}
                    other => return self.explained(key, CUT_RIGHTS, other).await,
                }
            }
        })
    }

    fn check<'a>(&'a self, key: &'a str, _: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(self.check_now(key))
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        let names = splits(&counter.key, 3).into_iter().next().unwrap_or_default();
        let used = counter.columns.first();
        let column = used.map_or_else(
            || names.get(2).cloned().unwrap_or_default(),
            |used| used.column.clone(),
        );
        let table = match counter.key.strip_suffix(&format!(".{column}")) {
            Some(table) => splits(table, 2).into_iter().next().unwrap_or_default(),
            None => names,
        };
        let found = Generated {
            table: Table::new(
                table.first().map_or("", String::as_str),
                table.get(1).map_or("", String::as_str),
            ),
            column,
            column_type: counter.type_name.clone(),
            column_key: String::new(),
            engine: counter.details.get("engine").cloned().unwrap_or_default(),
            counter: counter.mark,
            highest: counter.highest(),
            fence: None,
        };
        let mark = counter.mark.map_or("MARK".to_string(), |mark| mark.to_string());
        let change = match (way, counter.mark) {
            (Way::Beside, Some(mark)) => found
                .set(mark)
                .replace(&format!("= {mark}"), &format!("= {mark} + as many as are wanted")),
            (Way::Beside, None) => found
                .set(0)
                .replace("= 0", "= the next number + as many as are wanted"),
            _ => found.create_trigger("MOVE-ID", &mark),
        };
        vec![
            format!("LOCK TABLES {} WRITE", found.table.quoted()),
            change,
            "UNLOCK TABLES".into(),
        ]
    }

    fn mend(&self, counter: &Counter, mend: Mend) -> Option<String> {
        super::mend::generated(counter, mend)
    }

    fn fill(&self, counter: &Counter, name: &str, from: &FillFrom) -> Option<Fill> {
        let is_of_face = self.worker_bits.is_some();
        (!is_of_face).then(|| super::fill::generated(counter, name, from))
    }

    fn unfill(&self, counter: &Counter, name: &str) -> Vec<String> {
        super::fill::unfill(counter, name)
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(async move {
            let mut held = self.link.hold(&format!("rights on {key}")).await?;
            let needed = if way == Way::Beside {
                BESIDE_RIGHTS
            } else {
                CUT_RIGHTS
            };
            let table = resolved(&mut held, key, 3).await?;
            let mut lacking = missing(&mut held, &table, needed).await?;
            if way != Way::Beside {
                lacking.extend(super::shared::no_triggers(&mut held).await?);
            }
            held.done();
            Ok(lacking)
        })
    }
}
