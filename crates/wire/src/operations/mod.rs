//! The one table of operations: routers, checks, clients, the documentation and `/openapi.json` read it.

pub(crate) mod nouns;
pub(crate) mod operation;

use self::nouns::{At, Noun, Thing};
use self::operation::About::{Everything, Named};
use self::operation::Form::{Empty, Ids, Json, Other};
use self::operation::Kind::{OneOf, Text, Whole};
use self::operation::Right::{Admin, Allocate};
use self::operation::Takes::{Document, File, Parameters};
use self::operation::{Operation, PLAIN, Parameter, of};
use crate::code::Code::{self, *};
use crate::{cluster, explained, formats, health, inspected, live, moves, pools, sequences, series};

macro_rules! segment {
    ($text:literal) => {
        $text
    };
    ($name:ident) => {
        concat!("{", stringify!($name), "}")
    };
}

macro_rules! path {
    ([$($segment:tt),+]) => {
        concat!($("/", segment!($segment)),+)
    };
}

macro_rules! operations {
    ($($path:tt { $($method:ident $op:ident $says:literal { $($field:ident: $value:expr,)* })+ })+) => {
        /// Every operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $($(#[doc = $says] $op,)+)+
        }

        /// Every operation, in the order of the enumeration; those of one path stand together.
        pub static OPERATIONS: &[Operation] = &[
            $($(Operation {
                op: Op::$op,
                method: stringify!($method),
                path: path!($path),
                says: $says,
                $($field: $value,)*
                ..PLAIN
            },)+)+
        ];

        /// What the segments of a path lead to.
        #[allow(unused_variables)]
        #[inline]
        pub(crate) fn at(segments: &[&str]) -> Option<&'static [Op]> {
            Some(match segments {
                $($path => &[$(Op::$op),+],)+
                _ => return None,
            })
        }
    };
}

