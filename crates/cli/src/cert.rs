//! `mint cert new`: a private authority, and certificates that it signs: for a first trial, and for networks of one's own.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CertCommand,
}

#[derive(Subcommand, Debug)]
enum CertCommand {
    /// Make a private authority, or certificates that it signs
    #[command(
        after_help = "Files: ca.pem and ca.key, server.pem and server.key, NAME.pem and NAME.key. None is overwritten.\n\n  \
                      mint cert new --ca --server localhost,127.0.0.1 --client web\n  \
                      mint serve --http tls:0.0.0.0:7600      with server.tls.cert and server.tls.key set"
    )]
    New {
        /// Make an authority: who trusts its ca.pem trusts what it signs; keep ca.key where nobody else can read it
        #[arg(long)]
        ca: bool,
        /// Make a server's certificate, for the names and addresses by which clients reach it
        #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present_any = ["ca", "client"])]
        server: Vec<String>,
        /// Make a client's certificate, for this name; may be repeated
        #[arg(long, value_name = "NAME")]
        client: Vec<String>,
        /// How long they are valid; an authority ten times as long
        #[arg(long, value_name = "DAYS", default_value = "365", value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// The folder of the files
        #[arg(long, value_name = "FOLDER", default_value = ".")]
        folder: PathBuf,
    },
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let CertCommand::New {
        ca,
        server,
        client,
        days,
        folder,
    } = &args.command;
    let mut made = Vec::new();
    let authority = match ca {
        true => {
            let authority = new_authority(u32::from(*days) * 10)?;
            made.extend(write(folder, "ca", &authority.certificate, &authority.key)?);
            authority
        }
        false => known_authority(folder)?,
    };
    let issuer = authority.issuer()?;
    if !server.is_empty() {
        let params = params(
            server,
            &server[0],
            u32::from(*days),
            ExtendedKeyUsagePurpose::ServerAuth,
        )?;
        made.extend(signed(folder, "server", params, &issuer)?);
    }
    for name in client {
        let file = mintage_local::name::Name::new(name).map_err(Failure::usage)?;
        if ["ca", "server"].contains(&file.as_str()) || file.as_str().contains('/') {
            return Err(
                Failure::usage(format_args!("{name:?} cannot be a file's name here"))
                    .with_hint("choose another name"),
            );
        }
        let params = params(
            std::slice::from_ref(name),
            name,
            u32::from(*days),
            ExtendedKeyUsagePurpose::ClientAuth,
        )?;
        made.extend(signed(folder, name, params, &issuer)?);
    }
    for file in &made {
        let shown = file.display().to_string();
        if out.json {
            out.json_line(&json!({ "file": shown }))?;
        } else {
            out.line(shown)?;
        }
    }
    out.flush()?;
    let shown = |name: &str| folder.join(name).display().to_string();
    if !server.is_empty() {
        out.note(format!(
            "serve with them: [server.tls] cert = {:?}, key = {:?} in mint.toml, and tls:ADDRESS as the address",
            shown("server.pem"),
            shown("server.key")
        ));
    }
    Ok(())
}

/// An authority as its files hold it.
struct Authority {
    certificate: String,
    key: String,
}

impl Authority {
    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, Failure> {
        let key = KeyPair::from_pem(&self.key)
            .map_err(|error| Failure::cannot(format_args!("ca.key cannot be used: {error}")))?;
        Issuer::from_ca_cert_pem(&self.certificate, key)
            .map_err(|error| Failure::cannot(format_args!("ca.pem cannot be used: {error}")))
    }
}

fn new_authority(days: u32) -> Result<Authority, Failure> {
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = valid_for(CertificateParams::default(), days)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "mint private authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok(Authority {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

fn known_authority(folder: &Path) -> Result<Authority, Failure> {
    let read = |name: &str| {
        let file = folder.join(name);
        std::fs::read_to_string(&file).map_err(|error| {
            Failure::usage(format_args!(
                "cannot read the authority's {}: {error}",
                file.display()
            ))
            .with_hint("--ca makes an authority; --folder names the folder of an older one")
        })
    };
    Ok(Authority {
        certificate: read("ca.pem")?,
        key: read("ca.key")?,
    })
}

fn params(
    names: &[String],
    common: &str,
    days: u32,
    usage: ExtendedKeyUsagePurpose,
) -> Result<CertificateParams, Failure> {
    let params = CertificateParams::new(names.to_vec()).map_err(|error| {
        Failure::usage(format_args!(
            "{} cannot be names of a certificate: {error}",
            names.join(", ")
        ))
        .with_hint("names such as ids.example.com or *.example.com, and addresses such as 10.0.0.7")
    })?;
    let mut params = valid_for(params, days)?;
    params.distinguished_name.push(DnType::CommonName, common);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// From a day ago, for machines whose clocks differ, and for so many days.
fn valid_for(mut params: CertificateParams, days: u32) -> Result<CertificateParams, Failure> {
    let now = ::time::OffsetDateTime::now_utc();
    params.not_before = now - ::time::Duration::DAY;
    params.not_after = now + ::time::Duration::days(i64::from(days));
    Ok(params)
}

fn signed(
    folder: &Path,
    name: &str,
    params: CertificateParams,
    issuer: &Issuer<'static, KeyPair>,
) -> Result<[PathBuf; 2], Failure> {
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.signed_by(&key, issuer).map_err(failed)?;
    write(folder, name, &certificate.pem(), &key.serialize_pem())
}

/// Writes both files, the key for its owner alone. Neither may be there.
fn write(folder: &Path, name: &str, certificate: &str, key: &str) -> Result<[PathBuf; 2], Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::cannot(format_args!("cannot make {}: {error}", folder.display())))?;
    let files = [(".pem", certificate, 0o644), (".key", key, 0o600)];
    for (end, text, mode) in files {
        let file = folder.join(format!("{name}{end}"));
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&file);
        opened
            .and_then(|mut opened| opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()))
            .map_err(|error| {
                Failure::cannot(format_args!("cannot write {}: {error}", file.display()))
                    .with_hint("nothing is overwritten: move what is there away, or choose another --folder")
            })?;
    }
    Ok([".pem", ".key"].map(|end| folder.join(format!("{name}{end}"))))
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::cannot(format_args!("the certificate cannot be made: {error}"))
}
