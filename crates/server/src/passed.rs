//! Sockets that a service manager has bound and passes (sd_listen_fds(3)): connections wait while the server starts, ports below
//! 1024 need no right of ours, and a restart refuses nobody.

use std::io;

use listenfd::ListenFd;

use crate::bound::Bound;

/// Those that were passed, by the names of their faces: `FileDescriptorName=http`, or `tls-http` for TLS.
#[derive(Debug, Default)]
pub(crate) struct Passed(Vec<(String, Bound)>);

impl Passed {
    /// Takes them out of the environment, once for a process. One without a name is HTTP's.
    ///
    /// # Errors
    /// What was passed is no socket that listens.
    pub(crate) fn take() -> io::Result<Passed> {
        // The names are read before the rest, which takes what it reads away.
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':').filter(|name| !name.is_empty());
        let mut passed = ListenFd::from_env();
        let mut all = Vec::new();
        for at in 0..passed.len() {
            let name = names.next().filter(|name| *name != "unknown").unwrap_or("http");
            let (face, is_tls) = match name.strip_prefix("tls-") {
                Some(face) => (face, true),
                None => (name, false),
            };
            let socket = match passed.take_tcp_listener(at) {
                Ok(Some(socket)) => {
                    socket.set_nonblocking(true)?;
                    if is_tls {
                        Bound::Tls(socket)
                    } else {
                        Bound::Tcp(socket)
                    }
                }
                Ok(None) => continue,
                Err(_) => match passed.take_unix_listener(at)? {
                    Some(socket) => {
                        socket.set_nonblocking(true)?;
                        Bound::Unix(socket)
                    }
                    None => continue,
                },
            };
            all.push((face.to_string(), socket));
        }
        Ok(Passed(all))
    }

    /// Those of a face.
    pub(crate) fn of(&mut self, face: &str) -> Vec<Bound> {
        let (its, others) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(name, _)| name == face);
        self.0 = others;
        Vec::into_iter(its).map(|(_, socket)| socket).collect()
    }

    /// The name of one that no face has asked for.
    pub(crate) fn left(&self) -> Option<&str> {
        self.0.first().map(|(name, _)| name.as_str())
    }
}
