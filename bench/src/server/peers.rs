//! Private servers on free ports, ended with the run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{HTTP_PIPELINE, grpc};

/// Something to measure: where it is and what to ask it.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) port: u16,
    /// The key of INCR, or the path of POST.
    pub(super) key: &'static str,
    /// The processes whose CPU time counts.
    pub(super) pids: Vec<u32>,
    /// What wrk runs, or h2load sends.
    pub(super) script: PathBuf,
    /// What signed the server's certificate, where TLS is spoken.
    pub(super) authority: Option<PathBuf>,
}

/// All servers of a run.
pub(super) struct Peers {
    volatile: Process,
    always: Process,
    nginx: Process,
    /// nginx over TLS.
    secure_nginx: Process,
    mint: Mint,
    /// One that speaks HTTP in clear and over TLS.
    secure: Mint,
    /// What signed its certificate, which nginx shows too.
    authority: PathBuf,
    /// A bare gRPC server that answers what it is always.
    echo: Process,
    script: PathBuf,
    /// What makes wrk post several requests at a time.
    pipelining: PathBuf,
    /// What makes wrk get.
    getting: PathBuf,
    /// A call of gRPC.
    call: PathBuf,
}

/// One `mint serve`; the port of its process is that of the Redis protocol.
pub(super) struct Mint {
    process: Process,
    http_port: u16,
    /// Where it speaks HTTP over TLS.
    https_port: Option<u16>,
    /// Where its faces of other systems listen.
    face_ports: BTreeMap<&'static str, u16>,
}

/// A server and its port.
struct Process {
    child: Child,
    port: u16,
}

