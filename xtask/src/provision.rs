//! Gets the programs that tests and benchmarks need, where it can: Debian packages as root, Python packages in
//! a venv under the target folder. What cannot be had is left to each test, which says `skipped: NAME` or,
//! when `MINT_TEST_REQUIRE` names it, fails.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::step;

/// A program, how to see that it is there, and the Debian package that brings it.
pub(crate) type Tool = (&'static str, &'static [&'static str], &'static str);

/// What the tests use.
pub(crate) const TEST_TOOLS: &[Tool] = &[
    ("redis-server", &["--version"], "redis-server"),
    ("redis-cli", &["--version"], "redis-tools"),
    ("curl", &["--version"], "curl"),
    ("make", &["--version"], "make"),
    ("nginx", &["-v"], "nginx-light"),
    ("caddy", &["version"], "caddy"),
    ("strace", &["--version"], "strace"),
    ("openssl", &["version"], "openssl"),
    ("node", &["--version"], "nodejs"),
    ("npm", &["--version"], "npm"),
    ("python3", &["-m", "ensurepip", "--version"], "python3-venv"),
    (
        "/usr/lib/postgresql/15/bin/postgres",
        &["--version"],
        "postgresql-15",
    ),
    ("psql", &["--version"], "postgresql-client-15"),
    ("mariadbd", &["--version"], "mariadb-server"),
    ("mariadb", &["--version"], "mariadb-client"),
    (
        "sh",
        &["-c", "test -f /usr/lib/galera/libgalera_smm.so"],
        "galera-4",
    ),
    ("rsync", &["--version"], "rsync"),
    ("pgbouncer", &["--version"], "pgbouncer"),
    ("etcd", &["--version"], "etcd-server"),
    ("etcdctl", &["--help"], "etcd-client"),
    ("java", &["-version"], "default-jre-headless"),
    (
        "sh",
        &["-c", "test -f /usr/share/java/zookeeper.jar"],
        "zookeeper",
    ),
    ("faketime", &["--version"], "faketime"),
    ("ip", &["-V"], "iproute2"),
    ("nft", &["--version"], "nftables"),
    ("rsync", &["--version"], "rsync"),
    ("mkfs.ext4", &["-V"], "e2fsprogs"),
    ("mkfs.btrfs", &["--version"], "btrfs-progs"),
    ("bindfs", &["--version"], "bindfs"),
];

/// What only the deep tests use besides.
pub(crate) const DEEP_TOOLS: &[Tool] = &[
    ("javac", &["-version"], "default-jdk-headless"),
    ("mvn", &["--version"], "maven"),
    ("chromium", &["--version"], "chromium"),
    ("chromedriver", &["--version"], "chromium-driver"),
    ("php", &["--version"], "php-cli"),
    (
        "php",
        &["-r", "exit(class_exists('Redis') ? 0 : 1);"],
        "php-redis",
    ),
    ("thrift", &["--version"], "thrift-compiler"),
    (
        "sh",
        &["-c", "test -f /usr/share/java/thrift.jar"],
        "libthrift-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/spring3-web.jar"],
        "libspring-web-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/spring3-core.jar"],
        "libspring-core-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/spring3-beans.jar"],
        "libspring-beans-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/jackson-databind.jar"],
        "libjackson2-databind-java",
    ),
    (
        "sh",
        &["-c", "test -f /usr/share/java/commons-logging.jar"],
        "libcommons-logging-java",
    ),
];

/// What the server benchmark uses besides.
pub(crate) const BENCH_TOOLS: &[Tool] = &[
    ("redis-server", &["--version"], "redis-server"),
    ("redis-benchmark", &["--version"], "redis-tools"),
    ("wrk", &["--help"], "wrk"),
    ("nginx", &["-v"], "nginx-light"),
    ("h2load", &["--version"], "nghttp2-client"),
];

const BENCH_PYTHON_PACKAGES: &[&str] = &["duckdb"];

