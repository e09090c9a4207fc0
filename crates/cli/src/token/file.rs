//! Tokens in a file of their own: listed, added, revoked and checked. Comments in it stay.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mintage_server::auth::{Grant, Proof, Right, Token, TokenFile, Tokens, What, read_tokens};
use mintage_server::config::check_faces;
use serde_json::json;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::FileArg;
use crate::errors::Failure;
use crate::out::Out;

/// Refuses a line that no server would take.
pub(super) fn judge(entry: &str) -> Result<(), Failure> {
    judge_all(&format!("tokens = [{entry}]")).map_err(Failure::usage)
}

/// Whether a server would take the whole of a file.
fn judge_all(text: &str) -> Result<(), String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_string())?;
    let tokens = table.get("tokens").map(read_tokens).transpose()?;
    check_faces(&tokens.unwrap_or_default())
}

/// Adds a line to a file, unless no server would take the file then.
pub(super) fn add(file: &Path, entry: &str) -> Result<(), Failure> {
    let entry: Value = entry.parse().map_err(Failure::usage)?;
    let changed = changed(file, |list| {
        let mut entry = entry;
        entry.decor_mut().set_prefix("\n    ");
        list.push_formatted(entry);
        Ok(())
    })?;
    judge_all(&changed).map_err(|why| {
        Failure::usage(format_args!("{}: {why}", file.display())).with_hint("nothing was written")
    })?;
    write(file, &changed)
}

/// `mint token revoke`
pub(super) fn revoke(name: &str, sha256: Option<&str>, from: &FileArg, out: &mut Out) -> Result<(), Failure> {
    let file = named(from)?;
    if !file.exists() {
        return Err(Failure::cannot(format_args!(
            "{}: there is no such file",
            file.display()
        )));
    }
    let text = |entry: &Value, key: &str| Some(entry.as_inline_table()?.get(key)?.as_str()?.to_string());
    let mut revoked = 0;
    let changed = changed(&file, |list| {
        list.retain(|entry| {
            let is_it = text(entry, "name").as_deref() == Some(name)
                && sha256.is_none_or(|begin| {
                    text(entry, "sha256").is_some_and(|sha256| sha256.starts_with(begin))
                });
            revoked += usize::from(is_it);
            !is_it
        });
        match revoked {
            0 => Err(
                Failure::cannot(format_args!("{} has no such token of {name:?}", file.display()))
                    .with_hint("mint token list shows those that it has"),
            ),
            _ => Ok(()),
        }
    })?;
    write(&file, &changed)?;
    match out.json {
        true => out.json_line(&json!({"name": name, "revoked": revoked}))?,
        false => out.line(format!("revoked: {revoked} of {name}"))?,
    }
    out.flush()?;
    // What is wrong with another line keeps a server from reading this change.
    judge_all(&changed).map_err(|why| {
        Failure::cannot(format_args!("{}: {why}", file.display()))
            .with_hint("a server keeps the tokens from before until this is mended, the revoked one too")
    })
}

/// `mint token list`
pub(super) fn list(from: &FileArg, out: &mut Out) -> Result<(), Failure> {
    for token in all(from)? {
        let may: Vec<String> = token.may.iter().map(Grant::to_string).collect();
        let shows = match &token.shows {
            Proof::Digest(digest) => format!("sha256 {}…", &digest.to_hex()[..8]),
            Proof::CertificateName(name) => format!("certificate {name}"),
            Proof::Uid(uid) => format!("uid {uid}"),
        };
        let until = token.until.map(|until| until.to_string());
        if out.json {
            out.json_line(&json!({
                "name": token.name, "shows": shows, "may": may, "faces": token.faces, "until": until,
            }))?;
            continue;
        }
        let faces = token
            .faces
            .map_or(String::new(), |faces| format!(", on {}", faces.join(", ")));
        let until = until.map_or(String::new(), |until| format!(", until {until}"));
        out.line(format!(
            "{}  {shows}  may {}{faces}{until}",
            token.name,
            may.join(", ")
        ))?;
    }
    Ok(())
}