impl Drop for Process {
    fn drop(&mut self) {
        // nginx ends its worker when it is asked, not when it is killed.
        let pid = self.child.id().to_string();
        let asked = Command::new("sh")
            .args(["-c", &format!("kill -TERM {pid}")])
            .status();
        if !asked.is_ok_and(|status| status.success()) {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}

/// A server that has not accepted by then will not.
const START_MAX: Duration = Duration::from_secs(10);

impl Peers {
    pub(super) fn start(folder: &Path) -> Peers {
        let certificates = certificates(folder, &binary());
        Peers {
            volatile: redis(&folder.join("volatile"), &["--appendonly", "no"]),
            always: redis(
                &folder.join("always"),
                &["--appendonly", "yes", "--appendfsync", "always"],
            ),
            nginx: nginx(&folder.join("nginx"), None),
            secure_nginx: nginx(&folder.join("secure-nginx"), Some(&certificates)),
            mint: Mint::start(
                &folder.join("mint"),
                &binary(),
                &["leaf", "gosnowflake", "thrift", "idgo"],
            ),
            secure: Mint::start_secure(&folder.join("secure"), &binary(), &certificates),
            authority: certificates.join("ca.pem"),
            echo: echo(),
            script: post_script(folder),
            pipelining: pipelining_script(folder),
            getting: get_script(folder),
            call: grpc::call_file(folder),
        }
    }

    /// In the order that the caller's indices name.
    pub(super) fn redis_targets(&self) -> [Target; 4] {
        let target = |name, process: &Process, key| Target {
            name,
            port: process.port,
            key,
            pids: vec![process.child.id()],
            script: PathBuf::new(),
            authority: None,
        };
        [
            target("Redis without persistence", &self.volatile, "counter"),
            target("Redis appendfsync always", &self.always, "counter"),
            target("mint, durable", &self.mint.process, "counter"),
            target("mint, gap-free", &self.mint.process, "gapfree"),
        ]
    }

    /// nginx and ours, then both with several requests at a time.
    pub(super) fn http_targets(&self) -> [Target; 4] {
        let at_once = |target: Target, name| Target {
            name,
            script: self.pipelining.clone(),
            ..target
        };
        let [nginx, mint] = self.one_at_a_time();
        let [deep_nginx, deep_mint] = self.one_at_a_time();
        [
            nginx,
            mint,
            at_once(deep_nginx, "nginx, 16 at once"),
            at_once(deep_mint, "mint, durable, 16 at once"),
        ]
    }

    /// nginx in clear and over TLS, and ours.
    pub(super) fn tls_targets(&self) -> [[Target; 2]; 2] {
        let secure = |name, port, target| Target {
            name,
            port,
            authority: Some(self.authority.clone()),
            ..target
        };
        let ours = || {
            self.secure
                .posts("mint, in clear", "/v1/sequences/wide/next", &self.script)
        };
        [
            [
                self.of_nginx("nginx, in clear", &self.nginx),
                secure(
                    "nginx, over TLS",
                    self.secure_nginx.port,
                    self.of_nginx("", &self.secure_nginx),
                ),
            ],
            [
                ours(),
                secure(
                    "mint, over TLS",
                    self.secure.https_port.expect("it was told to"),
                    ours(),
                ),
            ],
        ]
    }

    /// A bare server of tonic, and ours.
    pub(super) fn grpc_targets(&self) -> [Target; 2] {
        let mint = self.mint.posts("mint, `Next`", grpc::PATH, &self.call);
        let echo = Target {
            name: "tonic, a constant",
            port: self.echo.port,
            pids: vec![self.echo.child.id()],
            ..self.mint.posts("", grpc::PATH, &self.call)
        };
        [echo, mint]
    }

    /// Ours, for streams of gRPC.
    pub(super) fn stream_target(&self) -> Target {
        self.mint.posts("mint", "", &self.call)
    }

    fn one_at_a_time(&self) -> [Target; 2] {
        [
            self.of_nginx("nginx, `return 200`", &self.nginx),
            self.mint
                .posts("mint, durable", "/v1/sequences/orders/next", &self.script),
        ]
    }

    /// One nginx, its workers counted in.
    fn of_nginx(&self, name: &'static str, nginx: &Process) -> Target {
        let master = nginx.child.id();
        let children =
            fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap_or_default();
        let workers: Vec<u32> = children
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect();
        Target {
            name,
            port: nginx.port,
            key: "/",
            pids: [vec![master], workers].concat(),
            script: self.script.clone(),
            authority: None,
        }
    }

    /// What the light client asks: Redis, then mint over the Redis protocol and over Thrift.
    pub(super) fn light_targets(&self) -> [Target; 3] {
        let [redis, _, mint, _] = self.redis_targets();
        let thrift = Target {
            name: "mint, Thrift `get_id`",
            port: self.mint.face_ports["thrift"],
            ..self.mint.counts("", "")
        };
        [
            Target {
                name: "Redis, `PING`",
                ..redis
            },
            Target {
                name: "mint, `MINT.SNOWFLAKE`",
                ..mint
            },
            thrift,
        ]
    }

    /// Our own `INCR`, and idgo's `GET`, which takes a number too.
    pub(super) fn counter_targets(&self) -> [Target; 2] {
        self.mint.make("idgo:counter", "{}");
        let idgo = Target {
            name: "idgo: `GET counter`",
            port: self.mint.face_ports["idgo"],
            ..self.mint.counts("", "counter")
        };
        [self.mint.counts("`INCR counter`", "counter"), idgo]
    }

    /// Our own HTTP, and the routes of other systems that answer what it does: numbers beside numbers, snowflakes
    /// beside snowflakes.
    pub(super) fn face_targets(&self) -> [Target; 4] {
        self.mint.make("leaf:orders", "{}");
        let of_face = |face, name, path| Target {
            name,
            port: self.mint.face_ports[face],
            key: path,
            pids: vec![self.mint.process.child.id()],
            script: self.getting.clone(),
            authority: None,
        };
        let own = |name, path| self.mint.posts(name, path, &self.script);
        [
            own("`POST /v1/sequences/orders/next`", "/v1/sequences/orders/next"),
            of_face(
                "leaf",
                "Leaf: `GET /api/segment/get/orders`",
                "/api/segment/get/orders",
            ),
            own("`POST /v1/snowflakes/default`", "/v1/snowflakes/default"),
            of_face("gosnowflake", "goSnowFlake: `GET /worker/1`", "/worker/1"),
        ]
    }

    /// Where ours speaks HTTP.
    pub(super) fn http_port(&self) -> u16 {
        self.mint.http_port
    }

    pub(super) fn versions(&self) -> String {
        let first = |program: &str, flag: &str| {
            let out = Command::new(program).arg(flag).output().ok();
            let text = out.map(|o| [o.stdout, o.stderr].concat()).unwrap_or_default();
            let line = String::from_utf8_lossy(&text)
                .lines()
                .next()
                .unwrap_or_default()
                .to_string();
            line.split(" sha=").next().unwrap_or_default().trim().to_string()
        };
        [
            first("redis-server", "--version"),
            first("nginx", "-v"),
            first("h2load", "--version"),
            first("wrk", "-v")
                .split(" [")
                .next()
                .unwrap_or_default()
                .to_string(),
        ]
        .join(", ")
    }

    pub(super) fn mint_memory_kib(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.mint.process.child.id())).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap_or_default();
        line.split_whitespace()
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(0)
    }
}

