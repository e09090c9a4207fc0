//! Talking to a running server over HTTP.

use std::io::Read;
use std::time::Duration;

use mintage_server::error::CODES;
use serde_json::Value;

use crate::errors::Failure;
use crate::local::GOING_BACK;

/// How long an answer may take that is read as it comes.
const STREAM_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// Where a server listens by default.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:7600";

/// A server that has not answered by then is taken for unreachable.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The server to ask: the one given, else `MINT_SERVER`, else the default.
pub(crate) fn server_url(given: Option<&str>) -> String {
    let named = std::env::var("MINT_SERVER").ok().filter(|url| !url.is_empty());
    given
        .map(String::from)
        .or(named)
        .unwrap_or_else(|| DEFAULT_SERVER.to_string())
}

/// A connection to a server, kept alive over calls.
pub(crate) struct Client {
    agent: ureq::Agent,
    base: String,
    authorization: Option<String>,
}

impl Client {
    /// For the server at a URL such as `http://127.0.0.1:7600`.
    pub(crate) fn new(url: &str) -> Result<Client, Failure> {
        let base = url.trim_end_matches('/').to_string();
        if base.starts_with("https://") {
            return Err(Failure::usage(format_args!(
                "{base} asks for TLS, which the server does not speak"
            ))
            .with_hint("use http:// over loopback, a tunnel or a private network"));
        }
        if !base.starts_with("http://") {
            return Err(Failure::usage(format_args!(
                "the server's URL {base:?} does not begin with http://"
            ))
            .with_hint(format_args!("for example {DEFAULT_SERVER}")));
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_TIMEOUT))
            // The server is named directly; a proxy meant for the web must not see its tokens.
            .proxy(None)
            .build();
        let token = std::env::var("MINT_TOKEN").ok().filter(|t| !t.is_empty());
        Ok(Client {
            agent: config.into(),
            base,
            authorization: token.map(|t| format!("Bearer {t}")),
        })
    }

    /// Sends one request and gives the JSON that came back; `Null` for an empty answer.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let answer = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(body.to_string())
                .map_err(|e| self.bad_url(&e))
                .and_then(|request| self.agent.run(request).map_err(|e| self.unreachable(&e))),
            // Said in full: a request that leaves its length open is sent as chunks, for which the server ends the
            // connection.
            None if matches!(method, "POST" | "PUT" | "PATCH") => request
                .header("content-length", "0")
                .body("")
                .map_err(|e| self.bad_url(&e))
                .and_then(|request| self.agent.run(request).map_err(|e| self.unreachable(&e))),
            None => request
                .body(())
                .map_err(|e| self.bad_url(&e))
                .and_then(|request| self.agent.run(request).map_err(|e| self.unreachable(&e))),
        };
        let (status, text) = self.read(answer?)?;
        match (status, serde_json::from_str(&text).ok()) {
            (200..=299, Some(json)) => Ok(json),
            (200..=299, None) if text.is_empty() => Ok(Value::Null),
            (_, json) => Err(self.said_no(status, json)),
        }
    }

    /// Asks for an answer that is read as it comes.
    pub(crate) fn stream(&self, path: &str) -> Result<impl Read + use<>, Failure> {
        let mut request = ureq::http::Request::builder().uri(format!("{}{path}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.body(()).map_err(|e| self.bad_url(&e))?;
        let request = self
            .agent
            .configure_request(request)
            .timeout_global(None)
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .timeout_recv_body(Some(STREAM_TIMEOUT))
            .build();
        let answer = self.agent.run(request).map_err(|e| self.unreachable(&e))?;
        if !answer.status().is_success() {
            let (status, text) = self.read(answer)?;
            return Err(self.said_no(status, serde_json::from_str(&text).ok()));
        }
        Ok(answer.into_body().into_reader())
    }

    /// What a path answers, whatever its status: that, and its text.
    pub(crate) fn look(&self, path: &str) -> Result<(u16, String), Failure> {
        let mut request = ureq::http::Request::builder().uri(format!("{}{path}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.body(()).map_err(|e| self.bad_url(&e))?;
        self.read(self.agent.run(request).map_err(|e| self.unreachable(&e))?)
    }

    fn read(&self, mut answer: ureq::http::Response<ureq::Body>) -> Result<(u16, String), Failure> {
        let text = answer.body_mut().read_to_string();
        Ok((answer.status().as_u16(), text.map_err(|e| self.unreachable(&e))?))
    }

    fn said_no(&self, status: u16, problem: Option<Value>) -> Failure {
        match problem {
            Some(problem) if problem["code"].is_string() => refused(&problem),
            _ => Failure::cannot(format_args!("{} answers {status} and no JSON", self.base))
                .with_hint("is this a mint server? its HTTP port is 7600 unless configured"),
        }
    }

    fn bad_url(&self, error: &ureq::http::Error) -> Failure {
        Failure::usage(format_args!(
            "the server's URL {:?} cannot be used: {error}",
            self.base
        ))
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let why = match error {
            ureq::Error::Io(e) => e.to_string(),
            other => other.to_string(),
        };
        Failure::cannot(format_args!("cannot reach the server at {}: {why}", self.base)).with_hint(
            "start one with mint serve, name another with --server or MINT_SERVER, or use --store URL",
        )
    }
}

/// The server's refusal, in its own words and with the exit code of its error table.
fn refused(problem: &Value) -> Failure {
    let code = problem["code"].as_str().unwrap_or_default();
    let exit = CODES
        .iter()
        .find(|row| row.name == code)
        .map_or(3, |row| row.exit_code);
    let message = [&problem["detail"], &problem["title"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or(code);
    let hint = match code {
        // The server speaks of its own headers and fields; here they are a variable and an option.
        "unauthenticated" | "wrong_token" => Some("set MINT_TOKEN to a token of this server"),
        "only_forward" | "needs_allow_repeat" => Some(GOING_BACK),
        _ => problem["hint"].as_str(),
    };
    Failure::Said {
        code: exit,
        message: message.to_string(),
        hint: None,
    }
    .with_hint_if(hint)
}
