//! What an operation is, and how a path leads to it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::code::Code;
use crate::operations::nouns::{At, Noun, Thing};
use crate::operations::{OPERATIONS, Op};
use crate::percent;

/// What a token may do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Look at everything.
    Read,
    /// Take ids, and look at everything.
    Allocate,
    /// Create, change, move and drop sequences.
    Admin,
}

impl Right {
    /// The right's name in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Allocate => "allocate",
            Right::Admin => "admin",
        }
    }

    /// Whether who has this right may do what needs another one: who takes ids may look, too.
    ///
    /// ```
    /// use mintage_wire::Right::{Admin, Allocate, Read};
    /// assert!(Allocate.grants(Allocate) && Allocate.grants(Read));
    /// assert!(!Read.grants(Allocate) && !Allocate.grants(Admin) && !Admin.grants(Read));
    /// ```
    #[inline]
    pub fn grants(self, needed: Right) -> bool {
        self == needed || (self == Right::Allocate && needed == Right::Read)
    }
}

/// What a right is needed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// Nothing that has a name; or a list, from which is left out what its reader may not see.
    Nothing,
    /// The sequence or pool that the path names first.
    Named,
    /// Everything there is, whatever its name.
    Everything,
}

/// One thing that a client may ask for, through whatever face.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Which one.
    pub op: Op,
    /// The method of HTTP; what takes `GET` takes `HEAD`, too.
    pub method: &'static str,
    /// The path, with `{name}` in place of an argument.
    pub path: &'static str,
    /// What a token must be good for; `None`: none is needed.
    pub right: Option<Right>,
    /// What the right is needed for: it may be limited to some names.
    pub about: About,
    /// What else it names: each asks for the same right, or for `read` where the operation asks for none.
    pub names: &'static [Noun],
    /// The parameters of the query.
    pub parameters: &'static [Parameter],
    /// Whether a format's own options are parameters too.
    pub takes_options: bool,
    /// What becomes of a body.
    pub takes: Takes,
    /// What is answered, with the status.
    pub answers: &'static [(u16, Form)],
    /// Refusals of its own, beyond what any request may be refused for.
    pub refuses: &'static [Code],
    /// Whether ids are given out: by POST alone, since a cached GET would hand one id to two callers.
    pub allocates: bool,
    /// What it changes for good, in the log's word.
    pub change: Option<&'static str>,
    /// The command of the Redis protocol that does the same.
    pub command: Option<&'static str>,
    /// What it does, a phrase.
    pub says: &'static str,
}

/// Whatever a row of the table does not mention.
pub(crate) const PLAIN: Operation = Operation {
    op: Op::Livez,
    method: "",
    path: "",
    right: Some(Right::Read),
    about: About::Nothing,
    names: &[],
    parameters: &[],
    takes_options: false,
    takes: Takes::Nothing,
    answers: &[],
    refuses: &[],
    allocates: false,
    change: None,
    command: None,
    says: "",
};

/// A parameter of a query.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it means, a phrase.
    pub says: &'static str,
}

/// What a parameter may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any text that means something.
    Text,
    /// A whole number from the one to the other; a bound that is configured is not told.
    Whole(u64, Option<u64>),
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// The schema of a document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of `T`, for a row of the table.
pub(crate) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What an operation does with a body.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// It takes none.
    Nothing,
    /// It is parameters, as a query's.
    Parameters,
    /// It is a document.
    Document(SchemaOf),
    /// It is a file, whatever it says of itself: up to a size of its own.
    File,
}

/// What an answer is.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Nothing.
    Empty,
    /// A document.
    Json(SchemaOf),
    /// Ids: a document, text with one a line, or bytes, as the client accepts.
    Ids(SchemaOf),
    /// Something of this media type.
    Other(&'static str),
}

/// Where a path leads: the operations that are there, and the arguments that stand in it, as they stand there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place<'p> {
    /// One for each method.
    pub ops: &'static [Op],
    /// The values of the placeholders; empty where there are none.
    pub arguments: [&'p str; 2],
}

/// The most segments that a path has.
const SEGMENTS_MAX: usize = 5;

/// Where arguments stand among the segments.
const ARGUMENTS_AT: [usize; 2] = [2, 4];

/// Where a path leads, if anywhere.
///
/// ```
/// use mintage_wire::{Op, find};
/// let place = find("/v1/sequences/a%3Ab/next").expect("a path of the table");
/// assert_eq!((place.ops, place.arguments[0]), (&[Op::Next][..], "a%3Ab"));
/// assert_eq!(find("/v1/nothing"), None);
/// ```
#[inline]
pub fn find(path: &str) -> Option<Place<'_>> {
    let mut segments = [""; SEGMENTS_MAX];
    let mut count = 0;
    for segment in path.strip_prefix('/')?.split('/') {
        *segments.get_mut(count)? = segment;
        count += 1;
    }
    Some(Place {
        ops: crate::operations::at(&segments[..count])?,
        arguments: ARGUMENTS_AT.map(|at| segments[at]),
    })
}

