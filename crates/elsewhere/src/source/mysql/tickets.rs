//! Tables that give tickets, as Flickr's Tickets64: `REPLACE INTO T (stub) VALUES ('a')` makes a new number.
//!
//! A fence renames the table; that has no room for a note. Two servers that give out odd and even numbers are a source
//! each: the step and where it begins are read from the server.

use std::sync::Arc;

use mintage::Run;

use super::generated::{Generated, ticket_tables};
use super::shared::{
    Host, MyHeld, MyLink, Patience, Table, call, durability, error, explained, gone, highest, home,
    is_wanted_of, literal, lock, missing, name, number, resolved, splits, texts, unmoved, wait_briefly, word,
};
use crate::source::fence::Way;
use crate::source::{
    Counter, Fence, Fenced, Listed, Note, Source, SourceError, SourceErrorKind, SourceKind, SourceResult,
    Wanted,
};
use crate::store::{Class, Durability};

const CUT_RIGHTS: &[&str] = &["SELECT", "INSERT", "DELETE", "ALTER", "CREATE", "DROP"];
const BESIDE_RIGHTS: &[&str] = &["SELECT", "INSERT", "DELETE", "LOCK TABLES"];

/// How many numbers of one take are thought of at most: the numbers end at 63 bits.
const TAKE_MAX: u64 = 1 << 40;

/// The ticket tables of one server.
#[derive(Debug)]
pub(super) struct Tickets {
    link: MyLink,
}

/// Where a counter's table is.
enum Stand {
    Serves(Generated),
    Moved(Generated),
    /// Somebody has made the table anew.
    Both(Generated),
    Gone,
}

impl Tickets {
    pub(super) fn new(link: &MyLink) -> Tickets {
        Tickets {
            link: Arc::clone(link),
        }
    }

    async fn stand(&self, held: &mut MyHeld<'_>, key: &str) -> Result<Stand, SourceError> {
        for names in splits(key, 2) {
            let table = Table::new(&names[0], &names[1]);
            let here = ticket_table(held, &table).await?;
            let moved = ticket_table(held, &table.moved()).await?;
            return Ok(match (here, moved) {
                (Some(found), None) => Stand::Serves(found),
                (None, Some(found)) => Stand::Moved(found),
                (Some(_), Some(found)) => Stand::Both(found),
                (None, None) => continue,
            });
        }
        Ok(Stand::Gone)
    }

