//! `mint backfill` and `mint audit` beside what people use today, over the same files.
//!
//! Every round runs each program once, in rotating order; a row shows rows per second, the median ratio with the worst
//! and the best, the CPU time per row, and the most memory that was resident. Files lie in the page cache: they have
//! just been written. Memory of the peers is bounded as ours is, where they know how.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine;

const ROWS_DEFAULT: u64 = 10_000_000;
const ROUNDS_DEFAULT: usize = 3;
/// Python's rate does not depend on how many rows there are; its patience does.
const PYTHON_ROWS: u64 = 1_000_000;
/// What our side and the peers may use for sorting, in MiB.
const MEMORY_MIB: u64 = 768;

/// Something to run: its name, the program, over how many rows.
struct Contender {
    name: &'static str,
    command: Box<dyn Fn() -> Command>,
    rows: u64,
    runs: Vec<Sample>,
}

/// What one run took.
#[derive(Clone, Copy)]
struct Sample {
    wall: f64,
    cpu: f64,
    peak_mib: u64,
}

/// Runs everything and prints a Markdown table. Arguments: `--rows N`, `--rounds N`, `--folder PATH` for the files.
pub fn run(arguments: &[String]) {
    let value = |flag: &str| {
        let at = arguments.iter().position(|a| a == flag)?;
        arguments.get(at + 1).cloned()
    };
    let number = |flag: &str| value(flag).and_then(|text| text.parse::<u64>().ok());
    let rows = number("--rows").unwrap_or(ROWS_DEFAULT);
    let rounds = number("--rounds").unwrap_or(ROUNDS_DEFAULT as u64) as usize;
    let folder = value("--folder").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("mint-bench-bulk-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder can be made");
    measure(&folder, rows, rounds);
    fs::remove_dir_all(&folder).expect("the folder is ours");
}

fn measure(folder: &Path, rows: u64, rounds: usize) {
    eprintln!("writing {rows} rows and ids to {}", folder.display());
    write_log(&folder.join("log.csv"), rows);
    write_log(&folder.join("short.csv"), PYTHON_ROWS.min(rows));
    shuffle(folder, rows);
    write_ids(&folder.join("ids.txt"), rows);
    fs::write(folder.join("fill.py"), FILL_PY).expect("the folder is ours");
    fs::write(folder.join("repeats.py"), REPEATS_PY).expect("the folder is ours");
    println!(
        "Measured on {}; {rows} rows, {rounds} rounds, {MEMORY_MIB} MiB for sorting.\n",
        machine::line()
    );
    println!(
        "| what | rows/s | CPU, ns/row | peak, MiB | beside | rows/s | CPU, ns/row | peak, MiB | ratio (least, most) |"
    );
    println!("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |");
    let python = std::env::var_os("MINT_BENCH_PYTHON").unwrap_or_else(|| "python3".into());
    let duckdb = Command::new(&python)
        .args(["-c", "import duckdb"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mint = PathBuf::from(std::env::var_os("MINT_BIN").expect("xtask names the binary in MINT_BIN"));
    let ours = |name: &'static str, line: &'static str| {
        let (mint, folder) = (mint.clone(), folder.to_path_buf());
        contender(name, rows, move || {
            let mut command = Command::new(&mint);
            command.args(line.split_whitespace()).current_dir(&folder);
            command
        })
    };
    let script = |name: &'static str, file: &'static str, rows: u64, args: &'static [&'static str]| {
        let (python, folder) = (python.clone(), folder.to_path_buf());
        contender(name, rows, move || {
            let mut command = Command::new(&python);
            command.arg(file).args(args).current_dir(&folder);
            command
        })
    };
    let tool = |name: &'static str, program: &'static str, args: &'static [&'static str]| {
        let folder = folder.to_path_buf();
        contender(name, rows, move || {
            let mut command = Command::new(program);
            command
                .args(args)
                .env("LC_ALL", "C")
                .env("TMPDIR", &folder)
                .current_dir(&folder);
            command
        })
    };
    // Ours comes first; the others are what it stands beside.
    let fill = "backfill log.csv -o filled.csv --force -q --time time --id uuid7";
    table(
        vec![
            ours("back-fill, CSV in order", fill),
            script(
                "Python, the csv module",
                "fill.py",
                PYTHON_ROWS.min(rows),
                &["short.csv", "filled-py.csv"],
            ),
            tool("`cp`", "cp", &["log.csv", "copy.csv"]),
        ],
        rounds,
    );
    table(
        vec![
            ours(
                "back-fill, CSV in any order",
                "backfill mixed.csv -o filled.csv --force -q --time time --id uuid7 --memory 768MiB",
            ),
            tool(
                "`sort` of it by time",
                "sort",
                &[
                    "-t,",
                    "-k1,1",
                    "-S",
                    "768M",
                    "--parallel=2",
                    "-T",
                    ".",
                    "mixed.csv",
                    "-o",
                    "sorted.csv",
                ],
            ),
        ],
        rounds,
    );
    let mut audit = vec![
        ours(
            "audit, random UUIDs",
            "audit ids.txt --memory 768MiB --temp . --json",
        ),
        tool(
            "`sort -u`",
            "sort",
            &[
                "-u",
                "-S",
                "768M",
                "--parallel=2",
                "-T",
                ".",
                "ids.txt",
                "-o",
                "unique.txt",
            ],
        ),
    ];
    if duckdb {
        audit.push(script(
            "DuckDB, GROUP BY … HAVING",
            "repeats.py",
            rows,
            &["ids.txt"],
        ));
    } else {
        eprintln!("DuckDB is not there: its rows are left out");
    }
    table(audit, rounds);
}

