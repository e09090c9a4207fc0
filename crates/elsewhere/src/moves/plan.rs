//! What an import of one counter would do: our name and definition, the first number, what stands in the way.

use super::goal::Goal;
use super::masters::Master;
use super::record::{Definition, Move, Phase};
use crate::name::Name;
use crate::source::{Counter, Fence, FindingCode, How, MoveId, Severity, Source, SourceError, Way};
use crate::store::{Class, Durability};

/// Where a ceiling is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CeilingAt {
    /// At this number.
    Number(i64),
    /// So far beyond the mark, in the counter's direction.
    Beyond(u64),
}

/// How counters shall come here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// The source stops at its mark.
    #[default]
    Cut,
    /// The source goes on below this.
    Ceiling(CeilingAt),
    /// Ours takes out of the source.
    Beside,
}

/// What people chose for an import.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanOptions {
    /// The way.
    pub wish: Wish,
    /// Names here by keys there.
    pub names: Vec<(String, String)>,
    /// Put before every name that was not given.
    pub prefix: String,
    /// Numbers skipped above the mark.
    pub advance: Option<u64>,
}

/// What an import of one counter would do.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The counter as its source shows it; several masters as one counter.
    pub counter: Counter,
    /// Each of several masters as its source shows it, with what that is called.
    pub parts: Vec<(String, Counter)>,
    /// The same as the record of a move has them.
    pub masters: Vec<Master>,
    /// Its name here, as text: where it breaks the grammar of names, `refusals` says so.
    pub name: String,
    /// What ours is made like.
    pub definition: Definition,
    /// Where the move shall come to; `None`: it cannot begin.
    pub goal: Option<Goal>,
    /// Our first number, if the source stopped now; `None`: ours takes out of the source, or there is none.
    pub first: Option<i64>,
    /// What the source would be asked to do.
    pub statements: Vec<String>,
    /// What would grant the rights that the account lacks.
    pub grants: Vec<String>,
    /// What people should know.
    pub warnings: Vec<String>,
    /// Why it is not possible like this; empty: it is.
    pub refusals: Vec<String>,
    /// The same, by source, for fences of ours that stand there; without a source where there is but one. They stop
    /// nobody who goes on with the move that built them.
    pub fenced: Vec<(String, String)>,
    /// Lines of the configuration that a face needs to find the counter under this name.
    pub face_lines: Vec<String>,
}

impl Plan {
    /// Plans the import of one counter; asks the source for the rights that are missing, and writes nothing.
    ///
    /// # Errors
    /// If the source does not answer.
    pub async fn make(
        source: &dyn Source,
        counter: Counter,
        durability: &Durability,
        options: &PlanOptions,
    ) -> Result<Plan, SourceError> {
        let mut plan = Plan::of_counter(counter, options);
        plan.judge_durability(durability, options);
        match plan.counter.fence {
            // Its bounds are the fence's: its move alone knows where it goes on.
            Fence::Ours { .. } => plan.goal = Some(Goal::Open { ceiling: None }),
            _ => plan.judge_numbers(options),
        }
        plan.judge_counter(options);
        if let Some(way) = plan.way() {
            plan.statements = source.statements(&plan.counter, way);
            plan.grants = source.rights(&plan.counter.key, way).await?;
        }
        if !plan.grants.is_empty() {
            // Which ones stands beside it: `grants`.
            plan.refusals.push(
                "the account lacks rights: grant them, give the URL of an account that has them, or leave the source \
                 unfenced with --fence none"
                    .into(),
            );
        }
        if !source.kind().has_ceiling && matches!(options.wish, Wish::Ceiling(_)) {
            let kind = source.kind().name;
            plan.refusals.push(format!(
                "a {kind} counter has no ceiling: cut it, or set ours beside it"
            ));
        }
        if !source.kind().has_beside && options.wish == Wish::Beside {
            let kind = source.kind().name;
            plan.refusals
                .push(format!("nothing can be taken beside a {kind} counter: cut it"));
        }
        Ok(plan)
    }