impl Mint {
    /// Starts `binary` in a folder of its own, with these faces of other systems, and a gap-free sequence called `gapfree`.
    pub(super) fn start(folder: &Path, binary: &Path, faces: &[&'static str]) -> Mint {
        fs::create_dir_all(folder).expect("the folder is ours");
        let mut command = Command::new(binary);
        command.args(["serve", "--http", "127.0.0.1:0"]);
        let mint = Mint::started(folder, command, faces);
        mint.make("gapfree", r#"{"gap":"none"}"#);
        mint
    }

    /// The same with HTTP in clear and over TLS, and a sequence of numbers that all have 10 digits.
    fn start_secure(folder: &Path, binary: &Path, certificates: &Path) -> Mint {
        fs::create_dir_all(folder).expect("the folder is ours");
        let (mut command, https_port) = (Command::new(binary), free_port());
        let listen = format!("127.0.0.1:0,tls:127.0.0.1:{https_port}");
        command
            .args(["serve", "--http", &listen])
            .env("MINT_SERVER__TLS__CERT", certificates.join("server.pem"))
            .env("MINT_SERVER__TLS__KEY", certificates.join("server.key"));
        let mut mint = Mint::started(folder, command, &[]);
        mint.https_port = Some(https_port);
        mint.make("wide", r#"{"start":1000000000}"#);
        mint
    }

    fn started(folder: &Path, mut command: Command, faces: &[&'static str]) -> Mint {
        command.args(["--resp", "127.0.0.1:0", "--json"]);
        for face in faces {
            command.args(["--face", &format!("{face}=127.0.0.1:0")]);
        }
        command
            .current_dir(folder)
            .env("XDG_DATA_HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().expect("mint can be started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("was piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("a pipe can be read");
        // An address stands alone, or first in a list.
        let port = |face: &str| -> Option<u16> {
            let at = line.find(&format!("\"{face}\":"))? + face.len() + 3;
            let address = line[at..].trim_start_matches(['[', '"']).split('"').next()?;
            address.rsplit(':').next()?.parse().ok()
        };
        let own = |face| port(face).unwrap_or_else(|| panic!("mint serve said {line:?}"));
        Mint {
            process: Process {
                child,
                port: own("resp"),
            },
            http_port: own("http"),
            https_port: None,
            face_ports: faces.iter().map(|face| (*face, own(face))).collect(),
        }
    }

    /// Its face of the Redis protocol, for `INCR key`.
    pub(super) fn counts(&self, name: &'static str, key: &'static str) -> Target {
        Target {
            name,
            port: self.process.port,
            key,
            pids: vec![self.process.child.id()],
            script: PathBuf::new(),
            authority: None,
        }
    }

    /// Its HTTP face, for POSTs to `path`.
    pub(super) fn posts(&self, name: &'static str, path: &'static str, script: &Path) -> Target {
        Target {
            name,
            port: self.http_port,
            key: path,
            pids: vec![self.process.child.id()],
            script: script.to_path_buf(),
            authority: None,
        }
    }

    fn make(&self, name: &str, body: &str) {
        let request = format!(
            "PUT /v1/sequences/{name} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        let mut stream = TcpStream::connect(("127.0.0.1", self.http_port)).expect("mint accepts");
        stream.write_all(request.as_bytes()).expect("mint reads");
        stream.read_to_string(&mut answer).expect("mint answers");
        assert!(
            answer.starts_with("HTTP/1.1 2"),
            "cannot create the sequence {name}: {answer}"
        );
    }
}

/// The build that is measured.
pub(super) fn binary() -> PathBuf {
    std::env::var_os("MINT_BIN").map_or_else(|| "mint".into(), PathBuf::from)
}

/// What makes wrk post.
pub(super) fn post_script(folder: &Path) -> PathBuf {
    let script = folder.join("post.lua");
    fs::write(&script, "wrk.method = \"POST\"\n").expect("the folder is ours");
    script
}

/// What makes wrk post so many requests at a time.
fn pipelining_script(folder: &Path) -> PathBuf {
    let script = folder.join("pipelining.lua");
    let lines = format!(
        "wrk.method = \"POST\"\nfunction init()\n  local one = {{}}\n  for i = 1, {HTTP_PIPELINE} do one[i] = wrk.format() end\n  \
         all = table.concat(one)\nend\nfunction request() return all end\n"
    );
    fs::write(&script, lines).expect("the folder is ours");
    script
}

/// What makes wrk get.
fn get_script(folder: &Path) -> PathBuf {
    let script = folder.join("get.lua");
    fs::write(&script, "wrk.method = \"GET\"\n").expect("the folder is ours");
    script
}

fn redis(folder: &Path, persistence: &[&str]) -> Process {
    fs::create_dir_all(folder).expect("the folder is ours");
    let mut command = Command::new("redis-server");
    let port = free_port();
    command.args([
        "--port",
        &port.to_string(),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--daemonize",
        "no",
        "--dir",
    ]);
    command.arg(folder).args(persistence);
    started(command, port)
}

/// A folder with a private authority, and a certificate for 127.0.0.1.
fn certificates(folder: &Path, binary: &Path) -> PathBuf {
    let certificates = folder.join("certificates");
    fs::create_dir_all(&certificates).expect("the folder is ours");
    let mut command = Command::new(binary);
    command.args(["cert", "new", "--ca", "--server", "127.0.0.1"]);
    let made = command
        .current_dir(&certificates)
        .output()
        .expect("mint can be started");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    certificates
}

/// One nginx that answers a constant, with these certificates or in clear.
fn nginx(folder: &Path, certificates: Option<&Path>) -> Process {
    fs::create_dir_all(folder).expect("the folder is ours");
    let port = free_port();
    let at = folder.display();
    let (ssl, shown) = match certificates.map(Path::display) {
        None => ("", String::new()),
        Some(from) => (
            " ssl",
            format!(
                "ssl_certificate {from}/server.pem; ssl_certificate_key {from}/server.key; ssl_protocols TLSv1.3;\n    "
            ),
        ),
    };
    let configuration = format!(
        "worker_processes 1;\ndaemon off;\npid {at}/pid;\nerror_log {at}/error.log;\nevents {{ worker_connections 1024; }}\n\
         http {{\n  access_log off;\n  keepalive_requests 1000000000;\n  client_body_temp_path {at}/body;\n  \
         proxy_temp_path {at}/proxy;\n  fastcgi_temp_path {at}/fastcgi;\n  uwsgi_temp_path {at}/uwsgi;\n  \
         scgi_temp_path {at}/scgi;\n  server {{\n    listen 127.0.0.1:{port}{ssl};\n    {shown}\
         location / {{ default_type application/json; return 200 '{{\"ids\":[\"12345\"]}}'; }}\n  }}\n}}\n"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration).expect("the folder is ours");
    let mut command = Command::new("nginx");
    command.arg("-c").arg(file);
    started(command, port)
}

/// A bare server of tonic: this program, as a process of its own.
fn echo() -> Process {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    let port = free_port();
    command.args(["peer", "grpc", &port.to_string()]);
    started(command, port)
}

fn started(mut command: Command, port: u16) -> Process {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    let child = quiet
        .spawn()
        .unwrap_or_else(|e| panic!("{:?}: {e}", command.get_program()));
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            began.elapsed() < START_MAX,
            "{:?} does not accept on {port}",
            command.get_program()
        );
        std::thread::yield_now();
    }
    Process { child, port }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}
