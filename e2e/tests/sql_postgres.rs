//! The PostgreSQL pack against a private server: what its functions answer and refuse.

use std::fmt::Write as _;

use mintage::{
    GregorianTicks, Node, PRESETS, Precision, SnowflakeText, Uuid, UuidText, namespace, uuid1_from, uuid3,
    uuid5, uuid6_from, uuid7_from, uuid8, uuid8_sha256,
};
use mintage_e2e::random::Random;
use mintage_e2e::sql::decoded::{comparable, inspected, random_ids};
use mintage_e2e::sql::postgres::Postgres;
use mintage_e2e::sql::samples::{
    any_uuid, anywhere, datetime, expect_none, instant, snowflakes, turning_points, values,
};
use serde_json::Value;

/// Time zones whose offsets have minutes or seconds, change twice a year, or lie a day apart.
const ZONES: &[&str] = &[
    "UTC",
    "America/New_York",
    "Asia/Kathmandu",
    "Pacific/Kiritimati",
    "Africa/Monrovia",
];

/// Checks that a query has no rows, which are the differences between what the pack and the library say.
#[track_caller]
fn check_none(server: &Postgres, sql: &str) {
    expect_none(&server.lines(sql));
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("'{}'", text.to_string().replace('\'', "''"))
}

fn node(random: &mut Random) -> [u8; 6] {
    std::array::from_fn(|_| random.below(256) as u8)
}

fn mac(node: [u8; 6]) -> String {
    node.map(|octet| format!("{octet:02x}")).join(":")
}

#[test]
fn versions_1_and_6_are_the_librarys_in_every_time_zone() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("versions 1 and 6");
    let mut times = turning_points();
    times.extend(anywhere(&mut random, 1500));
    let mut rows = Vec::new();
    for micros in times {
        let (clock_seq, node) = (random.below(1 << 14) as u16, node(&mut random));
        let ticks = GregorianTicks::floor(instant(micros)).expect("in range");
        let of_node = Node::from_octets(node);
        rows.push(vec![
            quoted(format!("{}Z", datetime(micros))) + "::timestamptz",
            clock_seq.to_string(),
            quoted(mac(node)) + "::macaddr",
            quoted(uuid1_from(ticks, clock_seq, of_node).expect("in range")) + "::uuid",
            quoted(uuid6_from(ticks, clock_seq, of_node).expect("in range")) + "::uuid",
            ticks.get().to_string(),
        ]);
    }
    server.lines(&format!(
        "CREATE TABLE sample (ts, clock_seq, mac, v1, v6, ticks) AS VALUES {};",
        values(&rows)
    ));
    for zone in ZONES {
        check_none(
            &server,
            &format!(
                "SET timezone = '{zone}';
                 SELECT *, form_uuid_v1(ts, clock_seq, mac), uuid_v1_timestamp(v1) FROM sample
                 WHERE form_uuid_v1(ts, clock_seq, mac) <> v1 OR form_uuid_v6(ts, clock_seq, mac) <> v6
                    OR form_uuid_v1_ticks(ticks, clock_seq, mac) <> v1 OR form_uuid_v6_ticks(ticks, clock_seq, mac) <> v6
                    OR uuid_v1_timestamp(v1) IS DISTINCT FROM ts OR uuid_v1_timestamp_strict(v1) <> ts
                    OR uuid_v6_timestamp(v6) IS DISTINCT FROM ts OR uuid_v6_timestamp_strict(v6) <> ts
                    OR uuid_timestamp(v1) IS DISTINCT FROM ts OR uuid_timestamp(v6) IS DISTINCT FROM ts
                    OR uuid_ticks(v1) IS DISTINCT FROM ticks OR uuid_ticks(v6) IS DISTINCT FROM ticks
                    OR uuid_timestamp_100ns(v1) IS DISTINCT FROM 0
                    OR uuid_node(v1) IS DISTINCT FROM mac OR uuid_node(v6) IS DISTINCT FROM mac
                    OR uuid_clock_seq(v1) IS DISTINCT FROM clock_seq OR uuid_clock_seq(v6) IS DISTINCT FROM clock_seq
                    OR uuid_v1_to_v6(v1) IS DISTINCT FROM v6 OR uuid_v6_to_v1(v6) IS DISTINCT FROM v1
                    OR uuid_v6_min(ts) > v6 OR uuid_v6_max(ts) < v6
                    OR uuid_v1_min(ts) <> form_uuid_v1(ts, 0, '00:00:00:00:00:00')
                    OR uuid_v1_to_v6(uuid_v1_max(ts)) <> uuid_v6_max(ts);"
            ),
        );
    }
}

