//! What every source must do, as one suite over a counter that the caller has just made, with clients of its own that
//! take from it. Available with the feature `testing`.
//!
//! The suite is run for each kind against its real engine, and for [`MemorySource`](super::MemorySource).

use std::sync::Arc;

use mintage::Run;
use mintage_testing::{Distinct, invariant};

use super::{Counter, Fence, MoveId, Note, Source, SourceErrorKind, Wanted, Way};
use crate::runtime::{BoxFuture, Runtime};

/// A counter under test, made anew for every check.
pub trait Subject: Send + Sync {
    /// The source, over connections of its own.
    fn source(&self) -> Arc<dyn Source>;

    /// Makes a fresh counter, whose numbers have no bound near, and answers its key.
    fn make(&self) -> BoxFuture<'_, String>;

    /// One number as a client of the original takes it; `None`: the original refuses.
    fn next<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<i64>>;
}

/// Runs every check that the source's kind offers.
///
/// # Panics
/// When the source breaks its contract; the message says where.
pub async fn check_all(subject: &dyn Subject, runtime: &dyn Runtime) {
    marks_are_not_given_out(subject).await;
    a_cut_ends_the_source_at_its_mark(subject, runtime).await;
    a_second_fence_of_one_move_changes_nothing(subject, runtime).await;
    somebody_elses_fence_is_refused(subject, runtime).await;
    a_lifted_fence_goes_on_above(subject, runtime).await;
    a_late_lift_undoes_no_later_fence(subject, runtime).await;
    an_unused_counter_can_be_cut_and_given_back(subject, runtime).await;
    if subject.source().kind().has_ceiling {
        below_a_ceiling_it_goes_on(subject, runtime).await;
    }
    if subject.source().kind().has_beside {
        ranges_taken_beside_are_nobody_elses(subject).await;
        a_cut_ends_what_was_beside(subject, runtime).await;
    }
}

async fn look(subject: &dyn Subject, key: &str) -> Counter {
    let found = subject.source().look(key).await.expect("it can be looked at");
    found.unwrap_or_else(|| panic!("counter {key} is there"))
}

async fn mark(subject: &dyn Subject, key: &str) -> i128 {
    let found = look(subject, key).await.mark;
    found.unwrap_or_else(|| panic!("counter {key} has a mark"))
}

async fn take_some(subject: &dyn Subject, key: &str, n: usize) -> Vec<i64> {
    let mut numbers = Vec::new();
    for _ in 0..n {
        numbers.push(subject.next(key).await.expect("the original serves"));
    }
    numbers
}

async fn note(subject: &dyn Subject, runtime: &dyn Runtime, key: &str) -> Note {
    Note {
        id: MoveId::fresh(runtime),
        before: look(subject, key).await.before,
        mark: None,
    }
}

/// Whether `number` lies at or beyond `mark` in the direction of the counter.
fn is_beyond(counter: &Counter, mark: i128, number: i64) -> bool {
    match counter.increment > 0 {
        true => i128::from(number) >= mark,
        false => i128::from(number) <= mark,
    }
}

async fn marks_are_not_given_out(subject: &dyn Subject) {
    let key = subject.make().await;
    let before = mark(subject, &key).await;
    let numbers = take_some(subject, &key, 3).await;
    let counter = look(subject, &key).await;
    invariant!(
        is_beyond(&counter, before, numbers[0]),
        "{key}: a mark was given out already"
    );
    let after = counter.mark.expect("it was used");
    for number in numbers {
        invariant!(
            !is_beyond(&counter, after, number),
            "{key}: {number} lies beyond the mark {after}"
        );
    }
    let listed = subject
        .source()
        .list(&Wanted::default())
        .await
        .expect("it can be listed");
    assert!(
        listed.counters.iter().any(|found| found.key == key),
        "{key} is listed: {listed:?}"
    );
}

