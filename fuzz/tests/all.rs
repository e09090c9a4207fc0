//! Every target, a million times. `MINT_FUZZ_RUNS` changes how often.

use std::sync::Mutex;

use mintage_fuzz::{fuzz, on_every_core, targets};

#[test]
fn a_million_random_inputs_break_no_promise() {
    let runs = std::env::var("MINT_FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(1_000_000);
    let all = targets();
    let broken = Mutex::new(Vec::new());
    on_every_core(&all, |target| {
        if let Err(found) = fuzz(target, runs, 1) {
            let (name, input) = (&target.name, found.input.escape_ascii());
            let text = format!("{name}: {}: b\"{input}\"", found.message);
            broken.lock().expect("no thread panics").push(text);
        }
    });
    let broken = broken.into_inner().expect("no thread panics");
    assert!(
        broken.is_empty(),
        "{}\nkeep each input as a file in fuzz/corpus/TARGET/",
        broken.join("\n")
    );
}
