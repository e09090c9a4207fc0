//! What is told of sequences where clients ask PostgreSQL's catalogues.

use std::rc::Rc;

use super::backend::Column;
use super::errors::Result;
use super::execute::Client;
use super::grammar::Parser;
use super::plan::From;
use super::types::Value;

/// A question to a catalogue.
#[derive(Debug)]
pub(super) struct Query {}

/// A SELECT of a catalogue.
pub(super) struct Found {
    pub(super) from: From,
    pub(super) columns: Vec<Column>,
}

pub(super) fn read(_: &mut Parser<'_>) -> Result<Option<Found>> {
    Ok(None)
}
