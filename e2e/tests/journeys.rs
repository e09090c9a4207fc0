//! Journeys: sequences of ordinary commands, as operators and developers type them, over every store that each applies
//! to. What comes of a journey is that no id is given out twice, that numbers rise on one server, and that every step
//! says and does what the pages promise. A journey is a row; `journey` has the verbs.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use mintage_e2e::engine::{
    etcd::Etcd, mariadb::Mariadb, postgres::Postgres, redis::Redis, zookeeper::ZooKeeper,
};
use mintage_e2e::journey::{Ground, Journey, Of, On, Step, Walk, replace};
use mintage_e2e::need::say;
use mintage_e2e::proxy::Proxy;
use mintage_e2e::store_suite::Engine;
use tempfile::TempDir;

use Of::{Any, Range, Rising, Runs, Sequence};
use Step::*;

const ORDERS: Of = Sequence("orders");
const INCR: &[&str] = &["INCR", "orders"];
const BILL: &[&str] = &["INCR", "bills"];
const SNOWFLAKE: &[&str] = &["MINT.SNOWFLAKE", "default"];
const SMALL: &[&str] = &["MINT.SNOWFLAKE", "small"];
const UUID1: &[&str] = &["MINT.ID", "uuid1", "COUNT", "3"];
const GAP_FREE: Step = Run("a", "mint seq create bills --gap none");

/// Takes numbers and ids of names of every kind on all faces, and checks that each goes on above its last.
const NAMES: Step = Run(
    "a",
    concat!("python3 ", env!("CARGO_MANIFEST_DIR"), "/clients/names.py"),
);

const NAMES_OF_SEQUENCES: Step = Run(
    "a",
    concat!(
        "python3 ",
        env!("CARGO_MANIFEST_DIR"),
        "/clients/names.py sequences"
    ),
);

/// A pool of a layout of its own.
const OWN_POOL: Step = Run(
    "a",
    "mint pool create small --layout time=41,worker=6,sequence=12,epoch=2020-01-01",
);

