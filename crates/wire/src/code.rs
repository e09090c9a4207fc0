//! What can go wrong, once: one row per error code, from which every face takes its own form.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $http:literal, $resp:literal, $grpc:literal, $exit:literal, $title:literal;)*) => {
        /// The kinds of refusal. Their names ([`Code::as_str`]) are stable: programs may match on them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        /// Every code, in the order of the enumeration.
        pub static CODES: &[CodeRow] = &[
            $(CodeRow {
                code: Code::$variant, name: $code, http_status: $http, resp_prefix: $resp, grpc_status: $grpc, exit_code: $exit, title: $title,
            },)*
        ];
    };
}

/// One error code and what each face makes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeRow {
    /// The code.
    pub code: Code,
    /// Its stable name: `code` in problem documents, the label of `mint_refused_total`.
    pub name: &'static str,
    /// The status of an HTTP answer.
    pub http_status: u16,
    /// The first word of a Redis error.
    pub resp_prefix: &'static str,
    /// The name of gRPC's status.
    pub grpc_status: &'static str,
    /// The exit code of a command that ends with it.
    pub exit_code: u8,
    /// What it means, whatever the details.
    pub title: &'static str,
}

codes! {
    /// A name outside the grammar.
    InvalidName = "invalid_name", 400, "ERR", "INVALID_ARGUMENT", 2, "the name is outside the grammar";
    /// A count that is no number or out of range.
    InvalidCount = "invalid_count", 400, "ERR", "INVALID_ARGUMENT", 2, "the count is out of range";
    /// Another argument that makes no sense.
    InvalidArgument = "invalid_argument", 400, "ERR", "INVALID_ARGUMENT", 2, "an argument is invalid";
    /// A body that is not the JSON document asked for.
    InvalidBody = "invalid_body", 400, "ERR", "INVALID_ARGUMENT", 2, "the body is invalid";
    /// Bytes that are no request.
    Protocol = "protocol_error", 400, "ERR", "INVALID_ARGUMENT", 3, "the bytes are not a request";
    /// A connection on which TLS could not be agreed on.
    Handshake = "tls_handshake", 400, "ERR", "UNAVAILABLE", 3, "TLS could not be agreed on";
    /// A command that does not exist.
    UnknownCommand = "unknown_command", 404, "ERR", "UNIMPLEMENTED", 2, "there is no such command";
    /// A path that leads nowhere.
    UnknownRoute = "unknown_route", 404, "ERR", "UNIMPLEMENTED", 2, "there is no such route";
    /// A format that does not exist.
    UnknownFormat = "unknown_format", 404, "ERR", "NOT_FOUND", 2, "there is no such format";
    /// A sequence or pool that does not exist.
    NotFound = "not_found", 404, "ERR", "NOT_FOUND", 3, "it does not exist";
    /// A route with another method.
    MethodNotAllowed = "method_not_allowed", 405, "ERR", "UNIMPLEMENTED", 2, "the method does not fit the route";
    /// No media type that the client accepts.
    NotAcceptable = "not_acceptable", 406, "ERR", "INVALID_ARGUMENT", 2, "none of the accepted media types is offered";
    /// A definition that differs from the existing one.
    Exists = "exists", 409, "ERR", "ALREADY_EXISTS", 3, "it exists with another definition";
    /// A move below the mark.
    OnlyForward = "only_forward", 409, "ERR", "FAILED_PRECONDITION", 3, "numbers only move forward";
    /// A move that may repeat numbers, not allowed explicitly.
    NeedsAllowRepeat = "needs_allow_repeat", 409, "ERR", "FAILED_PRECONDITION", 3, "this may repeat numbers";
    /// A sequence without further numbers.
    Exhausted = "exhausted", 409, "ERR", "OUT_OF_RANGE", 3, "the sequence has no further number";
    /// A definition changed or went while it was asked for.
    Conflict = "conflict", 409, "ERR", "ABORTED", 3, "it was changed at the same moment";
    /// As many sequences as configured.
    TooMany = "too_many", 409, "ERR", "RESOURCE_EXHAUSTED", 3, "a configured limit is reached";
    /// A body where none is taken, or one that says it is no JSON.
    UnsupportedMediaType = "unsupported_media_type", 415, "ERR", "UNIMPLEMENTED", 2, "the route does not take such a body";
    /// A promise that is not kept: see the documentation of retries.
    IdempotencyKey = "idempotency_key", 400, "ERR", "INVALID_ARGUMENT", 2, "Idempotency-Key is not honoured";
    /// A body that is too long.
    BodyTooLarge = "body_too_large", 413, "ERR", "RESOURCE_EXHAUSTED", 2, "the body is too large";
    /// A head that is too long.
    HeaderTooLarge = "header_too_large", 431, "ERR", "RESOURCE_EXHAUSTED", 2, "the head of the request is too large";
    /// No token where one is needed.
    Unauthenticated = "unauthenticated", 401, "NOAUTH", "UNAUTHENTICATED", 3, "authentication is required";
    /// A token that is not known.
    WrongToken = "wrong_token", 401, "WRONGPASS", "UNAUTHENTICATED", 3, "the token is not known";
    /// A token that may not do this.
    Forbidden = "forbidden", 403, "NOPERM", "PERMISSION_DENIED", 3, "the token may not do this";
    /// A request that another web site made a browser send.
    CrossOrigin = "cross_origin", 403, "ERR", "PERMISSION_DENIED", 3, "requests of other web sites are refused";
    /// A host name that does not belong to this server.
    WrongHost = "wrong_host", 421, "ERR", "PERMISSION_DENIED", 3, "the host name does not belong to this server";
    /// A request that did not arrive in time.
    RequestTimeout = "request_timeout", 408, "ERR", "DEADLINE_EXCEEDED", 3, "the request did not arrive in time";
    /// A connection that never asked for anything, or no longer does.
    IdleTimeout = "idle_timeout", 408, "ERR", "UNAVAILABLE", 3, "the connection was idle";
    /// A client that does not read its answers.
    SlowReader = "slow_reader", 408, "ERR", "UNAVAILABLE", 3, "the answers were not read";
    /// More requests or ids in a second than this client may ask for.
    RateLimited = "rate_limited", 429, "ERR", "RESOURCE_EXHAUSTED", 3, "more was asked for in a second than is allowed";
    /// As many connections as configured.
    TooManyConnections = "too_many_connections", 503, "ERR", "UNAVAILABLE", 3, "too many connections";
    /// The store does not answer or no id may be minted right now.
    Unavailable = "unavailable", 503, "TRYAGAIN", "UNAVAILABLE", 3, "not available right now";
    /// The clock went back, and the pool's clock policy does not mint then.
    ClockBack = "clock_back", 503, "TRYAGAIN", "UNAVAILABLE", 3, "the clock went back";
    /// A sequence whose counter elsewhere is being moved here, or back.
    Moving = "moving", 503, "TRYAGAIN", "UNAVAILABLE", 3, "the sequence is being moved";
    /// A sequence that was given back: the original gives its numbers.
    MovedBack = "moved_back", 503, "ERR", "FAILED_PRECONDITION", 3, "the sequence was moved back";
    /// The process mints nothing any more.
    Stopped = "stopped", 503, "MISCONF", "FAILED_PRECONDITION", 3, "minting has stopped for good";
    /// A defect of this program.
    Internal = "internal", 500, "ERR", "INTERNAL", 3, "this is a defect";
}

