//! What goes into a statement and what comes out.

/// A value bound to a statement.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Text(&'a str),
    Int(i64),
}

/// What a column of an answer holds when it is not NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Column {
    Text,
    Int,
}

/// A field of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    Null,
    Text(String),
    Int(i64),
}

impl Field {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Field::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Field::Int(int) => Some(*int),
            _ => None,
        }
    }
}

/// One row of an answer.
pub(crate) type Row = Vec<Field>;
