//! What is printed, to the letter.

use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::doctor::{CODES, Earlier, Report, Seen, Stood, examine};
use mintage_ledger::source::{ColumnUse, Counter, Fence, Finding, FindingCode, How, Severity};

use super::{document, script, table};
use crate::out::Out;

const PLACE: &str = "postgres://db/shop";

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn column(table: &str, name: &str, type_name: &str, max: i128, highest: i128, how: How) -> ColumnUse {
    ColumnUse {
        table: table.into(),
        column: name.into(),
        type_name: type_name.into(),
        min: -max - 1,
        max,
        highest: Some(highest),
        unique: true,
        how,
    }
}

fn sequence(key: &str, mark: i128, columns: Vec<ColumnUse>) -> Counter {
    Counter {
        mark: Some(mark),
        type_name: "int8".into(),
        cache: Some(1),
        columns,
        ..Counter::new("postgres", key)
    }
}

/// The three of the specification, one that is moved, and one with a hostile name.
fn counters() -> Vec<Counter> {
    let int4 = i128::from(i32::MAX);
    let int8 = i128::from(i64::MAX);
    let near = int4 - 511_200;
    let mut orders = sequence(
        "public.orders_id_seq",
        near,
        vec![column("public.orders", "id", "int4", int4, near - 1, How::Owned)],
    );
    orders.max = int4;
    orders.type_name = "int4".into();
    let invoices = vec![column("public.i", "n", "int8", int8, 5101, How::Default)];
    let mut moved = sequence("public.gone", 78, Vec::new());
    moved.fence = Fence::Ours {
        id: Some("0123456789abcdef0123456789abcdef".parse().unwrap()),
        mark: 78,
    };
    let mut hostile = sequence("public.a\u{1b}[2J\nb<i>", i128::from(u64::MAX) * 3, Vec::new());
    hostile.max = i128::from(u64::MAX) * 4;
    vec![
        orders,
        sequence("public.invoice_seq", 5017, invoices),
        sequence("public.free_s", 31, Vec::new()),
        moved,
        hostile,
    ]
}

/// What a watch of half a minute says of it.
fn reports() -> Vec<Report> {
    let mut earlier = Earlier::default();
    for counter in counters() {
        let distance = if counter.key == "public.orders_id_seq" {
            426
        } else {
            0
        };
        let mark = counter.mark.unwrap() - distance;
        let at = now().saturating_sub(Duration::from_secs(30));
        earlier.add((PLACE.into(), "postgres".into(), counter.key), Stood { at, mark });
    }
    let seen = Seen {
        place: PLACE.into(),
        at: now(),
        counters: counters(),
        ..Seen::default()
    };
    let mut reports = examine(vec![seen], &[earlier], None);
    let fixes = [
        (
            "public.orders_id_seq",
            "ALTER TABLE \"orders\" ALTER \"id\" TYPE bigint;  -- rewrites the table",
        ),
        (
            "public.invoice_seq",
            "BEGIN; SELECT setval('invoice_seq', 5101); COMMIT",
        ),
    ];
    for one in &mut reports[0].counters {
        for (key, fix) in fixes {
            if one.counter.key == key {
                one.findings[0].fix = Some(fix.into());
            }
        }
    }
    reports
}

fn printed(verbose: bool, print: impl FnOnce(&mut Out)) -> String {
    let mut out = Out::new(false, true, verbose).unwrap();
    print(&mut out);
    String::from_utf8(std::mem::take(out.buffer())).unwrap()
}

