//! The table of operations as an OpenAPI document, for generators of clients.

use mintage::{FORMATS, GenOption, OptionForm};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::code::Code;
use crate::formats::parameter;
use crate::health::Problem;
use crate::operations::operation::{Form, Kind, Operation, Parameter, Takes};
use crate::operations::{ANY_REFUSES, OPERATIONS};

/// The OpenAPI 3.1 document of everything that HTTP offers.
///
/// ```
/// let document = mintage_wire::openapi();
/// assert_eq!(document["openapi"], "3.1.0");
/// let next = &document["paths"]["/v1/sequences/{name}/next"]["post"];
/// assert_eq!(next["operationId"], "next");
/// ```
pub fn openapi() -> Value {
    let settings = || {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
    };
    let mut schemas = Schemas {
        asked: settings().for_deserialize().into_generator(),
        answered: settings().for_serialize().into_generator(),
    };
    let mut paths = Map::new();
    for row in OPERATIONS {
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        path[row.method.to_lowercase()] = schemas.operation(row);
    }
    let mut components = schemas.asked.take_definitions(true);
    components.extend(schemas.answered.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mintage",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Unique ids of every kind",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": env!("CARGO_PKG_LICENSE")},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "needed where the server has tokens configured",
                },
            },
        },
    })
}

/// The schemas of what is sent to a server, and of what it says: the one reads numbers, the other writes texts.
struct Schemas {
    asked: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Schemas {
    fn operation(&mut self, row: &Operation) -> Value {
        let name = format!("{:?}", row.op);
        let (first, rest) = name.split_at(1);
        let group = row.path.trim_start_matches("/v1").split('/').nth(1);
        let mut shown = json!({
            "operationId": first.to_lowercase() + rest,
            "summary": row.says,
            "tags": [group.filter(|_| row.path.starts_with("/v1")).unwrap_or("server")],
            "parameters": parameters(row),
            "responses": self.responses(row),
        });
        if let Some(body) = self.body(row) {
            shown["requestBody"] = body;
        }
        if let Some(right) = row.right {
            shown["security"] = json!([{}, {"token": []}]);
            shown["description"] = json!(format!(
                "Where tokens are configured it needs one that may `{}`.",
                right.as_str()
            ));
        }
        shown
    }

    fn body(&mut self, row: &Operation) -> Option<Value> {
        let schema = match row.takes {
            Takes::Nothing => return None,
            Takes::File => return Some(json!({"content": {"application/octet-stream": {"schema": {}}}})),
            Takes::Document(schema) => schema(&mut self.asked).to_value(),
            Takes::Parameters => {
                let property = |known: &Parameter| (known.name.to_string(), schema_of(known));
                let properties: Map<String, Value> = row.parameters.iter().map(property).collect();
                let mut schema = json!({"type": "object", "properties": properties});
                if !row.takes_options {
                    schema["additionalProperties"] = json!(false);
                }
                schema
            }
        };
        Some(json!({"content": {"application/json": {"schema": schema}}}))
    }

    fn responses(&mut self, row: &Operation) -> Value {
        let mut responses = Map::new();
        for (status, form) in row.answers {
            let mut response = json!({"description": row.says});
            match form {
                Form::Empty => {}
                Form::Json(schema) => {
                    let schema = schema(&mut self.answered);
                    response["content"] = json!({"application/json": {"schema": schema}});
                }
                Form::Ids(schema) => {
                    let schema = schema(&mut self.answered);
                    response["content"] = json!({
                        "application/json": {"schema": schema},
                        "text/plain": {"schema": {"type": "string"}},
                        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
                    });
                }
                Form::Other(media) => {
                    response["content"] = json!({*media: {"schema": {"type": "string"}}});
                }
            }
            responses.insert(status.to_string(), response);
        }
        let problem = self.answered.subschema_for::<Problem<'_>>();
        for code in refusals(row) {
            let code = code.row();
            let response = responses
                .entry(code.http_status.to_string())
                .or_insert_with(|| json!({"description": ""}));
            response["content"]["application/problem+json"] = json!({"schema": problem});
            let said = response["description"].as_str().unwrap_or_default();
            let separator = if said.is_empty() { "" } else { "; " };
            response["description"] = json!(format!("{said}{separator}`{}`: {}", code.name, code.title));
        }
        responses.into()
    }
}

/// Everything that an operation may be refused for.
fn refusals(row: &Operation) -> Vec<Code> {
    let mut codes = row.refuses.to_vec();
    codes.extend(ANY_REFUSES);
    if row.right.is_some() {
        codes.extend([Code::Unauthenticated, Code::WrongToken, Code::Forbidden]);
    }
    if !matches!(row.takes, Takes::Nothing) {
        codes.extend([Code::InvalidBody, Code::UnsupportedMediaType, Code::BodyTooLarge]);
    }
    codes.sort_by_key(|code| *code as u8);
    codes.dedup();
    codes
}

fn parameters(row: &Operation) -> Vec<Value> {
    let placeholder =
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    let known = |known: &Parameter| json!({"name": known.name, "in": "query", "description": known.says, "schema": schema_of(known)});
    let option = |option: &GenOption| {
        let takers = FORMATS.iter().filter(|row| row.options.contains(option));
        let takers: Vec<&str> = takers.map(|row| row.name).collect();
        let says = format!("{}: {}", takers.join(", "), option.says());
        let name = parameter(*option);
        json!({"name": name, "in": "query", "description": says, "schema": schema_of_option(*option)})
    };
    let options = GenOption::ALL.iter().filter(|_| row.takes_options).map(option);
    let mut all: Vec<Value> = row.placeholders().map(placeholder).collect();
    all.extend(row.parameters.iter().map(known).chain(options));
    all
}

fn schema_of_option(option: GenOption) -> Value {
    match option.form() {
        OptionForm::Number(largest) => json!({"type": "integer", "minimum": 0, "maximum": largest}),
        OptionForm::OneOf(words) => json!({"type": "string", "enum": words}),
        OptionForm::Flag => json!({"type": "boolean"}),
        _ => json!({"type": "string"}),
    }
}

fn schema_of(parameter: &Parameter) -> Value {
    match parameter.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Whole(least, None) => json!({"type": "integer", "minimum": least}),
        Kind::Whole(least, Some(most)) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::OneOf(words) => json!({"type": "string", "enum": words}),
    }
}