/// Every journey.
const JOURNEYS: &[Journey] = &[
    Journey {
        name: "the first minutes",
        on: On::All,
        steps: &[
            Serve("a", ""),
            Ids("a", ORDERS, "redis-cli -p $RESP INCR orders"),
            Ids(
                "a",
                ORDERS,
                "curl -s -X POST -H 'accept: text/plain' $HTTP/v1/sequences/orders/next",
            ),
            Ids("a", ORDERS, "mint seq next orders -n 3"),
            Ids("a", Rising("default"), "mint snowflake -n 5 --pool default"),
            Ids("a", Any("uuid"), "mint uuid -n 5"),
            Stop("a"),
            Serve("a", ""),
            Ids("a", ORDERS, "redis-cli -p $RESP INCR orders"),
            Ids(
                "a",
                ORDERS,
                "curl -s -X POST -H 'accept: text/plain' $HTTP/v1/sequences/orders/next?count=20",
            ),
            Ids(
                "a",
                Rising("default"),
                "redis-cli -p $RESP MINT.SNOWFLAKE default COUNT 20",
            ),
            Ids("a", Any("uuid"), "redis-cli -p $RESP MINT.ID uuid7 COUNT 20"),
        ],
    },
    Journey {
        name: "names of any text on every face",
        on: On::All,
        steps: &[
            Serve("a", ""),
            NAMES,
            Stop("a"),
            Serve("a", ""),
            NAMES,
            Kill("a"),
            Serve("a", ""),
            NAMES,
        ],
    },
    Journey {
        name: "names of any text are backed up and restored",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            NAMES,
            Run("a", "mint store backup running.jsonl --server $MINT_SERVER"),
            Stop("a"),
            Run("a", "mint store check && mint store backup ids.jsonl"),
            Run(
                "a",
                "mv mint lost && mint store restore ids.jsonl --max-rate 1000 && mint store check",
            ),
            Serve("a", ""),
            NAMES_OF_SEQUENCES,
            Kill("a"),
            Run(
                "a",
                "mv mint lost-again && mint store restore running.jsonl --max-rate 1000",
            ),
            Serve("a", ""),
            NAMES_OF_SEQUENCES,
        ],
    },
    Journey {
        name: "single numbers, whole runs and ranges by turns",
        on: On::Single,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 1),
            Take("a", Runs("orders", 3000), &["INCRBY", "orders", "3000"], 1),
            Take("a", ORDERS, INCR, 2),
            Ids("a", Range("orders"), "mint seq next orders -n 200 --range"),
            Take("a", ORDERS, INCR, 2),
            Take("a", ORDERS, &["MINT.NEXT", "orders", "COUNT", "7"], 2),
            Take("a", Runs("orders", 5), &["INCRBY", "orders", "5"], 3),
            Take("a", ORDERS, INCR, 50),
            Take("a", Runs("orders", 900), &["INCRBY", "orders", "900"], 1),
            Take("a", ORDERS, INCR, 20),
        ],
    },
    Journey {
        name: "stopped, killed and started again",
        on: On::All,
        steps: &[
            Serve("a", ""),
            GAP_FREE,
            Take("a", ORDERS, INCR, 50),
            Take("a", Sequence("bills"), BILL, 5),
            Take("a", Rising("default"), SNOWFLAKE, 5),
            Take("a", Any("uuid1"), UUID1, 5),
            Kill("a"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 50),
            Take("a", Sequence("bills"), BILL, 5),
            Take("a", Rising("default"), SNOWFLAKE, 5),
            Take("a", Any("uuid1"), UUID1, 5),
            Stop("a"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 50),
            Take("a", Sequence("bills"), BILL, 5),
            Take("a", Rising("default"), SNOWFLAKE, 5),
            Take("a", Any("uuid1"), UUID1, 5),
        ],
    },
    Journey {
        name: "the backup of a stopped folder is copied back over it",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 20),
            Stop("a"),
            Run("a", "cp -a mint backup"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
            Stop("a"),
            Run("a", "cp -a backup/. mint/"),
            Refused("a", "mint store restore"),
            Follow("a", "100000"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 100),
        ],
    },
    Journey {
        name: "the backup of a stopped folder is unpacked over one that was killed",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 20),
            Stop("a"),
            Run("a", "tar -C mint -cf backup.tar ."),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
            Kill("a"),
            Run("a", "tar -C mint --overwrite -xf backup.tar"),
            Refused("a", "mint store restore"),
            Follow("a", "100000"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 100),
        ],
    },
    Journey {
        name: "the store is set back while no server runs",
        on: On::Shared,
        steps: &[
            Serve("a", ""),
            GAP_FREE,
            Take("a", ORDERS, INCR, 50),
            Take("a", Sequence("bills"), BILL, 5),
            Stop("a"),
            Save,
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
            Take("a", Sequence("bills"), BILL, 20),
            Stop("a"),
            PutBack,
            Refused("a", "mint store restore"),
            Follow("a", "1000000"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
            Take("a", Sequence("bills"), BILL, 20),
        ],
    },
    Journey {
        name: "the store is set back after its server was killed",
        on: On::Shared,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 50),
            Kill("a"),
            Save,
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
            Kill("a"),
            PutBack,
            Refused("a", "mint store restore"),
            Follow("a", "1000000"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
        ],
    },
    Journey {
        name: "a server that stopped for good is started again by its supervisor",
        on: On::Shared,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 50),
            Save,
            Take("a", ORDERS, INCR, 300),
            PutBack,
            TakeUntilRefused("a", ORDERS, INCR, "for good"),
            Kill("a"),
            Refused("a", "mint store restore"),
            // And once more.
            Refused("a", "mint store restore"),
            Follow("a", "1000000"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
        ],
    },
    Journey {
        name: "another machine starts while the first one knows that the store was set back",
        on: On::Shared,
        steps: &[
            Serve("a", ""),
            Serve("b", ""),
            Take("a", ORDERS, INCR, 20),
            Take("b", ORDERS, INCR, 20),
            Stop("b"),
            Save,
            Take("a", ORDERS, INCR, 200),
            Serve("b", ""),
            Take("b", ORDERS, INCR, 100),
            Stop("b"),
            PutBack,
            Refused("b", "mint store restore"),
            TakeUntilRefused("a", ORDERS, INCR, "for good"),
            Stop("a"),
            Follow("b", "1000000"),
            Serve("b", ""),
            Take("b", ORDERS, INCR, 200),
        ],
    },
    Journey {
        name: "two machines, one killed and back, one stopped and back",
        on: On::Several,
        steps: &[
            Serve("a", ""),
            Serve("b", ""),
            GAP_FREE,
            Take("a", ORDERS, INCR, 30),
            Take("b", ORDERS, INCR, 30),
            Take("a", Sequence("bills"), BILL, 5),
            Take("b", Sequence("bills"), BILL, 5),
            Take("a", Rising("default"), SNOWFLAKE, 5),
            Take("b", Rising("default"), SNOWFLAKE, 5),
            Kill("a"),
            Take("b", ORDERS, INCR, 30),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 30),
            Take("a", Any("uuid1"), UUID1, 5),
            Take("b", Any("uuid1"), UUID1, 5),
            Stop("b"),
            Serve("b", ""),
            Take("b", ORDERS, INCR, 30),
            Take("a", Rising("default"), SNOWFLAKE, 5),
            Take("b", Rising("default"), SNOWFLAKE, 5),
        ],
    },
    Journey {
        name: "a sequence is moved, altered, dropped and made anew",
        on: On::Single,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 10),
            Run("a", "redis-cli -p $RESP SET orders 1000"),
            Take("a", ORDERS, INCR, 5),
            Run("a", "mint seq alter orders --increment 5"),
            Take("a", ORDERS, INCR, 5),
            Run("a", "mint seq drop orders"),
            Take("a", ORDERS, INCR, 5),
            Fails("a", "mint seq set orders 1", "allow_repeat"),
            Run("a", "mint seq set orders 5000"),
            Take("a", ORDERS, INCR, 5),
            Run("a", "redis-cli -p $RESP DEL orders"),
            Kill("a"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 5),
        ],
    },
    Journey {
        name: "redefined while nothing was taken",
        on: On::Single,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 10),
            Run("a", "mint seq drop orders && mint seq create orders"),
            Run("a", "mint seq alter orders --start 1"),
            Take("a", ORDERS, INCR, 3),
            Run("a", "mint seq set orders 500 && mint seq alter orders --start 1"),
            Take("a", ORDERS, INCR, 3),
            Run("a", "mint seq drop orders && mint seq create orders"),
            Fails("a", "mint seq alter orders --increment=-1", "allow_repeat"),
            Kill("a"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 3),
            // Ten numbers, and five of them again, as it is defined; no number of them comes in another life.
            Run("a", "mint seq create round --max 10 --cycle"),
            Take("a", Sequence("round"), &["INCR", "round"], 10),
            Run("a", "mint seq next round -n 5"),
            Run("a", "mint seq drop round && mint seq create round"),
            Take("a", Sequence("round"), &["INCR", "round"], 3),
        ],
    },
    Journey {
        name: "no run out of a set",
        on: On::Sets,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 5),
            Fails("a", "redis-cli -e -p $RESP INCRBY orders 3", "its own share"),
            Take("a", ORDERS, INCR, 5),
        ],
    },
    Journey {
        name: "a folder whose volume is not mounted",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 10),
            Stop("a"),
            Run("a", "mv mint on-its-volume && mkdir -m 700 mint"),
            Refused("a", "this machine remembers one of"),
            Fails(
                "a",
                "mint seq next orders --store file:./mint",
                "this machine remembers one of",
            ),
            Run("a", "rmdir mint"),
            Refused("a", "--new"),
            Absent("a", "mint"),
            Run("a", "mv on-its-volume mint"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 10),
            Stop("a"),
            // On purpose, with a name that was not used before.
            Run("a", "rm -r mint"),
            Serve("a", "--new"),
            Take("a", Sequence("bills"), BILL, 3),
            Kill("a"),
            Serve("a", ""),
            Take("a", Sequence("bills"), BILL, 3),
        ],
    },
    Journey {
        name: "a folder is lost and restored from its backup file",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            OWN_POOL,
            Take("a", ORDERS, INCR, 30),
            Take("a", Any("uuid1"), UUID1, 3),
            Take("a", Rising("small"), SMALL, 3),
            Stop("a"),
            Run("a", "mint store backup ids.jsonl"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 300),
            Take("a", Sequence("made-later"), &["INCR", "made-later"], 20),
            Kill("a"),
            Run("a", "mv mint lost"),
            Run("a", "mint store restore ids.jsonl --max-rate 1000"),
            Run("a", "mint store check"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 50),
            Take("a", Sequence("made-later"), &["INCR", "made-later"], 20),
            Take("a", Any("uuid1"), UUID1, 3),
        ],
    },
    Journey {
        name: "marks are raised in place where every kind of pool is in use",
        on: On::Single,
        steps: &[
            Serve("a", ""),
            OWN_POOL,
            Take("a", ORDERS, INCR, 30),
            Take("a", Any("uuid1"), UUID1, 3),
            Take("a", Rising("small"), SMALL, 3),
            Take("a", Rising("default"), SNOWFLAKE, 3),
            Stop("a"),
            Run("a", "mint store restore --advance 1000"),
            Run("a", "mint store check"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 30),
            Take("a", Any("uuid1"), UUID1, 3),
            Take("a", Rising("small"), SMALL, 3),
            Take("a", Rising("default"), SNOWFLAKE, 3),
        ],
    },
    Journey {
        name: "a copied folder is adopted as the refusal says",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 30),
            Stop("a"),
            Run("a", "cp -a mint copy && rm -r mint && mv copy mint"),
            Refused("a", "mint store adopt"),
            Follow("a", "1000"),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 30),
        ],
    },
    Journey {
        name: "a folder that is not there is not backed up, moved or listed",
        on: On::Folder,
        steps: &[
            Fails("a", "mint store backup ids.jsonl --store file:typo", "typo"),
            Absent("a", "typo"),
            Fails("a", "mint store migrate --store file:typo --to file:new", "typo"),
            Absent("a", "typo"),
            Absent("a", "new"),
            Fails("a", "mint seq list --store file:typo", "typo"),
            Absent("a", "typo"),
        ],
    },
    Journey {
        name: "moved to a folder",
        on: On::Single,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 30),
            Take("a", Any("uuid1"), UUID1, 3),
            Take("a", Rising("default"), SNOWFLAKE, 3),
            Stop("a"),
            Run("a", "mint store migrate --to file:./moved"),
            Refused("a", "sealed"),
            Serve("a", "--store file:./moved"),
            Take("a", ORDERS, INCR, 30),
            Take("a", Any("uuid1"), UUID1, 3),
            Take("a", Rising("default"), SNOWFLAKE, 3),
        ],
    },
    Journey {
        name: "a clock is three hours ahead for a moment",
        on: On::These(&["folder", "redis", "etcd"]),
        steps: &[
            // All that is done in that moment may take longer than the usual minute.
            Run("a", r#"printf '[clock]\nconfirm = "1h"\n' >> mint.toml"#),
            Serve("a", ""),
            RightTime("a", "uuid7", 15),
            RightTime("a", "ksuid", 15),
            Take("a", Rising("default"), SNOWFLAKE, 1),
            Clock("a", "+3h"),
            RightTime("a", "uuid7", 15),
            RightTime("a", "ulid", 15),
            RightTime("a", "typeid", 15),
            RightTime("a", "pushid", 15),
            RightTime("a", "timeflake", 15),
            RightTime("a", "ksuid", 15),
            RightTime("a", "xid", 15),
            RightTime("a", "objectid", 15),
            RightTime("a", "tsid", 15),
            RightTime("a", "tid", 15),
            RightTime("a", "scru128", 15),
            RightTime("a", "flake", 15),
            Clock("a", "+0"),
            RightTime("a", "uuid7", 15),
            RightTime("a", "ulid", 15),
            RightTime("a", "typeid", 15),
            RightTime("a", "pushid", 15),
            RightTime("a", "timeflake", 15),
            RightTime("a", "ksuid", 15),
            RightTime("a", "xid", 15),
            RightTime("a", "objectid", 15),
            RightTime("a", "tsid", 15),
            RightTime("a", "tid", 15),
            RightTime("a", "scru128", 15),
            RightTime("a", "flake", 15),
            RightTime("a", "uuid1", 15),
            RightTime("a", "uuid6", 15),
            RightTime("a", "snowflake", 15),
            Take("a", ORDERS, INCR, 5),
        ],
    },
    Journey {
        name: "a machine boots two hours ahead and is set right",
        on: On::These(&["folder", "etcd", "zookeeper"]),
        steps: &[
            Run("a", r#"printf '[clock]\nconfirm = "1s"\n' >> mint.toml"#),
            Clock("a", "+2h"),
            Serve("a", ""),
            Take("a", Rising("default"), SNOWFLAKE, 3),
            Take("a", Any("uuid1"), UUID1, 3),
            Take("a", ORDERS, INCR, 5),
            Clock("a", "+0"),
            RightTimeSoon("a", "snowflake", 15),
            RightTimeSoon("a", "uuid1", 15),
            Stop("a"),
            Serve("a", ""),
            RightTimeSoon("a", "snowflake", 15),
            RightTimeSoon("a", "uuid1", 15),
            Take("a", ORDERS, INCR, 5),
        ],
    },
    Journey {
        name: "a machine boots two hours ahead, dies and boots with the right time",
        on: On::These(&["folder", "etcd", "zookeeper"]),
        steps: &[
            Run("a", r#"printf '[clock]\nconfirm = "1s"\n' >> mint.toml"#),
            Clock("a", "+2h"),
            Serve("a", ""),
            Take("a", Rising("default"), SNOWFLAKE, 3),
            Take("a", Any("uuid1"), UUID1, 3),
            Kill("a"),
            Clock("a", "+0"),
            Serve("a", ""),
            RightTimeSoon("a", "snowflake", 15),
            RightTimeSoon("a", "uuid1", 15),
            Take("a", ORDERS, INCR, 5),
        ],
    },
    Journey {
        name: "one store of a set dies after first uses, then the other",
        on: On::Sets,
        steps: &[
            Serve("a", ""),
            Serve("b", ""),
            Take("a", Sequence("first"), &["INCR", "first"], 3),
            Down(0),
            Take("a", Sequence("first"), &["INCR", "first"], 30),
            Take("b", Sequence("first"), &["INCR", "first"], 30),
            Take("b", Sequence("second"), &["INCR", "second"], 3),
            Up(0),
            Take("a", Sequence("third"), &["INCR", "third"], 3),
            Down(1),
            Take("a", Sequence("first"), &["INCR", "first"], 30),
            Take("a", Sequence("second"), &["INCR", "second"], 30),
            Take("a", Sequence("third"), &["INCR", "third"], 30),
            Take("b", Sequence("second"), &["INCR", "second"], 30),
            Take("a", Rising("default"), SNOWFLAKE, 5),
            Up(1),
            Take("a", Sequence("third"), &["INCR", "third"], 3),
        ],
    },
    Journey {
        name: "a store answers late",
        on: On::Shared,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 5),
            Slow(500),
            Take("a", Sequence("late-1"), &["INCR", "late-1"], 3),
            Serve("b", ""),
            Take("b", ORDERS, INCR, 20),
            Take("b", Sequence("late-2"), &["INCR", "late-2"], 3),
            Take("a", ORDERS, INCR, 50),
            Slow(0),
            Take("a", ORDERS, INCR, 5),
        ],
    },
    Journey {
        name: "commands without a server, many at once",
        on: On::Folder,
        steps: &[
            Ids(
                "a",
                Any("snowflake"),
                "for n in 1 2 3 4; do mint snowflake -n 50 & done; wait",
            ),
            Ids(
                "a",
                Any("uuid1"),
                "for n in 1 2 3; do mint uuid v1 --state s -n 50 & done; wait",
            ),
            Ids(
                "a",
                Any("uuid6"),
                "for n in 1 2 3; do mint uuid v6 --state s -n 50 & done; wait",
            ),
            Ids(
                "a",
                Any("uuid7"),
                "for n in 1 2 3; do mint uuid v7 --state s -n 50 & done; wait",
            ),
            Ids("a", ORDERS, "mint seq next orders -n 5 --store file:./mint"),
            Ids(
                "a",
                Any("pool"),
                "mint snowflake -n 5 --pool default --store file:./mint",
            ),
            Serve("a", ""),
            Take("a", ORDERS, INCR, 5),
            Take("a", Any("pool"), SNOWFLAKE, 5),
            Stop("a"),
            Ids("a", ORDERS, "mint seq next orders -n 5 --store file:./mint"),
            Ids(
                "a",
                Any("snowflake"),
                "for n in 1 2 3 4; do mint snowflake -n 50 & done; wait",
            ),
        ],
    },
    Journey {
        name: "a pool of a layout of its own, stopped and killed",
        on: On::Single,
        steps: &[
            Serve("a", ""),
            OWN_POOL,
            Take("a", Rising("small"), SMALL, 20),
            Stop("a"),
            Serve("a", ""),
            Ids("a", Rising("small"), "mint snowflake -n 20 --pool small"),
            Kill("a"),
            Serve("a", ""),
            Take("a", Rising("small"), SMALL, 20),
            Ids(
                "a",
                Rising("small"),
                "curl -s -X POST -H 'accept: text/plain' $HTTP/v1/snowflakes/small?count=5",
            ),
        ],
    },
    Journey {
        name: "the witness and the log are removed after a crash",
        on: On::Folder,
        steps: &[
            Serve("a", ""),
            Take("a", ORDERS, INCR, 100),
            Kill("a"),
            Run("a", "rm -f mint/witness* mint/*-wal"),
            Refused("a", "mint store"),
            Run(
                "a",
                "! mint store repair && ! mint store restore --advance 100000",
            ),
            Refused("a", "mint store"),
        ],
    },
    Journey {
        name: "two servers are started at once on one pair of ports",
        on: On::Folder,
        steps: &[Race("a", 12)],
    },
];

