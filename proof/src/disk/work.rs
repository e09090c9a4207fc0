//! A process that uses a folder and says on standard output, one line each, what it is about to do and what was
//! acknowledged to it. It can be killed at any moment; what it said stands.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use mintage_ledger::{
    Cas, Claim, DEFAULT_POOL, EmbeddedStore, Gap, Key, Ledger, LedgerSettings, Marks, Name, SCAN_LIMIT_MAX,
    SequenceSpec, Store, StoreError, SystemRuntime, Value, Version,
};

use crate::dice::Dice;

/// What a worker is told to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Script {
    /// Registers of a store, with everything small, so that witnesses and checkpoints come often.
    Registers,
    /// Sequences and a pool of a ledger, as a server uses them.
    Ledger,
    /// Nothing: opens the folder and closes it.
    Reopen,
}

impl Script {
    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Script::Registers => "registers",
            Script::Ledger => "ledger",
            Script::Reopen => "reopen",
        }
    }

    /// The script that a word names.
    pub fn of(word: &str) -> Option<Script> {
        [Script::Registers, Script::Ledger, Script::Reopen]
            .into_iter()
            .find(|script| script.word() == word)
    }
}

/// Does `steps` steps of `script` in `folder`; `Ok` if the folder could be opened. With `abort` it ends as a crash does,
/// without closing anything.
///
/// # Errors
/// The folder was refused.
pub fn work(folder: &Path, script: Script, seed: u64, steps: u64, abort: bool) -> Result<(), String> {
    super::block_on(|runtime| async move {
        match script {
            Script::Registers => registers(folder, seed, steps, abort, runtime)
                .await
                .map_err(|e| e.to_string()),
            Script::Ledger => ledger(folder, seed, steps, runtime).await,
            Script::Reopen => {
                let store = EmbeddedStore::open_copy(folder, true, runtime)
                    .await
                    .map_err(|e| e.to_string())?;
                say("open");
                store.close().await.map_err(|e| e.to_string())
            }
        }
    })
}

/// One line by one call, so that it is there or not.
fn say(line: &str) {
    let text = format!("{line}\n");
    // Nobody reads any more: then nobody needs it.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let _ = std::io::stdout().flush();
}

async fn registers(
    folder: &Path,
    seed: u64,
    steps: u64,
    abort: bool,
    runtime: Arc<SystemRuntime>,
) -> Result<(), StoreError> {
    let store = EmbeddedStore::open_copy(folder, true, runtime).await?;
    say("open");
    let mut dice = Dice::new(seed);
    let mut known: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (key, found) in store.scan(&Key::new("k")?, None, SCAN_LIMIT_MAX).await? {
        known.insert(key.to_string(), (found.version.number(), found.value.mark));
    }
    for _ in 0..steps {
        let name = format!("k{}", dice.below(6));
        let key = Key::new(name.clone())?;
        let (version, mark) = known.get(&name).copied().unwrap_or((0, 0));
        let expected = (version > 0).then_some(Version::of(version));
        let add = 1 + dice.below(100);
        let token = u128::from(dice.next()) + 1;
        let claims = version > 0 && dice.chance(500);
        // Some registers have no mark and go again.
        let bare = name == "k5";
        if bare && version > 0 && dice.chance(400) {
            say(&format!("remove {name} {version}"));
            if matches!(store.remove(&key, Version::of(version)).await, Ok(Cas::Done(_))) {
                known.remove(&name);
                say(&format!("removed {name}"));
            }
            continue;
        }
        let mark = if bare { 0 } else { mark + add };
        say(&format!("try {name} {} {mark} {token}", version + 1));
        let answer = if claims && !bare {
            let claim = Claim {
                key,
                expected: Version::of(version),
                add,
                token,
            };
            store.claim(&claim).await
        } else {
            let body = format!("{{\"text\":\"{}\"}}", "x".repeat(dice.below(300) as usize));
            let value = Value { mark, token, body };
            store
                .compare_and_set(&key, expected, value, Marks::NeverLower)
                .await
        };
        match answer {
            Ok(Cas::Done(version)) => {
                known.insert(name.clone(), (version.number(), mark));
                say(&format!("done {name} {} {mark}", version.number()));
            }
            Ok(Cas::Lost(_)) => say(&format!("lost {name}")),
            Err(error) => say(&format!("failed {name} {error}")),
        }
    }
    if abort {
        std::process::abort();
    }
    let closed = store.close().await;
    say(if closed.is_ok() { "closed" } else { "not closed" });
    Ok(())
}

async fn ledger(folder: &Path, seed: u64, steps: u64, runtime: Arc<SystemRuntime>) -> Result<(), String> {
    let store = EmbeddedStore::open_copy(folder, true, Arc::clone(&runtime) as _).await;
    let store = store.map_err(|e| e.to_string())?;
    let ledger = Ledger::open(store, LedgerSettings::default(), runtime)
        .await
        .map_err(|e| e.to_string())?;
    say("open");
    let mut dice = Dice::new(seed);
    let name = |text: &str| Name::new(text).expect("within the grammar");
    let bills = SequenceSpec {
        gap: Gap::None,
        ..SequenceSpec::default()
    };
    let _ = ledger.create(&name("bills"), &bills).await;
    for _ in 0..steps {
        match dice.below(5) {
            0 | 1 => {
                let Ok(orders) = ledger.sequence_or_create(&name("orders")).await else {
                    continue;
                };
                say("ask orders");
                if let Ok(run) = orders.take(1 + dice.below(20)).await {
                    say(&format!("got orders {}", run.last()));
                }
            }
            2 | 3 => {
                // Only what was made gap-free: made by its first use it would not be.
                let Ok(bills) = ledger.existing(&name("bills")).await else {
                    continue;
                };
                say("ask bills");
                if let Ok(run) = bills.take(1).await {
                    say(&format!("got bills {}", run.last()));
                }
            }
            _ => {
                let Ok(pool) = ledger.pool_or_default(&name(DEFAULT_POOL)).await else {
                    continue;
                };
                let mut ids = [0; 3];
                if pool.mint(&mut ids).await.is_ok() {
                    say(&format!("minted {}", ids[2]));
                }
            }
        }
    }
    let closed = ledger.close().await;
    say(if closed.is_ok() { "closed" } else { "not closed" });
    Ok(())
}