operations! {
    ["v1", "sequences"] {
        GET ListSequences "lists sequences, in the order of names" {
            parameters: &[PREFIX, AFTER, LIMIT],
            answers: &[(200, Json(of::<sequences::Sequences>))],
            refuses: &[InvalidCount, InvalidName],
        }
    }
    ["v1", "sequences", name] {
        GET ShowSequence "shows a sequence" {
            about: Named,
            answers: &[(200, Json(of::<sequences::Sequence>))],
            refuses: &[InvalidName, NotFound],
            command: Some("MINT.SHOW seq"),
        }
        PUT CreateSequence "creates a sequence; the same definition again changes nothing (200), another one is refused" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<sequences::SequenceDefinition>),
            answers: &[(201, Json(of::<sequences::Sequence>)), (200, Json(of::<sequences::Sequence>))],
            refuses: &[InvalidName, InvalidBody, InvalidArgument, Exists, TooMany, Conflict, Moving, MovedBack],
            change: Some("create"),
        }
        PATCH AlterSequence "changes what is named; with `restart` it continues at `start` or at that number in the same change" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<sequences::SequenceDefinition>),
            answers: &[(200, Json(of::<sequences::Sequence>))],
            refuses: &[
                InvalidName, InvalidBody, InvalidArgument, NotFound, NeedsAllowRepeat, Conflict, Moving, MovedBack,
            ],
            change: Some("alter"),
        }
        DELETE DropSequence "drops a sequence; the name created again continues above its numbers" {
            about: Named,
            right: Some(Admin),
            answers: &[(204, Empty), (200, Json(of::<sequences::Pending>))],
            refuses: &[InvalidName, NotFound, TooMany, Conflict, Moving, MovedBack],
            change: Some("drop"),
        }
    }
    ["v1", "sequences", name, "next"] {
        POST Next "takes the next numbers of a sequence" {
            about: Named,
            right: Some(Allocate),
            parameters: &[
                COUNT,
                Parameter { name: "as", kind: OneOf(&["ids", "range"]), says: "`range`: one contiguous run, as first, last, increment" },
            ],
            takes: Parameters,
            answers: &[(200, Ids(ids_or_range))],
            refuses: &[InvalidName, InvalidCount, Exhausted, TooMany, NotAcceptable, Moving, MovedBack],
            allocates: true,
            command: Some("MINT.NEXT seq [COUNT n]"),
        }
    }
    ["v1", "sequences", name, "restart"] {
        POST RestartSequence "continues at a number; going back needs `allow_repeat`" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<sequences::Restart>),
            answers: &[(200, Json(of::<sequences::Sequence>))],
            refuses: &[
                InvalidName, InvalidBody, InvalidArgument, NotFound, NeedsAllowRepeat, Conflict, Moving, MovedBack,
            ],
            change: Some("restart"),
        }
    }
    ["v1", "sequences", name, "blocks"] {
        GET ShowBlocks "lists the blocks of a sequence that this server reserved lately, and what became of them" {
            about: Named,
            answers: &[(200, Json(of::<explained::Blocks>))],
            refuses: &[InvalidName, NotFound],
        }
    }
    ["v1", "ids", format] {
        POST MakeIds "makes ids of a format, with its own options as parameters" {
            right: Some(Allocate),
            names: &[Noun::query("pool")],
            parameters: &[
                COUNT,
                Parameter { name: "pool", kind: Text, says: "where they come from, for `uuid1`, `uuid6` and `snowflake`" },
            ],
            takes_options: true,
            takes: Parameters,
            answers: &[(200, Ids(of::<sequences::Ids>))],
            refuses: &[UnknownFormat, InvalidCount, NotFound, Exhausted, ClockBack, NotAcceptable],
            allocates: true,
            command: Some("MINT.ID format [COUNT n] [option value …]"),
        }
    }
    ["v1", "snowflakes", pool] {
        POST MakeSnowflakes "makes Snowflakes of a pool" {
            about: Named,
            right: Some(Allocate),
            parameters: &[COUNT],
            takes: Parameters,
            answers: &[(200, Ids(of::<sequences::Ids>))],
            refuses: &[InvalidName, InvalidCount, NotFound, Exhausted, ClockBack, NotAcceptable],
            allocates: true,
            command: Some("MINT.SNOWFLAKE pool [COUNT n]"),
        }
    }
    ["v1", "pools"] {
        GET ListPools "lists pools, in the order of names" {
            parameters: &[PREFIX, AFTER, LIMIT],
            answers: &[(200, Json(of::<pools::Pools>))],
            refuses: &[InvalidCount, InvalidName],
        }
    }
    ["v1", "pools", name] {
        GET ShowPool "shows a pool and its windows" {
            about: Named,
            parameters: &[FROM, LIMIT],
            answers: &[(200, Json(of::<pools::PoolPage>))],
            refuses: &[InvalidName, InvalidCount, NotFound],
        }
        PUT CreatePool "makes a pool, of a preset, a layout or `uuid1`; the same definition again changes nothing" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<pools::PoolDefinition>),
            answers: &[(201, Json(of::<pools::Pool>))],
            refuses: &[InvalidName, InvalidBody, Exists],
            change: Some("create pool"),
        }
        PATCH AlterPool "changes which workers a pool avoids; answers the windows of avoided workers that last still" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<pools::PoolPatch>),
            answers: &[(200, Json(of::<pools::PoolChanged>))],
            refuses: &[InvalidName, InvalidBody, InvalidArgument, NotFound, Conflict],
            change: Some("alter pool"),
        }
        DELETE DropPool "drops a pool; refused while somebody's window lasts, and for a minute after this server's own last id" {
            about: Named,
            right: Some(Admin),
            answers: &[(204, Empty)],
            refuses: &[InvalidName, NotFound, Conflict],
            change: Some("drop"),
        }
    }
    ["v1", "pools", name, "map"] {
        GET ShowPoolMap "shows the windows of a pool's workers over time, those that others have taken over too" {
            about: Named,
            parameters: &[FROM, LIMIT],
            answers: &[(200, Json(of::<explained::PoolMap>))],
            refuses: &[InvalidName, InvalidCount, NotFound],
        }
    }
    ["v1", "pools", name, "windows"] {
        POST LendWindow "lends a window: worker, owner, version, `from_tick`, `until_tick`" {
            about: Named,
            right: Some(Allocate),
            takes: Document(of::<pools::Borrower>),
            answers: &[(201, Json(of::<pools::LentWindow>))],
            refuses: &[InvalidName, InvalidBody, NotFound],
            allocates: true,
            change: Some("lend"),
        }
    }
    ["v1", "pools", name, "windows", worker] {
        PUT RetireWindow "gives up a worker that a wrong clock parked" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<pools::Retired>),
            answers: &[(204, Empty)],
            refuses: &[InvalidName, InvalidBody, NotFound, InvalidArgument],
            change: Some("retire"),
        }
        PATCH RenewWindow "renews a lent window, with owner and version as last answered; with an `attempt` it may be repeated; 409: it is lost, stop minting" {
            about: Named,
            right: Some(Allocate),
            takes: Document(of::<pools::Held>),
            answers: &[(200, Json(of::<pools::LentWindow>))],
            refuses: &[InvalidName, InvalidBody, InvalidArgument, NotFound, Conflict],
        }
        DELETE EndWindow "with owner and version, the borrower is done; without, an operator frees a window that has passed" {
            about: Named,
            right: Some(Admin),
            takes: Document(of::<pools::Held>),
            answers: &[(204, Empty)],
            refuses: &[InvalidName, InvalidBody, NotFound, Conflict],
            change: Some("release"),
        }
    }
    ["v1", "moves"] {
        GET ListMoves "lists moves from and to other systems, in the order of names" {
            about: Everything,
            answers: &[(200, Json(of::<moves::Moves>))],
        }
    }
    ["v1", "moves", name] {
        GET ShowMove "shows the move of a name" {
            about: Named,
            answers: &[(200, Json(of::<moves::VersionedMove>))],
            refuses: &[InvalidName, NotFound],
        }
        PUT StepMove "writes the next phase of a move if its record is at `expected`, and does it; 409 with `now`: another step came first" {
            about: Named,
            right: Some(Admin),
            names: &[
                Noun { at: At::Body("/move/source"), is: Thing::Source },
                Noun { at: At::Body("/move/masters"), is: Thing::Source },
                Noun { at: At::Body("/move/table"), is: Thing::Table },
            ],
            takes: Document(of::<moves::MoveStep>),
            answers: &[(200, Json(of::<moves::SteppedMove>)), (409, Json(of::<moves::LostMove>))],
            refuses: &[InvalidName, InvalidBody, Exists],
            change: Some("move"),
        }
    }
    ["v1", "presets"] {
        GET ListPresets "lists the known layouts" {
            answers: &[(200, Json(of::<formats::Presets>))],
        }
    }
    ["v1", "formats"] {
        GET ListFormats "lists the formats of ids" {
            answers: &[(200, Json(of::<formats::Formats>))],
        }
    }
    ["v1", "inspect", id] {
        GET Inspect "says what an id is" {
            parameters: &[
                Parameter { name: "as", kind: Text, says: "the format to read it as, and nothing else" },
                Parameter { name: "preset", kind: Text, says: "the layout to read a Snowflake with" },
            ],
            takes_options: true,
            answers: &[(200, Json(of::<inspected::Inspected<'_>>))],
            refuses: &[UnknownFormat, InvalidArgument],
            command: Some("MINT.INSPECT id"),
        }
    }
    ["v1", "explain", id] {
        GET Explain "says which sequence or pool gave an id out, which block or window, and which server, as far as the records tell" {
            names: &[Noun::query("sequence"), Noun::query("pool")],
            parameters: &[
                Parameter { name: "sequence", kind: Text, says: "the sequence that a number is of; all if absent" },
                Parameter { name: "pool", kind: Text, says: "the pool that it is of; all if absent" },
            ],
            answers: &[(200, Json(of::<explained::Explained>))],
            refuses: &[InvalidName, NotFound],
        }
    }
    ["v1", "series"] {
        GET ShowSeries "lists a generated series of numbers, letters, dates or times, whole or page by page; takes no ids" {
            parameters: &[
                Parameter { name: "from", kind: Text, says: "the first bound: a number, letters, a date, or a time with its zone" },
                Parameter { name: "to", kind: Text, says: "the other bound; the series goes down if it is less" },
                Parameter { name: "step", kind: Text, says: "from one to the next; 1 if absent; of dates also `2w`, `1mo`, `1y`; of times `1h30m`" },
                SERIES_AS,
                SERIES_COUNT,
                SERIES_AFTER,
            ],
            answers: &[(200, Ids(of::<series::SeriesPage>))],
            refuses: &[InvalidCount, NotAcceptable],
        }
    }
    ["v1", "series", name] {
        GET ShowNamedSeries "lists a series by MariaDB's name for it: `seq_1_to_15_step_3`" {
            parameters: &[SERIES_AS, SERIES_COUNT, SERIES_AFTER],
            answers: &[(200, Ids(of::<series::SeriesPage>))],
            refuses: &[InvalidCount, NotAcceptable],
        }
    }
    ["v1", "backup"] {
        GET Backup "returns the store as a backup, line by line" {
            about: Everything,
            right: Some(Admin),
            answers: &[(200, Other("application/x-ndjson"))],
            refuses: &[InvalidArgument],
        }
    }
    ["v1", "audit"] {
        POST Audit "says whether a pile of ids is sound: repeats, order, gaps, times, shards; keeps nothing of it" {
            parameters: &[
                Parameter { name: "input", kind: OneOf(&["lines", "csv", "tsv", "jsonl"]), says: "how its rows are written; `csv` with `column`, else `lines`, if absent" },
                Parameter { name: "column", kind: Text, says: "the column of the ids; `id` if absent" },
                Parameter { name: "header", kind: OneOf(&["true", "false"]), says: "`false`: the first row is no header, and columns are called 1, 2, 3" },
                Parameter { name: "as", kind: Text, says: "the format that every id should have; each as what it looks like if absent" },
            ],
            takes: File,
            answers: &[(200, Other("application/json"))],
            refuses: &[InvalidBody, RateLimited],
        }
    }
    ["v1", "live"] {
        GET WatchLive "sends how the server fares, once a second (server-sent events)" {
            about: Everything,
            answers: &[(200, Other("text/event-stream"))],
        }
    }
    ["v1", "history"] {
        GET ShowHistory "shows how the server fared over the last day" {
            about: Everything,
            parameters: &[
                Parameter { name: "range", kind: OneOf(&["10m", "2h", "24h"]), says: "how far back; `10m` if absent" },
            ],
            answers: &[(200, Json(of::<live::History>))],
        }
    }
    ["v1", "top"] {
        GET ListTop "lists sequences in the order of their rate, end, losses, last number or name" {
            parameters: &[
                Parameter { name: "by", kind: OneOf(&["rate", "ends", "lost", "last", "name"]), says: "what comes first: most, soonest, or by name; `rate` if absent" },
                Parameter { name: "contains", kind: Text, says: "names with this in them" },
                Parameter { name: "offset", kind: Whole(0, None), says: "how many to skip; 0 if absent" },
                LIMIT,
            ],
            answers: &[(200, Json(of::<live::Top>))],
            refuses: &[InvalidCount, TooMany],
        }
    }
    ["v1", "cluster"] {
        GET ShowCluster "shows the servers that share the store, and what the store's class rests on" {
            about: Everything,
            answers: &[(200, Json(of::<cluster::Cluster>))],
        }
    }
    ["v1", "rehearsal"] {
        PUT Rehearse "treats the store as if it were away, for some seconds: an outage to be watched" {
            about: Everything,
            right: Some(Admin),
            takes: Document(of::<cluster::Rehearsal>),
            answers: &[(204, Empty)],
            refuses: &[InvalidBody],
            change: Some("rehearse"),
        }
    }
    ["v1", "access"] {
        GET ShowAccess "lists the tokens, what they may do and when they were last used; never their values" {
            about: Everything,
            right: Some(Admin),
            answers: &[(200, Json(of::<cluster::Access>))],
        }
    }
    ["v1", "trail"] {
        GET ListActs "lists the last acts of the audit trail, the newest first" {
            about: Everything,
            right: Some(Admin),
            parameters: &[LIMIT],
            answers: &[(200, Json(of::<cluster::Acts>))],
            refuses: &[InvalidCount],
        }
    }
    [""] {
        GET Console "shows the console" {
            right: None,
            answers: &[(200, Other("text/html; charset=utf-8"))],
        }
    }
    ["console.css"] {
        GET ConsoleStyle "is the console's style" {
            right: None,
            answers: &[(200, Other("text/css; charset=utf-8"))],
        }
    }
    ["console.js"] {
        GET ConsoleScript "is the console's script" {
            right: None,
            answers: &[(200, Other("text/javascript; charset=utf-8"))],
        }
    }
    ["livez"] {
        GET Livez "answers while the process runs" {
            right: None,
            answers: &[(200, Json(of::<health::Live>))],
        }
    }
    ["readyz"] {
        GET Readyz "says whether anything can be given out, or one thing, and why not" {
            right: None,
            names: &[Noun::query("for")],
            parameters: &[Parameter { name: "for", kind: Text, says: "`sequences`, `pools`, or a name" }],
            answers: &[(200, Json(of::<health::Ready>)), (503, Json(of::<health::Ready>))],
            refuses: &[InvalidName, NotFound],
        }
    }
    ["openapi.json"] {
        GET OpenApi "describes this interface, for client generators (OpenAPI 3.1)" {
            answers: &[(200, Other("application/json"))],
        }
    }
    ["metrics"] {
        GET Metrics "returns the metrics, for Prometheus" {
            about: Everything,
            answers: &[(200, Other("text/plain; version=0.0.4; charset=utf-8"))],
        }
    }
}

/// The refusals that any operation may answer with.
pub const ANY_REFUSES: &[Code] = &[
    InvalidArgument,
    RequestTimeout,
    RateLimited,
    TooManyConnections,
    Unavailable,
    Stopped,
    Internal,
];

/// The largest page of a list.
pub const LIMIT_MAX: u16 = 1000;

const COUNT: Parameter = Parameter {
    name: "count",
    kind: Whole(1, None),
    says: "how many; 1 if absent, up to 10,000 unless configured",
};
const LIMIT: Parameter = Parameter {
    name: "limit",
    kind: Whole(1, Some(LIMIT_MAX as u64)),
    says: "how many on a page; 100 if absent",
};
const FROM: Parameter = Parameter {
    name: "from",
    kind: Whole(0, None),
    says: "the first worker of the page",
};
const PREFIX: Parameter = Parameter {
    name: "prefix",
    kind: Text,
    says: "names that begin with this",
};
const AFTER: Parameter = Parameter {
    name: "after",
    kind: Text,
    says: "names after this one",
};

const SERIES_AS: Parameter = Parameter {
    name: "as",
    kind: OneOf(&["number", "letter", "date", "time"]),
    says: "what the values are written as; as the bounds if absent",
};
const SERIES_COUNT: Parameter = Parameter {
    name: "count",
    kind: Whole(1, None),
    says: "how many at most, up to 10,000 unless configured; the whole series if absent",
};
const SERIES_AFTER: Parameter = Parameter {
    name: "after",
    kind: Text,
    says: "values after this one of the series",
};

fn ids_or_range(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let either = [of::<sequences::Ids>(generator), of::<sequences::Range>(generator)];
    schemars::json_schema!({ "anyOf": either })
}
