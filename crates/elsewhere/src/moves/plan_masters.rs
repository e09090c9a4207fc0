//! What an import of several masters into one name would do.

use super::goal::Goal;
use super::masters::{
    COUNTED_BY_CLIENTS, MASTERS_MAX, Master, Told, all_of, increment_of, is_counted_by_clients, that_meet,
};
use super::plan::{CeilingAt, Plan, PlanOptions, Wish};
use crate::source::{Counter, Fence, Source, SourceError};
use crate::store::Durability;

/// One of several masters, as its source shows it.
#[derive(Debug)]
pub struct Part<'a> {
    /// The source that has it.
    pub source: &'a dyn Source,
    /// What a record calls that: its place without a password, or beside it the name in `[sources.NAME]`.
    pub called: String,
    /// The counter.
    pub counter: Counter,
    /// What the source may forget.
    pub durability: Durability,
}

impl Plan {
    /// Plans the import of several masters into one name; asks each for the rights that are missing, and writes
    /// nothing. `told` is by how much their clients count, where the sources do not know.
    ///
    /// # Errors
    /// If one of the sources does not answer.
    pub async fn of_masters(
        parts: &[Part<'_>],
        options: &PlanOptions,
        told: Option<Told>,
    ) -> Result<Plan, SourceError> {
        let masters: Vec<Master> = parts
            .iter()
            .filter_map(|part| Master::of(part.called.clone(), &part.counter, told))
            .collect();
        let mut plan = Plan::of_counter(joined(parts, &masters), options);
        plan.keep_to_the_first(&masters, options.wish);
        match parts.iter().all(|part| is_fenced(&part.counter)) {
            // Their bounds are the fences': their move alone knows where they go on.
            true => plan.goal = Some(Goal::Open { ceiling: None }),
            // A ceiling that one has passed before its fence stood is chosen again from where they are now.
            false => plan.judge_numbers(options),
        }
        plan.judge_masters(parts, &masters, options, told);
        for (at, part) in parts.iter().enumerate() {
            let own = plan.options_of_one(options, at);
            let of = Plan::make(part.source, part.counter.clone(), &part.durability, &own).await?;
            plan.take_over(&part.called, of, own.wish == options.wish || at == 0);
        }
        plan.parts = parts
            .iter()
            .map(|part| (part.called.clone(), part.counter.clone()))
            .collect();
        plan.masters = masters;
        Ok(plan)
    }

    /// Beside several our servers take out of the first, and so have its numbers for good.
    fn keep_to_the_first(&mut self, masters: &[Master], wish: Wish) {
        if let (Wish::Beside, Some(first)) = (wish, masters.first()) {
            (self.definition.increment, self.definition.start) = (first.increment, first.one);
            let note = format!(
                "numbers come out of {} alone while they stand beside each other, and keep to its steps of {} \
                 after the cut",
                first.source, first.increment
            );
            self.warnings.push(note);
        }
    }

    /// What one of them is asked: the ceiling of all, and nothing is taken out of others than the first.
    fn options_of_one(&self, options: &PlanOptions, at: usize) -> PlanOptions {
        let wish = match (options.wish, self.goal) {
            (Wish::Ceiling(_), Some(Goal::Open { ceiling: Some(all) })) => {
                Wish::Ceiling(CeilingAt::Number(all))
            }
            (Wish::Beside, _) if at > 0 => Wish::Cut,
            (wish, _) => wish,
        };
        PlanOptions {
            wish,
            ..options.clone()
        }
    }

    /// What was found of one of them; what it would be asked to do, if that is so in this way.
    fn take_over(&mut self, called: &str, of: Plan, is_asked: bool) {
        let at = |text: String| format!("{called}: {text}");
        if is_asked {
            self.statements.extend(of.statements.into_iter().map(at));
            self.grants.extend(of.grants.into_iter().map(at));
        }
        self.warnings.extend(of.warnings.into_iter().map(at));
        for line in of.face_lines {
            if !self.face_lines.contains(&line) {
                self.face_lines.push(line);
            }
        }
        self.refusals.extend(of.refusals.into_iter().map(at));
        let fenced = of
            .fenced
            .into_iter()
            .map(|(_, why)| (called.to_string(), at(why)));
        self.fenced.extend(fenced);
    }

    fn judge_masters(
        &mut self,
        parts: &[Part<'_>],
        masters: &[Master],
        options: &PlanOptions,
        told: Option<Told>,
    ) {
        let refusals = &mut self.refusals;
        if parts.len() > MASTERS_MAX {
            refusals.push(format!(
                "{} sources: {MASTERS_MAX} at most become one sequence; move the others under a name of their own",
                parts.len()
            ));
        }
        let different = |of: fn(&Counter) -> String| {
            let first = parts.first().map(|part| of(&part.counter));
            parts.iter().any(|part| Some(of(&part.counter)) != first)
        };
        if different(|counter| counter.kind.to_string()) {
            refusals.push(
                "its sources are of different kinds: only counters of one kind become one sequence".into(),
            );
        }
        if different(|counter| (counter.increment > 0).to_string()) {
            refusals.push("some of its sources count up and others down: name them by themselves".into());
        }
        let kind = parts.first().map_or("", |part| part.counter.kind);
        if told.is_some() && !is_counted_by_clients(kind) {
            refusals.push(format!(
                "--increment is for {}: a {kind} counter says itself by how much it counts",
                COUNTED_BY_CLIENTS.join(" and ")
            ));
        }
        let Some((one, other)) = that_meet(masters) else {
            return;
        };
        let apart = format!(
            "{} and {} could give out the same numbers, both in steps of {} and {}",
            one.source, other.source, one.increment, other.increment
        );
        if options.wish == Wish::Beside {
            let why =
                format!("{apart}: nothing but ranges keeps them apart; cut them, which takes milliseconds");
            return refusals.push(why);
        }
        let told = match is_counted_by_clients(kind) && told.is_none() {
            true => "; if their clients count in steps, say --increment N",
            false => "",
        };
        self.warnings.push(format!(
            "{apart}: a way back gives the name to one of them, --back --to SOURCE{told}"
        ));
    }
}

/// All of them as one counter: the furthest mark, the nearest end, and steps that meet every number of each.
fn joined(parts: &[Part<'_>], masters: &[Master]) -> Counter {
    let first = &parts.first().expect("several have a first").counter;
    let counters = || parts.iter().map(|part| &part.counter);
    let is_up = first.increment > 0;
    let is_known = masters.len() == parts.len();
    let marks = counters().filter_map(|counter| counter.mark);
    let mark = if is_up { marks.max() } else { marks.min() };
    // Ours ends where the first of them does, so that each can go on with any number of ours.
    let bounds: Vec<(i128, i128)> = {
        // A fence has bounds of its own.
        let unfenced = counters().filter(|counter| !is_fenced(counter));
        let unfenced: Vec<_> = unfenced.map(|counter| (counter.min, counter.max)).collect();
        match unfenced.is_empty() {
            true => counters().map(|counter| (counter.min, counter.max)).collect(),
            false => unfenced,
        }
    };
    let mins = bounds.iter().map(|bounds| bounds.0);
    let maxs = bounds.iter().map(|bounds| bounds.1);
    let ones = masters.iter().map(|master| i128::from(master.one));
    Counter {
        key: all_of(counters().map(|counter| counter.key.as_str())),
        mark: mark.filter(|_| is_known),
        increment: increment_of(masters),
        start: if is_up { ones.min() } else { ones.max() },
        min: if is_up { mins.min() } else { mins.max() }.unwrap_or(first.min),
        max: if is_up { maxs.min() } else { maxs.max() }.unwrap_or(first.max),
        cycle: counters().any(|counter| counter.cycle),
        columns: counters().flat_map(|counter| counter.columns.clone()).collect(),
        fence: counters()
            .map(|counter| counter.fence.clone())
            .find(|fence| *fence != Fence::None)
            .unwrap_or(Fence::None),
        before: Default::default(),
        findings: Vec::new(),
        called: Some(first.called().to_string()),
        ..first.clone()
    }
}

fn is_fenced(counter: &Counter) -> bool {
    counter.fence != Fence::None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::{FindingCode, MemorySource, Severity};
    use crate::store::Class;

    fn counter(kind: &'static str, mark: i128, increment: i64) -> Counter {
        Counter {
            mark: Some(mark),
            increment,
            ..Counter::new(kind, "orders")
        }
    }

    async fn plan_of(counters: &[Counter], options: &PlanOptions, told: Option<Told>) -> Plan {
        let sources: Vec<Arc<MemorySource>> = (0..counters.len())
            .map(|at| MemorySource::called(&at.to_string()))
            .collect();
        let parts: Vec<Part<'_>> = sources
            .iter()
            .zip(counters)
            .map(|(source, counter)| Part {
                source: &**source,
                called: source.place(),
                counter: counter.clone(),
                durability: Durability::plain(Class::Durable, "why"),
            })
            .collect();
        Plan::of_masters(&parts, options, told).await.unwrap()
    }

    fn wishing(wish: Wish) -> PlanOptions {
        PlanOptions {
            wish,
            ..PlanOptions::default()
        }
    }

    #[track_caller]
    fn refused(plan: &Plan, words: &str) {
        let is_said = plan.refusals.iter().any(|why| why.contains(words));
        assert!(is_said && !plan.is_possible(), "{words}: {:?}", plan.refusals);
    }

    #[tokio::test]
    async fn odd_and_even_become_every_number_above_both() {
        let counters = [counter("tickets", 7, 2), counter("tickets", 12, 2)];
        let plan = plan_of(&counters, &PlanOptions::default(), None).await;
        assert!(plan.is_possible(), "{plan:?}");
        assert_eq!((plan.definition.increment, plan.first), (1, Some(12)));
        assert_eq!(plan.statements, ["memory:0: cut orders", "memory:1: cut orders"]);
        let id = "0123456789abcdef0123456789abcdef".parse().unwrap();
        let record = plan.record(id, "memory:0".into(), &PlanOptions::default());
        assert_eq!(
            (record.masters.len(), record.source.as_str()),
            (2, "memory:0 and memory:1")
        );
        // A ceiling lies beyond the furthest, and is that of all.
        let plan = plan_of(&counters, &wishing(Wish::Ceiling(CeilingAt::Beyond(100))), None).await;
        assert_eq!(plan.goal, Some(Goal::Open { ceiling: Some(112) }));
        let plan = plan_of(&counters, &wishing(Wish::Ceiling(CeilingAt::Number(9))), None).await;
        refused(&plan, "the nearest is 12");
    }

    #[tokio::test]
    async fn beside_ours_keeps_to_the_numbers_of_the_first() {
        let counters = [counter("tickets", 7, 2), counter("tickets", 12, 2)];
        let plan = plan_of(&counters, &wishing(Wish::Beside), None).await;
        assert!(plan.is_possible(), "{plan:?}");
        assert_eq!((plan.definition.increment, plan.definition.start), (2, 7));
        assert_eq!(plan.statements, ["memory:0: beside orders"]);
        let meeting = [counter("leaf", 7, 1), counter("leaf", 12, 1)];
        refused(&plan_of(&meeting, &wishing(Wish::Beside), None).await, "cut them");
    }

    #[tokio::test]
    async fn what_would_meet_on_the_way_back_is_said_before() {
        let counters = [counter("redis", 8, 1), counter("redis", 9, 1)];
        let plan = plan_of(&counters, &PlanOptions::default(), None).await;
        let is_said = plan.warnings.iter().any(|note| note.contains("--increment N"));
        assert!(is_said && plan.is_possible(), "{plan:?}");
        let told = Told {
            increment: 2,
            is_next: false,
        };
        let plan = plan_of(&counters, &PlanOptions::default(), Some(told)).await;
        assert_eq!((plan.warnings.len(), plan.first), (0, Some(9)), "{plan:?}");
        assert!(that_meet(&plan.masters).is_none());
        let leafs = [counter("leaf", 8, 1), counter("leaf", 9, 1)];
        let plan = plan_of(&leafs, &PlanOptions::default(), Some(told)).await;
        refused(&plan, "--increment is for redis and own");
    }

    #[tokio::test]
    async fn what_cannot_become_one_is_refused_in_words() {
        let plain = PlanOptions::default();
        let kinds = [counter("leaf", 1, 1), counter("tinyid", 1, 1)];
        refused(&plan_of(&kinds, &plain, None).await, "of different kinds");
        let ways = [counter("postgres", 9, 2), counter("postgres", 9, -2)];
        refused(&plan_of(&ways, &plain, None).await, "count up and others down");
        let many = vec![counter("postgres", 9, 2); MASTERS_MAX + 1];
        refused(&plan_of(&many, &plain, None).await, "17 sources: 16 at most");
        let unread = Counter {
            mark: None,
            ..counter("postgres", 1, 2)
        };
        refused(
            &plan_of(&[counter("postgres", 1, 2), unread], &plain, None).await,
            "memory:1: its mark",
        );
        // What stands against one of them is said of that one.
        let mut wrong = counter("tinyid", 5, 2);
        wrong.findings.push(crate::source::Finding {
            code: FindingCode::Misaligned,
            severity: Severity::Error,
            text: "delta is 0".into(),
            fix: None,
        });
        refused(
            &plan_of(&[counter("tinyid", 4, 2), wrong], &plain, None).await,
            "memory:1: delta is 0",
        );
        // Ours ends where the first of them does.
        let small = Counter {
            max: 100,
            ..counter("postgres", 9, 2)
        };
        let plan = plan_of(&[small, counter("postgres", 200, 2)], &plain, None).await;
        refused(&plan, "its first number here would be 200, outside 1 to 100");
    }

    /// Of two that got a ceiling one has passed it before it was fenced there: chosen again, from where they are.
    #[tokio::test]
    async fn a_ceiling_is_chosen_again_where_one_is_not_fenced_yet() {
        let fenced = Counter {
            max: 149,
            fence: Fence::Ours { id: None, mark: 150 },
            ..counter("postgres", 150, 2)
        };
        let counters = [fenced.clone(), counter("postgres", 161, 2)];
        let options = wishing(Wish::Ceiling(CeilingAt::Beyond(100)));
        let plan = plan_of(&counters, &options, None).await;
        assert_eq!(plan.goal, Some(Goal::Open { ceiling: Some(261) }));
        let plan = plan_of(&[fenced.clone(), fenced], &options, None).await;
        assert_eq!(plan.goal, Some(Goal::Open { ceiling: None }));
    }
}