    async fn list_now(&self, wanted: &Wanted) -> Result<Listed, SourceError> {
        let mut held = self.link.hold("list of ticket tables").await?;
        let host = Host::read(&mut held).await?;
        let mut listed = Listed::default();
        let tables = ticket_tables(&mut held, None).await?;
        let tables: std::collections::BTreeSet<Table> = tables.into_iter().collect();
        let mut found = match tables.is_empty() {
            true => Vec::new(),
            false => Generated::all(&mut held).await?,
        };
        let home = home(&mut held).await?;
        found.retain(|one| {
            tables.contains(&one.table) && is_wanted_of(wanted, home.as_deref(), &one.table.schema)
        });
        let columns: Vec<_> = found
            .iter()
            .map(|one| (one.table.clone(), one.column.clone()))
            .collect();
        let numbers = highest(&mut held, &columns, &mut listed.failed).await?;
        held.done();
        for (mut one, number) in found.into_iter().zip(numbers) {
            one.highest = number;
            let before = unmoved(&one.table.name).map(|name| Table::new(&one.table.schema, name));
            let counter = match before {
                // Shown with the new table of its name.
                Some(before) if tables.contains(&before) => continue,
                Some(before) => moved(&one, &before.plain(), &host),
                None if tables.contains(&one.table.moved()) => Counter {
                    fence: broken(),
                    ..shown(&one, &one.table.plain(), &host)
                },
                None => shown(&one, &one.table.plain(), &host),
            };
            listed
                .counters
                .extend(Some(counter).filter(|counter| wanted.is_of(&counter.key)));
        }
        call(&mut listed.counters, home.as_deref());
        listed.counters.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    async fn look_now(&self, key: &str) -> Result<Option<Counter>, SourceError> {
        let mut held = self.link.hold(&format!("look at {key}")).await?;
        let host = Host::read(&mut held).await?;
        let stand = self.stand(&mut held, key).await?;
        let home = home(&mut held).await?;
        held.done();
        let mut counter = match stand {
            Stand::Serves(found) => Some(shown(&found, key, &host)),
            Stand::Moved(found) => Some(moved(&found, key, &host)),
            Stand::Both(found) => Some(Counter {
                fence: broken(),
                ..shown(&found, key, &host)
            }),
            Stand::Gone => None,
        };
        call(counter.as_mut_slice(), home.as_deref());
        Ok(counter)
    }

    /// One number as everybody takes it, and one that lies so far ahead that all between are ours.
    async fn take_once(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let mut held = self.link.hold(&format!("take from {key}")).await?;
        let host = Host::read(&mut held).await?;
        let found = match self.stand(&mut held, key).await? {
            Stand::Serves(found) => found,
            Stand::Gone => return Err(gone(&self.link, key)),
            Stand::Moved(_) | Stand::Both(_) => {
                let why = format!("{key} was moved: its table is renamed, and nothing can be taken");
                return Err(error(&self.link, SourceErrorKind::Refused, &why));
            }
        };
        let stub = literal(&stub(&mut held, &found).await?);
        lock(&self.link, &mut held, &found.table).await?;
        let first = self.replace(&mut held, key, &found, &stub).await?;
        let step = i128::from(host.increment);
        let max = found.limits().1.min(i64::MAX.into());
        let count = i128::from(n.clamp(1, TAKE_MAX)).min((max - first) / step + 1);
        if count > 1 {
            let last = first + (count - 1) * step;
            // Whatever becomes of it, the first number is spent.
            let sql = replace_with(&found, last, &stub);
            held.script(&sql).await.map_err(SourceError::unknown)?;
        }
        held.script("UNLOCK TABLES").await.map_err(SourceError::unknown)?;
        held.done();
        Ok(vec![Run {
            first: i64::try_from(first).expect("compared with the bound"),
            step: host.increment,
            count: u64::try_from(count).expect("between one and n"),
        }])
    }

    /// A new number as the original's clients make one.
    async fn replace(
        &self,
        held: &mut MyHeld<'_>,
        key: &str,
        found: &Generated,
        stub: &str,
    ) -> Result<i128, SourceError> {
        let sql = format!("REPLACE INTO {} (stub) VALUES ({stub})", found.table.quoted());
        held.script(&sql).await?;
        let rows = texts(held, "SELECT CAST(LAST_INSERT_ID() AS CHAR)", &[], 1).await;
        let rows = rows.map_err(SourceError::unknown)?;
        let made = rows.first().and_then(|row| number(row, 0));
        match made {
            Some(made) if (1..=i128::from(i64::MAX)).contains(&made) => Ok(made),
            _ => {
                let why = format!("{key}: REPLACE made {made:?}, which is no number of 63 bits");
                Err(error(&self.link, SourceErrorKind::Exhausted, &why).unknown())
            }
        }
    }

    async fn fence_once(&self, key: &str) -> Result<Fenced, SourceError> {
        let mut held = self.link.hold(&format!("fence of {key}")).await?;
        let host = Host::read(&mut held).await?;
        let found = match self.stand(&mut held, key).await? {
            Stand::Serves(found) => {
                wait_briefly(&self.link, &mut held).await?;
                let table = found.table.moved();
                rename(&mut held, &found.table, &table).await?;
                // Read behind the fence: the RENAME has waited for everybody.
                let again = Generated::of_table(&mut held, &table).await;
                let again = again.map_err(SourceError::unknown)?;
                again.ok_or_else(|| gone(&self.link, key).unknown())?
            }
            Stand::Moved(found) => found,
            Stand::Both(found) => return Err(self.both(key, &found)),
            Stand::Gone => return Err(gone(&self.link, key)),
        };
        let mark = found.known_mark(&self.link, &host)?;
        // After a REPLACE, InnoDB begins one higher when the server has started again: pinned, the mark stays.
        let pinned = held.script(&found.set(mark)).await;
        pinned.map_err(SourceError::unknown)?;
        held.done();
        Ok(Fenced { mark })
    }

    /// The number first, while nobody finds the table; then its name.
    async fn lift_once(&self, key: &str, note: &Note, issued: Option<i64>) -> Result<(), SourceError> {
        let mut held = self.link.hold(&format!("lift of the fence of {key}")).await?;
        let found = match self.stand(&mut held, key).await? {
            Stand::Serves(found) => {
                let host = Host::read(&mut held).await?;
                held.done();
                return found.is_behind(&self.link, &host, key, issued);
            }
            Stand::Moved(found) => found,
            Stand::Both(found) => return Err(self.both(key, &found)),
            Stand::Gone => return Err(gone(&self.link, key)),
        };
        if let Some(mark) = note.mark {
            let host = Host::read(&mut held).await?;
            // The number is set before the name: a lift that broke off in between goes on.
            let is_half_lifted = issued.is_some_and(|issued| found.highest == Some(issued.into()));
            if found.known_mark(&self.link, &host)? != mark && !is_half_lifted {
                let why = format!("{key} was moved again since: that move has to end it or take it back");
                return Err(error(&self.link, SourceErrorKind::Foreign, &why));
            }
        }
        wait_briefly(&self.link, &mut held).await?;
        let issued = issued
            .map(i128::from)
            .filter(|issued| Some(*issued) > found.highest);
        if let Some(issued) = issued {
            if issued >= found.limits().1 {
                let why = format!(
                    "{key} cannot go on behind {issued}: {} ends there",
                    found.column_type
                );
                return Err(error(&self.link, SourceErrorKind::Refused, &why));
            }
            let stub = literal(&stub(&mut held, &found).await?);
            held.script(&replace_with(&found, issued, &stub)).await?;
        }
        let before = self.home(key, &found);
        rename(&mut held, &found.table, &before).await?;
        held.done();
        Ok(())
    }

    /// The table of a key whose moved one was found.
    fn home(&self, key: &str, moved: &Generated) -> Table {
        let schema = &moved.table.schema;
        let name = key.strip_prefix(&format!("{schema}.")).unwrap_or(key);
        Table::new(schema, name)
    }

    fn both(&self, key: &str, moved: &Generated) -> SourceError {
        let why = format!(
            "{key} was moved, and somebody has made the table anew: both it and {} are there; the older one must be \
             the only one",
            moved.table.plain()
        );
        error(&self.link, SourceErrorKind::Foreign, &why)
    }

    /// The server's own class, unless a table's engine keeps less.
    async fn durability_now(&self) -> Result<Durability, SourceError> {
        let server = durability(&self.link).await?;
        let listed = self.list_now(&Wanted::default()).await?;
        let mut lossy = listed.counters.iter().flat_map(|counter| {
            let findings = counter.findings.iter();
            findings.map(move |finding| (&counter.key, finding))
        });
        let found = lossy.find(|(_, finding)| finding.code == crate::source::FindingCode::Lossy);
        Ok(match found {
            Some((key, finding)) if server.class != Class::Lossy => Durability {
                fix: finding.fix.clone(),
                ..Durability::plain(Class::Lossy, format!("{key}: {}", finding.text))
            },
            _ => server,
        })
    }
}

async fn ticket_table(held: &mut MyHeld<'_>, table: &Table) -> Result<Option<Generated>, SourceError> {
    match ticket_tables(held, Some(table)).await?.is_empty() {
        true => Ok(None),
        false => Generated::of_table(held, table).await,
    }
}

/// What its rows say in their second column; Flickr's say `a`.
async fn stub(held: &mut MyHeld<'_>, found: &Generated) -> Result<String, SourceError> {
    let sql = format!(
        "SELECT stub FROM {} ORDER BY {} DESC LIMIT 1",
        found.table.quoted(),
        name(&found.column)
    );
    let rows = texts(held, &sql, &[], 1).await?;
    Ok(rows
        .first()
        .map_or("a".to_string(), |row| word(row, 0).to_string()))
}

fn replace_with(found: &Generated, id: i128, stub: &str) -> String {
    let (table, column) = (found.table.quoted(), name(&found.column));
    format!("REPLACE INTO {table} ({column}, stub) VALUES ({id}, {stub})")
}

async fn rename(held: &mut MyHeld<'_>, from: &Table, to: &Table) -> Result<(), SourceError> {
    held.script(&format!("RENAME TABLE {} TO {}", from.quoted(), to.quoted()))
        .await
}

fn shown(found: &Generated, key: &str, host: &Host) -> Counter {
    found.shown(super::TICKETS.name, key, host)
}

fn moved(found: &Generated, key: &str, host: &Host) -> Counter {
    let counter = shown(found, key, host);
    let fence = counter
        .mark
        .map_or(Fence::None, |mark| Fence::Ours { id: None, mark });
    Counter { fence, ..counter }
}

fn broken() -> Fence {
    Fence::Broken {
        id: None,
        why: "somebody has made the table anew".into(),
    }
}

impl Source for Tickets {
    fn kind(&self) -> &'static SourceKind {
        &super::TICKETS
    }

