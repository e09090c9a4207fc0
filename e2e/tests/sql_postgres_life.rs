//! The PostgreSQL pack over time: installed, upgraded, dumped, restored, shared by sessions, used to back-fill.

use std::fs;
use std::process::Stdio;

use mintage::{Clock, PRESETS, SequenceStart, SystemClock, Uuid};
use mintage_e2e::run;
use mintage_e2e::sql::pack::{self, Script};
use mintage_e2e::sql::postgres::Postgres;
use mintage_testing::{invariant, rising};

/// Everything that two installations must have in common.
const DEFINITIONS: &str = "
    SELECT regexp_replace(pg_get_functiondef(p.oid), '\\s+', ' ', 'g') FROM pg_proc p
    WHERE pronamespace = 'mintage'::regnamespace ORDER BY p.oid::regprocedure::text COLLATE \"C\";";

#[test]
fn one_command_installs_on_an_empty_database_and_again_upgrades() {
    let Some(server) = Postgres::empty() else { return };
    let pack = Script::of("postgres");
    let said = server.file("postgres", &pack.path());
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
    let first = server.lines(DEFINITIONS);
    assert!(first.len() > 100, "{}", first.len());
    // Dependants survive the second time.
    server.lines(
        "CREATE TABLE t (id uuid PRIMARY KEY DEFAULT mintage.uuid_v7(), old uuid);
         CREATE INDEX ON t (mintage.uuid_v1_timestamp(old));
         INSERT INTO t (old) SELECT mintage.uuid_v1() FROM generate_series(1, 100);",
    );
    let said = server.file("postgres", &pack.path());
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
    assert_eq!(server.lines(DEFINITIONS), first);
    assert_eq!(
        server.lines("SELECT pack_version(), count(id) FROM t;"),
        [format!("{}\t100", pack::VERSION)]
    );
    // Nothing but the schema is touched, and it goes without trace.
    server
        .psql("postgres", "DROP TABLE t; DROP SCHEMA mintage CASCADE;")
        .ok();
    assert_eq!(
        server
            .psql(
                "postgres",
                "SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%mintage%';"
            )
            .ok(),
        "0\n"
    );
}

#[test]
fn a_failed_installation_leaves_nothing() {
    let Some(server) = Postgres::empty() else { return };
    let pack = Script::of("postgres");
    let broken = fs::read_to_string(pack.path())
        .expect("is in the tree")
        .replace("RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE", "RETURNS nix");
    let path = server.folder().join("broken.sql");
    fs::write(&path, broken).expect("the folder is ours");
    assert_ne!(server.file("postgres", &path).code, 0);
    assert_eq!(
        server
            .psql(
                "postgres",
                "SELECT count(*) FROM pg_namespace WHERE nspname = 'mintage';"
            )
            .ok(),
        "0\n"
    );
}

#[test]
fn an_ordinary_role_can_use_the_pack_whatever_its_search_path() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let out = server
        .psql(
            "postgres",
            "CREATE ROLE clerk; GRANT USAGE ON SCHEMA mintage TO clerk; CREATE SCHEMA evil AUTHORIZATION clerk;
             CREATE SEQUENCE evil.flakes; ALTER SEQUENCE evil.flakes OWNER TO clerk;
             SET ROLE clerk; SET search_path = '';
             SELECT mintage.uuid_v1_timestamp(mintage.form_uuid_v1('2022-02-22 19:22:22Z', 5, '9f:6b:de:ce:d8:46')),
                    mintage.uuid_v5(mintage.ns_dns(), 'www.example.com'), mintage.snowflake('twitter', 1, 'evil.flakes') > 0,
                    mintage.decode_id('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::text) -> 'readings' -> 0 ->> 'time';",
        )
        .ok();
    assert_eq!(
        out,
        "2022-02-22 19:22:22+00\t2ed6657d-e927-568b-95e1-2665a8aea6a2\tt\t2022-02-22T19:22:22.000Z\n"
    );
}