#[test]
fn every_tick_is_read_back_with_its_remainder() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("ticks");
    let mut rows = Vec::new();
    for at in 0..2000 {
        let ticks = match at {
            0..20 => at,
            20..40 => GregorianTicks::MAX.get() - (at - 20),
            40..60 => 122_192_928_000_000_000 - 10 + (at - 40), // around 1970
            _ => random.below(GregorianTicks::MAX.get() + 1),
        };
        let (clock_seq, node) = (random.below(1 << 14) as u16, node(&mut random));
        let time = GregorianTicks::new(ticks).expect("in range");
        rows.push(vec![
            ticks.to_string() + "::bigint",
            quoted(uuid1_from(time, clock_seq, Node::from_octets(node)).expect("in range")) + "::uuid",
            quoted(uuid6_from(time, clock_seq, Node::from_octets(node)).expect("in range")) + "::uuid",
        ]);
    }
    check_none(
        &server,
        &format!(
            "SELECT * FROM (VALUES {}) AS s (ticks, v1, v6)
             WHERE uuid_ticks(v1) IS DISTINCT FROM ticks OR uuid_ticks(v6) IS DISTINCT FROM ticks
                OR uuid_timestamp_100ns(v1) IS DISTINCT FROM (ticks % 10)::int
                OR uuid_ticks(form_uuid_v1(uuid_timestamp(v1), 0, uuid_node(v1))) <> ticks - ticks % 10
                OR form_uuid_v1_ticks(ticks, uuid_clock_seq(v1), uuid_node(v1)) <> v1
                OR form_uuid_v6_ticks(ticks, uuid_clock_seq(v6), uuid_node(v6)) <> v6;",
            values(&rows)
        ),
    );
    let lines = server.lines(
        "SELECT uuid_timestamp(form_uuid_v1_ticks(122192927999999999, 0, '00:00:00:00:00:00'));
         SELECT uuid_timestamp('ffffffff-ffff-1fff-bfff-ffffffffffff');",
    );
    assert_eq!(
        lines,
        ["1969-12-31 23:59:59.999999+00", "5236-03-31 21:21:00.684697+00"]
    );
}

#[test]
fn a_million_consecutive_microseconds_come_back_and_none_repeats() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    // Two halves at once: the second of 2022 in the RFC's vectors.
    let half = |from: u32| {
        format!(
            "INSERT INTO second
             SELECT n, form_uuid_v1('2022-02-22 19:22:22Z'::timestamptz + n * interval '1 microsecond', 13256, '9f:6b:de:ce:d8:46')
             FROM generate_series({from}, {from} + 499999) AS n;
             SELECT count(*) FROM second
             WHERE n BETWEEN {from} AND {from} + 499999
               AND uuid_v1_timestamp(id) = '2022-02-22 19:22:22Z'::timestamptz + n * interval '1 microsecond';"
        )
    };
    server.lines("CREATE UNLOGGED TABLE second (n integer, id uuid);");
    std::thread::scope(|scope| {
        for from in [0, 500_000] {
            let (server, half) = (&server, half(from));
            scope.spawn(move || assert_eq!(server.lines(&half), ["500000"]));
        }
    });
    assert_eq!(
        server.lines("SELECT count(*), count(DISTINCT id) FROM second;"),
        ["1000000\t1000000"]
    );
}

#[test]
fn names_hash_as_in_the_library() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("names");
    let check = |server: &Postgres, random: &mut Random| {
        let mut rows = Vec::new();
        for length in (0..140).chain([255, 256, 1000]) {
            let name: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
            let space = any_uuid(random);
            let hex = name
                .iter()
                .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
            rows.push(vec![
                quoted(space) + "::uuid",
                format!("decode('{hex}', 'hex')"),
                quoted(uuid3(&space, &name)) + "::uuid",
                quoted(uuid5(&space, &name)) + "::uuid",
                quoted(uuid8_sha256(&space, &name)) + "::uuid",
            ]);
        }
        check_none(
            server,
            &format!(
                "SELECT * FROM (VALUES {}) AS s (space, name, v3, v5, v8)
                 WHERE uuid_v3(space, name) <> v3 OR uuid_v5(space, name) <> v5 OR uuid_v8_sha256(space, name) <> v8;",
                values(&rows)
            ),
        );
    };
    check(&server, &mut random);
    let dns = namespace("dns").expect("is known");
    for name in ["", "www.example.com", "www.widgets.com", "Köln ☃ 東京"] {
        let lines = server.lines(&format!(
            "SELECT uuid_v3(ns_dns(), '{name}'), uuid_v5(ns_dns(), '{name}'), uuid_v8_sha256(ns_dns(), '{name}');"
        ));
        let bytes = name.as_bytes();
        let expected = [uuid3(&dns, bytes), uuid5(&dns, bytes), uuid8_sha256(&dns, bytes)];
        assert_eq!(lines, [expected.map(|id| id.to_string()).join("\t")]);
    }
    let spaces = ["dns", "url", "oid", "x500"];
    for space in spaces {
        let known = namespace(space).expect("is known").to_string();
        assert_eq!(server.lines(&format!("SELECT ns_{space}();")), [known]);
    }
    // With pgcrypto, and after it has gone again.
    let pack = mintage_e2e::sql::pack::Script::of("postgres");
    server.lines("CREATE EXTENSION pgcrypto SCHEMA public;");
    server.file("postgres", &pack.path()).ok();
    assert_eq!(
        server.lines("SELECT prosrc LIKE '%public.digest%' FROM pg_proc WHERE proname = '_sha1';"),
        ["t"]
    );
    check(&server, &mut random);
    server.lines("DROP EXTENSION pgcrypto;");
    check(&server, &mut random);
}

