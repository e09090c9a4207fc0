//! A private `mint serve`: free ports, its own folder, ended with the test.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use mintage_testing::no_panic_in;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::guard::ends_with_us;
use crate::http;
use crate::need;
use crate::resp::Resp;
use crate::run::{self, Said};

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    log: PathBuf,
    _no_panic: NoPanic,
    /// Where HTTP is.
    pub http: SocketAddr,
    /// Where the Redis protocol is.
    pub resp: SocketAddr,
    /// The line it printed when it was ready.
    pub ready: Value,
    /// From starting the program to that line.
    pub ready_after: Duration,
}

/// How to start one.
#[derive(Debug)]
pub struct Start {
    folder: PathBuf,
    listen: String,
    wrapper: Vec<OsString>,
    args: Vec<OsString>,
}

impl Start {
    /// A server whose working folder is `folder`, so that its store is `folder/mint`.
    pub fn in_folder(folder: &Path) -> Start {
        Start {
            folder: folder.to_path_buf(),
            listen: "127.0.0.1:0".into(),
            wrapper: Vec::new(),
            args: Vec::new(),
        }
    }

    /// One that listens where `args` say, in single words.
    pub fn bare(folder: &Path, args: &str) -> Start {
        Start {
            listen: String::new(),
            ..Start::in_folder(folder)
        }
        .args(args.split_whitespace())
    }

    /// Listens on free ports of this address, without tokens.
    #[must_use]
    pub fn listen_on(mut self, address: IpAddr) -> Start {
        self.listen = SocketAddr::new(address, 0).to_string();
        self.args(["--insecure"])
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Start {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Waits for a shared store as long as any answer takes on a busy machine.
    #[must_use]
    pub fn patient(self) -> Start {
        let (name, value) = run::PATIENCE;
        self.under(["env".into(), format!("{name}={value}")])
    }

    /// A program that runs the server, such as strace, and its arguments.
    #[must_use]
    pub fn under<S: Into<OsString>>(mut self, wrapper: impl IntoIterator<Item = S>) -> Start {
        self.wrapper.extend(wrapper.into_iter().map(Into::into));
        self
    }

    /// Starts it without waiting.
    ///
    /// # Panics
    /// When the program cannot be started.
    pub fn spawn(&self) -> Starting {
        let log = self.folder.join("mint.log");
        let stderr = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("the test's folder is writable");
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(stderr);
        let no_panic = NoPanic::after_now_in(&log);
        let began = Instant::now();
        let mut child = command.spawn().expect("mint can be started");
        ends_with_us(&child, "KILL");
        let stdout = BufReader::new(child.stdout.take().expect("was piped"));
        Starting {
            child: Some(child),
            stdout: Some(stdout),
            log,
            no_panic: Some(no_panic),
            began,
        }
    }

    /// Starts it and waits until it says that it is ready.
    ///
    /// # Panics
    /// When it ends instead; shows what it said.
    #[track_caller]
    pub fn ready(&self) -> Server {
        match self.spawn().ready() {
            Ok(server) => server,
            Err(said) => panic!("mint serve ended: {said:?}"),
        }
    }

    /// Starts it where it must refuse to.
    ///
    /// # Panics
    /// When it does not end by itself.
    #[track_caller]
    pub fn refused(&self) -> Said {
        // A server that ought to refuse and does not would run for ever, so `timeout` ends it; its readiness
        // line is then on standard output, where a check of the answer sees it.
        let limited = Start {
            folder: self.folder.clone(),
            listen: self.listen.clone(),
            wrapper: [&["timeout".into(), "20".into()], self.wrapper.as_slice()].concat(),
            args: self.args.clone(),
        };
        limited.command().output().expect("timeout can be started").into()
    }

    fn addresses(&self) -> Vec<&str> {
        match &*self.listen {
            "" => Vec::new(),
            at => vec!["--http", at, "--resp", at],
        }
    }

    fn command(&self) -> Command {
        need::boots("mint serve");
        let mut words = self.wrapper.clone();
        words.push(crate::binary::mint().into());
        let mut command = Command::new(&words[0]);
        run::isolate(&mut command);
        run::at_home(&mut command, &self.folder)
            .args(&words[1..])
            .args(["--json", "serve"])
            .args(self.addresses())
            .args(&self.args)
            .stdin(Stdio::null());
        command
    }
}

/// A server that has been started and may not be ready yet.
#[derive(Debug)]
pub struct Starting {
    child: Option<Child>,
    stdout: Option<BufReader<ChildStdout>>,
    log: PathBuf,
    no_panic: Option<NoPanic>,
    began: Instant,
}

impl Starting {
    /// Waits for the line that says where it listens.
    ///
    /// # Errors
    /// What it said, when it ended instead.
    ///
    /// # Panics
    /// When that line is not the documented JSON.
    pub fn ready(mut self) -> Result<Server, Said> {
        let mut stdout = self.stdout.take().expect("taken once");
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a pipe can be read");
        let ready_after = self.began.elapsed();
        let mut child = self.child.take().expect("taken once");
        if line.is_empty() {
            let code = child.wait().expect("was started").code().unwrap_or(-1);
            let err = fs::read_to_string(&self.log).unwrap_or_default();
            return Err(Said { code, out: line, err });
        }
        let ready: Value = serde_json::from_str(&line).expect("the first line is JSON");
        let address = |face: &str| {
            ready[face]
                .as_str()
                .and_then(|a| a.strip_prefix("tls:").unwrap_or(a).parse().ok())
                .expect("names its addresses")
        };
        let (http, resp) = (address("http"), address("resp"));
        Ok(Server {
            child,
            stdout,
            log: self.log.clone(),
            _no_panic: self.no_panic.take().expect("taken once"),
            http,
            resp,
            ready,
            ready_after,
        })
    }

    /// Asks it to stop with SIGTERM.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn terminate(&self) {
        crate::signal::signal(self.child.as_ref().expect("it was started").id(), "TERM");
    }

    /// Kills it where it stands.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.end();
    }
}

