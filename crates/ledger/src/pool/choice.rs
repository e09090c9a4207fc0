//! Which workers of its layout a pool may choose: a part of its definition, kept in its record.
//!
//! A pool that begins beside the living workers of another system must never choose one of their numbers. What is
//! avoided is not a window: nobody holds it, and it does not end by itself. Rule W1 chooses only among the others.

use crate::error::LedgerError;
use crate::name::Name;
use mintage_local::workers::WorkerRanges;

/// Which workers a pool may choose, as asked for and as kept in its record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkerChoice {
    /// Only these; absent: all of the layout.
    pub within: Option<WorkerRanges>,
    /// None of these.
    pub avoid: WorkerRanges,
    /// Where what is avoided was read, without a password; absent: somebody said so.
    pub avoid_from: Option<String>,
}

impl WorkerChoice {
    /// The workers that may be chosen of a layout with `workers` of them; in its plainest form, too: all is absent.
    ///
    /// # Errors
    /// A range lies outside the layout, or nothing is left to choose.
    pub(crate) fn check(mut self, name: &Name, workers: u64) -> Result<WorkerChoice, LedgerError> {
        let all = WorkerRanges::span(0, workers - 1);
        for (what, asked) in [
            ("workers", self.within.as_ref()),
            ("workers to avoid", Some(&self.avoid)),
        ] {
            if let Some(last) = asked.and_then(WorkerRanges::last).filter(|last| *last >= workers) {
                return Err(LedgerError::Invalid(format!(
                    "{what} of pool {name}: worker {last} does not fit its layout, largest is {}",
                    workers - 1
                )));
            }
        }
        if self.allowed(workers).is_empty() {
            let within = self.within.as_ref().unwrap_or(&all);
            return Err(LedgerError::Invalid(format!(
                "pool {name} would have no worker: of workers {within} it is to avoid {}",
                if self.avoid.is_empty() {
                    "none".to_string()
                } else {
                    self.avoid.to_string()
                }
            )));
        }
        self.within = self.within.filter(|within| *within != all);
        Ok(self)
    }

    /// The workers that may be chosen.
    pub(crate) fn allowed(&self, workers: u64) -> WorkerRanges {
        let all = WorkerRanges::span(0, workers - 1);
        let within = self
            .within
            .as_ref()
            .map_or(all.clone(), |within| within.within(&all));
        within.without(&self.avoid)
    }

    /// Whether all workers of the layout may be chosen.
    pub(crate) fn is_all(&self) -> bool {
        self.within.is_none() && self.avoid.is_empty()
    }

    /// How this differs from what was `asked` for, in words; what was not asked for does not count. A list that was
    /// read where ours was may be shorter by now: who reads again gets what there is.
    pub(crate) fn difference(&self, asked: &WorkerChoice) -> Option<String> {
        if let Some(within) = &asked.within
            && self.within.as_ref() != Some(within)
        {
            let ours = self.within.as_ref().map_or("all".into(), WorkerRanges::to_string);
            return Some(format!("its workers are {ours}, asked for were {within}"));
        }
        let is_read_again = asked.avoid_from.is_some() && asked.avoid_from == self.avoid_from;
        let agree = match is_read_again {
            true => self.avoid.contains_all(&asked.avoid),
            false => asked.avoid.is_empty() || asked.avoid == self.avoid,
        };
        if !agree {
            let listed = |workers: &WorkerRanges| match workers.is_empty() {
                true => "none".to_string(),
                false => workers.to_string(),
            };
            return Some(format!(
                "it avoids workers {}, asked for were {}; mint pool avoid {{--add|--remove}} changes that",
                listed(&self.avoid),
                listed(&asked.avoid)
            ));
        }
        if asked.avoid_from.is_some() && asked.avoid_from != self.avoid_from {
            return Some(format!(
                "what it avoids was read from {}",
                self.avoid_from.as_deref().unwrap_or("nowhere")
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(within: &str, avoid: &str) -> WorkerChoice {
        WorkerChoice {
            within: Some(within.parse().unwrap()).filter(|within: &WorkerRanges| !within.is_empty()),
            avoid: avoid.parse().unwrap(),
            avoid_from: None,
        }
    }

    #[test]
    fn a_choice_outside_the_layout_or_of_nothing_is_refused() {
        let name = Name::new("eu").unwrap();
        for (within, avoid, why) in [
            (
                "0-1024",
                "",
                "workers of pool eu: worker 1024 does not fit its layout, largest is 1023",
            ),
            (
                "",
                "3,2000",
                "workers to avoid of pool eu: worker 2000 does not fit",
            ),
            (
                "",
                "0-1023",
                "pool eu would have no worker: of workers 0-1023 it is to avoid 0-1023",
            ),
            (
                "5-6",
                "0-9",
                "pool eu would have no worker: of workers 5-6 it is to avoid 0-9",
            ),
        ] {
            let error = choice(within, avoid).check(&name, 1024).unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let all = choice("0-1023", "").check(&name, 1024).unwrap();
        assert!(all.is_all());
        let some = choice("0-511", "3,600").check(&name, 1024).unwrap();
        assert_eq!(some.allowed(1024).to_string(), "0-2,4-511");
    }

    #[test]
    fn what_was_read_again_may_be_less_and_nothing_else() {
        let read = |avoid: &str| WorkerChoice {
            avoid_from: Some("leaf+zookeeper://a/snowflake/x".into()),
            ..choice("", avoid)
        };
        let ours = read("3,17");
        assert_eq!(ours.difference(&WorkerChoice::default()), None);
        assert_eq!(ours.difference(&ours), None);
        assert_eq!(ours.difference(&read("3")), None);
        let more = ours.difference(&read("3,17-18")).unwrap();
        assert!(
            more.starts_with("it avoids workers 3,17, asked for were 3,17-18"),
            "{more}"
        );
        assert!(ours.difference(&choice("", "3")).is_some());
        assert_eq!(ours.difference(&choice("", "3,17")), None);
        assert!(choice("", "3,17").difference(&ours).is_some());
        assert!(ours.difference(&choice("0-5", "")).is_some());
    }
}
