//! What a folder must still say after whatever happened to it, given what a worker said before.

use std::collections::BTreeMap;
use std::path::Path;

use mintage::preset;
use mintage_ledger::{
    DEFAULT_POOL, EmbeddedStore, Key, Ledger, LedgerSettings, Name, Runtime, SCAN_LIMIT_MAX, Store,
    SystemRuntime,
};

/// What a worker said, as what must hold afterwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// It was told that the folder is open.
    pub opened: bool,
    /// By register: the versions and marks that were acknowledged last.
    done: BTreeMap<String, (u64, u64)>,
    /// By register: every version that was ever tried, with its mark.
    tried: BTreeMap<String, Vec<(u64, u64)>>,
    /// Registers whose removal was asked for.
    removing: Vec<String>,
    /// By sequence: the last number issued, and how many takes were under way.
    issued: BTreeMap<String, i64>,
    asked: BTreeMap<String, bool>,
    minted: Option<u64>,
}

impl Said {
    /// Takes in one line.
    pub(crate) fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
        match words.as_slice() {
            ["open"] => self.opened = true,
            ["try", name, ..] => {
                let tried = self.tried.entry((*name).to_string()).or_default();
                tried.push((number(2), number(3)));
            }
            ["done", name, ..] => {
                self.done.insert((*name).to_string(), (number(2), number(3)));
                self.removing.retain(|n| n != name);
            }
            ["remove", name, ..] => self.removing.push((*name).to_string()),
            ["removed", name] => {
                self.done.remove(*name);
            }
            ["ask", name] => {
                self.asked.insert((*name).to_string(), true);
            }
            ["got", name, last] => {
                self.asked.insert((*name).to_string(), false);
                self.issued.insert((*name).to_string(), last.parse().unwrap_or(0));
            }
            ["minted", id] => self.minted = id.parse().ok().max(self.minted),
            _ => {}
        }
    }

    pub(crate) fn lines(&mut self, text: &str) {
        // A line that was cut off was not said.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().for_each(|line| self.line(line));
    }

    /// Opens the folder, which may be a copy, and compares; what is wrong, if anything is.
    ///
    /// `Ok(false)`: the folder was refused, which is no lower mark, but no service either.
    pub(crate) async fn check(
        &self,
        folder: &Path,
        runtime: std::sync::Arc<SystemRuntime>,
    ) -> Result<bool, String> {
        let store = match EmbeddedStore::open_copy(folder, true, runtime).await {
            Ok(store) => store,
            Err(_) => return Ok(false),
        };
        let verdict = self.compare(&store).await;
        // What it wrote is not needed.
        drop(store);
        verdict.map(|()| true)
    }

    /// Why a folder is refused, for people.
    pub(crate) async fn refusal(folder: &Path, runtime: std::sync::Arc<SystemRuntime>) -> Option<String> {
        let opened = EmbeddedStore::open_copy(folder, true, runtime).await;
        opened.err().map(|error| error.to_string())
    }

    async fn compare(&self, store: &EmbeddedStore) -> Result<(), String> {
        let mut found = BTreeMap::new();
        for prefix in ["k", "seq/", "window/"] {
            let prefix = Key::new(prefix).expect("within the grammar");
            let page = store
                .scan(&prefix, None, SCAN_LIMIT_MAX)
                .await
                .map_err(|e| e.to_string())?;
            found.extend(page.into_iter().map(|(key, found)| (key.to_string(), found)));
        }
        for (name, found) in found.iter().filter(|(name, _)| name.starts_with('k')) {
            let text = found.value.body.strip_prefix("{\"text\":\"");
            let text = text.and_then(|text| text.strip_suffix("\"}"));
            if !text.is_some_and(|text| text.bytes().all(|b| b == b'x')) {
                return Err(format!(
                    "{name} has a body that nobody ever wrote: {}",
                    found.value.body
                ));
            }
        }
        for (name, (version, mark)) in &self.done {
            let Some(now) = found.get(name) else {
                if self.removing.contains(name) {
                    continue;
                }
                return Err(format!("{name} is gone: it was at version {version} mark {mark}"));
            };
            if now.value.mark < *mark || now.version.number() < *version {
                return Err(format!(
                    "{name} is at version {} mark {}: version {version} mark {mark} was acknowledged",
                    now.version.number(),
                    now.value.mark
                ));
            }
            let tried = self.tried.get(name).map(Vec::as_slice).unwrap_or_default();
            if !tried.contains(&(now.version.number(), now.value.mark)) {
                return Err(format!(
                    "{name} is at version {} mark {}, which nobody ever wrote",
                    now.version.number(),
                    now.value.mark
                ));
            }
        }
        for (name, last) in &self.issued {
            let mark = found
                .get(&format!("seq/{name}"))
                .map_or(0, |found| found.value.mark);
            if (mark as i64) < *last {
                return Err(format!("sequence {name} is at mark {mark}: {last} was issued"));
            }
        }
        if let Some(id) = self.minted {
            let layout = preset("twitter").expect("a row of PRESETS").layout();
            let parts = layout.unpack(id).expect("an id of the layout");
            let key = format!("window/{DEFAULT_POOL}/{:010}", parts.worker);
            let until = found.get(&key).map_or(0, |found| found.value.mark);
            if until <= parts.tick {
                return Err(format!(
                    "{key} ends at {until}: tick {} was minted in",
                    parts.tick
                ));
            }
        }
        Ok(())
    }

    /// Goes on with the folder: the next numbers lie above what was issued, and a gap-free sequence continues. What
    /// stands afterwards: a clean stop gave back what was not taken here.
    pub(crate) async fn go_on(
        &self,
        folder: &Path,
        runtime: std::sync::Arc<SystemRuntime>,
    ) -> Result<Said, String> {
        let mut after = self.clone();
        after.asked.clear();
        let store = EmbeddedStore::open_copy(folder, true, std::sync::Arc::clone(&runtime) as _).await;
        let store = store.map_err(|e| format!("refused: {e}"))?;
        let stays = runtime.wall();
        let ledger = Ledger::open(store, LedgerSettings::default(), runtime)
            .await
            .map_err(|e| e.to_string())?;
        for (name, last) in &self.issued {
            let known = Name::new(name.as_str()).expect("it was made");
            let sequence = ledger.existing(&known).await.map_err(|e| e.to_string())?;
            let next = sequence.take(1).await.map_err(|e| e.to_string())?.first;
            if next <= *last {
                return Err(format!("{name} continues at {next} after {last}"));
            }
            // The answer of the take under way may have been lost with its number.
            let lost = i64::from(self.asked.get(name).copied().unwrap_or(false));
            if name == "bills" && next > last + 1 + lost {
                return Err(format!("the gap-free {name} continues at {next} after {last}"));
            }
            after.issued.insert(name.clone(), next);
        }
        if let Some(last) = self.minted {
            let name = Name::new(DEFAULT_POOL).expect("within the grammar");
            let pool = ledger.pool_or_default(&name).await.map_err(|e| e.to_string())?;
            let mut id = [0];
            pool.mint(&mut id).await.map_err(|e| e.to_string())?;
            if id[0] == last {
                return Err(format!(
                    "id {last} was minted again at {} ms",
                    stays.unix_millis()
                ));
            }
        }
        ledger.close().await.map_err(|e| e.to_string())?;
        Ok(after)
    }
}
