//! Layouts as text.

use mintage::{Layout, PRESETS, Parts, WIDE_PRESETS};

use crate::{Target, saw};

pub(super) fn target() -> Target {
    let mut seeds: Vec<Vec<u8>> = PRESETS
        .iter()
        .chain(WIDE_PRESETS)
        .map(|preset| preset.layout().spec().into_bytes())
        .collect();
    seeds.push(b"time=41,worker=10,sequence=12".to_vec());
    seeds.push(b"time=60,worker=64,sequence=4".to_vec());
    Target::new("layout", seeds, check).longest(256).words(&[
        "time=",
        "worker:",
        "sequence=",
        "rollback=",
        "constant:",
        "@",
        ";tick=",
        ";epoch=",
        ";start=",
        "carry",
        "random(",
        ";name=",
        ",",
        "18446744073709551615",
        "63",
        "64",
    ])
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let layout = match text.parse::<Layout>() {
        Ok(layout) => layout,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return saw(std::mem::discriminant(&error));
        }
    };
    let again = layout.spec().parse::<Layout>();
    assert_eq!(again.as_ref(), Ok(&layout), "{}", layout.spec());
    let largest = Parts {
        tick: layout.ticks_max(),
        worker: layout.worker_max(),
        sequence: (1 << layout.sequence_bits()) - 1,
    };
    for parts in [
        largest,
        Parts {
            tick: 0,
            worker: 0,
            sequence: 0,
        },
    ] {
        let id = layout
            .pack_wide(parts.tick, parts.worker, parts.sequence)
            .expect("its own bounds fit");
        assert_eq!(layout.unpack_wide(id), Ok(parts));
        let narrow = layout.pack(parts.tick, parts.worker, parts.sequence);
        assert_eq!(narrow.map(u128::from).ok(), (!layout.is_wide()).then_some(id));
    }
    saw((
        layout.time_bits(),
        layout.worker_bits(),
        layout.sequence_bits(),
        layout.rollback_bits(),
    ));
}