async fn a_cut_ends_the_source_at_its_mark(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    let numbers = take_some(subject, &key, 5).await;
    let note = note(subject, runtime, &key).await;
    let fenced = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("it is fenced");
    let counter = look(subject, &key).await;
    for number in numbers {
        invariant!(
            !is_beyond(&counter, fenced.mark, number),
            "{key}: {number}, mark {}",
            fenced.mark
        );
    }
    let next = subject.next(&key).await;
    invariant!(next.is_none(), "{key}: a fenced counter gave out {next:?}");
    let fence = subject
        .source()
        .check(&key, &note)
        .await
        .expect("it can be checked");
    match fence {
        Fence::Ours { id, mark } => {
            assert!(id.is_none_or(|id| id == note.id), "{key}: {id:?}");
            assert_eq!(mark, fenced.mark, "{key}");
        }
        other => panic!("{key}: the fence is found again, not {other:?}"),
    }
}

async fn a_second_fence_of_one_move_changes_nothing(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    take_some(subject, &key, 2).await;
    let note = note(subject, runtime, &key).await;
    let first = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("it is fenced");
    let second = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("it is found fenced");
    assert_eq!(first, second, "{key}");
}

async fn somebody_elses_fence_is_refused(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    take_some(subject, &key, 2).await;
    let theirs = note(subject, runtime, &key).await;
    subject
        .source()
        .fence(&key, Way::Cut, &theirs)
        .await
        .expect("it is fenced");
    let fence = subject
        .source()
        .check(&key, &theirs)
        .await
        .expect("it can be checked");
    // Where no note fits, the caller's record alone tells whose fence it is.
    if matches!(fence, Fence::Ours { id: Some(_), .. }) {
        let ours = note(subject, runtime, &key).await;
        let refused = subject.source().fence(&key, Way::Cut, &ours).await;
        assert_eq!(
            refused.map_err(|e| e.kind),
            Err(SourceErrorKind::Foreign),
            "{key}"
        );
        let refused = subject.source().lift(&key, &ours, None).await;
        assert_eq!(
            refused.map_err(|e| e.kind),
            Err(SourceErrorKind::Foreign),
            "{key}"
        );
    }
}

async fn a_lifted_fence_goes_on_above(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    take_some(subject, &key, 2).await;
    let before = look(subject, &key).await;
    let note = note(subject, runtime, &key).await;
    let fenced = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("it is fenced");
    let mark = i64::try_from(fenced.mark).expect("a fresh counter is low");
    let issued = mark.saturating_add(100 * before.increment);
    for _ in 0..2 {
        let lifted = subject.source().lift(&key, &note, Some(issued)).await;
        lifted.expect("it is lifted, and lifted again");
    }
    let after = look(subject, &key).await;
    assert_eq!(after.fence, Fence::None, "{key}");
    assert_eq!(
        (after.min, after.max, after.cycle),
        (before.min, before.max, before.cycle),
        "{key}"
    );
    let number = subject.next(&key).await.expect("the original serves again");
    invariant!(
        number != issued && is_beyond(&before, i128::from(issued), number),
        "{key}: {number} after {issued}"
    );
}

/// A lift that comes after a later move has fenced the counter anew.
async fn a_late_lift_undoes_no_later_fence(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    take_some(subject, &key, 2).await;
    let mut first = note(subject, runtime, &key).await;
    let source = subject.source();
    let fenced = source.fence(&key, Way::Cut, &first).await.expect("it is fenced");
    first.mark = Some(fenced.mark);
    source.lift(&key, &first, None).await.expect("it is lifted");
    take_some(subject, &key, 2).await;
    let second = note(subject, runtime, &key).await;
    source
        .fence(&key, Way::Cut, &second)
        .await
        .expect("it is fenced again");
    let late = source.lift(&key, &first, None).await;
    assert_eq!(late.map_err(|e| e.kind), Err(SourceErrorKind::Foreign), "{key}");
    let next = subject.next(&key).await;
    invariant!(next.is_none(), "{key}: {next:?} behind the later fence");
}

