//! `mint token`: access tokens. The server keeps only their digests.

#[cfg(feature = "server")]
mod file;
#[cfg(feature = "server")]
mod sql;

#[cfg(feature = "server")]
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Subcommand, Debug)]
enum TokenCommand {
    /// Print a new token, and its line for the server's configuration; or add the line to a file of tokens
    #[command(
        after_help = "A right is read (look), allocate (take ids, and look) or admin (create, change and drop); for \
                      some names alone it is followed by a pattern: allocate:orders.* . Two tokens may share a name \
                      while one takes over from the other.\n\n  \
                      mint token new web --may 'allocate:orders.*,read' --days 90 --file tokens.toml\n  \
                      mint token new app --may allocate --sql --file tokens.toml\n  \
                      mint token new shop --certificate shop.internal --file tokens.toml"
    )]
    New(New),
    /// List the tokens of a file or of the configuration: who, what they may, where and until when
    #[cfg(feature = "server")]
    List(FileArg),
    /// Take the tokens of a name out of a file
    #[cfg(feature = "server")]
    Revoke {
        /// Whose
        name: String,
        /// Only the one whose digest begins so, as `mint token list` shows it
        #[arg(long, value_name = "BEGINNING", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        sha256: Option<String>,
        #[command(flatten)]
        file: FileArg,
    },
    /// Say whose a token is and whether it may: it is read from MINT_TOKEN, or else from standard input
    #[cfg(feature = "server")]
    #[command(after_help = "The exit code is 0 if it may, and 1 if it may not or is not known.")]
    Check {
        /// The right that is wanted
        #[arg(long, value_name = "RIGHT", default_value = "allocate", value_parser = ["read", "allocate", "admin"])]
        may: String,
        /// The sequence or pool that it is wanted for
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// The face that is asked
        #[arg(long, value_name = "FACE", default_value = "http")]
        face: String,
        #[command(flatten)]
        file: FileArg,
    },
}

#[derive(clap::Args, Debug)]
struct New {
    /// Who uses it; appears in the configuration and in the log
    name: String,
    /// What it may do
    #[arg(
        long,
        value_name = "RIGHTS",
        value_delimiter = ',',
        default_value = "allocate"
    )]
    may: Vec<String>,
    /// The faces that it is good for; without them, all
    #[arg(long, value_name = "FACES", value_delimiter = ',')]
    faces: Vec<String>,
    /// After how many days it ends
    #[cfg(feature = "server")]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
    /// Also what clients of PostgreSQL and MySQL log in by, with its name as the user and the token as the password
    #[cfg(feature = "server")]
    #[arg(long, conflicts_with_all = ["certificate", "uid"])]
    sql: bool,
    /// The same for old clients of MySQL, which know mysql_native_password alone
    #[cfg(feature = "server")]
    #[arg(long, requires = "sql")]
    mysql_native: bool,
    /// Instead of a token: whoever shows a certificate for this name
    #[arg(long, value_name = "NAME", conflicts_with = "uid")]
    certificate: Option<String>,
    /// Instead of a token: this user of the machine, through a unix socket
    #[arg(long, value_name = "UID")]
    uid: Option<u32>,
    /// The file to add it to, made if it is not there [default: auth.token_file of the configuration; else the line is printed]
    #[cfg(feature = "server")]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Where the tokens are.
#[cfg(feature = "server")]
#[derive(clap::Args, Debug)]
pub(crate) struct FileArg {
    /// The file of tokens [default: auth.token_file of the configuration]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    match &args.command {
        TokenCommand::New(new) => make(new, out),
        #[cfg(feature = "server")]
        TokenCommand::List(from) => file::list(from, out),
        #[cfg(feature = "server")]
        TokenCommand::Revoke { name, sha256, file } => file::revoke(name, sha256.as_deref(), file, out),
        #[cfg(feature = "server")]
        TokenCommand::Check {
            may,
            name,
            face,
            file,
        } => file::check(may, name.as_deref(), face, file, out),
    }
}

fn make(new: &New, out: &mut Out) -> Result<(), Failure> {
    let name = mintage_local::name::Name::new(&new.name).map_err(Failure::usage)?;
    let secret = (new.certificate.is_none() && new.uid.is_none()).then(secret);
    let digest = secret
        .as_ref()
        .map(|token| hex(&Sha256::digest(token.as_bytes())));
    let shows = match (&digest, &new.certificate, new.uid) {
        (Some(digest), ..) => format!("sha256 = {}", json!(digest)),
        (None, Some(certificate), _) => format!("certificate = {}", json!(certificate)),
        (None, None, uid) => format!("uid = {}", uid.unwrap_or_default()),
    };
    let mut entry = format!(
        "name = {}, {shows}, may = {}",
        json!(name.as_str()),
        json!(new.may)
    );
    #[cfg(feature = "server")]
    let file = file::used(new.file.as_deref())?;
    #[cfg(feature = "server")]
    if let Some(token) = secret.as_ref().filter(|_| new.sql) {
        entry.push_str(&sql::digests(token, new, file.as_deref())?);
    }
    if !new.faces.is_empty() {
        entry.push_str(&format!(", faces = {}", json!(new.faces)));
    }
    #[cfg(feature = "server")]
    if let Some(days) = new.days {
        let until = jiff::Timestamp::now() + std::time::Duration::from_secs(u64::from(days) * 86_400);
        entry.push_str(&format!(", until = {}", until.strftime("%Y-%m-%dT%H:%M:%SZ")));
    }
    let entry = format!("{{ {entry} }}");
    #[cfg(feature = "server")]
    file::judge(&entry)?;
    #[cfg(feature = "server")]
    if let Some(file) = &file {
        file::add(file, &entry)?;
        return tell_added(&name, secret.as_deref(), file, out);
    }
    if out.json {
        return out.json_line(&json!({
            "name": name.as_str(), "token": secret, "sha256": digest, "may": new.may, "line": entry,
        }));
    }
    if let Some(token) = &secret {
        out.line(format!("token:         {token}"))?;
    }
    out.line(format!("configuration: {entry}"))?;
    out.flush()?;
    out.note(match secret {
        Some(_) => {
            "the token is shown this once; add the second line to tokens = [ … ] under [auth] in mint.toml"
        }
        None => "add the line to tokens = [ … ] under [auth] in mint.toml",
    });
    Ok(())
}

#[cfg(feature = "server")]
fn tell_added(
    name: &mintage_local::name::Name,
    secret: Option<&str>,
    file: &std::path::Path,
    out: &mut Out,
) -> Result<(), Failure> {
    let shown = file.display().to_string();
    if out.json {
        return out.json_line(&json!({"name": name.as_str(), "token": secret, "file": shown}));
    }
    if let Some(token) = secret {
        out.line(token)?;
    }
    out.flush()?;
    out.note(match secret {
        Some(_) => format!("the token is shown this once; {shown} has its digest, and a server that follows that file knows it"),
        None => format!("{shown} has it, and a server that follows that file knows it"),
    });
    Ok(())
}

/// 256 random bits.
fn secret() -> String {
    let mut secret = [0; 32];
    mintage::fill_random(&mut secret);
    format!("mint_{}", hex(&secret))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]])
        .map(char::from)
        .collect()
}
