//! Generated series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A series, or a page of one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPage {
    /// In their order.
    pub values: Vec<String>,
    /// What `after` takes for the next page; `null` at the end.
    pub next: Option<String>,
}
