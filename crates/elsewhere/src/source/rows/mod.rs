//! Row counters: most systems keep "a row with a number". One source over a table of shapes.
//!
//! | file | what |
//! | --- | --- |
//! | `shapes` | the table: which columns, what the number means, what a fence is |
//! | `row` | what one row means: its mark, a take, a fence |
//! | `speech` | where MySQL and PostgreSQL differ |
//! | `find` | which tables, what keys are called, the types of the columns |
//! | `look` | reading: list, look, check |
//! | `change` | writing: take, fence, lift, and the statements and rights for them |
//! | `claimed` | which tables are those of the shapes, so that no other source takes them for its own |
//!
//! **Every write is one transaction**: the row is read and locked as idgo and Leaf do it, judged here, and written only if
//! its number is still the one that was read. The last also guards tables of engines that lock no rows. A write must
//! match exactly one row; else the counter is gone, and nothing is taken.

mod change;
#[cfg(feature = "mysql")]
mod claimed;
mod find;
mod look;
mod row;
mod shapes;
mod speech;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

#[cfg(feature = "mysql")]
pub(super) use self::claimed::claimed;
use self::find::Spot;
use self::row::Meta;
#[cfg(feature = "mysql")]
use self::shapes::SHAPES;
use self::shapes::Shape;
use self::speech::Speech;
use super::kind::Place;
use super::link::Link;
use super::{
    Counter, Engine, Fence, Fenced, KEYS_MAX, Listed, Mend, Note, Source, SourceError, SourceErrorKind,
    SourceKind, SourceResult, SourceSettings, Wanted, Way,
};
use crate::store::{Class, Durability};
use mintage::Run;

/// How many counters' types are remembered between takes.
const METAS_MAX: usize = 4096;

/// The counters of one shape on one server.
pub(super) struct RowSource<D: Speech> {
    link: Arc<Link<D>>,
    shape: Shape,
    keys_max: u64,
    home: OnceLock<Option<String>>,
    /// What takes know of columns, by the text of the key.
    metas: Mutex<BTreeMap<String, (Spot, Meta)>>,
}

impl<D: Speech> fmt::Debug for RowSource<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowSource({} at {})", self.shape.kind, self.link.place())
    }
}

macro_rules! known {
    ($($name:ident = $kind:literal, $summary:literal;)*) => {
        $(
            #[cfg(feature = "mysql")]
            pub(super) const $name: SourceKind = SourceKind {
                name: $kind,
                engine: Engine::MySql,
                example: concat!($kind, "+mysql://ann@db/ids"),
                summary: $summary,
                is_found: true,
                has_ceiling: false,
                has_beside: true,
                open: |place, settings| open_known($kind, place, settings),
            };
        )*
    };
}

known! {
    LEAF = "leaf", "the rows of Leaf's leaf_alloc";
    TINYID = "tinyid", "the rows of tinyid's tiny_id_info";
    COSID = "cosid", "the rows of CosId's table cosid";
    VITESS = "vitess", "the sequence tables of Vitess";
    IDGO = "idgo", "the tables that idgo's __idgo__ lists";
}

#[cfg(feature = "mysql")]
pub(super) const OWN_MYSQL: SourceKind = SourceKind {
    name: "own",
    engine: Engine::MySql,
    example: "own+mysql://ann@db/ids",
    summary: "the rows of a table that you describe",
    is_found: false,
    has_ceiling: false,
    has_beside: true,
    open: open_own,
};

#[cfg(feature = "postgres")]
pub(super) const OWN_POSTGRES: SourceKind = SourceKind {
    name: "own",
    engine: Engine::Postgres,
    example: "own+postgres://ann@db/ids",
    summary: "the rows of a table that you describe",
    is_found: false,
    has_ceiling: false,
    has_beside: true,
    open: open_own,
};

/// The rows of the table of sources that stand here.
static KINDS: &[SourceKind] = &[
    #[cfg(feature = "mysql")]
    LEAF,
    #[cfg(feature = "mysql")]
    TINYID,
    #[cfg(feature = "mysql")]
    COSID,
    #[cfg(feature = "mysql")]
    VITESS,
    #[cfg(feature = "mysql")]
    IDGO,
    #[cfg(feature = "mysql")]
    OWN_MYSQL,
    #[cfg(feature = "postgres")]
    OWN_POSTGRES,
];

