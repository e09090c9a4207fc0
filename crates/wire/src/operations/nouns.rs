//! What requests name beside their paths: a right is asked for each of these things, too.

/// A thing that a request names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noun {
    /// Where it stands.
    pub at: At,
    /// What it is.
    pub is: Thing,
}

/// Where something stands in a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// The placeholder of the path that is called so.
    Path(&'static str),
    /// The parameter that is called so: of the query, or of a body that is parameters.
    Query(&'static str),
    /// There in the document (a JSON pointer, RFC 6901), with all that is in it.
    Body(&'static str),
}

/// What something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thing {
    /// A sequence or a pool: the right is asked for its name.
    Name,
    /// A database elsewhere: the right is asked for `source:NAME`.
    Source,
    /// A table there, with SQL: nobody has a right to bring one, it stands in the configuration or is refused.
    Table,
}

impl Noun {
    pub(crate) const fn query(name: &'static str) -> Noun {
        Noun {
            at: At::Query(name),
            is: Thing::Name,
        }
    }
}