    /// The plan of a counter of which nothing but the name is judged yet.
    pub(super) fn of_counter(counter: Counter, options: &PlanOptions) -> Plan {
        let (name, is_given) = name_of(&counter, options);
        let mut plan = Plan {
            definition: definition_of(&counter),
            name,
            goal: None,
            first: None,
            statements: Vec::new(),
            grants: Vec::new(),
            warnings: Vec::new(),
            refusals: Vec::new(),
            fenced: Vec::new(),
            face_lines: Vec::new(),
            parts: Vec::new(),
            masters: Vec::new(),
            counter,
        };
        plan.judge_name(is_given);
        plan
    }

    /// What a counter would be called here.
    pub fn name_here(counter: &Counter, options: &PlanOptions) -> String {
        name_of(counter, options).0
    }

    /// What keeps it from being done, but for fences of these sources, which its own move built.
    pub fn without_fences_of(&mut self, is_its_own: impl Fn(&str) -> bool) {
        let others = std::mem::take(&mut self.fenced).into_iter();
        let others = others.filter(|(source, _)| !is_its_own(source));
        self.refusals.extend(others.map(|(_, why)| why));
    }

    /// Whether it can be done.
    pub fn is_possible(&self) -> bool {
        self.refusals.is_empty() && self.fenced.is_empty() && self.goal.is_some()
    }

    /// The record that a new move begins with. `source` is the place, or for a move beside the name in `[sources.NAME]`.
    pub fn record(&self, id: MoveId, source: String, options: &PlanOptions) -> Move {
        Move {
            id,
            former: Vec::new(),
            phase: Phase::Planned,
            ceiling: None,
            source,
            kind: self.counter.kind.to_string(),
            key: self.counter.key.clone(),
            table: None,
            masters: Vec::new(),
            back_to: None,
            definition: self.definition,
            before: self.counter.before.clone(),
            advance: options.advance.unwrap_or(0),
            take: None,
            mark: None,
            first: None,
            highest: None,
            issued: None,
            at_ms: 0,
        }
        .with_masters(self.masters.clone())
    }

    fn way(&self) -> Option<Way> {
        Some(match self.goal? {
            Goal::Open { ceiling: None } => Way::Cut,
            Goal::Open {
                ceiling: Some(ceiling),
            } => Way::Ceiling(ceiling.into()),
            Goal::Beside => Way::Beside,
            Goal::Back => return None,
        })
    }

    fn judge_name(&mut self, is_given: bool) {
        let key = &self.counter.key;
        match Name::new(&self.name).and_then(|name| name.check_new()) {
            Err(why) => self.refusals.push(format!(
                "{:?} is no name here: {why}; choose one with --name '{key}=NAME'",
                self.name
            )),
            Ok(_) if is_given => {
                if let Some(face) = self.counter.face {
                    let asked = self.counter.called();
                    let line = format!("faces.{face}.names.{asked:?} = {:?}", self.name);
                    self.face_lines.push(line);
                }
            }
            Ok(_) => {}
        }
    }

    fn judge_durability(&mut self, durability: &Durability, options: &PlanOptions) {
        if durability.class != Class::Lossy {
            return;
        }
        let why = &durability.why;
        match (options.wish, options.advance) {
            (Wish::Beside, _) => self.refusals.push(format!(
                "the source may lose acknowledged writes ({why}): numbers taken beside it could come again; cut it"
            )),
            (_, None) => self.refusals.push(format!(
                "the source may lose acknowledged writes ({why}), and so may its mark: say with --advance N how many \
                 numbers to skip"
            )),
            _ => {}
        }
    }