#[test]
fn version_7_is_the_librarys() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("version 7");
    let last = ((1i64 << 48) - 1) * 1000 + 999;
    let mut times: Vec<i64> = turning_points()
        .into_iter()
        .filter(|micros| *micros >= 0)
        .collect();
    times.extend((0..1000).map(|_| random.below(last as u64 + 1) as i64));
    times.extend((0..1000).map(|at| 1_645_557_742_000_000 + at));
    times.push(last);
    let mut rows = Vec::new();
    for micros in times {
        let bits: [u8; 10] = std::array::from_fn(|_| random.below(256) as u8);
        let millis = uuid7_from(instant(micros), Precision::Millis, bits).expect("in range");
        let submilli = uuid7_from(instant(micros), Precision::Submilli, bits).expect("in range");
        let rand = |id: &Uuid| (id.as_u128() >> 64 & 0xfff, id.as_u128() & ((1 << 62) - 1));
        let (rand_a, rand_b) = rand(&millis);
        rows.push(vec![
            quoted(format!("{}Z", datetime(micros))) + "::timestamptz",
            (micros / 1000).to_string() + "::bigint",
            rand_a.to_string(),
            rand_b.to_string() + "::bigint",
            quoted(millis) + "::uuid",
            rand(&submilli).0.to_string(),
            quoted(submilli) + "::uuid",
        ]);
    }
    server.lines(&format!(
        "CREATE TABLE sample (ts, unix_ms, rand_a, rand_b, id, fraction, submilli) AS VALUES {};",
        values(&rows)
    ));
    for zone in ZONES {
        check_none(
            &server,
            &format!(
                "SET timezone = '{zone}';
                 SELECT *, uuid_v7(ts), uuid_v7_submilli(ts) FROM sample
                 WHERE form_uuid_v7_fields(unix_ms, rand_a, rand_b) <> id
                    OR uuid_v7_timestamp(id) IS DISTINCT FROM date_trunc('milliseconds', ts AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                    OR uuid_timestamp(id) <> uuid_v7_timestamp(id)
                    OR uuid_v7_timestamp_submilli(submilli) IS DISTINCT FROM ts
                    OR left(uuid_v7(ts)::text, 13) <> left(id::text, 13)
                    OR left(uuid_v7_submilli(ts)::text, 18) <> left(submilli::text, 18)
                    OR left(form_uuid_v7(ts, 5)::text, 18) <> left(submilli::text, 18)
                    OR uuid_v7_min(ts) > id OR uuid_v7_max(ts) < id OR uuid_v7_min(ts) > submilli OR uuid_v7_max(ts) < submilli
                    OR uuid_v7_min(ts) <> form_uuid_v7_fields(unix_ms, 0, 0)
                    OR uuid_v7_max(ts) <> form_uuid_v7_fields(unix_ms, 4095, 4611686018427387903)
                    OR ulid_timestamp(ulid(ts)) <> uuid_v7_timestamp(id)
                    OR ulid_to_uuid(ulid_min(ts)) > id OR ulid_to_uuid(ulid_max(ts)) < id
                    OR ulid(ts) COLLATE \"C\" NOT BETWEEN ulid_min(ts) AND ulid_max(ts);"
            ),
        );
    }
}

#[test]
fn half_open_ranges_hold_what_happened_in_them_and_nothing_else() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let lines = server.lines(
        "CREATE TABLE event AS
           SELECT ts, form_uuid_v7(ts, 0) AS v7, form_uuid_v6(ts) AS v6, form_uuid_v1(ts) AS v1, ulid(ts) COLLATE \"C\" AS ulid,
                  form_snowflake('twitter', ts, 3, n % 4096) AS snowflake
           FROM (SELECT n, '2022-02-22 19:22:22Z'::timestamptz + n * interval '1 microsecond' AS ts
                 FROM generate_series(0, 19999) AS n) AS t;
         -- To the microsecond for version 6 and 1.
         SELECT count(*), min(ts), max(ts) FROM event, uuid_v6_range('2022-02-22 19:22:22.0015Z', '2022-02-22 19:22:22.0047Z') AS r
           WHERE v6 BETWEEN r.first_id AND r.last_id;
         SELECT count(*), min(ts), max(ts) FROM event, uuid_v1_range('2022-02-22 19:22:22.0015Z', '2022-02-22 19:22:22.0047Z') AS r
           WHERE uuid_v1_to_v6(v1) BETWEEN uuid_v1_to_v6(r.first_id) AND uuid_v1_to_v6(r.last_id);
         -- To the millisecond, outwards, for the others.
         SELECT count(*), min(ts), max(ts) FROM event, uuid_v7_range('2022-02-22 19:22:22.0015Z', '2022-02-22 19:22:22.0047Z') AS r
           WHERE v7 BETWEEN r.first_id AND r.last_id;
         SELECT count(*), min(ts), max(ts) FROM event, ulid_range('2022-02-22 19:22:22.0015Z', '2022-02-22 19:22:22.0047Z') AS r
           WHERE ulid BETWEEN r.first_id AND r.last_id;
         SELECT count(*), min(ts), max(ts) FROM event, snowflake_range('twitter', '2022-02-22 19:22:22.0015Z', '2022-02-22 19:22:22.0047Z') AS r
           WHERE snowflake BETWEEN r.first_id AND r.last_id;
         -- A range to a whole millisecond leaves that millisecond out.
         SELECT count(*), max(ts) FROM event, uuid_v7_range('2022-02-22 19:22:22.001Z', '2022-02-22 19:22:22.004Z') AS r
           WHERE v7 BETWEEN r.first_id AND r.last_id;
         -- Empty ones.
         SELECT count(*) FROM event, uuid_v7_range('2022-02-22 19:22:22Z', '2022-02-22 19:22:22Z') AS r WHERE v7 BETWEEN r.first_id AND r.last_id;
         SELECT count(*) FROM event, uuid_v6_range('2022-02-23Z', '2022-02-22Z') AS r WHERE v6 BETWEEN r.first_id AND r.last_id;
         SELECT count(*) FROM event, snowflake_range('twitter', '2022-02-23Z', '2022-02-22Z') AS r WHERE snowflake BETWEEN r.first_id AND r.last_id;",
    );
    let exact = "3200\t2022-02-22 19:22:22.0015+00\t2022-02-22 19:22:22.004699+00";
    let millis = "4000\t2022-02-22 19:22:22.001+00\t2022-02-22 19:22:22.004999+00";
    let whole = "3000\t2022-02-22 19:22:22.003999+00";
    assert_eq!(
        lines,
        [exact, exact, millis, millis, millis, whole, "0", "0", "0"]
    );
}