const PYTHON_PACKAGES: &[&str] = &[
    "redis==7.0.1",
    "hiredis==3.3.0",
    "openapi-spec-validator==0.9.0",
    "openapi-python-client==0.29.1",
    "thriftpy2==0.7.1",
    "thrift==0.25.0",
    "requests==2.32.5",
    "sonyflake-py==1.3.0",
    "pysnowflake==0.1.3",
    "postgrest==2.34.0",
    "grpcio==1.85.1",
    "grpcio-reflection==1.85.1",
    "grpcio-health-checking==1.85.1",
    "grpcio-status==1.85.1",
    "grpcio-tools==1.85.1",
];

/// A program that ends well where Python finds them all.
const PYTHON_PROBE: &str = "import redis, hiredis, openapi_spec_validator, openapi_python_client, thriftpy2, thrift, \
                            requests, sonyflake, snowflake.client, postgrest, grpc_reflection, grpc_health, grpc_status, grpc_tools";

/// Of versions that Debian's Node runs.
const NODE_PACKAGES: &[&str] = &[
    "ioredis@5.9.2",
    "redis@5.9.0",
    "thrift@0.24.0",
    "@supabase/postgrest-js@2.78.0",
    "@grpc/grpc-js@1.14.7",
    "@grpc/proto-loader@0.8.1",
    "postgrest-client@1.1.2",
    "pg@8.23.1",
    "pg-cursor@2.22.0",
    "postgres@3.4.9",
    "mysql2@3.24.5",
    "mysql@2.18.1",
    "mariadb@3.5.4",
    "axe-core@4.14.1",
];

/// A program that ends well where Node finds them all.
const NODE_PROBE: &str = "for (const name of ['ioredis', 'redis', 'thrift', '@supabase/postgrest-js', '@grpc/grpc-js', '@grpc/proto-loader', \
                          'postgrest-client', 'pg', 'pg-cursor', 'postgres', 'mysql2', 'mysql', 'mariadb', 'axe-core']) require(name)";

/// Installs the absent ones of `tools`.
pub(crate) fn debian(tools: &[Tool]) {
    let absent: Vec<&str> = tools
        .iter()
        .filter(|(program, probe, _)| !present(program, probe))
        .map(|(.., package)| *package)
        .collect();
    if absent.is_empty() {
        return;
    }
    if !(step::answers("apt-get", &["--version"]) && step::answers("sh", &["-c", "test $(id -u) = 0"])) {
        eprintln!("not installed (needs Debian and root): {}", absent.join(" "));
        return;
    }
    let policy = ServicesStayDown::new();
    let apt = |args: &[&str]| {
        Command::new("apt-get")
            .args(["-qq", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0"])
            .args(["-o", "Acquire::Retries=3"])
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status()
            .is_ok_and(|status| status.success())
    };
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(&absent);
    eprintln!("+ apt-get {}", install.join(" "));
    // A package list that is already there may do; a fresh one costs a few seconds.
    let installed = apt(&install) || (apt(&["update"]) && apt(&install));
    if !installed {
        eprintln!(
            "apt-get could not install {}; their tests will say so",
            absent.join(" ")
        );
    }
    drop(policy);
}

/// The path of programs on which cargo finds what counts the lines that tests run, if it must be another one.
pub(crate) fn coverage() -> Option<OsString> {
    if step::answers("cargo", &["tarpaulin", "--version"]) {
        return None;
    }
    let tools = step::target_dir().join("tools");
    if !step::answers(tools.join("bin/cargo-tarpaulin"), &["tarpaulin", "--version"]) {
        let install = "install --quiet --locked --version 0.37.5 cargo-tarpaulin --root";
        if let Err(why) = step::run(step::cargo(install).arg(&tools)) {
            eprintln!("no cargo-tarpaulin: {why}");
            return None;
        }
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(iter::once(tools.join("bin")).chain(env::split_paths(&path))).ok()
}

/// A venv with the Python clients that the tests drive; `None` where it cannot be made.
pub(crate) fn python() -> Option<PathBuf> {
    venv("test-venv", PYTHON_PROBE, PYTHON_PACKAGES)
}

/// A venv with the peers that the benchmarks measure; `None` where it cannot be made.
pub(crate) fn bench_python() -> Option<PathBuf> {
    venv("bench-venv", "import duckdb", BENCH_PYTHON_PACKAGES)
}

/// The folder of the Node clients that the tests drive; `None` where it cannot be made.
pub(crate) fn node() -> Option<PathBuf> {
    let folder = step::target_dir().join("test-node");
    let modules = folder.join("node_modules");
    let mut probe = Command::new("node");
    probe
        .args(["-e", NODE_PROBE])
        .env("NODE_PATH", &modules)
        .stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        return Some(modules);
    }
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).ok()?;
    let mut install = Command::new("npm");
    install
        .args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--no-save",
        ])
        .arg("--prefix")
        .arg(&folder)
        .args(NODE_PACKAGES);
    match patiently(&mut install) {
        Ok(()) => Some(modules),
        Err(why) => {
            eprintln!("no Node packages: {why}");
            None
        }
    }
}