    /// Where ours begins, and whether that is inside every bound.
    pub(super) fn judge_numbers(&mut self, options: &PlanOptions) {
        let Some(mark) = self.counter.mark else {
            let unreadable = "its mark cannot be read: grant SELECT on it, or use it once";
            return self.refusals.push(unreadable.to_string());
        };
        let (mark, highest) = match (
            i64::try_from(mark),
            self.counter.highest().map(i64::try_from).transpose(),
        ) {
            (Ok(mark), Ok(highest)) => (mark, highest),
            _ => {
                let wide = format!(
                    "its mark or largest number is beyond {}, where numbers here end: {mark}",
                    i64::MAX
                );
                return self.refusals.push(wide);
            }
        };
        let ceiling = match options.wish {
            Wish::Beside => return self.goal = Some(Goal::Beside),
            Wish::Cut => None,
            Wish::Ceiling(at) => match self.ceiling(mark, at) {
                Ok(ceiling) => Some(ceiling),
                Err(why) => return self.refusals.push(why),
            },
        };
        let from = ceiling.unwrap_or(mark);
        match first_number(&self.definition, from, highest, options.advance.unwrap_or(0)) {
            Ok(first) => {
                self.first = Some(first);
                self.goal = Some(Goal::Open { ceiling });
            }
            Err(why) => self.refusals.push(why),
        }
    }

    fn ceiling(&self, mark: i64, at: CeilingAt) -> Result<i64, String> {
        let is_up = self.definition.increment > 0;
        let ceiling = match at {
            CeilingAt::Number(number) => Some(number),
            CeilingAt::Beyond(by) if is_up => mark.checked_add_unsigned(by),
            CeilingAt::Beyond(by) => mark.checked_sub_unsigned(by),
        };
        let ceiling =
            ceiling.ok_or_else(|| format!("a ceiling so far beyond its mark {mark} is no number here"))?;
        match is_up == (ceiling >= mark) || ceiling == mark {
            true => Ok(ceiling),
            false => Err(format!(
                "a ceiling of {ceiling} is behind its mark: the nearest is {mark}"
            )),
        }
    }

    fn judge_counter(&mut self, options: &PlanOptions) {
        let counter = &self.counter;
        self.refusals.extend(counter.no_counter.clone());
        match &counter.fence {
            Fence::None => {}
            Fence::Ours { id, .. } => {
                let id = id.map_or("another move".to_string(), |id| format!("move {id}"));
                let why = format!(
                    "a fence of {id} stands there: only where that was begun can it go on, or be taken back"
                );
                self.fenced.push((String::new(), why));
            }
            Fence::Broken { why, .. } => {
                self.refusals
                    .push(format!("a fence stands there and does not hold: {why}"));
            }
        }
        if options.wish == Wish::Beside && counter.cycle {
            self.refusals
                .push("it begins again behind its end (CYCLE): nothing can be taken beside it".into());
        }
        for column in &counter.columns {
            let place = format!("{}.{}", column.table, column.column);
            if i128::from(self.definition.max) > column.max || i128::from(self.definition.min) < column.min {
                self.warnings.push(format!(
                    "{place} is {}: it ends at {}, and a way back ends there too",
                    column.type_name, column.max
                ));
            }
            if column.how == How::IdentityAlways {
                self.warnings.push(format!(
                    "{place} is GENERATED ALWAYS: our numbers need OVERRIDING SYSTEM VALUE, or ALTER TABLE {} ALTER {} SET \
                     GENERATED BY DEFAULT",
                    column.table, column.column
                ));
            }
        }
        if counter.kind == "vitess" && options.wish == Wish::Beside {
            let asked =
                "a tablet must compare next_id with its cached end at refill: check that its version does";
            self.warnings.push(asked.into());
        }
        if counter.kind == "auto_increment" && options.wish != Wish::Beside {
            let definer = "the fence is a trigger that runs with the rights of this account: keep the account, and its \
                           TRIGGER and SELECT on the table, as long as it stands, or no row can be inserted";
            self.warnings.push(definer.into());
        }
        for finding in &counter.findings {
            match (finding.code, finding.severity) {
                (FindingCode::Misaligned, Severity::Error) => self.refusals.push(finding.text.clone()),
                (_, Severity::Info) => {}
                _ => self.warnings.push(finding.text.clone()),
            }
        }
    }
}

