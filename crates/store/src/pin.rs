//! Remembers on this machine which cluster a shared store belongs to (protocol R5), so that an emptied, restored
//! or mistaken store behind a known URL is a refusal and never a fresh start; and why a process stopped for good,
//! so that the next one does not begin where it ended. What else was seen of the store stands beside it (`seen`).
//!
//! One small JSON file per store, named by a hash of its URL without credentials:
//!
//! ```text
//!   STATE/clusters/5f0c….json   {"store":"postgres://db/ids","cluster_id":"2b1e…"}
//!                               {…,"stopped":{"restores":0,"why":"the store was set back: …"}}
//! ```

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::shown::shown_url;
use super::{Outcome, StoreError, StoreErrorKind};
use crate::advice::Advice;

/// The cluster ids that this machine has met, one file each in a folder.
///
/// ```
/// use mintage_store::Pins;
/// let folder = tempfile::tempdir()?;
/// let pins = Pins::in_folder(folder.path());
/// assert_eq!(pins.find("postgres://ann:secret@db/ids")?, None);
/// pins.remember("postgres://ann:secret@db/ids", 7)?;
/// // Whoever connects and how: it is the same store.
/// assert_eq!(pins.find("postgres://bob@db/ids")?, Some(7));
/// assert_eq!(pins.find("postgres://db2/ids")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pins {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Pin {
    /// The URL without credentials; for people.
    store: String,
    cluster_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

/// That minting ended for good; it holds until the store is restored once more.
#[derive(Serialize, Deserialize)]
struct Stopped {
    /// How far restores were then.
    restores: u64,
    why: String,
}

impl Pins {
    /// The pins under a state folder, which is made at the first pin.
    pub fn in_folder(state: &Path) -> Pins {
        Pins {
            folder: state.join("clusters"),
        }
    }

    /// The file that a store's pin is in, or would be.
    pub fn file(&self, url: &str) -> PathBuf {
        let digest = Sha256::digest(without_credentials(url));
        let name: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }

    /// The cluster id that was met behind `url`, if any was.
    ///
    /// # Errors
    /// The file is there and cannot be read or makes no sense.
    pub fn find(&self, url: &str) -> Result<Option<u128>, StoreError> {
        let Some(pin) = self.read(url)? else {
            return Ok(None);
        };
        match u128::from_str_radix(&pin.cluster_id, 16) {
            Ok(id) => Ok(Some(id)),
            Err(error) => Err(refused(&self.file(url), &error.to_string())),
        }
    }

    fn read(&self, url: &str) -> Result<Option<Pin>, StoreError> {
        let path = self.file(url);
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|e| refused(&path, &e.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(&path, &error.to_string())),
        }
    }

    /// Why a process of this machine stopped for good, and how far restores of the store were then.
    pub fn stopped(&self, url: &str) -> Result<Option<(u64, String)>, StoreError> {
        let stopped = self.read(url)?.and_then(|pin| pin.stopped);
        Ok(stopped.map(|stopped| (stopped.restores, stopped.why)))
    }

    /// Notes durably that minting ended for good.
    pub fn stop(&self, url: &str, restores: u64, why: &str) -> Result<(), StoreError> {
        let Some(pin) = self.read(url)? else {
            return Ok(());
        };
        self.put(
            url,
            &Pin {
                stopped: Some(Stopped {
                    restores,
                    why: why.to_string(),
                }),
                ..pin
            },
        )
    }

    /// The folder that pins are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes the cluster id behind `url`, durably; replaces an older note.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn remember(&self, url: &str, cluster_id: u128) -> Result<(), StoreError> {
        let pin = Pin {
            store: shown_url(url),
            cluster_id: format!("{cluster_id:032x}"),
            stopped: None,
        };
        self.put(url, &pin)
    }

    fn put(&self, url: &str, pin: &Pin) -> Result<(), StoreError> {
        let path = self.file(url);
        let text = serde_json::to_string(pin).expect("plain fields always serialise");
        self.write(&path, &text)
            .map_err(|e| refused(&path, &e.to_string()))
    }

    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Two processes that start at once write the same; each through a file of its own.
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(&self.folder)?.sync_all()
    }
}

/// The URL without user, password and how the connection is made, so that the same store has one name. Other
/// options stay: two prefixes in one Redis are two stores.
pub(crate) fn without_credentials(url: &str) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let place = match place.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        None => place.to_string(),
    };
    let of_connection = |option: &&str| {
        let name = option.split('=').next().unwrap_or_default().to_ascii_lowercase();
        CONNECTION_WORDS.iter().any(|word| name.contains(word))
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|option| !option.is_empty() && !of_connection(option))
        .collect();
    if kept.is_empty() {
        return place;
    }
    format!("{place}?{}", kept.join("&"))
}

/// Options whose name holds one of these say how to connect, not where to.
const CONNECTION_WORDS: [&str; 7] = ["user", "pass", "token", "ssl", "tls", "cert", "timeout"];

pub(crate) fn refused(path: &Path, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Denied,
        Outcome::NotDone,
        format!("cannot use {}: {why}", path.display()),
    )
    .with_hint(Advice::NameStateFolder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_options_are_no_part_of_a_stores_name() {
        for (url, name) in [
            (
                "postgres://u:p@db:5432/ids?sslmode=require",
                "postgres://db:5432/ids",
            ),
            ("redis://:secret@h/1", "redis://h/1"),
            ("redis://h/1?prefix=eu&password=x", "redis://h/1?prefix=eu"),
            ("etcd://u:p@a:1,b:2", "etcd://a:1,b:2"),
            ("zookeeper://a,b/chroot", "zookeeper://a,b/chroot"),
            ("file:./mint-data", "file:./mint-data"),
        ] {
            assert_eq!(without_credentials(url), name);
        }
    }

    #[test]
    fn a_damaged_pin_is_a_refusal() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::in_folder(folder.path());
        pins.remember("redis://h/", 3).unwrap();
        fs::write(pins.file("redis://h/"), "{").unwrap();
        assert_eq!(pins.find("redis://h/").unwrap_err().kind, StoreErrorKind::Denied);
    }
}