/// `mint token check`
pub(super) fn check(
    may: &str,
    name: Option<&str>,
    face: &str,
    from: &FileArg,
    out: &mut Out,
) -> Result<(), Failure> {
    let tokens = Tokens::new(all(from)?);
    let token = given()?;
    let right = [Right::Read, Right::Allocate, Right::Admin]
        .into_iter()
        .find(|right| right.as_str() == may);
    let right = right.expect("the parser lets no other word through");
    let what = name.map_or(What::Nothing, |name| What::Named(name.as_bytes()));
    let who = tokens.identify(token.trim().as_bytes(), face);
    let judged = match &who {
        None => Err("the token is not known, or has ended".to_string()),
        Some(who) => who.check(right, what).map_err(|denied| match denied.hint {
            Some(hint) => format!("{}: {hint}", denied.message),
            None => denied.message,
        }),
    };
    let whose = who.as_ref().map(|who| who.name().to_string());
    if out.json {
        let why = judged.as_ref().err();
        out.json_line(&json!({"token": whose, "may": judged.is_ok(), "why": why}))?;
    } else if judged.is_ok() {
        let of = name.map_or(String::new(), |name| format!(" {name}"));
        out.line(format!("token {} may {may}{of}", whose.unwrap_or_default()))?;
    }
    out.flush()?;
    match judged {
        Ok(()) => Ok(()),
        Err(_) if out.json => Err(Failure::Negative),
        Err(why) => Err(Failure::cannot(why).negative()),
    }
}

/// The token to check, never an argument: those are in the list of processes.
fn given() -> Result<String, Failure> {
    if let Some(token) = std::env::var("MINT_TOKEN").ok().filter(|token| !token.is_empty()) {
        return Ok(token);
    }
    let mut text = String::new();
    let read = std::io::stdin().take(TOKEN_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| Failure::cannot(format_args!("standard input: {error}")))?;
    Ok(text)
}

const TOKEN_BYTES_MAX: u64 = 4096;

/// The tokens of the file that is named, else those of the configuration and of its file.
fn all(from: &FileArg) -> Result<Vec<Token>, Failure> {
    let all = match &from.file {
        Some(file) => TokenFile(file.clone()).read(),
        None => crate::config::load(None, Vec::new())?.config.all_tokens(),
    };
    all.map(|(tokens, _)| tokens).map_err(Failure::usage)
}

/// The file that is named, else that of the configuration, if there is one.
pub(super) fn used(file: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    if let Some(file) = file {
        return Ok(Some(file.to_path_buf()));
    }
    let config = crate::config::load(None, Vec::new())?.config;
    Ok(config.token_file.0.map(|file| file.0))
}

/// The file to change.
fn named(from: &FileArg) -> Result<PathBuf, Failure> {
    match used(from.file.as_deref())? {
        Some(file) => Ok(file),
        None => Err(Failure::usage("there is no file of tokens")
            .with_hint("name it with --file, or in mint.toml as auth.token_file; tokens that stand in mint.toml are taken out there by hand")),
    }
}

/// The text of a file with its list changed.
fn changed(file: &Path, work: impl FnOnce(&mut Array) -> Result<(), Failure>) -> Result<String, Failure> {
    let cannot = |why: String| Failure::cannot(format_args!("{}: {why}", file.display()));
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot(format!("cannot read it: {error}"))),
    };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| cannot(format!("it is not TOML: {error}")))?;
    let list = document
        .entry("tokens")
        .or_insert_with(|| Item::Value(Array::new().into()));
    let list = list
        .as_array_mut()
        .ok_or_else(|| cannot("tokens is no list in brackets".into()))?;
    work(list)?;
    list.set_trailing("\n");
    list.set_trailing_comma(true);
    Ok(document.to_string())
}

/// Writes a file; whoever reads it meanwhile finds the old text or the new one, whole.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    // A link stays one.
    let file = &std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    // In the same folder, so that the rename is one step.
    let fresh = file.with_extension(format!("new.{}", std::process::id()));
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut open| {
            open.write_all(text.as_bytes())?;
            open.sync_all()
        })
        .and_then(|()| std::fs::rename(&fresh, file));
    written.map_err(|error| {
        // Whatever is left of it is of no use.
        let _ = std::fs::remove_file(&fresh);
        Failure::cannot(format_args!("{}: cannot write it: {error}", file.display()))
    })
}