/// Our first number: max(mark, highest + increment) + advance, aligned to the increment and inside the bounds; for a
/// descending counter the same downwards. Never at or behind `highest`.
///
/// ```
/// use mintage_elsewhere::moves::{Definition, first_number};
/// let odd = Definition { start: 1, increment: 2, min: 1, max: 99, cycle: false };
/// assert_eq!(first_number(&odd, 10, Some(14), 0), Ok(17));
/// assert_eq!(first_number(&odd, 10, None, 5), Ok(15));
/// assert!(first_number(&odd, 99, Some(99), 0).is_err());
/// let down = Definition { start: -1, increment: -1, min: -9, max: -1, cycle: false };
/// assert_eq!(first_number(&down, -4, Some(-6), 1), Ok(-8));
/// ```
///
/// # Errors
/// In words, if that is outside the bounds.
pub fn first_number(of: &Definition, mark: i64, highest: Option<i64>, advance: u64) -> Result<i64, String> {
    let step = i128::from(of.increment);
    if step == 0 {
        return Err("its increment is 0: no number follows another".into());
    }
    // Mirrored where it counts down, so that one direction is worked out.
    let sign = step.signum();
    let up = |number: i64| i128::from(number) * sign;
    let bound = if sign > 0 { of.min } else { of.max };
    let last = if sign > 0 { of.max } else { of.min };
    let size = step.abs();
    let behind = highest.map_or(i128::MIN, |highest| up(highest) + size);
    let least = (up(mark).max(behind) + i128::from(advance)).max(up(bound));
    let first = least + (up(of.start) - least).rem_euclid(size);
    match i64::try_from(first * sign) {
        Ok(number) if first <= up(last) => Ok(number),
        _ => Err(format!(
            "its first number here would be {}, outside {} to {}",
            first * sign,
            of.min,
            of.max
        )),
    }
}

/// What can be kept of a counter. Bounds are cut to what numbers here can be.
fn definition_of(counter: &Counter) -> Definition {
    let near = |number: i128| {
        let near = number.clamp(i64::MIN.into(), i64::MAX.into());
        i64::try_from(near).expect("clamped to its bounds")
    };
    let (min, max) = (near(counter.min), near(counter.max));
    // A fenced or used counter may not tell where it began, and one that somebody has set counts in another class
    // since: then its mark keeps the residue of its step.
    let step = i128::from(counter.increment.unsigned_abs().max(1));
    let is_of_class = |start: &i128| counter.mark.is_none_or(|mark| (mark - start) % step == 0);
    let start = counter
        .start
        .filter(is_of_class)
        .or(counter.mark)
        .unwrap_or(counter.min);
    Definition {
        start: near(start).clamp(min.min(max), max.max(min)),
        increment: counter.increment,
        min,
        max,
        cycle: counter.cycle,
    }
}