#[test]
fn text_forms_are_the_librarys_and_sort_as_the_ids() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("text forms");
    let mut ids = vec![
        Uuid::nil(),
        Uuid::max(),
        Uuid::from_u128(1 << 127),
        Uuid::from_u128((1 << 127) - 1),
    ];
    ids.extend((0..500).map(|_| any_uuid(&mut random)));
    let text = |form: UuidText, id: &Uuid| {
        let mut out = Vec::new();
        form.write(id, &mut out);
        quoted(String::from_utf8(out).expect("text"))
    };
    let rows: Vec<Vec<String>> = ids
        .iter()
        .map(|id| {
            let forms = [UuidText::Base58, UuidText::Base62, UuidText::Base32];
            let mut row = vec![quoted(id) + "::uuid"];
            row.extend(forms.map(|form| text(form, id)));
            row
        })
        .collect();
    check_none(
        &server,
        &format!(
            "CREATE TEMP TABLE sample (id, b58, b62, b32) AS VALUES {};
             SELECT * FROM sample
             WHERE uuid_to_base58(id) <> b58 OR uuid_from_base58(b58) <> id OR uuid_to_base62(id) <> b62 OR uuid_from_base62(b62) <> id
                OR uuid_to_base32(id) <> b32 OR uuid_from_base32(b32) <> id OR uuid_from_base32(lower(b32)) <> id
                OR uuid_to_ulid(id) <> b32 OR ulid_to_uuid(b32) <> id;
             SELECT 'order' FROM (SELECT rank() OVER (ORDER BY id) AS a, rank() OVER (ORDER BY b58 COLLATE \"C\") AS b,
                                         rank() OVER (ORDER BY b62 COLLATE \"C\") AS c, rank() OVER (ORDER BY b32 COLLATE \"C\") AS d
                                  FROM sample) AS r WHERE a <> b OR a <> c OR a <> d;",
            values(&rows)
        ),
    );
    let mut numbers = vec![0, 1, i64::MAX, 61, 62, 1 << 53];
    numbers.extend((0..300).map(|_| (random.below(u64::MAX) >> 1) as i64));
    let base62 = |number: i64| {
        let mut out = Vec::new();
        SnowflakeText::Base62.write(number as u64, &mut out);
        format!("'{:0>11}'", String::from_utf8(out).expect("text"))
    };
    let rows: Vec<Vec<String>> = numbers
        .iter()
        .map(|n| vec![format!("{n}::bigint"), base62(*n)])
        .collect();
    check_none(
        &server,
        &format!(
            "SELECT * FROM (VALUES {}) AS s (id, b62)
             WHERE id_to_base62(id) <> b62 OR id_from_base62(b62) <> id OR id_from_base58(id_to_base58(id)) <> id
                OR id_from_base32(id_to_base32(id)) <> id OR length(id_to_base58(id)) <> 11 OR length(id_to_base32(id)) <> 13;",
            values(&rows)
        ),
    );
    let over = "22P02";
    for (statement, message) in [
        ("SELECT uuid_from_base58('1')", "has 22 characters, found 1"),
        ("SELECT uuid_from_base58('0111111111111111111111')", "character 1"),
        (
            "SELECT uuid_from_base58('zzzzzzzzzzzzzzzzzzzzzz')",
            "larger than it can be",
        ),
        (
            "SELECT uuid_from_base62('7n42DGM5Tflk9n8mt7Fhc8')",
            "larger than it can be",
        ),
        ("SELECT uuid_from_base62('0000000000000000000000 ')", "found 23"),
        (
            "SELECT uuid_from_base62('00000000000000000000é0')",
            "character 21",
        ),
        (
            "SELECT uuid_from_base32('80000000000000000000000000')",
            "larger than it can be",
        ),
        (
            "SELECT ulid_to_uuid('01ARZ3NDEKTSV4RRFFQ69G5FAU')",
            "character 26",
        ),
        ("SELECT ulid_timestamp('no ulid')", "has 26 characters"),
        ("SELECT id_from_base62('AzL8n0Y58m8')", "larger than it can be"),
        ("SELECT id_from_base58('')", "found 0"),
    ] {
        server.refuses(statement, over, message);
    }
    server.refuses("SELECT id_to_base62(-1)", "22003", "id -1 is negative");
}

#[test]
fn snowflakes_of_every_preset_are_the_librarys() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("snowflakes");
    let mut rows = Vec::new();
    for flake in snowflakes(&mut random, 60) {
        rows.push(vec![
            quoted(flake.preset),
            quoted(format!("{}Z", datetime(flake.micros))) + "::timestamptz",
            flake.worker.to_string() + "::bigint",
            flake.sequence.to_string() + "::bigint",
            flake.id.to_string() + "::bigint",
        ]);
    }
    check_none(
        &server,
        &format!(
            "SELECT * FROM (VALUES {}) AS s (preset, ts, worker, sequence, id)
             WHERE form_snowflake(preset, ts, worker, sequence) <> id OR snowflake_timestamp(preset, id) IS DISTINCT FROM ts
                OR snowflake_timestamp_strict(preset, id) <> ts OR snowflake_worker(preset, id) IS DISTINCT FROM worker
                OR snowflake_sequence(preset, id) IS DISTINCT FROM sequence
                OR id NOT BETWEEN snowflake_min(preset, ts) AND snowflake_max(preset, ts);",
            values(&rows)
        ),
    );
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(server.lines("SELECT snowflake_presets();"), names);
}