#[test]
fn settings_of_a_session_change_no_answer() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let question = "SELECT form_uuid_v1('2022-02-22 19:22:22.123457Z', 5, '9f:6b:de:ce:d8:46'), uuid_v1_timestamp('c232ab00-9414-11ec-b3c8-9f6bdeced846') = '2022-02-22 19:22:22Z',
                    form_uuid_v7_keyed('2022-02-22 19:22:22.123457Z', 'k'), uuid_v5(ns_url(), 'x'), decode_id('c232ab00-9414-11ec-b3c8-9f6bdeced846', '2026-01-01Z'),
                    decode_id('1541815603606036480', '2026-01-01Z'), snowflake_timestamp('twitter', 1541815603606036480) = '2022-06-28 16:07:40.105Z', uuid_to_base58(uuid_max());";
    let plain = server.lines(question);
    for setting in [
        "timezone = 'Asia/Kathmandu'",
        "datestyle = 'German, DMY'",
        "intervalstyle = 'iso_8601'",
        "bytea_output = 'escape'",
        "extra_float_digits = -15",
        "standard_conforming_strings = off",
        "backslash_quote = off",
        "lc_numeric = 'C'",
    ] {
        assert_eq!(
            server.lines(&format!("SET {setting};\n{question}")),
            plain,
            "{setting}"
        );
    }
}

#[test]
fn a_dump_restores_with_defaults_indexes_and_state() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines(
        "CREATE SEQUENCE public.orders_flakes;
         CREATE TABLE public.orders (
           id bigint PRIMARY KEY DEFAULT mintage.snowflake('twitter', 5, 'public.orders_flakes'),
           ref uuid NOT NULL UNIQUE DEFAULT mintage.uuid_v7(),
           event uuid NOT NULL DEFAULT mintage.uuid_v1(),
           made timestamptz GENERATED ALWAYS AS (mintage.snowflake_timestamp('twitter', id)) STORED,
           CHECK (mintage.uuid_version(event) = 1));
         CREATE INDEX orders_event ON public.orders (mintage.uuid_v1_timestamp(event));
         INSERT INTO public.orders SELECT FROM generate_series(1, 3000);",
    );
    let last = server.lines("SELECT max(id) FROM orders;");
    let dump = run::with_input(
        {
            let mut dump = server.client("pg_dump");
            dump.args(["-d", "postgres"]);
            dump
        },
        b"",
    )
    .ok();
    server.psql("postgres", "CREATE DATABASE copy;").ok();
    server.psql("copy", &dump).ok();
    let sum = "SELECT md5(string_agg(o::text, ',' ORDER BY id)) FROM public.orders AS o;";
    assert_eq!(server.psql("copy", sum).ok(), server.psql("postgres", sum).ok());
    let definitions = DEFINITIONS;
    assert_eq!(
        server.psql("copy", definitions).ok(),
        server.psql("postgres", definitions).ok()
    );
    let more = server.psql(
        "copy",
        "INSERT INTO public.orders SELECT FROM generate_series(1, 1000);
         SELECT count(*), count(DISTINCT ref), min(made) > now() - interval '1 hour' FROM public.orders;
         SELECT count(*) FROM public.orders WHERE id > (SELECT max(id) FROM (SELECT id FROM public.orders ORDER BY id LIMIT 3000) AS old);
         SET enable_seqscan = off; EXPLAIN SELECT * FROM public.orders WHERE mintage.uuid_v1_timestamp(event) > now();",
    );
    let more = more.ok();
    assert!(more.starts_with("4000\t4000\tt\n1000\n"), "{more} {last:?}");
    assert!(more.contains("orders_event"), "{more}");
}

