//! Tables whose numbers are counters of a system that is known: none of them is a column of AUTO_INCREMENT besides.
//!
//! idgo counts by the generated column of a table, tinyid's tables have such columns for themselves. A counter that was
//! found as both would be moved to two names, each with numbers of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use super::RowSource;
use super::row::moved_table;
use super::shapes::{Keyed, SHAPES};
use crate::source::link::Link;
use crate::source::{KEYS_MAX, SourceError, SourceErrorKind};
use crate::store::mysql::MySql;

/// Schema and name of each.
pub(in crate::source) async fn claimed(
    link: &Arc<Link<MySql>>,
) -> Result<BTreeSet<(String, String)>, SourceError> {
    let mut claimed = BTreeSet::new();
    let mut held = link.hold("list of known tables").await?;
    for shape in &SHAPES {
        let source = RowSource {
            link: Arc::clone(link),
            shape: shape.clone(),
            keys_max: KEYS_MAX,
            home: OnceLock::new(),
            metas: Mutex::default(),
        };
        for table in source.tables(&mut held).await? {
            let mut names = vec![table.name.clone()];
            if let Keyed::Listed(column) = shape.keyed {
                let keys = match source.listed(&mut held, &table, column).await {
                    Err(error) if error.kind == SourceErrorKind::Unavailable => return Err(error),
                    // Who may not read the list knows nothing of idgo there.
                    keys => keys.unwrap_or_default(),
                };
                names.extend(keys.iter().map(|key| moved_table(key)));
                names.extend(keys);
            }
            if shape.kind == "tinyid" {
                names.push("tiny_id_token".into());
            }
            claimed.extend(names.into_iter().map(|name| (table.schema.clone(), name)));
        }
    }
    held.done();
    Ok(claimed)
}