#[test]
fn people_see_a_table() {
    let said = printed(false, |out| table::print(&reports(), true, out).unwrap());
    let expected = "\
counter                  column         mark                  max(column)  type  rate/s  ends               verdict
public.orders_id_seq     orders.id      2146972447            2146972446   int4  14.2    2026-11-23 (int4)  ERROR ends in 10 h
public.invoice_seq       (default) i.n  5017                  5101         int8  0       -                  ERROR behind: 5017 is below 5101
public.free_s            none           31                    -            int8  0       -                  ok
public.gone              none           78                    -            int8  0       -                  ok, moved to mint
public.a\\u{1b}[2J\\nb<i>  none           55340232221128654845  -            int8  0       -                  ok
5 counters, 2 errors, 4 notes (-v shows them)
  fix public.orders_id_seq  ALTER TABLE \"orders\" ALTER \"id\" TYPE bigint;  -- rewrites the table
  fix public.invoice_seq    BEGIN; SELECT setval('invoice_seq', 5101); COMMIT;
";
    assert_eq!(said, expected, "{said}");
}

#[test]
fn notes_are_shown_to_who_asks_for_more() {
    let said = printed(true, |out| table::print(&reports(), true, out).unwrap());
    for line in [
        "info unowned: the default of public.i.n draws from it",
        "info orphan: no default draws from it",
        "info fenced: moved to mint by the move 0123456789abcdef0123456789abcdef",
        "5 counters, 2 errors, 4 notes\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn programs_see_documents() {
    let said = printed(false, |out| document::print(&reports(), out).unwrap());
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        concat!(
            r#"{"source":"postgres","place":"postgres://db/shop","at":"2026-11-23T12:00:00Z","#,
            r#""name":"public.orders_id_seq","kind":"sequence","#,
            r#""columns":[{"table":"public.orders","column":"id","type":"int4","max":"2146972446","unique":true,"#,
            r#""how":"owned"}],"type":"int4","mark":"2146972447","increment":"1","min":"1","max":"2147483647","#,
            r#""cache":"1","cycle":false,"fence":null,"rate_per_s":14.2,"#,
            r#""ends":[{"limit":"int4","column":"public.orders.id","last":"2147483647","used":0.999762,"#,
            r#""at":"2026-11-23T22:00:00Z","days":0.4}],"#,
            r#""findings":[{"code":"ends","severity":"error","#,
            r#""text":"ends in 10 h; int4 of public.orders.id ends at 2147483647, at 14.2 numbers a second","#,
            r#""fix":"ALTER TABLE \"orders\" ALTER \"id\" TYPE bigint;  -- rewrites the table"}]}"#,
        )
    );
    assert!(lines[3].contains(r#""fence":{"move":"0123456789abcdef0123456789abcdef","mark":"78"}"#));
    assert!(
        lines[4].contains(r#""name":"public.a\u001b[2J\nb<i>""#),
        "{}",
        lines[4]
    );
    assert!(
        lines[4].contains(r#""mark":"55340232221128654845""#),
        "{}",
        lines[4]
    );
    assert_eq!(
        lines[5],
        concat!(
            r#"{"at":"2026-11-23T12:00:00Z","counters":5,"errors":2,"warnings":0,"notes":4,"partial":false,"#,
            r#""places":[{"place":"postgres://db/shop","at":"2026-11-23T12:00:00Z","counters":5,"findings":[],"failed":[]}]}"#,
        )
    );
    assert_eq!(lines.len(), 6);
}

#[test]
fn scripts_hold_statements() {
    let said = printed(false, |out| script::print(&reports(), out).unwrap());
    assert_eq!(
        said,
        "\
-- error public.orders_id_seq: ends in 10 h; int4 of public.orders.id ends at 2147483647, at 14.2 numbers a second
ALTER TABLE \"orders\" ALTER \"id\" TYPE bigint;  -- rewrites the table
-- error public.invoice_seq: behind: 5017 is below 5101; numbers of public.i.n are given out again
BEGIN; SELECT setval('invoice_seq', 5101); COMMIT;
"
    );
}

#[test]
fn what_was_printed_can_be_read_as_an_earlier_look() {
    let said = printed(false, |out| document::print(&reports(), out).unwrap());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), said).unwrap();
    let earlier = super::since::read(file.path()).unwrap();
    assert_eq!(earlier.len(), 5);
    let stood = earlier.of(PLACE, "postgres", "public.invoice_seq").unwrap();
    assert_eq!((stood.at, stood.mark), (now(), 5017));
}

/// Several places, one with a finding of its own and one that could not be looked at.
#[test]
fn places_stand_apart_and_say_what_is_wrong_with_them() {
    let lossy = Finding {
        code: FindingCode::Lossy,
        severity: Severity::Error,
        text: "lossy: appendonly is off; acknowledged numbers can come again after a crash".into(),
        fix: Some("CONFIG SET appendonly yes; CONFIG SET appendfsync always".into()),
    };
    let key = Counter {
        mark: Some(7),
        type_name: "string".into(),
        ..Counter::new("redis", "visits")
    };
    let redis = Seen {
        place: "redis://cache/0".into(),
        at: now(),
        counters: vec![key],
        findings: vec![lossy],
        ..Seen::default()
    };
    let away = Seen {
        place: PLACE.into(),
        at: now(),
        failed: vec!["postgres://db/shop: no answer".into()],
        ..Seen::default()
    };
    let reports = examine(vec![redis, away], &[], None);
    let said = printed(false, |out| table::print(&reports, false, out).unwrap());
    let expected = "\
redis://cache/0
counter     column  mark  max(column)  type    rate/s  ends  verdict
visits      -       7     -            string  -       -     ok
the server                                                   ERROR lossy: appendonly is off

postgres://db/shop
1 counter, 1 error
  fix the server  CONFIG SET appendonly yes; CONFIG SET appendfsync always
";
    assert_eq!(said, expected, "{said}");
    let said = printed(false, |out| script::print(&reports, out).unwrap());
    assert_eq!(said, "CONFIG SET appendonly yes\nCONFIG SET appendfsync always\n");
    let said = printed(false, |out| document::print(&reports, out).unwrap());
    assert!(said.contains(r#""partial":true"#), "{said}");
    assert!(
        said.contains(r#""failed":["postgres://db/shop: no answer"]"#),
        "{said}"
    );
}

/// The page's table of codes says what the program says.
#[test]
fn the_page_has_every_code() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = std::fs::read_to_string(page).unwrap();
    for row in CODES {
        let code = row.code.as_str();
        let line = format!("| `{code}` | {} | {} | {} |", row.severity, row.when, row.fix);
        assert!(
            page.lines().any(|found| found == line),
            "docs/doctor.md lacks\n{line}"
        );
    }
}
