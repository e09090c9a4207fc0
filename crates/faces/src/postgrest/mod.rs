//! PostgREST's functions: sequences for clients such as supabase-js and postgrest-py, by `POST /rpc/nextval`.
//!
//! | file | what |
//! | --- | --- |
//! | `settings` | which functions and schemas there are |
//! | `arguments`, `call` | bodies, and what they ask for |
//! | `preferences`, `answer` | `Prefer` and `Accept`, and answers in that form |
//! | `perform` | taking numbers, and moving sequences |
//! | `refusal` | refusals in PostgREST's form |
//!
//! Source: PostgREST 14 (`src/PostgREST/Error.hs`, its documentation of functions) and its clients.

mod answer;
mod arguments;
mod call;
mod perform;
mod preferences;
mod refusal;
mod settings;

pub use settings::Settings;

use hyper::StatusCode;
use mintage_wire::percent;

use answer::{Form, Wanted};
use arguments::Arguments;
use call::{Call, no_such_function};
use mintage_server::chassis::auth::Right;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::web;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::{Face, SettingsOf};
use preferences::Preferences;
use refusal::{METHODS, Refusal};
use settings::{Does, Function};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "postgrest",
    label: "postgrest",
    title: "PostgREST's HTTP",
    section: "faces.postgrest",
    port: 3000,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "-d seq=orders ", "/rpc/nextval"),
    pools: |_| Vec::new(),
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.get::<Settings>().access,
    owns: |path| path.starts_with("/rpc/"),
    methods: "OPTIONS, POST",
    reads_all_headers: true,
    knows_tokens: false,
    is_probe: |_| false,
    // What a function needs besides is known when its sequence is: the refusal names that.
    right: |_| Right::Read,
    look,
    answer: |asked| Box::pin(async { Ok(answer(asked).await) }),
    refuse: |_, _, error| Refusal::of(error).response(),
};

/// HEAD and OPTIONS.
fn look(head: &Head<'_>, config: &Config) -> Response {
    let settings = &config.faces.get::<Settings>();
    let found = addressed(head, settings).and_then(|to| {
        let arguments = Arguments::of_query(head);
        let function = to.function(settings, &arguments)?;
        match head.method {
            "OPTIONS" => Ok(()),
            _ => Err(read_only(&function)),
        }
    });
    if let Err(refusal) = found {
        return refusal.response();
    }
    let mut response = Response::empty(StatusCode::OK);
    response.add("allow", METHODS);
    // A page of a listed origin is told so by the engine, which has answered the browser's own question before.
    if head.origin.is_none() {
        response.add("access-control-allow-origin", "*");
    }
    response
}

async fn answer(asked: &Asked<'_>) -> Response {
    let answered = call_function(asked).await;
    answered.unwrap_or_else(Refusal::response)
}

/// The checks stand in the order of the original, so that of two faults a client is told the same one.
async fn call_function(asked: &Asked<'_>) -> Result<Response, Refusal> {
    let (head, config) = (asked.head, asked.thread.config());
    let settings = &config.faces.get::<Settings>();
    let to = addressed(head, settings)?;
    let arguments = match head.method {
        "POST" => Arguments::of_body(head, asked.body)?,
        "GET" => Arguments::of_query(head),
        method => {
            let message = format!("Cannot use the {method} method on RPC");
            return Err(Refusal::new(Code::MethodNotAllowed, "PGRST101", message));
        }
    };
    let preferences = Preferences::of(head)?;
    let function = to.function(settings, &arguments)?;
    let wanted = Wanted {
        form: Form::accepted(head.accept)?,
        preferences,
        strings: settings.strings,
        profile: to.profile.clone(),
    };
    if head.method == "GET" {
        return Err(read_only(&function));
    }
    match Call::of(&function, arguments.clone(), config.max_count)? {
        Some(call) => perform::perform(asked, settings, call, &wanted).await,
        None => Err(to.no_such_function(settings, &arguments)),
    }
}

/// What a request is for.
struct Addressed {
    function: String,
    schema: String,
    /// The schema, where the client has named it.
    profile: Option<String>,
}

impl Addressed {
    fn function(&self, settings: &Settings, arguments: &Arguments) -> Result<Function, Refusal> {
        let found = settings.functions.find(&self.function);
        found.ok_or_else(|| self.no_such_function(settings, arguments))
    }

    fn no_such_function(&self, settings: &Settings, arguments: &Arguments) -> Refusal {
        no_such_function(&settings.functions, &self.schema, &self.function, arguments)
    }
}

/// The function and the schema that a request is for.
fn addressed(head: &Head<'_>, settings: &Settings) -> Result<Addressed, Refusal> {
    let schemas = &settings.schemas;
    let decoded = |text: &str| {
        let bytes = percent::decode(text).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let unknown = |state, message: String| Err(Refusal::new(Code::UnknownRoute, state, message));
    let path = head.path.strip_prefix('/').unwrap_or_default();
    let function = match path.split_once('/') {
        Some(("rpc", name)) if !name.is_empty() && !name.contains('/') => decoded(name),
        Some(_) => return unknown("PGRST125", "Invalid path specified in request URL".to_string()),
        None if path.is_empty() => {
            return unknown("PGRST126", "Root endpoint metadata is disabled".to_string());
        }
        None => {
            let (schema, table) = (schemas.first(), decoded(path));
            let message = format!("Could not find the table '{schema}.{table}' in the schema cache");
            return unknown("PGRST205", message);
        }
    };
    let header = match head.method {
        "GET" | "HEAD" => "accept-profile",
        _ => "content-profile",
    };
    let named = head.all.and_then(|all| all.get(header));
    let named = named.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if let Some(odd) = named.as_ref().filter(|named| !schemas.all().contains(named)) {
        let refusal = Refusal::new(Code::NotAcceptable, "PGRST106", format!("Invalid schema: {odd}"));
        let exposed = schemas.all().join(", ");
        return Err(refusal.with_hint(format!("Only the following schemas are exposed: {exposed}")));
    }
    Ok(Addressed {
        function,
        schema: named.clone().unwrap_or_else(|| schemas.first().to_string()),
        profile: named,
    })
}

/// GET and HEAD run in a transaction that reads only.
fn read_only(function: &Function) -> Refusal {
    let calls = match function {
        Function::Does(Does::Setval) => Does::Setval,
        _ => Does::Nextval,
    };
    let message = format!("cannot execute {}() in a read-only transaction", calls.as_str());
    Refusal::new(Code::MethodNotAllowed, "25006", message)
}
