//! The work of a gap-free sequence, on any store: nothing is in stock, and what is claimed is exactly what is answered
//! (protocol S6).

use super::closed::ClosedStock;
use super::task::{SequenceTask, Taker, Takers, wanted};

impl SequenceTask<'_> {
    /// Serves all takes with as few claims as can be.
    pub(super) async fn serve_gap_free(&mut self, mut takes: Takers) {
        let mut closed = self.close();
        while let Some(take) = takes.pop_front() {
            let take = first_that_fits(take, &mut takes, &closed);
            let Some(take) = self.serve_closed(take, &mut closed) else {
                continue;
            };
            // No further than the next run, which may turn out not to fit.
            let behind = takes.iter().take_while(|take| !take.ask.contiguous);
            match self.want(take.ask, wanted(behind), &closed.ranges) {
                Ok(want) => self.claim_closed(take, &mut takes, &mut closed, want, 0).await,
                Err(error) => drop(take.answer.send(Err(error))),
            }
        }
        self.open(closed);
    }
}

/// What a run would leave out goes to those who wait beside it: none of them was answered yet.
fn first_that_fits(take: Taker, takes: &mut Takers, closed: &ClosedStock) -> Taker {
    let Some(first) = closed.ranges.front() else {
        return take;
    };
    if take.ask.fits(first) {
        return take;
    }
    let beside = takes.iter().position(|beside| beside.ask.fits(first));
    match beside.and_then(|at| takes.remove(at)) {
        Some(beside) => {
            takes.push_front(take);
            beside
        }
        None => take,
    }
}