    fn place(&self) -> String {
        self.link.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        Box::pin(self.durability_now())
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
                    other => return explained(&self.link, (key, 2), BESIDE_RIGHTS, other).await,
                }
            }
        })
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, _: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(async move {
            if way != Way::Cut {
                let why = format!("{key}: a ticket table takes no {}: cut it", way.as_str());
                return Err(error(&self.link, SourceErrorKind::Refused, &why));
            }
            let mut patience = Patience::new(&self.link);
            loop {
                match self.fence_once(key).await {
                    Err(error) if patience.again(&error).await => {}
                    other => return explained(&self.link, (key, 2), CUT_RIGHTS, other).await,
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
                    other => return explained(&self.link, (key, 2), CUT_RIGHTS, other).await,
                }
            }
        })
    }

    fn check<'a>(&'a self, key: &'a str, _: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(async move {
            Ok(self
                .look_now(key)
                .await?
                .map_or(Fence::None, |counter| counter.fence))
        })
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        let table = table_of(&counter.key);
        let (here, there) = (table.quoted(), table.moved().quoted());
        match way {
            Way::Beside => vec![
                format!("LOCK TABLES {here} WRITE"),
                format!("REPLACE INTO {here} (stub) VALUES ('a')"),
                format!("REPLACE INTO {here} (id, stub) VALUES (that number + as many as are wanted, 'a')"),
                "UNLOCK TABLES".into(),
            ],
            _ => vec![format!("RENAME TABLE {here} TO {there}")],
        }
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

/// The table of a key, as far as that can be told without asking.
fn table_of(key: &str) -> Table {
    let names = splits(key, 2).into_iter().next().unwrap_or_default();
    match &names[..] {
        [schema, name] => Table::new(schema, name),
        _ => Table::new("", key),
    }
}
