//! How many ids each agent was given: what the original calls `ids_generated_AGENT`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::metrics::Exposition;
use crate::thread::Shared;

/// The agents of all connections. Anybody can send any name, so that only so many are told apart.
#[derive(Debug, Default)]
pub(super) struct Agents {
    counts: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    /// Those who came once there were [`AGENTS_MAX`].
    others: Arc<AtomicU64>,
}

impl Agents {
    fn count_of(&self, agent: &str) -> Arc<AtomicU64> {
        let mut counts = self.counts.lock().expect("no panic while held");
        if let Some(count) = counts.get(agent) {
            return Arc::clone(count);
        }
        if agent == OTHERS || counts.len() >= AGENTS_MAX {
            return Arc::clone(&self.others);
        }
        Arc::clone(counts.entry(agent.to_string()).or_default())
    }

    /// How many ids each has got, those of the others last.
    fn shown(&self) -> Vec<(String, u64)> {
        let counts = self.counts.lock().expect("no panic while held");
        let each = counts.iter().map(|(agent, count)| (agent.as_str(), count));
        let all = each.chain([(OTHERS, &self.others)]);
        all.map(|(agent, count)| (agent.to_string(), count.load(Ordering::Relaxed)))
            .collect()
    }
}

/// The agent of a connection, which seldom changes: to count for the same one again takes no lock.
#[derive(Debug, Default)]
pub(super) struct LastAgent {
    name: String,
    count: Option<Arc<AtomicU64>>,
}

impl LastAgent {
    /// Counts an id that `agent` has got.
    #[inline]
    pub(super) fn count(&mut self, agent: &str, shared: &Shared) {
        match &self.count {
            Some(count) if self.name == agent => count,
            _ => {
                self.name.clear();
                self.name.push_str(agent);
                self.count.insert(shared.of_face::<Agents>().count_of(agent))
            }
        }
        .fetch_add(1, Ordering::Relaxed);
    }
}

/// Tells how many ids each agent was given.
pub(crate) fn expose(shared: &Shared, out: &mut Exposition) {
    if shared.service.config().faces.thrift.access.listen.is_off() {
        return;
    }
    let agents = shared.of_face::<Agents>().shown();
    let words = "Ids given out over Thrift, by the agent that asked; from the 101st name on, other.";
    let counts = agents.iter().map(|(agent, count)| (agent.as_str(), *count));
    out.counts("mint_thrift_agents_total", "counter", words, "agent", counts);
}

/// How many names are told apart.
const AGENTS_MAX: usize = 100;
/// Who shares one count.
const OTHERS: &str = "other";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_agents_are_told_apart_and_the_others_count_together() {
        let agents = Agents::default();
        let count = |agent: &str| agents.count_of(agent).fetch_add(1, Ordering::Relaxed);
        for n in 0..150 {
            count(&format!("agent-{n:03}"));
        }
        count("agent-099");
        count("agent-100");
        count(OTHERS);
        let shown = agents.shown();
        assert_eq!(shown.len(), 101);
        assert_eq!(shown[0], ("agent-000".to_string(), 1));
        assert_eq!(shown[99], ("agent-099".to_string(), 2));
        assert_eq!(shown[100], (OTHERS.to_string(), 52));
    }

    #[test]
    fn the_others_are_shown_where_there_are_none() {
        let agents = Agents::default();
        agents.count_of("web").fetch_add(7, Ordering::Relaxed);
        assert_eq!(agents.shown(), [("web".to_string(), 7), (OTHERS.to_string(), 0)]);
    }
}