/// The name here, and whether it was given: otherwise the one that the first client of a face would make.
fn name_of(counter: &Counter, options: &PlanOptions) -> (String, bool) {
    let called = counter.called();
    let is_meant = |(known, _): &&(String, String)| *known == counter.key || known == called;
    if let Some((_, name)) = options.names.iter().find(is_meant) {
        return (name.clone(), true);
    }
    let prefix = match counter.face {
        // These ask for names as they are.
        Some("mysql" | "postgres") | None => String::new(),
        Some(face) => format!("{face}:"),
    };
    (
        format!("{}{prefix}{called}", options.prefix),
        !options.prefix.is_empty(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ColumnUse, MemorySource, Wanted};

    fn durable(class: Class) -> Durability {
        Durability::plain(class, "why")
    }

    async fn plan_of(counter: Counter, class: Class, options: &PlanOptions) -> Plan {
        let source = MemorySource::new();
        let plan = Plan::make(&*source, counter, &durable(class), options).await;
        plan.expect("the source in memory answers")
    }

    fn column(how: How, max: i128, highest: Option<i128>) -> ColumnUse {
        ColumnUse {
            table: "public.orders".into(),
            column: "id".into(),
            type_name: "int4".into(),
            min: -max - 1,
            max,
            highest,
            unique: true,
            how,
        }
    }

    #[tokio::test]
    async fn a_plan_begins_above_mark_and_column() {
        let source = MemorySource::new();
        source.put("orders", 42);
        let listed = source.list(&Wanted::default()).await.unwrap();
        let mut counter = listed.counters[0].clone();
        let plan = plan_of(counter.clone(), Class::Durable, &PlanOptions::default()).await;
        assert_eq!(
            (plan.name.as_str(), plan.first, plan.is_possible()),
            ("orders", Some(42), true)
        );
        counter
            .columns
            .push(column(How::IdentityAlways, 2_147_483_647, Some(50)));
        let plan = plan_of(counter, Class::Durable, &PlanOptions::default()).await;
        assert_eq!(plan.first, Some(51));
        assert!(
            plan.warnings[0].contains("ends at 2147483647"),
            "{:?}",
            plan.warnings
        );
        assert!(
            plan.warnings[1].contains("OVERRIDING SYSTEM VALUE"),
            "{:?}",
            plan.warnings
        );
    }

    #[tokio::test]
    async fn what_cannot_be_done_is_refused_in_words() {
        let mut counter = Counter::new("leaf", "a b\u{7}");
        let refused = |plan: &Plan, words: &str| {
            assert!(!plan.is_possible(), "{plan:?}");
            assert!(
                plan.refusals.iter().any(|why| why.contains(words)),
                "{words}: {:?}",
                plan.refusals
            );
        };
        let plain = PlanOptions::default();
        let unread = plan_of(counter.clone(), Class::Durable, &plain).await;
        refused(&unread, "cannot be read");
        refused(&unread, "choose one with --name");
        counter.mark = Some(10);
        counter.key = "orders".into();
        refused(&plan_of(counter.clone(), Class::Lossy, &plain).await, "--advance");
        let beside = PlanOptions {
            wish: Wish::Beside,
            advance: Some(1),
            ..plain.clone()
        };
        refused(
            &plan_of(counter.clone(), Class::Lossy, &beside).await,
            "could come again",
        );
        let low = PlanOptions {
            wish: Wish::Ceiling(CeilingAt::Number(9)),
            ..plain.clone()
        };
        refused(
            &plan_of(counter.clone(), Class::Durable, &low).await,
            "the nearest is 10",
        );
        counter.mark = Some(i128::from(u64::MAX));
        refused(
            &plan_of(counter.clone(), Class::Durable, &plain).await,
            "where numbers here end",
        );
        counter.mark = Some(10);
        counter.cycle = true;
        refused(&plan_of(counter, Class::Durable, &beside).await, "CYCLE");
    }

    #[tokio::test]
    async fn a_given_name_is_told_to_the_face() {
        let counter = Counter {
            face: Some("leaf"),
            mark: Some(1),
            ..Counter::new("leaf", "orders")
        };
        let plan = plan_of(counter.clone(), Class::Durable, &PlanOptions::default()).await;
        assert_eq!((plan.name.as_str(), plan.face_lines.len()), ("leaf:orders", 0));
        let names = vec![("orders".into(), "shop".into())];
        let options = PlanOptions {
            names,
            ..PlanOptions::default()
        };
        let plan = plan_of(counter, Class::Durable, &options).await;
        assert_eq!(plan.name, "shop");
        assert_eq!(plan.face_lines, ["faces.leaf.names.\"orders\" = \"shop\""]);
    }

    #[test]
    fn the_first_number_is_never_at_or_behind_the_column() {
        for (start, increment) in [(0, 1), (3, 7), (-5, 10), (0, -1), (4, -3)] {
            let of = Definition {
                start,
                increment,
                min: -1000,
                max: 1000,
                cycle: false,
            };
            for mark in -30..30 {
                for highest in -30..30 {
                    let first = first_number(&of, mark, Some(highest), 0).unwrap();
                    let beyond = |of: i64| (first - of) * increment.signum();
                    assert!(
                        beyond(mark) >= 0 && beyond(highest) > 0,
                        "{of:?} {mark} {highest} {first}"
                    );
                    assert_eq!((first - start) % increment, 0, "{of:?} {first}");
                }
            }
        }
        let wide = Definition {
            start: 1,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cycle: false,
        };
        assert!(first_number(&wide, i64::MAX, Some(i64::MAX), 0).is_err());
        assert_eq!(first_number(&wide, i64::MAX, None, 0), Ok(i64::MAX));
        assert!(first_number(&wide, i64::MAX, None, u64::MAX).is_err());
        let none = Definition { increment: 0, ..wide };
        assert!(first_number(&none, 1, None, 0).is_err());
    }
}