/// Those that wait for the minute that ids with a time stay away after a store was set forward.
const WAITING: &[&str] = &[
    "a folder is lost and restored from its backup file",
    "marks are raised in place where every kind of pool is in use",
];

/// Walks every journey of a store, and tells all that ended badly.
#[track_caller]
fn walk_all(ground: &mut dyn Ground) {
    walk(ground, |_| true);
}

/// Walks those journeys of a store that are asked for by name.
#[track_caller]
fn walk(ground: &mut dyn Ground, is_asked_for: fn(&str) -> bool) {
    let wanted = std::env::var("MINT_TEST_JOURNEYS").unwrap_or_default();
    let (mut walked, mut ids, mut failures) = (0, 0, Vec::new());
    for (number, journey) in JOURNEYS.iter().enumerate() {
        let store = ground.name();
        if !journey.on.has(store) || !journey.name.contains(&wanted) || !is_asked_for(journey.name) {
            continue;
        }
        let walk = AssertUnwindSafe(|| Walk::through(journey, number, ground));
        let came = catch_unwind(walk).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(format!("panicked: {}", text.unwrap_or_default()))
        });
        match came {
            Ok(None) => return,
            Ok(Some(count)) => {
                walked += 1;
                ids += count;
            }
            Err(why) => {
                let why = format!("{store}, {:?}: {why}", journey.name);
                // At once: a later one may take long.
                say(&why);
                failures.push(why);
            }
        }
    }
    say(&format!(
        "journeys: {} | {walked} walked | {ids} ids",
        ground.name()
    ));
    assert!(failures.is_empty(), "failed: {}", failures.join("\n"));
}