#[test]
#[ignore = "minutes: every function over again"]
fn the_extension_installs_the_same_functions_as_the_script() {
    let Some((server, _tree)) = Postgres::with_extension() else {
        return;
    };
    for database in ["fresh", "plain"] {
        server
            .psql("postgres", &format!("CREATE DATABASE {database};"))
            .ok();
    }
    // A database owner who is no superuser may install it: it is trusted.
    server
        .psql(
            "postgres",
            "CREATE ROLE owner LOGIN; ALTER DATABASE fresh OWNER TO owner;",
        )
        .ok();
    server
        .psql("fresh", "SET ROLE owner; CREATE EXTENSION mintage;")
        .ok();
    server.file("plain", &Script::of("postgres").path()).ok();
    server
        .psql(
            "fresh",
            "CREATE TABLE log (id uuid); CREATE INDEX ON log (mintage.uuid_v1_timestamp(id));
             INSERT INTO log SELECT mintage.form_uuid_v1('2022-02-22Z', n, '9f:6b:de:ce:d8:46') FROM generate_series(0, 99) AS n;",
        )
        .ok();
    assert_eq!(
        server
            .psql(
                "fresh",
                "SELECT extversion, mintage.pack_version() FROM pg_extension WHERE extname = 'mintage';"
            )
            .ok(),
        format!("{0}\t{0}\n", pack::VERSION)
    );
    let fresh = server.psql("fresh", DEFINITIONS).ok();
    assert!(fresh.lines().count() > 100);
    assert_eq!(server.psql("plain", DEFINITIONS).ok(), fresh);
    // Every function belongs to the extension, and a dump holds only its name.
    let strangers = "SELECT count(*) FROM pg_proc p WHERE pronamespace = 'mintage'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e');";
    assert_eq!(server.psql("fresh", strangers).ok(), "0\n");
    let mut dump = server.client("pg_dump");
    dump.args(["-d", "fresh"]);
    let dump = run::with_input(dump, b"").ok();
    assert!(dump.contains("CREATE EXTENSION") && !dump.contains("CREATE FUNCTION"));
    server.psql("postgres", "CREATE DATABASE restored;").ok();
    server.psql("restored", &dump).ok();
    assert_eq!(
        server
            .psql(
                "restored",
                "SELECT count(*), count(DISTINCT mintage.uuid_v1_timestamp(id)) FROM public.log;"
            )
            .ok(),
        "100\t1\n"
    );
    server
        .psql("restored", "DROP TABLE log; DROP EXTENSION mintage;")
        .ok();
    assert_eq!(
        server
            .psql(
                "restored",
                "SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%mintage%';"
            )
            .ok(),
        "0\n"
    );
}

#[test]
#[ignore = "minutes: seconds of every microsecond"]
fn rows_of_one_microsecond_get_distinct_rising_ids_until_there_are_none() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    for (make, time, rows) in [
        (
            "form_uuid_v6(ts, 0, '9f:6b:de:ce:d8:46', n)",
            "uuid_timestamp(id)",
            163_840,
        ),
        (
            "uuid_v1_to_v6(form_uuid_v1(ts, 0, '9f:6b:de:ce:d8:46', n))",
            "uuid_timestamp(id)",
            163_840,
        ),
        (
            "form_uuid_v6_keyed(ts, 'orders', n)",
            "uuid_timestamp(id)",
            163_840,
        ),
        (
            "form_uuid_v6(ts, 16000, '9f:6b:de:ce:d8:46', n)",
            "uuid_timestamp(id)",
            147_840,
        ),
        ("form_uuid_v7(ts, n)", "uuid_v7_timestamp_submilli(id)", 262_144),
        (
            "form_uuid_v7_keyed(ts, 'orders', n)",
            "uuid_v7_timestamp_submilli(id)",
            262_144,
        ),
    ] {
        let from = "(SELECT '2022-02-22 19:22:22.654321Z'::timestamptz AS ts, n::bigint FROM generate_series(0, %) AS n) AS row".replace('%', &(rows - 1).to_string());
        let lines = server.lines(&format!(
            "SELECT count(*), count(DISTINCT id), bool_and(id > before IS NOT FALSE), bool_and({time} = ts)
             FROM (SELECT ts, id, lag(id) OVER (ORDER BY n) AS before FROM (SELECT ts, n, {make} AS id FROM {from}) AS made) AS checked;"
        ));
        assert_eq!(lines, [format!("{rows}\t{rows}\tt\tt")], "{make}");
        server.refuses(
            &format!("SELECT {make} FROM (SELECT '2022-02-22 19:22:22.654321Z'::timestamptz AS ts, {rows} AS n) AS row;"),
            "22003",
            "no id is left for row",
        );
    }
    // The last microsecond of all has six ticks.
    assert_eq!(
        server.lines("SELECT form_uuid_v1('5236-03-31 21:21:00.684697Z', 0, '9f:6b:de:ce:d8:46', 98303);"),
        ["ffffffff-ffff-1fff-bfff-9f6bdeced846"]
    );
}

