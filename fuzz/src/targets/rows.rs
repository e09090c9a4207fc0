//! Rows of files: CSV, TSV, JSON Lines, bare lists.

use mintage::Timestamp;
use mintage_bulk::{AuditOptions, Dialect, RowFormat, Source, audit};

use crate::{Target, saw, scratch};

pub(super) fn targets() -> [Target; 3] {
    let csv = [
        "id,name\n1,\"a, b\"\n2,\"he said \"\"no\"\"\"\r\n",
        "id\n\"1\n2\"\n3\n",
        "id;x\n",
        "\u{feff}id,id\n1,2\n",
        "id\tname\n1\ta\n2\t\"b\n",
    ];
    let json = [
        "{\"id\":1}\n{\"id\":\"018f3c6e-0000-7000-8000-000000000000\",\"a\":{\"b\":[1,null]}}\n",
        "{\"id\":18446744073709551615}\n\n{\"a\":2}\n",
        "{\"id\":\"\\u0041\\ud83d\\ude00\"}\n[1]\n",
    ];
    let lines = [
        "1\n2\r\n4\n2\n",
        "1541815603606036480\n\n",
        "018f3c6e-0000-7000-8000-000000000000\n",
    ];
    [
        Target::new("rows-csv", csv, |input| {
            judge(input, RowFormat::Fields(Dialect::CSV));
            judge(input, RowFormat::Fields(Dialect::TSV));
        })
        .cost(200)
        .words(&[
            "\"",
            "\"\"",
            ",",
            "\n",
            "\r\n",
            "id",
            "\t",
            "18446744073709551616",
        ]),
        Target::new("rows-json", json, |input| judge(input, RowFormat::JsonLines))
            .cost(200)
            .words(&["{\"id\":", "}\n", "\\u00", "\\ud83d", "\"", "[", "null", "-1"]),
        Target::new("rows-list", lines, |input| judge(input, RowFormat::Lines))
            .cost(200)
            .words(&["\n", "\r", "9", "-"]),
    ]
}

fn judge(input: &[u8], format: RowFormat) {
    let inputs = vec![(Source::File(scratch::file("rows", input)), format)];
    let now = Timestamp::from_unix_millis(1_800_000_000_000);
    let mut options = AuditOptions::new(inputs, now);
    options.temp = scratch::path("");
    options.memory_bytes = 1 << 20;
    match audit(&options, &mut |_| {}) {
        Ok(report) => {
            let lines = input.iter().filter(|b| **b == b'\n').count() as u64 + 1;
            assert!(report.repeats.ids <= lines);
            saw((report.verdict.sound, report.repeats.ids));
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            saw(error.to_string().len());
        }
    }
}