struct Folder;

impl Ground for Folder {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn urls(&mut self, _: usize) -> Vec<String> {
        Vec::new()
    }
}

/// One server for all journeys, each in a place of its own.
struct Shared<E> {
    name: &'static str,
    engine: E,
    proxy: Proxy,
    /// Makes a place for a journey, and answers its URL at this address.
    place: fn(&E, &str, SocketAddr) -> String,
    data: fn(&E) -> PathBuf,
    saved: Option<TempDir>,
}

impl<E: Engine> Shared<E> {
    fn new(
        name: &'static str,
        engine: E,
        place: fn(&E, &str, SocketAddr) -> String,
        data: fn(&E) -> PathBuf,
    ) -> Shared<E> {
        Shared {
            name,
            proxy: Proxy::to(engine.address()),
            engine,
            place,
            data,
            saved: None,
        }
    }
}

impl<E: Engine> Ground for Shared<E> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn urls(&mut self, journey: usize) -> Vec<String> {
        self.proxy.set(mintage_e2e::proxy::Fault::Pass);
        vec![(self.place)(
            &self.engine,
            &format!("j{journey}"),
            self.proxy.address(),
        )]
    }

    fn save(&mut self) {
        self.engine.stop();
        let saved = tempfile::tempdir().expect("a temporary folder can be made");
        replace(&(self.data)(&self.engine), &saved.path().join("data"));
        self.saved = Some(saved);
        self.engine.start();
    }

    fn put_back(&mut self) {
        self.engine.stop();
        let saved = self.saved.as_ref().expect("a journey saves first");
        replace(&saved.path().join("data"), &(self.data)(&self.engine));
        self.engine.start();
    }

    fn proxy(&self) -> Option<&Proxy> {
        Some(&self.proxy)
    }
}

