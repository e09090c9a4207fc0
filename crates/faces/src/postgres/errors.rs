//! Refusals as PostgreSQL tells them: SQLSTATE, text, and where in the statement.

use std::borrow::Cow;

use crate::sql::lexer::{Fault, FaultKind};
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::kept::Full;

/// A refusal, or a notice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SqlError {
    pub(super) severity: Severity,
    /// SQLSTATE: five characters.
    pub(super) state: &'static str,
    pub(super) message: Cow<'static, str>,
    pub(super) detail: Option<Cow<'static, str>>,
    pub(super) hint: Option<Cow<'static, str>>,
    /// Where in the statement's text, in bytes.
    pub(super) at: Option<usize>,
    /// What it is counted as.
    pub(super) code: Code,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Severity {
    Notice,
    Warning,
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        }
    }
}

/// What every step of a statement answers.
pub(super) type Result<T> = std::result::Result<T, SqlError>;

impl SqlError {
    /// A refusal of what was written.
    pub(super) fn new(state: &'static str, message: impl Into<Cow<'static, str>>) -> SqlError {
        SqlError {
            severity: Severity::Error,
            state,
            message: message.into(),
            detail: None,
            hint: None,
            at: None,
            code: code_of(state),
        }
    }

    /// One after which the connection ends.
    pub(super) fn fatal(state: &'static str, message: impl Into<Cow<'static, str>>) -> SqlError {
        SqlError {
            severity: Severity::Fatal,
            ..SqlError::new(state, message)
        }
    }

    pub(super) fn notice(state: &'static str, message: impl Into<Cow<'static, str>>) -> SqlError {
        SqlError {
            severity: Severity::Notice,
            ..SqlError::new(state, message)
        }
    }

    pub(super) fn warning(state: &'static str, message: impl Into<Cow<'static, str>>) -> SqlError {
        SqlError {
            severity: Severity::Warning,
            ..SqlError::new(state, message)
        }
    }

    /// What PostgreSQL knows and this server does not do.
    pub(super) fn unsupported(what: &str) -> SqlError {
        SqlError::new(
            "0A000",
            format!("{what} is not supported: Mintage holds sequences, not tables"),
        )
    }

    /// A text that is no statement, at this token.
    pub(super) fn syntax(at: usize, near: &str) -> SqlError {
        let message = match near.is_empty() {
            true => "syntax error at end of input".into(),
            false => format!("syntax error at or near \"{}\"", shown(near)),
        };
        SqlError::new("42601", message).at(at)
    }

    /// What the lexer found.
    pub(super) fn of_fault(fault: Fault, text: &str) -> SqlError {
        let rest = shown(text.get(fault.at..).unwrap_or_default());
        let what = match fault.kind {
            FaultKind::OpenText => "unterminated quoted string",
            FaultKind::OpenDollar => "unterminated dollar-quoted string",
            FaultKind::OpenName => "unterminated quoted identifier",
            FaultKind::OpenComment => "unterminated /* comment",
            FaultKind::EmptyName => "zero-length delimited identifier",
            FaultKind::NumberWithLetters => "trailing junk after numeric literal",
            FaultKind::TooDeep => return SqlError::too_deep(),
        };
        SqlError::new("42601", format!("{what} at or near \"{rest}\"")).at(fault.at)
    }

    /// Parentheses or comments, deeper in each other than is read.
    pub(super) fn too_deep() -> SqlError {
        SqlError::new("54001", "stack depth limit exceeded")
            .with_hint("parentheses and comments are read 64 deep")
    }

    pub(super) fn no_relation(shown: &dyn std::fmt::Display) -> SqlError {
        SqlError::new("42P01", format!("relation \"{shown}\" does not exist"))
    }

    #[must_use]
    pub(super) fn at(mut self, at: usize) -> SqlError {
        self.at = Some(at);
        self
    }

    #[must_use]
    pub(super) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> SqlError {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(super) fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> SqlError {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub(super) fn counted_as(mut self, code: Code) -> SqlError {
        self.code = code;
        self
    }
}

/// What the service says, where a statement has no words of its own for it.
impl From<Full> for SqlError {
    fn from(full: Full) -> SqlError {
        let state = match full {
            Full::Connection(_) => "54000",
            Full::All(_) => "53200",
        };
        SqlError {
            code: full.code(),
            ..SqlError::new(state, full.message()).with_hint(full.hint())
        }
    }
}

impl From<ServiceError> for SqlError {
    fn from(error: ServiceError) -> SqlError {
        let mut refusal = SqlError::new(state_of(error.code), error.message).counted_as(error.code);
        refusal.hint = error.hint;
        if let Some(seconds) = error.retry_after_s {
            let again = format!("worth asking again after {seconds} s");
            refusal.hint = Some(match refusal.hint {
                Some(hint) => format!("{hint}; {again}").into(),
                None => again.into(),
            });
        }
        refusal
    }
}

/// The SQLSTATE of each code. Those of class 08 and 57P0x would make pools drop a connection that is well.
fn state_of(code: Code) -> &'static str {
    match code {
        Code::NotFound => "42704",
        Code::Exists => "42P07",
        Code::Exhausted => "2200H",
        Code::OnlyForward | Code::NeedsAllowRepeat | Code::MovedBack => "55000",
        Code::Forbidden => "42501",
        Code::Unauthenticated | Code::WrongToken => "28000",
        Code::InvalidName => "42602",
        Code::InvalidCount => "54000",
        Code::InvalidArgument | Code::InvalidBody | Code::UnknownFormat => "22023",
        Code::Unavailable | Code::ClockBack | Code::Moving | Code::RateLimited => "53000",
        Code::TooMany => "53400",
        Code::TooManyConnections => "53300",
        Code::Conflict => "40001",
        Code::Stopped => "58030",
        Code::Protocol | Code::BodyTooLarge | Code::HeaderTooLarge | Code::Handshake => "08P01",
        Code::UnknownCommand | Code::UnknownRoute | Code::MethodNotAllowed => "0A000",
        Code::NotAcceptable | Code::UnsupportedMediaType | Code::IdempotencyKey => "0A000",
        Code::CrossOrigin | Code::WrongHost => "42501",
        Code::RequestTimeout | Code::IdleTimeout | Code::SlowReader => "57P05",
        Code::Internal => "XX000",
    }
}

/// What a refusal of our own words is counted as.
fn code_of(state: &str) -> Code {
    match state {
        "42P01" | "42704" | "42883" | "26000" | "34000" => Code::NotFound,
        "42P07" | "42P05" | "42P03" => Code::Exists,
        "42501" | "25006" => Code::Forbidden,
        "28000" => Code::Unauthenticated,
        "28P01" => Code::WrongToken,
        "2200H" => Code::Exhausted,
        "55000" => Code::OnlyForward,
        "0A000" => Code::UnknownCommand,
        "08P01" => Code::Protocol,
        "42602" => Code::InvalidName,
        "53400" => Code::TooMany,
        "57014" => Code::RequestTimeout,
        _ => Code::InvalidArgument,
    }
}

/// So much of a client's text as a refusal shows.
pub(super) fn shown(text: &str) -> &str {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// In characters.
const SHOWN_MAX: usize = 80;
