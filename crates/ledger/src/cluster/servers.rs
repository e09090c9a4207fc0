//! The servers on a store, for people.

use std::collections::HashMap;
use std::time::Duration;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::name::Name;
use crate::pool::WindowInfo;

/// Of how many windows it is looked up who holds them.
const HELD_WINDOWS_MAX: usize = 1000;
/// An offset is known to half the time between two looks.
const OFFSET_ERROR: Duration = Duration::from_millis(500);

/// A server on the store.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerInfo {
    /// What it calls itself.
    pub name: String,
    /// The token that its records carry, hexadecimal.
    pub instance: String,
    /// Its version, if its register tells.
    pub version: Option<String>,
    /// Whether it is this process.
    pub ours: bool,
    /// Whether its register has changed within three seconds, and it has not said that it stops.
    pub lives: bool,
    /// For how long its register has not changed.
    pub silent: Duration,
    /// Its wall clock minus ours in nanoseconds, and how far that may be wrong.
    pub offset_ns: Option<(i128, Duration)>,
    /// The workers that it holds, where that is known.
    pub workers: Option<Vec<(Name, u64)>>,
}

impl Ledger {
    /// The servers that share the store, this one first, the others as their registers were last seen; a store that is ours
    /// alone has one. And the workers that they hold, of the first 1,000 windows of the pools that `may`
    /// picks.
    ///
    /// # Errors
    /// The store refuses; while it does not answer, the workers of this process alone are told.
    pub async fn servers(&self, may: impl Fn(&Name) -> bool) -> Result<Vec<ServerInfo>, LedgerError> {
        let context = &self.context;
        let mut servers = vec![ServerInfo {
            name: context.settings.instance_name.clone(),
            instance: format!("{:032x}", context.instance()),
            version: Some(env!("CARGO_PKG_VERSION").to_string()),
            ours: true,
            lives: true,
            silent: Duration::ZERO,
            offset_ns: Some((0, Duration::ZERO)),
            workers: None,
        }];
        let boot = context.runtime.boottime();
        let wall_ns = context.runtime.wall().unix_nanos() - boot.as_nanos() as i128;
        let shown = {
            let observed = context.cluster.peers.lock().expect("no panic while held");
            observed.peers.shown(boot)
        };
        servers.extend(shown.into_iter().map(|peer| ServerInfo {
            name: peer.name,
            instance: peer.instance,
            version: peer.version,
            ours: false,
            lives: peer.lives,
            silent: peer.silent,
            offset_ns: peer.offset_ns.map(|offset| (offset - wall_ns, OFFSET_ERROR)),
            workers: None,
        }));
        match self.held_windows(&may).await {
            Ok(mut held) => {
                for server in &mut servers {
                    server.workers = Some(held.remove(&server.instance).unwrap_or_default());
                }
            }
            Err(LedgerError::Unavailable { .. }) => servers[0].workers = Some(self.own_workers(may)),
            Err(error) => return Err(error),
        }
        Ok(servers)
    }

    /// The workers of this process; no I/O.
    fn own_workers(&self, may: impl Fn(&Name) -> bool) -> Vec<(Name, u64)> {
        let pools = self.pools_held().into_iter().filter(|info| may(&info.name));
        pools.filter_map(|info| Some((info.name, info.worker?))).collect()
    }

    /// The workers whose windows last, by who holds them.
    async fn held_windows(
        &self,
        may: impl Fn(&Name) -> bool,
    ) -> Result<HashMap<String, Vec<(Name, u64)>>, LedgerError> {
        let mut held: HashMap<String, Vec<(Name, u64)>> = HashMap::new();
        let mut left = HELD_WINDOWS_MAX;
        for info in self.pools(None, crate::store::SCAN_LIMIT_MAX).await? {
            if left == 0 {
                break;
            }
            if !may(&info.name) {
                continue;
            }
            let pool = self.existing_pool(&info.name).await?;
            let windows = pool.windows(0, u16::try_from(left).unwrap_or(u16::MAX)).await?;
            left -= windows.len();
            let lasts = windows.into_iter().filter(|window| window.lasts);
            for WindowInfo { worker, owner, .. } in lasts {
                held.entry(owner).or_default().push((info.name.clone(), worker));
            }
        }
        Ok(held)
    }
}