/// The folder of the Java clients that the deep tests drive, as `e2e/clients/java` lists them; `None` where they
/// cannot be had.
pub(crate) fn java() -> Option<PathBuf> {
    let folder = step::target_dir().join("test-java");
    for (name, jar) in JAVA_CLIENTS {
        let into = folder.join(name);
        if into.join(jar).exists() {
            continue;
        }
        fs::remove_dir_all(&into).ok();
        let mut copy = Command::new("mvn");
        copy.args(["--quiet", "--batch-mode", "--file"])
            .arg(step::root().join(format!("e2e/clients/java/{name}.xml")))
            .arg("dependency:copy-dependencies")
            .arg(format!("-DoutputDirectory={}", into.display()));
        if let Err(why) = patiently(&mut copy) {
            eprintln!("no Java clients: {why}");
            return None;
        }
    }
    Some(folder)
}

/// A list of `e2e/clients/java`, and a jar that is there where it was copied.
const JAVA_CLIENTS: &[(&str, &str)] = &[
    ("cosid", "cosid-spring-redis-2.13.0.jar"),
    ("uid-generator", "uid-generator-0.0.4-RELEASE.jar"),
];

pub(crate) fn venv(name: &str, probe: &str, packages: &[&str]) -> Option<PathBuf> {
    let venv = step::target_dir().join(name);
    let python = venv.join("bin/python");
    if step::answers(&python, &["-c", probe]) {
        return Some(python);
    }
    fs::remove_dir_all(&venv).ok();
    let made = step::run(Command::new("python3").args(["-m", "venv"]).arg(&venv)).and_then(|()| {
        patiently(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(packages),
        )
    });
    match made {
        Ok(()) => Some(python),
        Err(why) => {
            eprintln!("no Python packages: {why}");
            None
        }
    }
}

/// Runs what fetches something, and again where that fails: a registry may be away for a moment.
fn patiently(command: &mut Command) -> Result<(), String> {
    let mut done = step::run(command);
    for _ in 1..FETCHES {
        if done.is_ok() {
            break;
        }
        thread::sleep(Duration::from_secs(5));
        done = step::run(command);
    }
    done
}

/// How often something is fetched before it counts as absent.
const FETCHES: u32 = 3;

fn present(program: &str, probe: &[&str]) -> bool {
    // wrk answers --help with 1: that it can be started is enough.
    if program == "wrk" {
        return Command::new(program).arg("-v").output().is_ok();
    }
    step::answers(program, probe)
}

/// Keeps Debian from starting the daemons it installs: tests start their own on free ports.
struct ServicesStayDown {
    ours: bool,
}

const POLICY: &str = "/usr/sbin/policy-rc.d";

impl ServicesStayDown {
    fn new() -> Self {
        if Path::new(POLICY).exists() {
            return ServicesStayDown { ours: false };
        }
        let ours =
            fs::write(POLICY, "#!/bin/sh\nexit 101\n").is_ok() && step::answers("chmod", &["755", POLICY]);
        ServicesStayDown { ours }
    }
}

impl Drop for ServicesStayDown {
    fn drop(&mut self) {
        if self.ours {
            fs::remove_file(POLICY).ok();
        }
    }
}