#[test]
fn a_back_fill_can_be_repeated_and_gives_the_same_ids() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let lines = server.lines(
        "CREATE TABLE event (pk serial, source text, ts timestamptz, a uuid, b uuid, c uuid, d uuid);
         INSERT INTO event (source, ts) SELECT 'host' || n % 7, '2022-02-22Z'::timestamptz + (n / 500) * interval '1 microsecond' FROM generate_series(0, 9999) AS n;
         UPDATE event SET a = form_uuid_v1_keyed(ts, source || '/' || pk), b = form_uuid_v7_keyed(ts, source || '/' || pk);
         UPDATE event SET c = form_uuid_v6_keyed(e.ts, e.source, e.n), d = form_uuid_v7_keyed(e.ts, 'event', e.m)
           FROM (SELECT pk, ts, source, row_number() OVER (PARTITION BY source, ts ORDER BY pk) - 1 AS n, row_number() OVER (PARTITION BY ts ORDER BY pk) - 1 AS m FROM event) AS e
           WHERE e.pk = event.pk;
         SELECT count(DISTINCT a), count(DISTINCT b), count(DISTINCT c), count(DISTINCT d) FROM event;
         SELECT count(*) FROM event WHERE a <> form_uuid_v1_keyed(ts, source || '/' || pk) OR b <> form_uuid_v7_keyed(ts, source || '/' || pk);
         SELECT count(*) FROM event WHERE uuid_v1_timestamp(a) <> ts OR uuid_v6_timestamp(c) <> ts OR uuid_v7_timestamp_submilli(b) <> ts OR uuid_v7_timestamp_submilli(d) <> ts;
         SELECT bool_and(d > before IS NOT FALSE) FROM (SELECT d, lag(d) OVER (ORDER BY ts, pk) AS before FROM event) AS o;",
    );
    assert_eq!(lines, ["10000\t10000\t10000\t10000", "0", "0", "t"]);
    // The key's hash is SHA-256, so another tool can make the same ids.
    assert_eq!(
        server.lines("SELECT form_uuid_v1_keyed('2022-02-22 19:22:22Z', 'orders/17'), form_uuid_v7_keyed('2022-02-22 19:22:22Z', 'orders/17');"),
        [keyed(138_648_505_420_000_000, 1_645_557_742_000, "orders/17")]
    );
}

/// What the pack promises of its keyed forms, written down once more with nothing of it but SHA-256.
fn keyed(ticks: u64, unix_ms: u64, key: &str) -> String {
    let digest = sha256_first_8(key);
    let v1 = (ticks as u32 as u64) << 32 | (ticks >> 32 & 0xffff) << 16 | 1 << 12 | ticks >> 48;
    let low = digest & ((1 << 62) - 1) | 1 << 63;
    let v1 = Uuid::from_u64_pair(v1, low | 1 << 40);
    let v7 = Uuid::from_u64_pair(unix_ms << 16 | 7 << 12, low);
    format!("{v1}\t{v7}")
}

fn sha256_first_8(text: &str) -> u64 {
    let mut sum = std::process::Command::new("sha256sum");
    sum.stdin(Stdio::piped());
    let hex = run::with_input(sum, text.as_bytes()).ok();
    u64::from_str_radix(&hex[..16], 16).expect("sha256sum prints hexadecimal")
}

#[test]
fn sessions_that_back_fill_at_once_never_make_the_same_id() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines(
        "CREATE TABLE event AS SELECT n AS pk, n % 4 AS part, '2022-02-22Z'::timestamptz + (n / 1000) * interval '1 microsecond' AS ts,
           NULL::uuid AS v1, NULL::uuid AS v7, NULL::bigint AS flake FROM generate_series(0, 19999) AS n;
         CREATE SEQUENCE flakes;",
    );
    std::thread::scope(|scope| {
        for part in 0..4 {
            let server = &server;
            scope.spawn(move || {
                // A node for each session keeps version 1 apart; version 7 and Snowflakes need no such care.
                server.lines(&format!(
                    "UPDATE event SET v1 = form_uuid_v1(e.ts, 0, '03:00:00:00:00:0{part}', e.n), v7 = form_uuid_v7(e.ts, e.n), flake = snowflake('twitter', 9, 'flakes')
                     FROM (SELECT pk, ts, row_number() OVER (PARTITION BY ts ORDER BY pk) - 1 AS n FROM event WHERE part = {part}) AS e
                     WHERE event.pk = e.pk AND part = {part};"
                ))
            });
        }
    });
    assert_eq!(
        server.lines("SELECT count(DISTINCT v1), count(DISTINCT v7), count(DISTINCT flake) FROM event;"),
        ["20000\t20000\t20000"]
    );
}

