//! The messages, as `proto/` describes them.

use std::collections::HashMap;
use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, MethodDescriptor};

use crate::error::{Code, ServiceError};

/// `proto/`, compiled: a `google.protobuf.FileDescriptorSet`. It is kept, so that no build needs a compiler for it; a test
/// compiles it again.
pub(super) const DESCRIPTORS: &[u8] = include_bytes!("mint.bin");

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).expect("the compiler has written it"));

/// The methods of `mintage.v1.Mint` by name.
static METHODS: LazyLock<HashMap<String, MethodDescriptor>> = LazyLock::new(|| {
    let service = POOL
        .get_service_by_name("mintage.v1.Mint")
        .expect("it is described");
    let methods = service.methods();
    methods
        .map(|method| (method.name().to_string(), method))
        .collect()
});

/// A method of `mintage.v1.Mint`.
///
/// # Errors
/// [`Code::UnknownCommand`].
pub(super) fn method(name: &str) -> Result<MethodDescriptor, ServiceError> {
    let found = METHODS.get(name).cloned();
    found.ok_or_else(|| unknown(&format!("/mintage.v1.Mint/{name}")))
}

/// The refusal of what is no method of ours.
pub(super) fn unknown(path: &str) -> ServiceError {
    let shown: String = path.chars().take(80).collect();
    ServiceError::new(Code::UnknownCommand, format!("there is no method {shown}"))
        .with_hint("reflection lists them, and so does proto/mintage/v1/mint.proto")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mintage_wire::{OPERATIONS, Op, Takes};
    use prost_reflect::{Kind, MessageDescriptor};
    use serde_json::Value;

    use super::*;

    /// What is done through HTTP alone, and why.
    const NOT_HERE: [&str; 22] = [
        // Steps of the command's own.
        "ListMoves",
        "ShowMove",
        "StepMove",
        // A download.
        "Backup",
        // Services of gRPC's own say these.
        "Livez",
        "Readyz",
        "OpenApi",
        // What Prometheus asks for.
        "Metrics",
        // The console, and what it shows.
        "Console",
        "ConsoleStyle",
        "ConsoleScript",
        "WatchLive",
        "ShowHistory",
        "ListTop",
        "ShowBlocks",
        "ShowPoolMap",
        "Explain",
        "ShowCluster",
        "Rehearse",
        "ShowAccess",
        "ListActs",
        "Audit",
    ];

    /// `MINT_TEST_UPDATE=1` writes what `proto/` says now.
    #[test]
    fn the_kept_descriptor_is_that_of_the_messages() {
        let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut compiler = protox::Compiler::new([crate_folder.join("../../proto")]).unwrap();
        compiler
            .include_imports(true)
            .open_file("mintage/v1/mint.proto")
            .unwrap();
        let compiled = compiler.encode_file_descriptor_set();
        if std::env::var_os("MINT_TEST_UPDATE").is_some() {
            std::fs::write(crate_folder.join("src/faces/grpc/mint.bin"), &compiled).unwrap();
        }
        let is_kept = compiled == DESCRIPTORS;
        assert!(
            is_kept,
            "proto/ has changed: MINT_TEST_UPDATE=1 writes crates/server/src/faces/grpc/mint.bin"
        );
    }

    #[test]
    fn every_operation_is_a_method() {
        let methods: BTreeSet<String> = METHODS.keys().cloned().collect();
        let streams = ["NextStream", "IdStream"].map(String::from);
        let operations = OPERATIONS.iter().map(|row| format!("{:?}", row.op));
        let expected: BTreeSet<String> = operations
            .filter(|op| !NOT_HERE.contains(&op.as_str()))
            .chain(streams)
            .collect();
        assert_eq!(methods, expected);
    }

    /// What a schema of /openapi.json refers to.
    fn resolved<'d>(openapi: &'d Value, schema: &'d Value) -> &'d Value {
        let of_null = |one: &&Value| one["type"] != "null";
        match (schema["$ref"].as_str(), schema["anyOf"].as_array()) {
            (Some(at), _) => openapi.pointer(at.trim_start_matches('#')).unwrap(),
            (None, Some(any)) => resolved(openapi, any.iter().find(of_null).unwrap()),
            (None, None) => schema,
        }
    }

    /// The properties of a document, and of those in it, that no field has.
    fn missing(openapi: &Value, schema: &Value, message: &MessageDescriptor, out: &mut Vec<String>) {
        let schema = resolved(openapi, schema);
        if message.full_name().starts_with("google.") {
            return;
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let Some(field) = message.get_field_by_name(name) else {
                out.push(format!("{} has no {name}", message.full_name()));
                continue;
            };
            let property = resolved(openapi, property);
            let property = if field.is_list() {
                &property["items"]
            } else {
                property
            };
            if let Kind::Message(message) = field.kind()
                && !field.is_map()
            {
                missing(openapi, property, &message, out);
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            missing(openapi, part, message, out);
        }
    }

    #[test]
    fn every_field_of_a_document_is_one_of_its_message() {
        let openapi = mintage_wire::openapi();
        let (mut absent, mut documents) = (Vec::new(), 0);
        for row in OPERATIONS {
            // They answer ids, not documents.
            if row.allocates && row.op != Op::LendWindow {
                continue;
            }
            let Ok(method) = method(&format!("{:?}", row.op)) else {
                continue;
            };
            let described = &openapi["paths"][row.path][row.method.to_lowercase()];
            let json = |at: &'static str| move |body: &Value| body["content"]["application/json"][at].clone();
            let answers = described["responses"].as_object().unwrap();
            let fine = answers.iter().filter(|(status, _)| status.starts_with('2'));
            for schema in fine
                .map(|(_, answer)| json("schema")(answer))
                .filter(|schema| !schema.is_null())
            {
                documents += 1;
                missing(&openapi, &schema, &method.output(), &mut absent);
            }
            if let Takes::Document(_) = row.takes {
                let input = method.input();
                let nested = input.fields().find_map(|field| match field.kind() {
                    Kind::Message(message) if message.full_name().starts_with("mintage.") => Some(message),
                    _ => None,
                });
                documents += 1;
                let schema = json("schema")(&described["requestBody"]);
                missing(&openapi, &schema, &nested.unwrap_or(input), &mut absent);
            }
        }
        assert_eq!(absent, Vec::<String>::new());
        assert!(documents > 20, "{documents}");
    }
}
