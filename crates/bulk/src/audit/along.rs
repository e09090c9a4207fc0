//! The times of ids along the files, thinned out to what a plot can show.

/// Keeps every so manieth point, the more apart the more there are.
#[derive(Debug)]
pub(super) struct Along {
    points: Vec<(u64, i64)>,
    stride: u64,
    next: u64,
    row: u64,
}

impl Default for Along {
    fn default() -> Along {
        Along {
            points: Vec::new(),
            stride: 1,
            next: 0,
            row: 0,
        }
    }
}

impl Along {
    #[inline]
    pub(super) fn see(&mut self, micros: i64) {
        if self.row == self.next {
            self.points.push((self.row, micros));
            if self.points.len() == POINTS_MAX {
                let mut keep = false;
                self.points.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
            self.next = self.row + self.stride;
        }
        self.row += 1;
    }

    pub(super) fn points(self) -> Vec<(u64, i64)> {
        self.points
    }
}

const POINTS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_over_all_rows() {
        let mut along = Along::default();
        (0..1_000_000).for_each(|row| along.see(row));
        let points = along.points();
        assert!((POINTS_MAX / 2..POINTS_MAX).contains(&points.len()));
        let gaps: Vec<u64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(
            gaps.iter().max() <= gaps.iter().min().map(|least| least * 2).as_ref(),
            "{:?}",
            gaps.iter().max()
        );
        assert!(points.last().unwrap().0 > 999_000);
    }
}