impl Code {
    /// The code's row of [`CODES`].
    ///
    /// ```
    /// use mintage_wire::Code;
    /// assert_eq!(Code::OnlyForward.row().http_status, 409);
    /// assert_eq!(Code::Unavailable.row().resp_prefix, "TRYAGAIN");
    /// assert_eq!(Code::Exhausted.row().grpc_status, "OUT_OF_RANGE");
    /// ```
    pub fn row(self) -> &'static CodeRow {
        &CODES[self as usize]
    }

    /// Whether the same request may be well answered later, though nothing but time has passed.
    ///
    /// ```
    /// use mintage_wire::Code;
    /// assert!(Code::Unavailable.may_be_retried() && !Code::Exhausted.may_be_retried());
    /// ```
    pub fn may_be_retried(self) -> bool {
        matches!(
            self,
            Code::RequestTimeout
                | Code::IdleTimeout
                | Code::SlowReader
                | Code::RateLimited
                | Code::TooManyConnections
                | Code::Unavailable
                | Code::ClockBack
                | Code::Moving
        )
    }

    /// Whether ids may have been spent by a request that was refused so: reserved and given to nobody, a gap. Never
    /// given to two.
    ///
    /// ```
    /// use mintage_wire::Code;
    /// assert!(Code::Unavailable.may_have_spent() && !Code::InvalidCount.may_have_spent());
    /// ```
    pub fn may_have_spent(self) -> bool {
        matches!(
            self,
            Code::Exhausted
                | Code::SlowReader
                | Code::Unavailable
                | Code::ClockBack
                | Code::Moving
                | Code::MovedBack
                | Code::Stopped
                | Code::Internal
        )
    }

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_the_index_of_their_code_and_names_are_unique() {
        for (i, row) in CODES.iter().enumerate() {
            assert_eq!(row.code as usize, i);
            assert!(
                CODES.iter().filter(|r| r.name == row.name).count() == 1,
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn the_documented_table_is_this_one() {
        let or_no = |yes| if yes { "yes" } else { "no" };
        let row = |row: &CodeRow| {
            format!(
                "| `{}` | {} | `{}` | `{}` | {} | {} | {} |\n",
                row.name,
                row.http_status,
                row.resp_prefix,
                row.grpc_status,
                or_no(row.code.may_be_retried()),
                or_no(row.code.may_have_spent()),
                row.title,
            )
        };
        let head = "| `code` | status | Redis | gRPC | may be asked again | ids may be spent | means |\n";
        crate::pages::check_table(
            "http-reference.md",
            head,
            &CODES.iter().map(row).collect::<String>(),
        );
    }

    /// The table is a contract: clients match on these names and numbers.
    #[test]
    fn the_table_is_what_clients_rely_on() {
        let shown: String = CODES
            .iter()
            .map(|r| {
                let (name, http, resp, grpc) = (r.name, r.http_status, r.resp_prefix, r.grpc_status);
                format!("{name} {http} {resp} {grpc} {}\n", r.exit_code)
            })
            .collect();
        assert_eq!(shown, include_str!("../tests/golden/codes.txt"));
    }
}