fn contender(name: &'static str, rows: u64, command: impl Fn() -> Command + 'static) -> Contender {
    Contender {
        name,
        command: Box::new(command),
        rows,
        runs: Vec::new(),
    }
}

/// Runs them in turn and prints a row for each but the first.
fn table(mut contenders: Vec<Contender>, rounds: usize) {
    let count = contenders.len();
    for round in 0..rounds {
        for at in 0..count {
            let contender = &mut contenders[(at + round) % count];
            let sample = once((contender.command)());
            eprintln!(
                "{}: {:.1} s, {:.0} rows/s",
                contender.name,
                sample.wall,
                contender.rows as f64 / sample.wall
            );
            contender.runs.push(sample);
        }
    }
    let (ours, others) = contenders.split_first().expect("there is ours");
    for other in others {
        // Per round, because the hours of a machine differ.
        let mut ratios: Vec<f64> = ours
            .runs
            .iter()
            .zip(&other.runs)
            .map(|(a, b)| (b.wall / other.rows as f64) / (a.wall / ours.rows as f64))
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "| {} | {} | {} | {:.2}x ({:.2}, {:.2}) |",
            cells(ours),
            other.name,
            cells_of(other),
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
}

fn cells(contender: &Contender) -> String {
    format!("{} | {}", contender.name, cells_of(contender))
}

/// Rows per second, CPU per row and peak of the median run.
fn cells_of(contender: &Contender) -> String {
    let median = |of: &dyn Fn(&Sample) -> f64| {
        let mut all: Vec<f64> = contender.runs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    format!(
        "{} | {:.0} | {:.0}",
        thousands((contender.rows as f64 / median(&|run| run.wall)) as u64),
        median(&|run| run.cpu) * 1e9 / contender.rows as f64,
        median(&|run| run.peak_mib as f64)
    )
}

fn thousands(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{} k", number / 1000),
        _ => format!("{:.2} M", number as f64 / 1e6),
    }
}

/// Runs a program to its end, looking now and then at its memory and CPU time.
fn once(mut command: Command) -> Sample {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program can be started");
    let (mut peak_mib, mut cpu) = (0, 0.0);
    let ended = loop {
        if let Some(status) = child.try_wait().expect("was started") {
            break status;
        }
        let read =
            |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id())).unwrap_or_default();
        if let Some(kib) = read("status").lines().find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        }) {
            peak_mib = kib >> 10;
        }
        let stat = read("stat");
        if let Some((_, fields)) = stat.rsplit_once(") ") {
            // utime and stime in ticks of 10 ms.
            let ticks = fields.split_whitespace().skip(11).take(2);
            let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
            if ticks > 0 {
                cpu = ticks as f64 / 100.0;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success(), "{command:?} failed");
    Sample {
        wall: started.elapsed().as_secs_f64(),
        cpu,
        peak_mib,
    }
}