/// Two servers, a set anew for each journey.
struct Set([Redis; 2]);

impl Ground for Set {
    fn name(&self) -> &'static str {
        "set"
    }

    fn urls(&mut self, journey: usize) -> Vec<String> {
        for engine in &mut self.0 {
            if engine.process().pid().is_none() {
                engine.start();
            }
        }
        let url = |engine: &Redis| redis_place(engine, &format!("j{journey}"), engine.address());
        self.0.iter().map(url).collect()
    }

    fn down(&mut self, number: usize) {
        self.0[number].kill();
    }

    fn up(&mut self, number: usize) {
        self.0[number].start();
    }
}

fn redis_place(engine: &Redis, name: &str, at: SocketAddr) -> String {
    format!("{}?prefix={name}:", engine.url(at))
}

#[test]
fn journeys_over_a_folder() {
    walk(&mut Folder, |name| !WAITING.contains(&name));
}

#[test]
#[ignore = "minutes: ids with a time stay away for one"]
fn journeys_over_a_folder_that_wait() {
    walk(&mut Folder, |name| WAITING.contains(&name));
}

#[test]
#[ignore = "minutes: every journey over this store"]
fn journeys_over_postgres() {
    let Some(engine) = Postgres::run() else { return };
    let place = |engine: &Postgres, name: &str, at: SocketAddr| {
        engine.admin("postgres", &format!("CREATE DATABASE {name} OWNER mint"));
        engine.url(at).replace("/ids", &format!("/{name}"))
    };
    walk_all(&mut Shared::new("postgres", engine, place, Postgres::data));
}

