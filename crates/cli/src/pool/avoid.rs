//! `mint pool avoid`, and the options of `mint pool create` about workers.

use mintage::Timestamp;
use mintage_local::name::Name;
use mintage_wire::{PoolChanged, PoolPatch, shown};

use super::beside::Beside;
use super::pools::Pools;
use crate::errors::Failure;
use crate::out::Out;

/// Which workers a new pool may choose.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Choice {
    /// The workers of the layout that it may choose, as ranges [default: all]
    #[arg(long, value_name = "RANGES")]
    pub(super) workers: Option<String>,
    /// Workers that it must never choose, because another system's generators have them, such as 3,17,20-31
    #[arg(long, value_name = "RANGES")]
    avoid: Option<String>,
    #[command(flatten)]
    from: From,
}

/// Where workers of another system are read.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct From {
    /// Avoid the workers that another system shows there, see below; @FILE: the URL stands in this file
    #[arg(long, value_name = "URL")]
    avoid_from: Option<String>,
    /// How many newcomers of that system to expect [default: 64 of Leaf and CosId, 16 of yitter, 10000 of
    /// uid-generator]
    #[arg(long, value_name = "N", requires = "avoid_from")]
    spare: Option<u64>,
}

/// What a new pool avoids, and where that was read.
pub(super) struct Avoided {
    pub(super) avoid: Option<String>,
    pub(super) from: Option<String>,
}

impl Choice {
    /// Looks at the other system, if one is named; `workers` is how many the layout has.
    pub(super) fn avoided(&self, workers: u64, out: &Out) -> Result<Avoided, Failure> {
        let Some(url) = &self.from.avoid_from else {
            return Ok(Avoided {
                avoid: self.avoid.clone(),
                from: None,
            });
        };
        let beside = Beside::look(url)?;
        if let Some(why) = beside.too_large(workers) {
            out.note(format!("warning: {why}"));
        }
        Ok(Avoided {
            avoid: Some(beside.avoid(self.avoid.as_deref(), self.from.spare, workers)?),
            from: Some(beside.place()),
        })
    }
}

/// A change of what a pool avoids.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Change {
    /// The pool
    pub(super) name: String,
    /// Workers that another system has, or will have
    #[arg(long, value_name = "RANGES", required_unless_present_any = ["remove", "avoid_from"])]
    add: Option<String>,
    /// Workers whose generators there have been off for an hour
    #[arg(long, value_name = "RANGES")]
    remove: Option<String>,
    #[command(flatten)]
    from: From,
    /// With --remove: nobody there has made an id since, I say so
    #[arg(long, value_name = "TIME", requires = "remove", value_parser = crate::time::parse)]
    off_since: Option<Timestamp>,
}

impl Change {
    /// Looks at the other system where that is needed, and changes the pool.
    pub(super) fn make(&self, name: &Name, pools: &Pools, out: &mut Out) -> Result<(), Failure> {
        let pool = pools.show(name)?.pool;
        let mut patch = PoolPatch {
            avoid: self.add.clone(),
            use_again: self.remove.clone(),
            off_since: self.off_since.map(shown),
            ..PoolPatch::default()
        };
        match (&self.remove, &self.from.avoid_from, &pool.avoid_from) {
            (None, Some(url), _) => {
                let beside = Beside::look(url)?;
                if let Some(why) = beside.too_large(pool.workers) {
                    out.note(format!("warning: {why}"));
                }
                patch.avoid = Some(beside.avoid(self.add.as_deref(), self.from.spare, pool.workers)?);
                patch.avoid_from = Some(beside.place());
            }
            (Some(removed), Some(url), _) if self.off_since.is_none() => {
                patch.looked = Some(Beside::look(url)?.looked(removed)?);
            }
            (Some(removed), None, Some(known)) if self.off_since.is_none() => {
                let looked = Beside::look(known).map_err(|failure| {
                    failure.with_hint(
                        "--avoid-from names it with user and password, --off-since says since when nobody made an id there",
                    )
                })?;
                patch.looked = Some(looked.looked(removed)?);
            }
            _ => {}
        }
        show(&pools.alter(name, &patch)?, out)
    }
}

fn show(changed: &PoolChanged, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(changed);
    }
    super::fields(&changed.pool, out)?;
    for window in &changed.held {
        let name = crate::lines::shown(&window.name);
        out.line(format!(
            "worker {} is held by {name} until {}: start nobody else with it before",
            window.worker, window.until
        ))?;
    }
    match changed.pending.is_empty() {
        true => Ok(()),
        false => out.line(format!("not followed yet by {}", changed.pending.join(", "))),
    }
}
