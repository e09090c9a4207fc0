//! The readers of this face without a connection, for fuzzing. Available with the feature `testing`.

use std::collections::HashMap;

use super::value::{Value, put_binary_row};
use super::{grammar, prepared};

/// What a text is read as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    /// How many statements it has, up to the first that is refused.
    pub statements: usize,
    /// How many `?`.
    pub parameters: usize,
    /// The number of the refusal, if there is one, and whether the text is known to be something else.
    pub refused: Option<u16>,
    /// What it means, shown.
    pub meaning: String,
}

/// Reads a text.
pub fn read(text: &str) -> Read {
    let parsed = grammar::parse(text);
    let refused = parsed.statements.last().and_then(|last| last.as_ref().err());
    Read {
        statements: parsed.statements.len(),
        parameters: parsed.parameters,
        refused: refused.map(|refusal| refusal.errno),
        meaning: format!("{:?}", parsed.statements),
    }
}

/// Reads the values of an execution, twice: with the types that it brings, and with those that were kept.
///
/// # Errors
/// The number of the refusal.
pub fn values(body: &[u8], parameters: usize) -> Result<Vec<Value>, u16> {
    let mut types = Vec::new();
    let read = prepared::values(body, parameters, &mut types, HashMap::new());
    let read = read.map_err(|refusal| refusal.errno)?;
    let again = prepared::values(body, parameters, &mut types, HashMap::new());
    assert_eq!(again.as_ref(), Ok(&read));
    Ok(read)
}

/// Values as a row of bytes, each in a column of its own kind.
pub fn row(values: &[Value]) -> Vec<u8> {
    let kinds: Vec<_> = values.iter().map(Value::kind).collect();
    let mut out = Vec::new();
    put_binary_row(&mut out, values, &kinds);
    out
}
