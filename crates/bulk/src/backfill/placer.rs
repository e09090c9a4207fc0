//! Hands out the ids of one cell.

use std::collections::HashMap;

use super::nodes::Nodes;
use super::scheme::{Exhausted, Member, NodeId, Scheme};

/// Hands out the ids of a cell, row by row in the cell's order.
pub(crate) struct Placer<'a> {
    scheme: &'a Scheme,
    nodes: &'a Nodes,
    cell: i128,
    ticks: u64,
    /// Wide: the next free number.
    next: Option<u64>,
    /// Narrow: how far the only node is, or each of several.
    only: Line,
    lines: HashMap<u32, Line>,
}

/// The rows of one node in a cell.
#[derive(Clone, Copy, Default, Debug)]
struct Line {
    /// How many there are.
    rows: u64,
    /// How many have an id.
    placed: u64,
    /// The next free place, for keys.
    next: u64,
}

impl<'a> Placer<'a> {
    /// `counts` is how many rows each node has in the cell; wide cells need none. `next` is the next cell with rows.
    ///
    /// # Errors
    /// There are more rows than places.
    pub(crate) fn new(
        scheme: &'a Scheme,
        nodes: &'a Nodes,
        cell: i128,
        next: Option<i128>,
        counts: impl Iterator<Item = (u32, u64)>,
    ) -> Result<Placer<'a>, Exhausted> {
        let mut placer = Placer {
            scheme,
            nodes,
            cell,
            ticks: 1,
            next: None,
            only: Line::default(),
            lines: HashMap::new(),
        };
        if scheme.wide() {
            placer.next = Some(scheme.start_of(cell) >> (65 - scheme.tail_bits()));
            if scheme.options().keyed {
                placer.next = Some(0);
            }
            return Ok(placer);
        }
        placer.ticks = scheme.ticks(cell, next);
        let places = placer.ticks.saturating_mul(scheme.places_in_a_tick());
        for (node, rows) in counts {
            if rows > places {
                return Err(Exhausted {
                    cell,
                    rows,
                    places,
                    node: scheme.options().node_column.then(|| nodes.name(node)),
                });
            }
            let line = Line {
                rows,
                ..Line::default()
            };
            match scheme.options().node_column {
                true => drop(placer.lines.insert(node, line)),
                false => placer.only = line,
            }
        }
        Ok(placer)
    }

    /// The id of the next row.
    ///
    /// # Errors
    /// A wide cell's numbers ran out, which takes 2^53 rows of one time.
    #[inline]
    pub(crate) fn place(&mut self, member: Member) -> Result<u128, Exhausted> {
        if self.next.is_some() {
            self.wide(member)
        } else {
            Ok(self.narrow(member))
        }
    }

    #[inline]
    fn wide(&mut self, member: Member) -> Result<u128, Exhausted> {
        let bits = self.scheme.tail_bits();
        let free = self.next.unwrap_or(0);
        let tail = match self.scheme.options().keyed {
            true => free.max(member.hash >> (64 - bits)),
            false => free,
        };
        if tail >> bits != 0 {
            return Err(Exhausted {
                cell: self.cell,
                rows: tail,
                places: 1 << bits,
                node: None,
            });
        }
        self.next = Some(tail + 1);
        Ok(self.scheme.wide_id(self.cell, tail))
    }

    fn narrow(&mut self, member: Member) -> u128 {
        let line = match self.scheme.options().node_column {
            true => self.lines.entry(member.node).or_default(),
            false => &mut self.only,
        };
        let in_a_tick = self.scheme.places_in_a_tick();
        let places = self.ticks.saturating_mul(in_a_tick);
        let (tick, minor, in_use) = if self.scheme.options().keyed {
            let wanted = ((u128::from(member.hash) * u128::from(places)) >> 64) as u64;
            // Those that come after need places too.
            let last = places - (line.rows - line.placed);
            let place = wanted.max(line.next).min(last);
            line.next = place + 1;
            (place / in_a_tick, place % in_a_tick, in_a_tick)
        } else {
            let in_use = line.rows.div_ceil(self.ticks);
            (line.placed / in_use, line.placed % in_use, in_use)
        };
        line.placed += 1;
        let at = self.cell + i128::from(tick) * self.scheme.unit;
        let node = NodeId(self.nodes.value(member.node));
        self.scheme.narrow_id(at, minor, in_use, node)
    }
}