#[test]
#[ignore = "minutes: every journey over this store"]
fn journeys_over_mariadb() {
    let Some(engine) = Mariadb::run() else { return };
    let place = |engine: &Mariadb, name: &str, at: SocketAddr| {
        let make = format!("CREATE DATABASE {name}; GRANT ALL ON {name}.* TO mint@'%'");
        engine.admin("", &make);
        engine.url(at).replace("/ids", &format!("/{name}"))
    };
    walk_all(&mut Shared::new("mariadb", engine, place, Mariadb::data));
}

#[test]
#[ignore = "minutes: every journey over this store"]
fn journeys_over_redis() {
    let Some(engine) = Redis::run() else { return };
    let data = |engine: &Redis| engine.folder().to_path_buf();
    walk_all(&mut Shared::new("redis", engine, redis_place, data));
}

#[test]
#[ignore = "minutes: every journey over this store"]
fn journeys_over_etcd() {
    let Some(engine) = Etcd::run() else { return };
    let place = |engine: &Etcd, name: &str, at: SocketAddr| format!("{}?prefix=mint_{name}/", engine.url(at));
    let data = |engine: &Etcd| engine.folder().to_path_buf();
    walk_all(&mut Shared::new("etcd", engine, place, data));
}

#[test]
#[ignore = "minutes: every journey over this store"]
fn journeys_over_zookeeper() {
    let Some(engine) = ZooKeeper::run() else { return };
    let place = |engine: &ZooKeeper, name: &str, at: SocketAddr| format!("{}/{name}", engine.url(at));
    let data = |engine: &ZooKeeper| engine.folder().to_path_buf();
    walk_all(&mut Shared::new("zookeeper", engine, place, data));
}

#[test]
#[ignore = "minutes: every journey over this store"]
fn journeys_over_a_set_of_stores() {
    let (Some(first), Some(second)) = (Redis::run(), Redis::run()) else {
        return;
    };
    walk_all(&mut Set([first, second]));
}