#[test]
fn decode_says_what_mint_inspect_says() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let mut random = Random::announced("decode");
    let mut ids: Vec<String> = [
        "c232ab00-9414-11ec-b3c8-9f6bdeced846",
        "000003e8-9414-21ec-b300-9f6bdeced846",
        "5df41881-3aed-3515-88a7-2f4a814cf09e",
        "919108f752d143209bacf847db4148a8",
        "2ED6657D-E927-568B-95E1-2665A8AEA6A2",
        "{1EC9414C-232A-6B00-B3C8-9F6BDECED846}",
        "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "ffffffff-ffff-1fff-bfff-ffffffffffff",
        "00000000-0000-1000-8000-000000000000",
        "00000000-0000-7000-8000-000000000000",
        "017f22e2-79b0-fcc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-d8c4-dc0c0c07398f",
        "1541815603606036480",
        "0",
        "7",
        "00",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "12345678901234567890123456789012",
        "{017f22e279b07cc398c4dc0c0c07398f}",
        "urn:uuid:017f22e279b07cc398c4dc0c0c07398f",
        "no id",
        "",
        "-5",
    ]
    .map(String::from)
    .to_vec();
    ids.extend(random_ids(&mut random, 200));
    let said = inspected(&ids);
    let sql = ids.iter().fold(String::new(), |mut sql, id| {
        let _ = writeln!(sql, "SELECT decode_id('{id}'::text);");
        sql
    });
    let decoded = server.lines(&sql);
    for ((id, mint), sql) in ids.iter().zip(said).zip(decoded) {
        let sql: Value = serde_json::from_str(&sql).expect("JSON");
        assert_eq!(comparable(&sql), comparable(&mint), "{id}");
        let confidence = |of: &Value, at: usize| of["readings"][at]["confidence"].as_f64().unwrap_or(-1.0);
        for at in 0..mint["readings"].as_array().map_or(0, Vec::len) {
            // Two decimals on both sides; a half may be rounded either way.
            assert!(
                (confidence(&sql, at) - confidence(&mint, at)).abs() < 0.0101,
                "{id}: {sql} {mint}"
            );
        }
    }
}

#[test]
fn the_rfcs_vectors_come_out() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let lines = server.lines(
        "SELECT form_uuid_v1('2022-02-22 19:22:22Z', x'33c8'::int, '9f6bdeced846'), form_uuid_v6('2022-02-22 19:22:22Z', x'33c8'::int, '9f6bdeced846');
         SELECT uuid_v3(ns_dns(), 'www.example.com'), uuid_v5(ns_dns(), 'www.example.com'), uuid_v8_sha256(ns_dns(), 'www.example.com');
         SELECT uuid_v3(ns_dns(), 'www.widgets.com');
         SELECT form_uuid_v7_fields(1645557742000, x'cc3'::int, x'18c4dc0c0c07398f'::bigint);
         SELECT uuid_v8(x'2489e9ad2ee2'::bigint, x'e00'::int, x'ec932d5f69181c0'::bigint);
         SELECT uuid_nil(), uuid_max();",
    );
    assert_eq!(
        lines,
        [
            "c232ab00-9414-11ec-b3c8-9f6bdeced846\t1ec9414c-232a-6b00-b3c8-9f6bdeced846",
            "5df41881-3aed-3515-88a7-2f4a814cf09e\t2ed6657d-e927-568b-95e1-2665a8aea6a2\t5c146b14-3c52-8afd-938a-375d0df1fbf6",
            "3d813cbb-47fb-32ba-91df-831e1593ac29",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0",
            "00000000-0000-0000-0000-000000000000\tffffffff-ffff-ffff-ffff-ffffffffffff",
        ]
    );
    let custom: [u8; 16] = std::array::from_fn(|i| i as u8 * 17);
    let hex = custom
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(
        server.lines(&format!("SELECT uuid_v8(decode('{hex}', 'hex'));")),
        [uuid8(custom).to_string()]
    );
}