async fn an_unused_counter_can_be_cut_and_given_back(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    let before = look(subject, &key).await;
    let note = note(subject, runtime, &key).await;
    let fenced = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("it is fenced");
    assert_eq!(subject.next(&key).await, None, "{key}");
    subject
        .source()
        .lift(&key, &note, None)
        .await
        .expect("it is lifted");
    let number = subject.next(&key).await.expect("the original serves again");
    invariant!(
        is_beyond(&before, before.mark.unwrap_or(fenced.mark), number),
        "{key}: {number}"
    );
}

async fn below_a_ceiling_it_goes_on(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    take_some(subject, &key, 2).await;
    let counter = look(subject, &key).await;
    let step = i128::from(counter.increment);
    let note = note(subject, runtime, &key).await;
    let ceiling = counter.mark.expect("it was used") + 50 * step;
    let fenced = subject
        .source()
        .fence(&key, Way::Ceiling(ceiling), &note)
        .await
        .expect("it gets a ceiling");
    assert!(
        (fenced.mark - ceiling) * step.signum() >= 0,
        "{key}: {fenced:?} for {ceiling}"
    );
    let mut given = 0;
    while let Some(number) = subject.next(&key).await {
        invariant!(
            !is_beyond(&counter, fenced.mark, number),
            "{key}: {number} beyond {fenced:?}"
        );
        given += 1;
        assert!(given <= 200, "{key}: it ends at its ceiling");
    }
    let again = subject.source().fence(&key, Way::Ceiling(ceiling), &note).await;
    assert_eq!(again, Ok(fenced), "{key}");
    let cut = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("a ceiling ends in a cut");
    assert!(
        (fenced.mark - cut.mark) * step.signum() >= 0,
        "{key}: {cut:?} after {fenced:?}"
    );
}

async fn ranges_taken_beside_are_nobody_elses(subject: &dyn Subject) {
    let key = subject.make().await;
    let mut seen = Distinct::of(&key);
    for n in [1, 10, 100, 1000] {
        seen.extend(take_some(subject, &key, 3).await);
        let runs = subject.source().take(&key, n).await.expect("a range is taken");
        let count: u64 = runs.iter().map(|run| run.count).sum();
        assert!(count >= 1, "{key}: {runs:?}");
        seen.extend(runs.iter().flat_map(Run::iter));
    }
}

async fn a_cut_ends_what_was_beside(subject: &dyn Subject, runtime: &dyn Runtime) {
    let key = subject.make().await;
    let runs = subject.source().take(&key, 10).await.expect("a range is taken");
    let note = note(subject, runtime, &key).await;
    let fenced = subject
        .source()
        .fence(&key, Way::Cut, &note)
        .await
        .expect("it is fenced");
    let counter = look(subject, &key).await;
    for number in runs.iter().flat_map(Run::iter) {
        invariant!(
            !is_beyond(&counter, fenced.mark, number),
            "{key}: {number} beyond {fenced:?}"
        );
    }
    let refused = subject
        .source()
        .take(&key, 1)
        .await
        .expect_err("a fenced counter gives nothing");
    assert!(
        matches!(
            refused.kind,
            SourceErrorKind::Exhausted
                | SourceErrorKind::Gone
                | SourceErrorKind::Refused
                | SourceErrorKind::Foreign
        ),
        "{key}: {refused:?}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SystemRuntime;
    use crate::source::MemorySource;

    struct InMemory(Arc<MemorySource>);

    impl Subject for InMemory {
        fn source(&self) -> Arc<dyn Source> {
            self.0.clone()
        }

        fn make(&self) -> BoxFuture<'_, String> {
            self.0.put("orders", 1);
            Box::pin(std::future::ready("orders".to_string()))
        }

        fn next<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<i64>> {
            Box::pin(std::future::ready(self.0.next(key)))
        }
    }

    #[tokio::test]
    async fn the_source_in_memory_conforms() {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        check_all(&InMemory(MemorySource::new()), &*runtime).await;
    }
}
