//! Talking to a running server over HTTP.

use std::io::Read;
use std::time::Duration;

use mintage_ledger::Name;
use mintage_wire::CODES;
use serde_json::Value;

use crate::errors::Failure;
use crate::local::GOING_BACK;
use crate::tls::TlsFiles;

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

/// A name as a part of a path or query.
pub(crate) fn escaped(name: &Name) -> String {
    percent_encoded(name.as_str())
}

/// Text as a part of a path or query: everything but letters, digits and `-_:` is percent-encoded, the dot, too, since
/// paths of `.` and `..` mean something else on their way.
pub(crate) fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// A connection to a server, kept alive over calls.
pub(crate) struct Client {
    agent: ureq::Agent,
    base: String,
    authorization: Option<String>,
}

impl Client {
    /// For the server at a URL such as `http://127.0.0.1:7600`, or `https://ids.example.com` for one behind a proxy.
    pub(crate) fn new(url: &str, files: &TlsFiles) -> Result<Client, Failure> {
        let base = url.trim_end_matches('/').to_string();
        if !base.starts_with("http://") && !base.starts_with("https://") {
            return Err(Failure::usage(format_args!(
                "the server's URL {base:?} begins with neither http:// nor https://"
            ))
            .with_hint(format_args!("for example {DEFAULT_SERVER}")));
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_TIMEOUT))
            // A token goes to the server that was named and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The server is named directly; a proxy meant for the web must not see its tokens.
            .proxy(None);
        let config = match base.starts_with("https://") {
            true => files.secure(config)?,
            false => config,
        };
        let config = config.build();
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
            _ => Failure::cannot(format_args!("{} answers {status} and no JSON", self.base)).with_hint(
                match status == 400 && self.base.starts_with("https://") {
                    true => "a proxy may want a certificate: show one with --cert FILE --key FILE",
                    false => "is this a mint server? its HTTP port is 7600 unless configured",
                },
            ),
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
        let hint = match why.as_str() {
            why if why.contains("UnknownIssuer") || why.contains("BadSignature") => {
                "trust the authority that signed its certificate with --cacert FILE or MINT_CACERT"
            }
            why if why.contains("CertificateRequired") => {
                "it wants a certificate: show one with --cert FILE --key FILE, or MINT_CERT and MINT_KEY"
            }
            why if why.contains("certificate") => "the name in --server must be one of the certificate's",
            _ => "start one with mint serve, name another with --server or MINT_SERVER, or use --store URL",
        };
        Failure::cannot(format_args!("cannot reach the server at {}: {why}", self.base)).with_hint(hint)
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
