//! What goes into a statement and what comes out.

/// A value bound to a statement.
#[derive(Clone, Copy)]
pub(in super::super) enum Arg<'a> {
    Text(&'a str),
    Int(i64),
}

/// What a column of an answer holds when it is not NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Column {
    Text,
    Int,
}

/// A field of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Field {
    Null,
    Text(String),
    Int(i64),
}

impl Field {
    pub(in super::super) fn text(&self) -> Option<&str> {
        match self {
            Field::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(in super::super) fn int(&self) -> Option<i64> {
        match self {
            Field::Int(int) => Some(*int),
            _ => None,
        }
    }
}

/// One row of an answer.
pub(in super::super) type Row = Vec<Field>;