#[test]
fn snowflakes_of_many_sessions_differ_and_rise_in_each() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines("CREATE SEQUENCE flakes; CREATE SEQUENCE cached CACHE 20; CREATE TABLE made (session int, n serial, sequence text, id bigint);");
    std::thread::scope(|scope| {
        for session in 0..4 {
            let server = &server;
            scope.spawn(move || {
                server.lines(&format!(
                    "INSERT INTO made (session, sequence, id) SELECT {session}, 'flakes', snowflake('twitter', 7, 'flakes') FROM generate_series(1, 5000);
                     INSERT INTO made (session, sequence, id) SELECT {session}, 'flakes', id FROM snowflakes('twitter', 7, 'flakes', 20000) AS id;
                     INSERT INTO made (session, sequence, id) SELECT {session}, 'flakes', snowflake('twitter', 7, 'flakes') FROM generate_series(1, 2000);
                     INSERT INTO made (session, sequence, id) SELECT {session}, 'cached', snowflake('twitter', 8, 'cached') FROM generate_series(1, 3000);"
                ))
            });
        }
    });
    let lines = server.lines(
        "SELECT count(*), count(DISTINCT id), bool_and(snowflake_timestamp('twitter', id) BETWEEN now() - interval '1 hour' AND now() + interval '5 s') FROM made;
         SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY n) AS before FROM made WHERE sequence = 'flakes') AS o WHERE before IS NOT NULL;",
    );
    let (counts, is_of_now) = lines[0].rsplit_once('\t').unwrap();
    invariant!(counts == "120000\t120000" && lines[1] == "t", "{lines:?}");
    assert_eq!(is_of_now, "t");
}

#[test]
fn an_id_that_no_table_has_does_not_come_again_after_a_crash() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines("CREATE SEQUENCE flakes");
    let psql = server.client("psql");
    let client = std::iter::once(psql.get_program()).chain(psql.get_args());
    let client: Vec<String> = client.map(|word| word.to_string_lossy().into_owned()).collect();
    // Some seconds ahead of the clock: what comes after the crash begins before that.
    let many = "mintage.snowflakes('sonyflake', 1, 'flakes', 60000)";
    let one = "SELECT mintage.snowflake('sonyflake', 1, 'flakes')";
    let script = format!(
        "BEGIN; SELECT count(*) FROM {many}; {one};\n\\! {} -d postgres -qAt -c \"{one}\"\nCOPY (SELECT 1) TO PROGRAM 'kill -9 $PPID';\n",
        client.join(" ")
    );
    let said = server.psql("postgres", &script);
    let id = said
        .out
        .lines()
        .last()
        .expect("the other client's id")
        .to_string();
    assert!(said.code != 0 && id.parse::<i64>().is_ok(), "{said:?}");
    while server.psql("postgres", "SELECT 1").code != 0 {}
    let again = server.lines(&format!("SELECT count(*) FROM {many} AS id WHERE id = {id}"));
    invariant!(again == ["0"], "{id} came again");
}

#[test]
fn every_preset_mints_and_begins_its_ticks_where_the_library_does() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    for preset in PRESETS {
        let (name, layout) = (preset.name, preset.layout());
        let ended = layout.time_of(layout.ticks_max()) < SystemClock.now();
        let sequence = format!("{}_ids", name.replace('-', "_"));
        server.lines(&format!("CREATE SEQUENCE {sequence};"));
        if ended {
            server.refuses(
                &format!("SELECT snowflake('{name}', 0, '{sequence}')"),
                "22008",
                "does not fit",
            );
            continue;
        }
        let lines = server.lines(&format!(
            "CREATE TABLE made_{sequence} (n serial, id bigint);
             INSERT INTO made_{sequence} (id) SELECT snowflake('{name}', 0, '{sequence}') FROM generate_series(1, 300);
             INSERT INTO made_{sequence} (id) SELECT snowflakes('{name}', 0, '{sequence}', 100);
             SELECT count(*), count(DISTINCT id), min(snowflake_sequence('{name}', id)),
                    bool_and(abs(extract(epoch FROM snowflake_timestamp('{name}', id) - clock_timestamp())) < 60) FROM made_{sequence};
             SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM made_{sequence}) AS o WHERE before >= id;"
        ));
        let fields: Vec<&str> = lines[0].split('\t').collect();
        invariant!(
            (fields[0], fields[1], lines[1].as_str()) == ("400", "400", "0"),
            "{name}: {lines:?}"
        );
        assert_eq!(fields[3], "t", "{name}");
        if let SequenceStart::At(first) = layout.sequence_start() {
            assert!(fields[2].parse::<u64>().expect("a number") >= first, "{name}");
        }
    }
    let lines = server.lines(
        "SELECT instagram_id(5, 'instagram_ids') > (SELECT max(id) FROM made_instagram_ids), snowflake_worker('instagram', instagram_id(5, 'instagram_ids'));",
    );
    assert_eq!(lines, ["t\t5"]);
}

