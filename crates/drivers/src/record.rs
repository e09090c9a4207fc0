//! A register as one JSON document, for stores that keep plain values: etcd and ZooKeeper.
//!
//! ```text
//!   {"version":3,"mark":1200,"token":"8c1f…32 hex digits","body":{"start":"1",…}}
//! ```
//!
//! A body that is a JSON object stands there as it is, any other text as `"text"`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::link::{InitRecord, SCHEMA};
use super::{Value, Version, Versioned};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record<'a> {
    version: u64,
    mark: u64,
    token: String,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A register's document.
pub(crate) fn write(register: &Versioned) -> Vec<u8> {
    let body = register.value.body.as_str();
    // The text must come back byte for byte, and a reader may drop blanks around a value.
    let object = (body.starts_with('{') && body.ends_with('}'))
        .then(|| serde_json::from_str::<&RawValue>(body).ok())
        .flatten();
    let record = Record {
        version: register.version.number(),
        mark: register.value.mark,
        token: format!("{:032x}", register.value.token),
        body: object,
        text: object.is_none().then(|| body.to_string()),
    };
    serde_json::to_vec(&record).expect("plain fields always serialise")
}

/// Reads a document; `None` if it is not one of ours.
pub(crate) fn read(bytes: &[u8]) -> Option<Versioned> {
    let record: Record<'_> = serde_json::from_slice(bytes).ok()?;
    let body = match (record.body, record.text) {
        (Some(body), None) => body.get().to_string(),
        (None, Some(text)) => text,
        _ => return None,
    };
    Some(Versioned {
        value: Value {
            mark: (record.mark <= i64::MAX as u64).then_some(record.mark)?,
            token: u128::from_str_radix(&record.token, 16).ok()?,
            body,
        },
        version: Version::of(record.version),
    })
}

#[derive(Serialize, Deserialize)]
struct MetaRecord {
    schema_version: u32,
    cluster_id: String,
}

/// The document of `mint init`.
pub(crate) fn write_meta(cluster_id: u128) -> Vec<u8> {
    let record = MetaRecord {
        schema_version: SCHEMA,
        cluster_id: format!("{cluster_id:032x}"),
    };
    serde_json::to_vec(&record).expect("plain fields always serialise")
}

/// Reads the document of `mint init`; `None` if it is not one.
pub(crate) fn read_meta(bytes: &[u8]) -> Option<InitRecord> {
    let record: MetaRecord = serde_json::from_slice(bytes).ok()?;
    Some(InitRecord {
        schema: record.schema_version,
        cluster_id: u128::from_str_radix(&record.cluster_id, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(body: &str) -> Versioned {
        Versioned {
            value: Value {
                mark: i64::MAX as u64,
                token: u128::MAX - 3,
                body: body.to_string(),
            },
            version: Version::of(7),
        }
    }

    #[test]
    fn documents_come_back_byte_for_byte_and_objects_can_be_read_by_people() {
        for body in [
            "{\"start\":\"1\", \"x\" : [1e3]}",
            "{}",
            "",
            "null",
            " {}",
            "{} ",
            "{broken}",
            "{\"a\":1}{\"b\":2}",
            "\u{0}\"\\ü\u{10ffff}",
        ] {
            let register = register(body);
            assert_eq!(read(&write(&register)), Some(register), "{body:?}");
        }
        let shown = String::from_utf8(write(&register("{\"start\":\"1\"}"))).unwrap();
        assert_eq!(
            shown,
            "{\"version\":7,\"mark\":9223372036854775807,\
             \"token\":\"fffffffffffffffffffffffffffffffc\",\"body\":{\"start\":\"1\"}}"
        );
    }

    #[test]
    fn what_mint_did_not_write_is_no_register() {
        for bytes in [
            "",
            "{}",
            "{\"version\":1,\"mark\":9223372036854775808,\"token\":\"1\",\"text\":\"\"}",
            "{\"version\":1,\"mark\":1,\"token\":\"x\",\"text\":\"\"}",
            "{\"version\":1,\"mark\":1,\"token\":\"1\"}",
            "{\"version\":1,\"mark\":1,\"token\":\"1\",\"text\":\"\",\"body\":{}}",
            "{\"version\":1,\"mark\":1,\"token\":\"1\",\"text\":\"\",\"more\":1}",
            "{\"version\":-1,\"mark\":1,\"token\":\"1\",\"text\":\"\"}",
        ] {
            assert_eq!(read(bytes.as_bytes()), None, "{bytes}");
        }
        assert_eq!(read_meta(b"{}"), None);
        assert_eq!(
            read_meta(&write_meta(9)),
            Some(InitRecord {
                schema: SCHEMA,
                cluster_id: 9
            })
        );
    }
}
