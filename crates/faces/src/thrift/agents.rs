//! How many ids each agent was given: what the original calls `ids_generated_AGENT`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mintage_server::chassis::metrics::{Exposition, NamedCounts};
use mintage_server::chassis::thread::Shared;

/// The agents of all connections. Anybody can send any name, so that only so many are told apart.
type Agents = NamedCounts<100>;

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
        let count = match &self.count {
            Some(count) if self.name == agent => count,
            _ => {
                self.name = agent.to_string();
                self.count.insert(shared.of_face::<Agents>().of(agent))
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Tells how many ids each agent was given.
pub(crate) fn expose(shared: &Shared, out: &mut Exposition) {
    if shared
        .service
        .config()
        .faces
        .get::<crate::thrift::Settings>()
        .access
        .listen
        .is_off()
    {
        return;
    }
    let agents = shared.of_face::<Agents>().shown();
    let words = "Ids given out over Thrift, by the agent that asked; from the 101st name on, other.";
    let counts = agents.iter().map(|(agent, count)| (agent.as_str(), *count));
    out.counts("mint_thrift_agents_total", "counter", words, "agent", counts);
}
