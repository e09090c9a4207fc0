//! The file of a unix socket: a stale one is replaced, who may connect is said by its owner and mode, and whoever stops takes
//! it away.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::config::{Config, SocketOwner};

/// The path of a socket that listens, taken away when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketPath {
    path: PathBuf,
    /// Device and number of the socket there.
    file: (u64, u64),
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        // Another server may have put its own there; nothing is lost if ours stays.
        if file_of(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn file_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Connections that may wait to be accepted, per socket.
pub(crate) const BACKLOG: i32 = 1024;

/// Who may connect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rules {
    mode: Option<u32>,
    owner: Option<SocketOwner>,
}

impl Rules {
    /// Those of a configuration.
    pub(crate) fn of(config: &Config) -> Rules {
        Rules {
            mode: config.unix_mode.0.map(|mode| mode.0),
            owner: config.unix_owner.0.clone(),
        }
    }

    /// A socket at this path, which nobody can connect to before it has its owner and its mode.
    fn bind(&self, path: &Path) -> io::Result<UnixListener> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::unix(path)?)?;
        let ruled = self.apply(path);
        // Until here connections are refused, whatever its mode.
        ruled.and_then(|()| socket.listen(BACKLOG)).inspect_err(|_| {
            // Nothing that serves stays behind.
            let _ = fs::remove_file(path);
        })?;
        Ok(socket.into())
    }

    fn apply(&self, path: &Path) -> io::Result<()> {
        if let Some(owner) = &self.owner {
            let (user, group) = owner.ids().map_err(io::Error::other)?;
            std::os::unix::fs::chown(path, user, group)?;
        }
        match self.mode {
            Some(mode) => fs::set_permissions(path, Permissions::from_mode(mode)),
            None => Ok(()),
        }
    }
}

/// A server that was killed leaves its socket's file behind, on which nobody listens: it is replaced. Nothing else is.
pub(crate) fn bind_unix(path: &Path, rules: &Rules) -> io::Result<(UnixListener, SocketPath)> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // Between the look and the new socket no other server may do the same. Released when this file is closed.
    let alone = File::open(folder)?;
    alone.lock()?;
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            let why = "a file that is not a socket is there: nothing is replaced";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let why = "another program listens on this socket";
                return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
            }
        }
    }
    let socket = rules.bind(path)?;
    let taken_away = SocketPath {
        path: path.to_path_buf(),
        file: file_of(path)?,
    };
    Ok((socket, taken_away))
}
