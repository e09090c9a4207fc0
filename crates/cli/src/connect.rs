//! Talking to a running server over HTTP.

#[cfg(feature = "server")]
use std::io::Read;
use std::time::Duration;

use mintage_wire::Problem;
use serde::de::DeserializeOwned;

use crate::ask::Ask;
use crate::errors::Failure;
use crate::tls::TlsFiles;

/// How long an answer may take that is read as it comes.
#[cfg(feature = "server")]
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

/// An answer that is read as it comes.
pub(crate) enum Streamed {
    /// What comes.
    Body(ureq::BodyReader<'static>),
    /// Another status than success, and its text.
    Refused(u16, String),
}

/// Whether reading an answer ended because its time was over.
pub(crate) fn is_timeout(error: &std::io::Error) -> bool {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<ureq::Error>());
    matches!(inner, Some(ureq::Error::Timeout(_)))
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

    /// Asks for an operation and gives the document that came back; an empty answer reads as `null`.
    pub(crate) fn call<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, Failure> {
        let (status, text) = self.answer(ask)?;
        let document = if text.is_empty() { "null" } else { &text };
        match (status, serde_json::from_str(document)) {
            (200..=299, Ok(document)) => Ok(document),
            _ => Err(self.said_no(status, &text)),
        }
    }

    /// Asks for an operation and gives what was answered, whatever its status: that, and its text.
    pub(crate) fn answer(&self, ask: &Ask) -> Result<(u16, String), Failure> {
        let request = self.request(ask);
        let answer = match &ask.document {
            Some(document) => self.run(
                request
                    .header("content-type", "application/json")
                    .body(document.to_string()),
            ),
            // Said in full: a request that leaves its length open is sent as chunks, for which the server ends the
            // connection.
            None if matches!(ask.method(), "POST" | "PUT" | "PATCH") => {
                self.run(request.header("content-length", "0").body(""))
            }
            None => self.run(request.body(())),
        };
        self.read(answer?)
    }

    fn request(&self, ask: &Ask) -> ureq::http::request::Builder {
        let request =
            ureq::http::Request::builder()
                .method(ask.method())
                .uri(format!("{}{}", self.base, ask.target()));
        match &self.authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    fn run<B: ureq::AsSendBody>(
        &self,
        request: Result<ureq::http::Request<B>, ureq::http::Error>,
    ) -> Result<ureq::http::Response<ureq::Body>, Failure> {
        let request = request.map_err(|e| self.bad_url(&e))?;
        self.agent.run(request).map_err(|e| self.unreachable(&e))
    }

    /// Asks for an answer that is read as it comes.
    #[cfg(feature = "server")]
    pub(crate) fn stream(&self, ask: &Ask) -> Result<impl Read + use<>, Failure> {
        match self.streamed(ask, ANSWER_TIMEOUT, STREAM_TIMEOUT)? {
            Streamed::Body(body) => Ok(body),
            Streamed::Refused(status, text) => Err(self.said_no(status, &text)),
        }
    }

    /// The same, for an answer that begins and ends within some time.
    pub(crate) fn streamed(&self, ask: &Ask, begins: Duration, ends: Duration) -> Result<Streamed, Failure> {
        let request = self.request(ask).body(());
        let request = self
            .agent
            .configure_request(request.map_err(|e| self.bad_url(&e))?)
            .timeout_global(None)
            .timeout_connect(Some(begins))
            .timeout_recv_response(Some(begins))
            .timeout_recv_body(Some(ends))
            .build();
        let answer = self.agent.run(request).map_err(|e| self.unreachable(&e))?;
        if !answer.status().is_success() {
            let (status, text) = self.read(answer)?;
            return Ok(Streamed::Refused(status, text));
        }
        Ok(Streamed::Body(answer.into_body().into_reader()))
    }

    fn read(&self, mut answer: ureq::http::Response<ureq::Body>) -> Result<(u16, String), Failure> {
        let text = answer.body_mut().read_to_string();
        Ok((answer.status().as_u16(), text.map_err(|e| self.unreachable(&e))?))
    }

    /// The refusal that such an answer is.
    pub(crate) fn said_no(&self, status: u16, text: &str) -> Failure {
        match serde_json::from_str::<Problem<'_>>(text) {
            Ok(problem) => problem.into(),
            Err(_) => Failure::cannot(format_args!("{} answered {status} without JSON", self.base))
                .with_hint(match status == 400 && self.base.starts_with("https://") {
                    true => "a proxy may want a certificate: show one with --cert FILE --key FILE",
                    false => "is this a mint server? its HTTP port is 7600 unless configured",
                }),
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
        // What the server's alert is about is what was shown to it.
        let alert = why.split("received fatal alert: ").nth(1).unwrap_or_default();
        let hint = match why.as_str() {
            _ if alert.starts_with("UnexpectedMessage") => "TLS is not spoken at that port: say http://",
            _ if alert.contains("Certificate") && !alert.contains("Required")
                || alert.starts_with("UnknownCA") =>
            {
                "it refused the certificate of --cert or MINT_CERT: it has to last, and be one for clients of an authority \
                 that the server trusts"
            }
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