#[test]
fn what_does_not_fit_is_refused_with_the_sqlstate_that_says_why() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let overflow = "22008";
    for time in [
        "1582-10-14 23:59:59.999999Z",
        "0044-03-15 00:00:00+00 BC",
        "4713-01-01 00:00:00+00 BC",
        "5236-03-31 21:21:00.684698Z",
        "294276-12-31 23:59:59.999999Z",
        "infinity",
        "-infinity",
    ] {
        for call in [
            "form_uuid_v1(%, 0, '9f:6b:de:ce:d8:46')",
            "form_uuid_v6(%, 0, '9f:6b:de:ce:d8:46')",
            "form_uuid_v1(%, 0, '9f:6b:de:ce:d8:46', 5)",
            "form_uuid_v1(%, 0)",
            "form_uuid_v6(%)",
            "form_uuid_v1_keyed(%, 'key')",
            "uuid_v1_min(%)",
            "uuid_v6_max(%)",
        ] {
            let statement = format!("SELECT {}", call.replace('%', &quoted(time)));
            server.refuses(
                &statement,
                overflow,
                "the range is 1582-10-15 00:00:00 to 5236-03-31 21:21:00.684697 UTC",
            );
        }
    }
    for time in [
        "1969-12-31 23:59:59.999999Z",
        "10889-08-02 05:31:50.656Z",
        "infinity",
        "-infinity",
        "0001-01-01Z BC",
    ] {
        for call in [
            "uuid_v7(%)",
            "uuid_v7_submilli(%)",
            "form_uuid_v7(%, 0)",
            "form_uuid_v7_keyed(%, 'key')",
            "uuid_v7_min(%)",
            "uuid_v7_max(%)",
            "ulid(%)",
            "ulid_min(%)",
        ] {
            let statement = format!("SELECT {}", call.replace('%', &quoted(time)));
            server.refuses(
                &statement,
                overflow,
                "the range is 1970-01-01 00:00:00 to 10889-08-02 05:31:50.655999 UTC",
            );
        }
    }
    for time in [
        "2010-11-04 01:42:54.656999Z",
        "2080-07-10 17:30:30.209Z",
        "infinity",
        "-infinity",
    ] {
        server.refuses(
            &format!("SELECT form_snowflake('twitter', '{time}', 0, 0)"),
            overflow,
            "41 bits for ticks of 1000 us",
        );
    }
    for (statement, message) in [
        (
            "form_uuid_v1(now(), 16384, '9f:6b:de:ce:d8:46')",
            "clock sequence 16384 does not fit: 14 bits, 0 to 16383",
        ),
        (
            "form_uuid_v1(now(), -1, '9f:6b:de:ce:d8:46')",
            "clock sequence -1",
        ),
        ("form_uuid_v6(now(), 2147483647)", "clock sequence 2147483647"),
        (
            "form_uuid_v1(now(), -1, '9f:6b:de:ce:d8:46', 1)",
            "clock sequence -1",
        ),
        (
            "form_uuid_v1(now(), 0, '9f:6b:de:ce:d8:46', 163840)",
            "rows 0 to 163839",
        ),
        (
            "form_uuid_v1(now(), 3, '9f:6b:de:ce:d8:46', 163837)",
            "rows 0 to 163836",
        ),
        ("form_uuid_v6(now(), 0, '9f:6b:de:ce:d8:46', -1)", "row -1"),
        (
            "form_uuid_v1('5236-03-31 21:21:00.684697Z', 0, '9f:6b:de:ce:d8:46', 98304)",
            "no id is left",
        ),
        ("form_uuid_v6_keyed(now(), 'key', 163840)", "rows 0 to 163839"),
        ("form_uuid_v7(now(), 262144)", "rows 0 to 262143"),
        ("form_uuid_v7_keyed(now(), 'key', -1)", "row -1"),
        (
            "form_uuid_v1_ticks(-1, 0, '9f:6b:de:ce:d8:46')",
            "-1 ticks do not fit",
        ),
        (
            "form_uuid_v1_ticks(1152921504606846976, 0, '9f:6b:de:ce:d8:46')",
            "60 bits",
        ),
        ("form_uuid_v7_fields(281474976710656, 0, 0)", "48, 12 and 62 bits"),
        ("uuid_v8(0, 4096, 0)", "48, 12 and 62 bits"),
        (
            "form_snowflake('twitter', now(), 1024, 0)",
            "worker 1024 does not fit preset twitter: 10 bits, 0 to 1023",
        ),
        (
            "form_snowflake('twitter', now(), 0, 4096)",
            "12 bits for it, 0 to 4095",
        ),
        ("form_snowflake('twitter', now(), -1, 0)", "worker -1"),
    ] {
        server.refuses(&format!("SELECT {statement}"), "22003", message);
    }
    for (statement, message) in [
        ("uuid_v1_timestamp_strict(uuid_v4())", "is not of version 1"),
        (
            "uuid_v1_timestamp_strict('1ec9414c-232a-6b00-b3c8-9f6bdeced846')",
            "is not of version 1",
        ),
        ("uuid_v6_timestamp_strict(uuid_nil())", "is not of version 6"),
        ("uuid_v7_timestamp_strict(uuid_max())", "is not of version 7"),
        (
            "uuid_timestamp_strict('00000000-0000-1000-0000-000000000000')",
            "is not of version 1, 6 or 7",
        ),
        ("uuid_ticks_strict(uuid_v7())", "is not of version 1 or 6"),
        ("uuid_version_strict(uuid_max())", "RFC 9562 variant"),
        ("uuid_node_strict(uuid_v4())", "is not of version 1, 2 or 6"),
        ("uuid_clock_seq_strict(uuid_v4())", "is not of version 1 or 6"),
        ("uuid_v1_to_v6_strict(uuid_v7())", "is not of version 1"),
        ("uuid_v6_to_v1_strict(uuid_v1())", "is not of version 6"),
        ("uuid_v8('\\x00'::bytea)", "has 16 bytes, found 1"),
        (
            "snowflake_timestamp_strict('twitter', -1)",
            "-1 is not a snowflake of preset twitter",
        ),
        (
            "snowflake_timestamp('nix', 5)",
            "no snowflake preset is called \"nix\"",
        ),
    ] {
        server.refuses(&format!("SELECT {statement}"), "22023", message);
    }
    // PostgreSQL itself turns an eight-byte address into six where nothing is lost, and refuses where it would be.
    server.refuses(
        "SELECT form_uuid_v1(now(), 0, '08:00:2b:01:02:03:04:05'::macaddr8)",
        "22003",
        "macaddr8",
    );
}

