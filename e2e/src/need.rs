//! What a test needs from the machine: present, or skipped in words, or, when `MINT_TEST_REQUIRE` names it, a
//! failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::in_run;

/// Whether redis-server and redis-cli are there.
pub fn redis() -> bool {
    needed(
        "redis",
        starts("redis-server", "--version") && starts("redis-cli", "--version"),
    )
}

/// Whether curl is there.
pub fn curl() -> bool {
    needed("curl", starts("curl", "--version"))
}

/// Whether Chromium is there, and what drives it.
pub fn chromium() -> bool {
    let there = starts("chromium", "--version") && starts("chromedriver", "--version");
    needed("chromium", there)
}

/// The source of axe-core, which finds what keeps people from a page.
pub fn axe() -> Option<String> {
    let found = std::fs::read_to_string(clients_modules().join("axe-core/axe.min.js"));
    needed("axe-core", found.is_ok());
    found.ok()
}

/// Whether nginx is there.
pub fn nginx() -> bool {
    needed("nginx", starts("nginx", "-v"))
}

/// Whether Caddy is there.
pub fn caddy() -> bool {
    needed("caddy", starts("caddy", "version"))
}

/// Whether a program is there.
pub fn program(name: &str) -> bool {
    needed(name, starts(name, "--version"))
}

/// Whether strace is there and may trace.
pub fn strace() -> bool {
    let mut traced = Command::new("strace");
    traced.args(["-o", "/dev/null", "true"]);
    needed("strace", ends_well("strace that traces", &mut traced))
}

/// Whether we are root, and so may mount, and may run a program as somebody else.
pub fn root() -> bool {
    let id = Command::new("id").arg("-u").output();
    let root = id.is_ok_and(|out| out.stdout == b"0\n") && starts("setpriv", "--version");
    needed("root", root)
}

/// libfaketime, which makes a program see another wall clock.
#[derive(Clone, Debug)]
pub struct Faketime {
    library: PathBuf,
}

