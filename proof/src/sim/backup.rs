//! The store is lost, and an old backup restored.

use std::time::Duration;

use mintage::Timestamp;

use super::fault::Fault;
use super::subject::{self, SEQUENCES, TRUE_WALL_NS};
use super::world::{Event, SECOND_NS, Step, World};

impl World {
    pub(super) fn back_up(&mut self) {
        let all = self.servers[0].dump();
        let marked = all.iter().any(|(_, found)| found.value.mark > 0);
        if !marked {
            return self.at(SECOND_NS, Event::Backup);
        }
        self.note(16, &[all.len() as u64], || {
            format!("a backup of {} registers", all.len())
        });
        self.backup.push(all);
        let registers = self.backup.len() - 1;
        let after = self
            .dice
            .length(Duration::from_millis(100), Duration::from_secs(60));
        self.at(after.as_nanos() as u64, Event::Restore { registers });
    }

    /// The store is lost; an operator restores the backup as documented: all processes stopped, every mark raised
    /// above what was issued since.
    pub(super) fn restore(&mut self, backup: usize) -> Step {
        let known = |key: &mintage_ledger::Key| self.backup[backup].iter().any(|(k, _)| k == key);
        let since = self.servers[0].dump();
        if since
            .iter()
            .any(|(key, found)| found.value.mark > 0 && !known(key))
        {
            // A backup that does not know a name cannot protect it; the page says so.
            return Ok(());
        }
        for node in 0..self.nodes.len() {
            self.kill(node, "for the store is lost")?;
        }
        self.events
            .retain(|_, event| !matches!(event, Event::Arrive { .. } | Event::Answer { .. }));
        let mark = |key: &mintage_ledger::Key| {
            since
                .iter()
                .find(|(k, _)| k == key)
                .map_or(0, |(_, found)| found.value.mark)
        };
        let numbers = self.backup[backup]
            .iter()
            .filter(|(key, _)| key.as_str().starts_with("seq/"))
            .map(|(key, found)| mark(key).saturating_sub(found.value.mark))
            .max()
            .unwrap_or(0);
        let now = Timestamp::from_unix_nanos(TRUE_WALL_NS + i128::from(self.now_ns));
        let window = Duration::from_secs(600);
        let mut registers = self.backup[backup].clone();
        for (key, found) in &mut registers {
            let counts = key.as_str().starts_with("seq/");
            if found.value.mark == 0 && !counts {
                continue;
            }
            let raised = mintage_ledger::advanced_mark(key, &found.value, numbers, now, window);
            found.value.mark = match raised {
                // Layouts of one's own are not known to the command: the rule with the layout at hand.
                u64::MAX => self.raised(key, found.value.mark, now.saturating_add(window)),
                raised => raised,
            };
            found.version.0 += 1;
            found.value.token = u128::from(self.dice.next()) + 1;
        }
        self.note(17, &[numbers], || {
            format!("restored, every mark raised by {numbers}")
        });
        self.tally.faults.note(Fault::Restored);
        let known = |key: String| registers.iter().any(|(k, _)| k.as_str() == key);
        for (made, row) in self.made.iter_mut().zip(SEQUENCES) {
            *made &= known(format!("seq/{}", row.name));
        }
        for (made, name) in self.pools_made.iter_mut().zip(subject::POOLS) {
            *made &= known(format!("pool/{name}"));
        }
        self.servers[0].load(registers);
        self.check.restored();
        Ok(())
    }

    pub(super) fn raised(&self, key: &mintage_ledger::Key, mark: u64, until: Timestamp) -> u64 {
        let pool = subject::POOLS
            .iter()
            .position(|name| key.as_str().starts_with(&format!("window/{name}/")));
        let tick = pool.and_then(|pool| self.check.layouts[pool].tick_at(until).ok());
        mark.max(tick.map_or(mark, |tick| tick + 1))
    }
}