/// Rows of a log: 4000 a second, two of each microsecond.
fn write_log(path: &Path, rows: u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("the folder is ours"));
    out.write_all(b"time,host,user,action\n").expect("there is room");
    for row in 0..rows {
        let (second, micro) = (row / 4000, row % 4000 / 2 * 499);
        let (day, second) = (second / 86_400, second % 86_400);
        writeln!(
            out,
            "2022-{:02}-{:02}T{:02}:{:02}:{:02}.{micro:06}Z,web-{},{},GET /item/{row}",
            1 + day / 28,
            1 + day % 28,
            second / 3600,
            second / 60 % 60,
            second % 60,
            row % 16,
            row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44
        )
        .expect("there is room");
    }
    out.flush().expect("there is room");
}

/// The same rows out of order: two halves, a row of each in turn.
fn shuffle(folder: &Path, rows: u64) {
    use std::io::{BufRead, BufReader};
    let open = || {
        let file = File::open(folder.join("log.csv")).expect("was written");
        BufReader::with_capacity(1 << 20, file)
    };
    let (mut first, mut second) = (open(), open());
    let out = File::create(folder.join("mixed.csv")).expect("the folder is ours");
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let mut line = Vec::new();
    first.read_until(b'\n', &mut line).expect("was written");
    out.write_all(&line).expect("there is room");
    for _ in 0..=rows / 2 {
        line.clear();
        second.read_until(b'\n', &mut line).expect("was written");
    }
    for row in 0..rows {
        line.clear();
        let from = if row % 2 == 0 { &mut second } else { &mut first };
        let got = from.read_until(b'\n', &mut line).expect("was written");
        if got > 0 {
            out.write_all(&line).expect("there is room");
        }
    }
    out.flush().expect("there is room");
}

fn write_ids(path: &Path, rows: u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("the folder is ours"));
    let mut ids = vec![mintage::Uuid::nil(); 10_000];
    let mut text = Vec::new();
    let mut left = rows as usize;
    while left > 0 {
        let count = left.min(ids.len());
        mintage::uuid4_many(&mut ids[..count]);
        text.clear();
        for id in &ids[..count] {
            mintage::UuidText::Hyphenated.write(id, &mut text);
            text.push(b'\n');
        }
        out.write_all(&text).expect("there is room");
        left -= count;
    }
    out.flush().expect("there is room");
}

/// What one would write in Python: a row in, a row with an id out; unique by a counter, as long as rows are in order.
const FILL_PY: &str = r#"import csv, random, sys, uuid
from datetime import datetime
last, count = None, 0
with open(sys.argv[1], newline="") as source, open(sys.argv[2], "w", newline="") as target:
    rows, out = csv.reader(source), csv.writer(target)
    out.writerow(["id"] + next(rows))
    for row in rows:
        at = datetime.fromisoformat(row[0])
        count = count + 1 if at == last else 0
        last = at
        ms = int(at.timestamp() * 1000)
        value = ms << 80 | 7 << 76 | (at.microsecond % 1000 * 4096 // 1000) << 64 | 2 << 62 | count << 40 | random.getrandbits(40)
        out.writerow([str(uuid.UUID(int=value))] + row)
"#;

const REPEATS_PY: &str = r#"import duckdb, sys
db = duckdb.connect()
db.execute("SET memory_limit='768MiB'; SET threads=2; SET temp_directory='duckdb-temp'; SET preserve_insertion_order=false")
print(db.execute("SELECT count(*) FROM (SELECT id FROM read_csv(?, header=false, columns={'id':'UUID'}) GROUP BY id HAVING count(*) > 1)", sys.argv[1:]).fetchall())
"#;
