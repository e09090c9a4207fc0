//! What goes into a statement and what comes out.

/// A value bound to a statement.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// Text.
    Text(&'a str),
    /// A whole number.
    Int(i64),
}

/// What a column of an answer holds when it is not NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Text.
    Text,
    /// A whole number.
    Int,
}

/// A field of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// No value.
    Null,
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
}

impl Field {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Field::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Field::Int(int) => Some(*int),
            _ => None,
        }
    }
}

/// One row of an answer.
pub type Row = Vec<Field>;
