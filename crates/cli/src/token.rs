//! `mint token`: access tokens. The server keeps only their digest.

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
    /// Print a new token, and the line for the server's configuration
    New {
        /// Who uses it; appears in the configuration
        name: String,
        /// What it may do: read (look), allocate (take ids, and look), admin (create, change and drop)
        #[arg(long, value_delimiter = ',', default_value = "allocate", value_parser = ["read", "allocate", "admin"])]
        may: Vec<String>,
    },
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let TokenCommand::New { name, may } = &args.command;
    let name = mintage_local::name::Name::new(name).map_err(Failure::usage)?;
    let mut secret = [0; 32];
    mintage::fill_random(&mut secret);
    let token = format!("mint_{}", hex(&secret));
    let digest = hex(&Sha256::digest(token.as_bytes()));
    if out.json {
        return out.json_line(&json!({"name": name.as_str(), "token": token, "sha256": digest, "may": may}));
    }
    let rights: Vec<String> = may.iter().map(|right| format!("{right:?}")).collect();
    out.line(format!("token:         {token}"))?;
    out.line(format!(
        "configuration: {{ name = {}, sha256 = \"{digest}\", may = [{}] }}",
        // Quoted as JSON has it, which TOML reads.
        json!(name.as_str()),
        rights.join(", ")
    ))?;
    out.flush()?;
    out.note("the token is shown this once; add the second line to tokens = [ … ] under [auth] in mint.toml");
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]])
        .map(char::from)
        .collect()
}