#[test]
fn other_versions_are_null_to_the_tolerant_readers() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let lines = server.lines(
        "SELECT uuid_v1_timestamp(uuid_v4()) IS NULL, uuid_v1_timestamp(uuid_v6()) IS NULL, uuid_v6_timestamp(uuid_v1()) IS NULL,
                uuid_v7_timestamp(uuid_v6()) IS NULL, uuid_v7_timestamp_submilli(uuid_nil()) IS NULL, uuid_timestamp(uuid_v4()) IS NULL,
                uuid_ticks(uuid_v7()) IS NULL, uuid_timestamp_100ns(uuid_v4()) IS NULL, uuid_node(uuid_v7()) IS NULL,
                uuid_clock_seq(uuid_max()) IS NULL, uuid_version(uuid_max()) IS NULL, uuid_version(uuid_nil()) IS NULL,
                uuid_v1_to_v6(uuid_v6()) IS NULL, uuid_v6_to_v1(uuid_v1()) IS NULL,
                uuid_v1_timestamp('c232ab00-9414-11ec-33c8-9f6bdeced846') IS NULL, uuid_timestamp('c232ab00-9414-11ec-d3c8-9f6bdeced846') IS NULL,
                snowflake_timestamp('twitter', -1) IS NULL, snowflake_worker('twitter', -1) IS NULL;
         SELECT uuid_variant(uuid_nil()), uuid_variant(uuid_v4()), uuid_variant('00000000-0000-0000-d000-000000000000'), uuid_variant(uuid_max());
         SELECT array_agg(uuid_version(id)) FROM unnest(ARRAY[uuid_v1(), uuid_v3(ns_dns(), ''), uuid_v4(), uuid_v5(ns_dns(), ''), uuid_v6(),
                                                               uuid_v7(), uuid_v8(0, 0, 0), uuid_v7_shift('-1 day'), form_uuid_v1_keyed(now(), 'k')]) AS id;",
    );
    assert_eq!(lines[0], ["t"; 18].join("\t"));
    assert_eq!(
        lines[1..],
        ["ncs\trfc9562\tmicrosoft\tfuture", "{1,3,4,5,6,7,8,7,1}"]
    );
}

#[test]
fn every_function_is_declared_for_what_it_does() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    // Strict: whatever takes an argument answers NULL to NULL.
    check_none(
        &server,
        "SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'mintage'::regnamespace AND proname NOT LIKE '\\_%' AND pronargs > 0
         AND NOT proisstrict;",
    );
    let volatile = server.lines(
        "SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc
         WHERE pronamespace = 'mintage'::regnamespace AND proname NOT LIKE '\\_%' AND provolatile = 'v';
         SELECT string_agg(p.oid::regprocedure::text, ' ' ORDER BY proname, p.oid::regprocedure::text) FROM pg_proc p
         WHERE pronamespace = 'mintage'::regnamespace AND proname NOT LIKE '\\_%' AND provolatile = 's';
         SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc
         WHERE pronamespace = 'mintage'::regnamespace AND proname NOT LIKE '\\_%' AND proparallel <> 's';
         SELECT string_agg(p.oid::regprocedure::text, ' ' ORDER BY p.oid::regprocedure::text COLLATE \"C\") FROM pg_proc p
         WHERE pronamespace = 'mintage'::regnamespace AND proname IN ('form_uuid_v1', 'form_uuid_v7') AND provolatile = 'i';",
    );
    assert_eq!(
        volatile,
        [
            "form_uuid_v1 form_uuid_v6 form_uuid_v7 instagram_id snowflake snowflakes ulid uuid_v1 uuid_v4 uuid_v6 uuid_v7 uuid_v7_shift uuid_v7_submilli",
            "decode_id(bigint) decode_id(text) decode_id(uuid)",
            "instagram_id snowflake snowflakes",
            "form_uuid_v1(timestamp with time zone,integer,macaddr) form_uuid_v1(timestamp with time zone,integer,macaddr,bigint)",
        ]
    );
    // And the two classics have the types they are known for.
    assert_eq!(
        server.lines("SELECT pg_get_function_result('form_uuid_v1(timestamptz, integer, macaddr)'::regprocedure), pg_get_function_result('uuid_v1_timestamp(uuid)'::regprocedure);"),
        ["uuid\ttimestamp with time zone"]
    );
}