impl Op {
    /// The operation's row of the table.
    #[inline]
    pub fn row(self) -> &'static Operation {
        &OPERATIONS[self as usize]
    }
}

impl Operation {
    /// The path with arguments in it.
    ///
    /// # Panics
    /// When there are not as many as placeholders.
    ///
    /// ```
    /// use mintage_wire::Op;
    /// assert_eq!(Op::Next.row().path_to(&["shop/orders"]), "/v1/sequences/shop%2Forders/next");
    /// ```
    pub fn path_to(&self, arguments: &[&str]) -> String {
        let mut parts = self.path.split(['{', '}']);
        let mut path = parts.next().unwrap_or_default().to_string();
        let mut arguments = arguments.iter();
        while parts.next().is_some() {
            let argument = arguments.next().expect("an argument for every placeholder");
            path.push_str(&percent::encode(argument));
            path.push_str(parts.next().unwrap_or_default());
        }
        assert!(arguments.next().is_none(), "a placeholder for every argument");
        path
    }

    /// The placeholders of the path, in their order.
    pub fn placeholders(&self) -> impl Iterator<Item = &'static str> {
        self.path.split(['{', '}']).skip(1).step_by(2)
    }

    /// Everything that a request names and a right is asked for.
    pub fn nouns(&self) -> impl Iterator<Item = Noun> {
        let named = self.placeholders().take(usize::from(self.about == About::Named));
        let named = named.map(|name| Noun {
            at: At::Path(name),
            is: Thing::Name,
        });
        named.chain(self.names.iter().copied())
    }

    /// Whether this is what a method asks for.
    #[inline]
    pub fn is_asked_by(&self, method: &str) -> bool {
        self.method == method || (self.method == "GET" && method == "HEAD")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_path() {
        for row in OPERATIONS {
            assert_eq!(row.op.row().op, row.op);
            let place = find(row.path).expect("it leads somewhere");
            assert!(place.ops.contains(&row.op), "{}", row.path);
            // Every argument has a placeholder, and nothing else has.
            let braced: Vec<String> = row.placeholders().map(|name| format!("{{{name}}}")).collect();
            let found: Vec<&str> = place
                .arguments
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect();
            assert_eq!(found, braced, "{}", row.path);
            let arguments: Vec<&str> = row.placeholders().map(|_| "a/b").collect();
            let place = find(&row.path_to(&arguments).replace("a/b", "")).map(|place| place.ops);
            assert!(place.is_some_and(|ops| ops.contains(&row.op)), "{}", row.path);
        }
    }

    #[test]
    fn the_documented_table_is_this_one() {
        let row = |row: &Operation| {
            let names: Vec<&str> = row.parameters.iter().map(|known| known.name).collect();
            let query = match (names.is_empty(), row.takes_options) {
                (true, _) => String::new(),
                (false, false) => format!("?{}", names.join("&")),
                (false, true) => format!("?{}&…", names.join("&")),
            };
            let right = row
                .right
                .map_or("nothing".into(), |right| format!("`{}`", right.as_str()));
            let (method, path, says) = (row.method, row.path, row.says);
            format!("| `{method} {path}{query}` | {right} | {says} |\n")
        };
        let head = "| request | needs | does |\n";
        crate::pages::check_table(
            "http-reference.md",
            head,
            &OPERATIONS.iter().map(row).collect::<String>(),
        );
    }

    #[test]
    fn the_documented_commands_are_these() {
        let row = |command: &str, says: &str| format!("| `{command}` | {says} |\n");
        let of_operations = OPERATIONS
            .iter()
            .filter_map(|known| Some(row(known.command?, known.says)));
        let of_sessions = crate::SESSION_COMMANDS
            .iter()
            .map(|known| row(known.command, known.says));
        let head = "| command | does |\n";
        let rows: String = of_operations.chain(of_sessions).collect();
        crate::pages::check_table("redis.md", head, &rows);
    }

    #[test]
    fn what_gives_ids_out_is_asked_by_post_and_what_changes_needs_a_right() {
        for row in OPERATIONS {
            assert!(!row.allocates || row.method == "POST", "{}", row.path);
            assert!(row.method != "GET" || row.change.is_none(), "{}", row.path);
            let needs_admin = row.right == Some(Right::Admin);
            let lends = row.change == Some("lend");
            assert!(row.change.is_none() || needs_admin || lends, "{}", row.path);
        }
    }

    #[test]
    fn paths_lead_where_they_say() {
        for (path, argument) in [
            ("/v1/sequences/a%3Ab/next", Some("a%3Ab")),
            ("/v1/pools/eu/windows/7", Some("eu")),
            ("/v1/pools/eu/nope/7", None),
            ("/v1/backup/", None),
            ("/v1/sequences/a/next/", None),
            ("/v1/sequences/a/nope", None),
            ("/v1/sequences/a/b/c", None),
            ("/v1/sequences/a/b/c/d/e", None),
            ("/v1", None),
            ("/", Some("")),
            ("//", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(find(path).map(|place| place.arguments[0]), argument, "{path}");
        }
    }
}