#[cfg(feature = "mysql")]
fn open_known(
    kind: &'static str,
    place: &Place,
    settings: &SourceSettings,
) -> Result<Arc<dyn Source>, SourceError> {
    let shape = SHAPES.iter().find(|shape| shape.kind == kind);
    let shape = shape
        .expect("every row of the table of sources has a shape")
        .clone();
    open(shape, place, settings)
}

fn open_own(place: &Place, settings: &SourceSettings) -> Result<Arc<dyn Source>, SourceError> {
    let Some(own) = &settings.table else {
        return Err(SourceError::new(
            SourceErrorKind::Invalid,
            "a source own+… needs the table, its columns for key and number, and whether that is the next or the last \
             one: --table T --key-column K --column V --means next|last",
        ));
    };
    open(Shape::own(own), place, settings)
}

fn open(shape: Shape, place: &Place, settings: &SourceSettings) -> Result<Arc<dyn Source>, SourceError> {
    fn over<D: Speech>(link: &Arc<Link<D>>, shape: Shape, settings: &SourceSettings) -> Arc<dyn Source> {
        Arc::new(RowSource {
            link: link.clone(),
            shape,
            keys_max: settings.keys_max.unwrap_or(KEYS_MAX),
            home: OnceLock::new(),
            metas: Mutex::default(),
        })
    }
    match place {
        #[cfg(feature = "mysql")]
        Place::MySql(link) => Ok(over(link, shape, settings)),
        #[cfg(feature = "postgres")]
        Place::Postgres(link) => Ok(over(link, shape, settings)),
        #[cfg(feature = "redis")]
        Place::Redis(..) => Err(SourceError::new(SourceErrorKind::Invalid, "Redis has no rows")),
    }
}

impl<D: Speech> RowSource<D> {
    fn error(&self, kind: SourceErrorKind, why: &str) -> SourceError {
        SourceError::new(kind, format!("{}: {}: {why}", self.link.place(), self.shape.kind))
    }

    /// What the server and the engines of the tables may forget.
    async fn durability_now(&self) -> Result<Durability, SourceError> {
        let mut held = self.link.hold("reading its settings").await?;
        let mut durability = held.probe().await?.durability;
        let mut forgetful = Vec::new();
        for table in self.tables(&mut held).await? {
            let names = match self.shape.keyed {
                shapes::Keyed::Listed(column) => self.listed(&mut held, &table, column).await?,
                _ => vec![table.name.clone()],
            };
            for name in names {
                forgetful.extend(self.forgetful(&mut held, &table.schema, &name).await?);
            }
        }
        held.done();
        if !forgetful.is_empty() && durability.class != Class::Lossy {
            let why = format!("{}: a crash loses what it acknowledged", forgetful.join(", "));
            durability = Durability {
                fix: Some(match D::ENGINE {
                    Engine::Postgres => "ALTER TABLE … SET LOGGED".to_string(),
                    _ => "ALTER TABLE … ENGINE = InnoDB".to_string(),
                }),
                ..Durability::plain(Class::Lossy, why)
            };
        }
        Ok(durability)
    }
}

impl<D: Speech> Source for RowSource<D> {
    fn kind(&self) -> &'static SourceKind {
        let mut rows = KINDS.iter();
        rows.find(|row| row.name == self.shape.kind && row.engine == D::ENGINE)
            .expect("a source is opened from its row")
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
        Box::pin(async move { self.advised(key, self.look_now(key).await).await })
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        Box::pin(async move { self.advised(key, self.take_now(key, n).await).await })
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(async move { self.advised(key, self.fence_now(key, way, note).await).await })
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        Box::pin(async move { self.advised(key, self.lift_now(key, note, issued).await).await })
    }

    fn check<'a>(&'a self, key: &'a str, _note: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(async move { self.advised(key, self.check_now(key).await).await })
    }

    fn mend(&self, counter: &Counter, mend: Mend) -> Option<String> {
        match (mend, self.shape.step) {
            (Mend::Step(numbers), Some(column)) => {
                self.mending(&counter.key, &[(column, &numbers.to_string())])
            }
            _ => None,
        }
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        self.statements_of(counter, way)
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(self.rights_now(key, way))
    }
}