#[test]
fn a_sequence_remembers_through_rollbacks_errors_and_a_clock_behind_it() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines("CREATE SEQUENCE flakes; CREATE SEQUENCE down INCREMENT -1; CREATE SEQUENCE round CYCLE; CREATE SEQUENCE short MAXVALUE 99;");
    // What a rolled-back transaction was given is never given again.
    let lines = server.lines(
        "BEGIN; SELECT snowflake('twitter', 1, 'flakes') FROM generate_series(1, 100); ROLLBACK;
         SELECT snowflake('twitter', 1, 'flakes') FROM generate_series(1, 100);",
    );
    rising("ids", &lines);
    assert_eq!(lines.len(), 200);
    // A clock that lies behind the sequence is not followed: ids go on rising, at most 5 s ahead.
    let tick = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1288834974657";
    let lines = server.lines(&format!(
        "SELECT setval('flakes', ({tick} + 3000) << 12) IS NULL;
         SELECT snowflake('twitter', 1, 'flakes') - (((currval('flakes') >> 12) << 22) | 4096 | (currval('flakes') & 4095)) FROM generate_series(1, 5);"
    ));
    assert_eq!(lines, ["f", "0", "0", "0", "0", "0"]);
    server.refuses(
        &format!(
            "SELECT setval('flakes', ({tick} + 60000) << 12); SELECT snowflake('twitter', 1, 'flakes');"
        ),
        "55000",
        "is more than 5 s ahead of the clock",
    );
    for sequence in ["down", "round", "short"] {
        server.refuses(
            &format!("SELECT snowflake('twitter', 1, '{sequence}')"),
            "55000",
            "cannot serve snowflakes",
        );
    }
    server.refuses(
        "SELECT snowflake('twitter', 1024, 'flakes')",
        "22003",
        "worker 1024",
    );
    server.refuses(
        "SELECT snowflakes('twitter', 1, 'flakes', -1)",
        "22003",
        "cannot make -1 ids at once",
    );
    server.refuses(
        "SELECT snowflakes('twitter', 1, 'flakes', 20480001)",
        "22003",
        "0 to 20480000",
    );
    server.refuses("SELECT snowflake('twitter', 1, 'nix')", "42P01", "does not exist");
    // After each error the lock is free again, for the session that erred and for others.
    let said = server.psql(
        "postgres",
        "SET search_path = public, mintage;
         \\set ON_ERROR_STOP off
         SELECT snowflake('twitter', 1, 'down');
         SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';",
    );
    assert_eq!(said.out, "0\n", "{said:?}");
}

#[test]
fn a_cancelled_session_gives_the_sequences_lock_back() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    server.lines("CREATE SEQUENCE flakes;");
    // The limit ends with each transaction: nothing else is under it.
    let cancelled = "BEGIN; SET LOCAL statement_timeout = '50ms';
         SELECT count(snowflake('twitter', 1, 'flakes')) FROM generate_series(1, 100000000);
         ROLLBACK;\n"
        .repeat(3);
    let said = server.psql(
        "postgres",
        &format!(
            "SET search_path = public, mintage;
         \\set ON_ERROR_STOP off
         {cancelled}
         SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
         SELECT snowflake('twitter', 1, 'flakes') > 0;"
        ),
    );
    assert_eq!(said.out, "0\nt\n", "{said:?}");
    assert_eq!(said.err.matches("57014").count(), 3, "{said:?}");
}