impl Faketime {
    /// What the environment of a program must hold so that its wall clock follows `clock`: a file with an offset
    /// such as `+5h`, which may be changed while the program runs. Its other clocks stay true.
    pub fn environment(&self, clock: &Path) -> Vec<String> {
        vec![
            format!("LD_PRELOAD={}", self.library.display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", clock.display()),
            "FAKETIME_NO_CACHE=1".to_string(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".to_string(),
            "FAKETIME_DONT_RESET=1".to_string(),
        ]
    }
}

/// Where libfaketime is, if it is there.
pub fn faketime() -> Option<Faketime> {
    let folders = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    let library = folders
        .iter()
        .map(|folder| PathBuf::from(format!("/usr/lib/{folder}/faketime/libfaketime.so.1")))
        .find(|library| library.exists());
    needed("faketime", library.is_some());
    library.map(|library| Faketime { library })
}

/// Whether network namespaces can be made, and nftables filters what goes between them.
pub fn partitions() -> bool {
    // Once in a program: two tests that asked at a time would make the same one.
    static POSSIBLE: OnceLock<(bool, bool)> = OnceLock::new();
    let (made, filters) = *POSSIBLE.get_or_init(partition);
    let (netns, nftables) = (needed("netns", made), needed("nftables", filters));
    netns && nftables
}

/// Makes a network namespace and filters in it: which of both can be done.
fn partition() -> (bool, bool) {
    let name = format!("mint-probe-{}", std::process::id());
    let ip = |args: &[&str]| {
        Command::new("ip")
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let made = ip(&["netns", "add", &name]);
    let filters = made && ip(&["netns", "exec", &name, "nft", "list", "ruleset"]);
    if made {
        ip(&["netns", "del", &name]);
    }
    (made, filters)
}

/// A Python that has redis-py with hiredis; `cargo xtask test` makes one and names it in `MINT_TEST_PYTHON`.
pub fn redis_py() -> Option<PathBuf> {
    python("redis-py", "import redis, hiredis")
}

/// The same Python, where it has what asks the faces of other systems that speak HTTP, and decoders of their ids.
pub fn face_clients() -> Option<PathBuf> {
    python("face-clients", "import requests, sonyflake, snowflake.client")
}

/// The same Python, where it has grpcio with reflection.
pub fn grpcio() -> Option<PathBuf> {
    python(
        "grpcio",
        "import grpc_reflection, grpc_health, grpc_status, grpc_tools",
    )
}

/// The class path of Spring's RestTemplate.
pub fn rest_template() -> Option<String> {
    let jars = [
        "spring3-web",
        "spring3-core",
        "spring3-beans",
        "jackson-databind",
        "jackson-core",
        "jackson-annotations",
        "commons-logging",
    ];
    let jars = jars.map(|jar| format!("/usr/share/java/{jar}.jar"));
    let there = jars.iter().all(|jar| Path::new(jar).exists()) && starts("javac", "-version");
    needed("rest-template", there).then(|| jars.join(":"))
}

/// The class path of a list of `e2e/clients/java`; `cargo xtask test` copies its jars and names their folder in
/// `MINT_TEST_JAVA`.
pub fn java_clients(name: &str) -> Option<String> {
    let named = std::env::var_os("MINT_TEST_JAVA").map(PathBuf::from);
    let folder = named
        .unwrap_or_else(|| Path::new("test-java").to_path_buf())
        .join(name);
    let there = folder.is_dir() && starts("javac", "-version");
    needed(&format!("java-{name}"), there).then(|| format!("{}/*", folder.display()))
}

/// The same Python, where it has a validator of OpenAPI documents and a generator of clients.
pub fn openapi_generator() -> Option<PathBuf> {
    python("openapi", "import openapi_spec_validator, openapi_python_client")
}

/// The same Python, where it has thriftpy2.
pub fn thriftpy2() -> Option<PathBuf> {
    python("thriftpy2", "import thriftpy2")
}

/// Apache's libraries of Thrift for Python, Node and Java, and what compiles for them.
#[derive(Clone, Debug)]
pub struct ApacheThrift {
    /// A Python that has it.
    pub python: PathBuf,
    /// The folder of packages in which Node finds it.
    pub modules: PathBuf,
    /// Where Java finds it, and what it needs.
    pub classpath: String,
}

/// Apache's libraries of Thrift, if all are there.
pub fn apache_thrift() -> Option<ApacheThrift> {
    let jars = ["thrift", "slf4j-api", "slf4j-nop", "httpcore", "httpclient"];
    let jars = jars.map(|name| format!("/usr/share/java/{name}.jar"));
    let compilers = starts("thrift", "--version") && starts("javac", "-version");
    let java = compilers && jars.iter().all(|jar| Path::new(jar).exists());
    let (python, modules) = (clients_python(), clients_modules());
    let there = java
        && has_python("apache-thrift", &python, "import thrift")
        && has_node("apache-thrift", &modules, "require('thrift')");
    needed("apache-thrift", there).then(|| ApacheThrift {
        python,
        modules,
        classpath: jars.join(":"),
    })
}

/// The same Python, where it has requests.
pub fn requests() -> Option<PathBuf> {
    python("requests", "import requests")
}

/// The same Python, where it has postgrest-py.
pub fn postgrest_py() -> Option<PathBuf> {
    python("postgrest-py", "import postgrest")
}

fn python(name: &str, imports: &str) -> Option<PathBuf> {
    let python = clients_python();
    needed(name, has_python(name, &python, imports)).then_some(python)
}

fn clients_python() -> PathBuf {
    let named = std::env::var_os("MINT_TEST_PYTHON").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new("python3").to_path_buf())
}

fn has_python(name: &str, python: &Path, imports: &str) -> bool {
    ends_well(
        &format!("python for {name}"),
        Command::new(python).args(["-c", imports]),
    )
}

/// Whether PHP is there with the extension php-redis.
pub fn php_redis() -> bool {
    let mut probe = Command::new("php");
    probe.args(["-r", "exit(extension_loaded('redis') ? 0 : 1);"]);
    needed("php-redis", ends_well("php with redis", &mut probe))
}

/// The folder of packages in which Node finds ioredis and node-redis; `cargo xtask test` makes one and names it in
/// `MINT_TEST_NODE`.
pub fn node() -> Option<PathBuf> {
    node_with("node", "require('ioredis'); require('redis')")
}

/// The same folder, where it has @grpc/grpc-js.
pub fn grpc_js() -> Option<PathBuf> {
    node_with(
        "grpc-js",
        "require('@grpc/grpc-js'); require('@grpc/proto-loader')",
    )
}

/// The same folder, where it has @supabase/postgrest-js and postgrest-client.
pub fn postgrest_js() -> Option<PathBuf> {
    node_with(
        "postgrest-js",
        "require('@supabase/postgrest-js'); require('postgrest-client')",
    )
}

/// The same folder, where it has the drivers of PostgreSQL and MySQL.
pub fn sql_node() -> Option<PathBuf> {
    let requires =
        "for (const name of ['pg', 'pg-cursor', 'postgres', 'mysql2', 'mysql', 'mariadb']) require(name)";
    node_with("sql-node", requires)
}

fn node_with(name: &str, requires: &str) -> Option<PathBuf> {
    let modules = clients_modules();
    let there = has_node(name, &modules, requires);
    needed(name, there).then_some(modules)
}

fn clients_modules() -> PathBuf {
    let named = std::env::var_os("MINT_TEST_NODE").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new("node_modules").to_path_buf())
}

fn has_node(name: &str, modules: &Path, requires: &str) -> bool {
    let mut probe = Command::new("node");
    probe.args(["-e", requires]).env("NODE_PATH", modules);
    ends_well(&format!("node for {name}"), &mut probe)
}

/// Prints a line that the test runner does not swallow.
pub fn say(text: &str) {
    // The print macros are captured; a lost line of this kind is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Tells who counts them that a server of this kind is being started.
pub fn boots(kind: &str) {
    if in_run::folder().is_some() {
        say(&format!("boot: {kind}"));
    }
}

fn starts(program: &str, probe: &str) -> bool {
    ends_well(program, Command::new(program).arg(probe))
}

/// Whether a program that only looks whether something is there ends well. In a run it is started once under this name.
pub(crate) fn ends_well(name: &str, probe: &mut Command) -> bool {
    in_run::is_so(name, || {
        probe
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

/// Whether it is `there`; else says so, or fails where `MINT_TEST_REQUIRE` names it.
///
/// # Panics
/// When it is absent and required.
pub fn needed(name: &str, there: bool) -> bool {
    if !there {
        let required = std::env::var("MINT_TEST_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|r| r.trim() == name),
            "{name} is absent and MINT_TEST_REQUIRE={required} demands it"
        );
        say(&format!("skipped: {name}"));
    }
    there
}
