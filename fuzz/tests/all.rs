//! Every target, a million times. `MINT_FUZZ_RUNS` changes how often.

use std::sync::Mutex;

use mintage_fuzz::{fuzz, targets};

#[test]
fn a_million_random_inputs_break_no_promise() {
    let runs = std::env::var("MINT_FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(1_000_000);
    let all = targets();
    let queue = Mutex::new(all.iter());
    let broken = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(target) = queue.lock().expect("no thread panics").next() else {
                        return;
                    };
                    if let Err(found) = fuzz(target, runs, 1) {
                        let text = format!(
                            "{}: {}: b\"{}\"",
                            target.name,
                            found.message,
                            found.input.escape_ascii()
                        );
                        broken.lock().expect("no thread panics").push(text);
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().expect("no thread panics");
    assert!(
        broken.is_empty(),
        "{}\nkeep each input as a file in fuzz/corpus/TARGET/",
        broken.join("\n")
    );
}