#[test]
fn readers_serve_as_index_expressions_and_in_parallel_plans() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines(
        "CREATE TABLE log AS
           SELECT form_uuid_v1(ts, 7, '9f:6b:de:ce:d8:46') AS v1, form_uuid_v7(ts, 0) AS v7, form_snowflake('twitter', ts, 1, 0) AS flake, ulid(ts) AS ulid
           FROM generate_series('2022-02-22 00:00Z'::timestamptz, '2022-02-23 00:00Z', '10 seconds') AS ts;
         CREATE INDEX log_v1_time ON log (uuid_v1_timestamp(v1));
         CREATE INDEX log_v1_order ON log (uuid_v1_to_v6(v1));
         CREATE INDEX log_v7_time ON log (uuid_v7_timestamp(v7));
         CREATE INDEX log_any_time ON log (uuid_timestamp(v7));
         CREATE INDEX log_flake_time ON log (snowflake_timestamp('twitter', flake));
         CREATE INDEX log_ulid_time ON log (ulid_timestamp(ulid));
         CREATE INDEX log_v7 ON log (v7);
         CREATE INDEX log_keyed ON log (form_uuid_v1_keyed(uuid_v1_timestamp(v1), ulid));
         ANALYZE log;",
    );
    for (condition, index) in [
        (
            "uuid_v1_timestamp(v1) >= '2022-02-22 12:00Z' AND uuid_v1_timestamp(v1) < '2022-02-22 12:01Z'",
            "log_v1_time",
        ),
        (
            "uuid_v1_to_v6(v1) BETWEEN uuid_v6_min('2022-02-22 12:00Z') AND uuid_v6_max('2022-02-22 12:00:59.999999Z')",
            "log_v1_order",
        ),
        (
            "uuid_v7_timestamp(v7) >= '2022-02-22 12:00Z' AND uuid_v7_timestamp(v7) < '2022-02-22 12:01Z'",
            "log_v7_time",
        ),
        (
            "uuid_timestamp(v7) >= '2022-02-22 12:00Z' AND uuid_timestamp(v7) < '2022-02-22 12:01Z'",
            "log_any_time",
        ),
        (
            "snowflake_timestamp('twitter', flake) >= '2022-02-22 12:00Z' AND snowflake_timestamp('twitter', flake) < '2022-02-22 12:01Z'",
            "log_flake_time",
        ),
        (
            "ulid_timestamp(ulid) >= '2022-02-22 12:00Z' AND ulid_timestamp(ulid) < '2022-02-22 12:01Z'",
            "log_ulid_time",
        ),
        (
            "v7 BETWEEN uuid_v7_min('2022-02-22 12:00Z') AND uuid_v7_max('2022-02-22 12:00:59.999Z')",
            "log_v7",
        ),
        (
            "v7 BETWEEN (uuid_v7_range('2022-02-22 12:00Z', '2022-02-22 12:01Z')).first_id AND (uuid_v7_range('2022-02-22 12:00Z', '2022-02-22 12:01Z')).last_id",
            "log_v7",
        ),
    ] {
        let plan = server
            .lines(&format!("EXPLAIN SELECT * FROM log WHERE {condition};"))
            .join("\n");
        assert!(
            plan.contains(&format!("Index Scan using {index} on log"))
                || plan.contains(&format!("Bitmap Index Scan on {index}")),
            "{condition}\n{plan}"
        );
        assert_eq!(
            server.lines(&format!("SELECT count(*) FROM log WHERE {condition};")),
            ["6"],
            "{condition}"
        );
    }
    let parallel = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;";
    let condition = "uuid_v1_timestamp(v1) + interval '1 day' > now() AND uuid_v7() IS NOT NULL";
    let plan = server
        .lines(&format!(
            "{parallel} EXPLAIN SELECT count(*) FROM log WHERE {condition};"
        ))
        .join("\n");
    assert!(plan.contains("Parallel Seq Scan on log"), "{plan}");
    // A snowflake takes from a sequence: no worker may.
    server.lines("CREATE SEQUENCE flakes;");
    let plan = server
        .lines(&format!(
            "{parallel} EXPLAIN SELECT count(snowflake('twitter', 1, 'flakes')) FROM log;"
        ))
        .join("\n");
    assert!(!plan.contains("Parallel"), "{plan}");
}

#[test]
fn ids_of_now_are_of_now_and_differ() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let lines = server.lines(
        "BEGIN;
         CREATE TEMP TABLE t ON COMMIT DROP AS
           SELECT clock_timestamp() AS before, uuid_v1() AS v1, uuid_v6() AS v6, uuid_v7() AS v7, ulid() AS ulid, clock_timestamp() AS after FROM generate_series(1, 5000);
         SELECT count(DISTINCT v1), count(DISTINCT v6), count(DISTINCT v7), count(DISTINCT ulid) FROM t;
         SELECT count(*) FROM t WHERE NOT (uuid_timestamp(v1) BETWEEN before AND after AND uuid_timestamp(v6) BETWEEN before AND after
                AND uuid_v7_timestamp_submilli(v7) BETWEEN before AND after
                AND ulid_timestamp(ulid) BETWEEN before - interval '1 ms' AND after);
         SELECT count(DISTINCT uuid_node(v1)) > 4990, bool_and(right(left(uuid_node(v6)::text, 2), 1) IN ('1', '3', '5', '7', '9', 'b', 'd', 'f')) FROM t;
         SELECT abs(extract(epoch FROM uuid_timestamp(uuid_v7_shift('-30 days')) + interval '30 days' - clock_timestamp())) < 1;
         COMMIT;",
    );
    assert_eq!(lines, ["5000\t5000\t5000\t5000", "0", "t\tt", "t"]);
}
