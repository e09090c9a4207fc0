//! A private certificate authority and a server's certificate, made by the stock openssl.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::need;
use crate::run;

/// The files of one authority, of one server, whose certificate is for the address 127.0.0.1 alone, and of one client.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes them; `None`, said in words, where openssl is absent.
    ///
    /// # Panics
    /// When openssl is there and does not work.
    pub fn make() -> Option<Certificates> {
        let there = need::ends_well("openssl", Command::new("openssl").arg("version"));
        if !need::needed("openssl", there) {
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let key = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ];
        let openssl = |args: &[&str]| {
            let mut command = Command::new("openssl");
            command.args(args).current_dir(folder.path());
            run::with_input(command, b"").ok();
        };
        let authority = ["req", "-x509", "-days", "2", "-subj", "/CN=a private authority"];
        let constraints = [
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=keyCertSign",
        ];
        let out = ["-keyout", "ca.key", "-out", "ca.pem"];
        openssl(&[&authority[..], &key, &constraints, &out].concat());
        let out = [
            "-subj",
            "/CN=server",
            "-keyout",
            "server.key",
            "-out",
            "server.csr",
        ];
        openssl(&[&["req"][..], &key, &out].concat());
        fs::write(folder.path().join("names"), "subjectAltName=IP:127.0.0.1\n").expect("the folder is ours");
        let out = [
            "-subj",
            "/CN=client",
            "-keyout",
            "client.key",
            "-out",
            "client.csr",
        ];
        openssl(&[&["req"][..], &key, &out].concat());
        let sign = [
            "x509",
            "-req",
            "-days",
            "2",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
        ];
        let names = ["-extfile", "names", "-in", "server.csr", "-out", "server.pem"];
        openssl(&[&sign[..], &names].concat());
        fs::write(folder.path().join("uses"), "extendedKeyUsage=clientAuth\n").expect("the folder is ours");
        let uses = ["-extfile", "uses", "-in", "client.csr", "-out", "client.pem"];
        openssl(&[&sign[..], &uses].concat());
        Some(Certificates { folder })
    }

    /// A client's certificate.
    pub fn client(&self) -> PathBuf {
        self.file("client.pem")
    }

    /// The client's private key.
    pub fn client_key(&self) -> PathBuf {
        self.file("client.key")
    }

    /// The authority's certificate, for clients.
    pub fn authority(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// The server's certificate.
    pub fn server(&self) -> PathBuf {
        self.file("server.pem")
    }

    /// The server's private key.
    pub fn key(&self) -> PathBuf {
        self.file("server.key")
    }

    /// The server's certificate and private key in one file.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn server_with_key(&self) -> PathBuf {
        let both = [self.server(), self.key()].map(|file| fs::read(file).expect("make has made it"));
        let file = self.file("server-with-key.pem");
        fs::write(&file, both.concat()).expect("the folder is ours");
        file
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Copies certificate and key into a folder, under the names `server.pem` and `server.key`, readable for
    /// `owner` alone where one is given.
    ///
    /// # Panics
    /// When they cannot be copied.
    pub fn install(&self, folder: &Path, owner: Option<&str>) {
        for file in [self.server(), self.key()] {
            let mut install = Command::new("install");
            install.args(["-m", "600"]);
            if let Some(owner) = owner {
                install.args(["-o", owner]);
            }
            install.arg(&file).arg(folder);
            run::with_input(install, b"").ok();
        }
    }
}
