//! How much of a sequence is worth reserving ahead on a shared store.
//!
//! Once a name's rate was steady for ten seconds, what is owned covers rate x `outage_budget`. With a journal, all of
//! it but the last second's worth lies in large blocks (protocol S7); without one it lies in stock, and `max_gap`
//! limits it.

use super::Sequence;

/// What is worth reserving ahead now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RefillPlan {
    /// How much is to be owned for the outage budget; 0 while no rate is steady.
    pub(super) target: u64,
    /// How much more to reserve; 0: nothing.
    pub(super) want: u64,
    /// Whether it goes to the large blocks.
    pub(super) second_level: bool,
}

/// What is known when planning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holdings {
    /// Numbers in stock.
    pub(super) stock: u64,
    /// Numbers in large blocks.
    pub(super) owned: u64,
    /// What the last second used.
    pub(super) block: u64,
    /// rate x budget, once steady; else 0.
    pub(super) target: u64,
    pub(super) max_gap: u64,
    /// Whether large blocks can be had.
    pub(super) second_level: bool,
}

impl RefillPlan {
    /// A top-up begins when an eighth more than the target is left and reaches half as much again, so that one
    /// reservation lasts for a third of the budget.
    pub(super) fn of(h: Holdings) -> RefillPlan {
        let low = h.target.saturating_add(h.target / 8);
        let high = h.target.saturating_add(h.target / 2);
        let nothing = RefillPlan {
            target: h.target,
            want: 0,
            second_level: false,
        };
        if h.second_level && h.target > 0 {
            let held = h.stock.saturating_add(h.owned);
            return match held < low {
                true => RefillPlan {
                    want: high.saturating_sub(held),
                    second_level: true,
                    ..nothing
                },
                false => nothing,
            };
        }
        let budget = match h.stock < low.min(h.max_gap - h.max_gap / 8) {
            true => high.min(h.max_gap).saturating_sub(h.stock),
            false => 0,
        };
        // The ordinary two blocks: the current one and the next.
        let next = if h.stock <= h.block && h.owned == 0 {
            h.block
        } else {
            0
        };
        RefillPlan {
            want: budget.max(next).min(h.max_gap.saturating_sub(h.stock)),
            ..nothing
        }
    }
}

impl Sequence {
    /// What is worth reserving ahead, given how many numbers are left before the bound.
    pub(super) fn plan(&self, left: u64, max_gap: u64) -> RefillPlan {
        let stock = self.stock.unused();
        let block = self.block(0, stock, max_gap);
        let holdings = Holdings {
            stock,
            owned: self.owned_count(),
            block,
            target: self.target(left),
            max_gap,
            second_level: self.has_second_level(),
        };
        RefillPlan::of(holdings)
    }

    /// rate x outage budget once the rate was steady; else 0. Near a bound it is a small part of what is left, since
    /// other nodes want some too.
    pub(super) fn target(&self, left: u64) -> u64 {
        let now = self.context.runtime.boottime();
        let steady = self.owned.lock().demand.steady(now, self.used()).unwrap_or(0);
        let budget = self.context.settings.outage_budget.as_millis();
        let target = u128::from(steady) * budget / 1000;
        u64::try_from(target)
            .unwrap_or(u64::MAX)
            .min(left / SHARE_OF_THE_REST)
    }
}

/// The budget takes at most one in so many of the numbers left before the bound.
const SHARE_OF_THE_REST: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Holdings = Holdings {
        stock: 0,
        owned: 0,
        block: 1000,
        target: 60_000,
        max_gap: 100_000,
        second_level: true,
    };

    #[track_caller]
    fn check(holdings: Holdings, want: u64, second_level: bool) {
        let plan = RefillPlan::of(holdings);
        assert_eq!(
            (plan.want, plan.second_level),
            (want, second_level),
            "{holdings:?}"
        );
    }

    #[test]
    fn before_a_rate_is_steady_there_are_two_blocks() {
        let unsteady = Holdings { target: 0, ..STEADY };
        check(unsteady, 1000, false);
        check(
            Holdings {
                stock: 1000,
                ..unsteady
            },
            1000,
            false,
        );
        check(
            Holdings {
                stock: 1001,
                ..unsteady
            },
            0,
            false,
        );
        // What is owned from before is handed out first.
        check(Holdings { owned: 1, ..unsteady }, 0, false);
        check(
            Holdings {
                max_gap: 300,
                block: 300,
                stock: 100,
                ..unsteady
            },
            200,
            false,
        );
        check(
            Holdings {
                max_gap: 0,
                block: 0,
                ..unsteady
            },
            0,
            false,
        );
    }

    #[test]
    fn a_steady_rate_owns_its_budget_in_large_blocks() {
        check(STEADY, 90_000, true);
        check(
            Holdings {
                stock: 500,
                owned: 66_999,
                ..STEADY
            },
            22_501,
            true,
        );
        check(
            Holdings {
                stock: 500,
                owned: 67_000,
                ..STEADY
            },
            0,
            false,
        );
    }

    #[test]
    fn without_a_journal_max_gap_limits_the_budget() {
        let alone = Holdings {
            second_level: false,
            ..STEADY
        };
        check(alone, 90_000, false);
        check(
            Holdings {
                target: 600_000,
                ..alone
            },
            100_000,
            false,
        );
        check(
            Holdings {
                target: 600_000,
                stock: 87_500,
                ..alone
            },
            0,
            false,
        );
        check(
            Holdings {
                target: 600_000,
                stock: 87_499,
                ..alone
            },
            12_501,
            false,
        );
    }
}