impl Server {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub fn kill(mut self) {
        self.end();
    }

    /// The same, and keeps the port of its Redis protocol from others as long as the answer lives: connections to it are
    /// refused. Clients that go on asking would otherwise take numbers of whatever test's server the kernel gives that port
    /// next.
    ///
    /// # Panics
    /// When somebody else has the port already.
    #[must_use]
    pub fn kill_for_good(mut self) -> Socket {
        self.end();
        let held = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket can be made");
        held.set_reuse_address(true).expect("it is one of TCP");
        // Bound, it is nobody else's; as it does not listen, nobody is let in.
        held.bind(&self.resp.into())
            .expect("the port was free a moment ago");
        held
    }

    /// Asks it to stop with SIGTERM.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn terminate(&self) {
        crate::signal::signal(self.pid(), "TERM");
    }

    /// Asks it to stop, waits until it has, and gives its exit code.
    ///
    /// # Panics
    /// When it was not running any more.
    pub fn stop(mut self) -> i32 {
        self.terminate();
        self.wait()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> i32 {
        // It must not block on a pipe that nobody reads.
        let mut rest = String::new();
        let _ = self.stdout.read_to_string(&mut rest);
        self.child.wait().expect("was started").code().unwrap_or(-1)
    }

    /// A connection to its Redis face.
    ///
    /// # Panics
    /// When it does not accept.
    #[track_caller]
    pub fn redis(&self) -> Resp {
        Resp::connect(self.resp).expect("the server accepts")
    }

    /// One HTTP exchange.
    ///
    /// # Panics
    /// When there is no answer.
    #[track_caller]
    pub fn http(&self, method: &str, path: &str, body: &str) -> http::Answer {
        http::exchange(self.http, method, path, body).expect("the server answers")
    }

    /// Its address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Everything it has logged.
    pub fn log(&self) -> String {
        whole_lines(&self.log)
    }

    fn end(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Two servers on one store, each in a folder of its own.
///
/// # Panics
/// When one does not start.
pub fn two_servers(folder: &Path, store: &str) -> Vec<Server> {
    ["0", "1"]
        .map(|node| {
            let own = folder.join(node);
            fs::create_dir(&own).expect("the folder is ours");
            Start::in_folder(&own).patient().args(["--store", store]).ready()
        })
        .into()
}

/// The lines of a file that is being written, without the last one while it is half written.
pub fn whole_lines(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    String::from_utf8_lossy(&bytes[..whole]).into_owned()
}

/// Looks, when it goes, whether a program that writes to this log has panicked: it must never.
#[derive(Debug)]
pub struct NoPanic(File);

impl NoPanic {
    /// Of the log of a program that is about to be started: what stands there is of another one.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn after_now_in(log: &Path) -> NoPanic {
        let mut file = File::open(log).expect("the log has been made");
        file.seek(SeekFrom::End(0)).expect("it is a file");
        NoPanic(file)
    }
}

impl Drop for NoPanic {
    fn drop(&mut self) {
        let mut log = Vec::new();
        self.0.read_to_end(&mut log).ok();
        no_panic_in("a server", &String::from_utf8_lossy(&log));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            need::say(&format!("log of the server:\n{}", self.log()));
        } else if std::env::var_os("MINT_PLANTED").is_some() {
            // Whether the bug that is planted in it was reached.
            let log = self.log();
            let told = log.lines().filter(|line| line.starts_with("planted bug "));
            told.for_each(need::say);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_panic_in_a_log_is_a_violated_invariant_and_one_from_before_is_not() {
        let mut log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        let panic = "thread 'main' panicked at crates/server/src/run.rs:1:1:\n";
        log.write_all(panic.as_bytes()).expect("there is room");
        drop(NoPanic::after_now_in(log.path()));
        let watched = NoPanic::after_now_in(log.path());
        log.write_all(panic.as_bytes()).expect("there is room");
        let found = catch_unwind(move || drop(watched)).expect_err("it panicked");
        let said = found.downcast::<String>().expect("it is formatted");
        assert_eq!(
            *said,
            format!("{}a server panicked: {}", mintage_testing::MARK, panic.trim_end())
        );
    }
}
