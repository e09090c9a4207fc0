//! The four methods of the service, and the refusals of each.
//!
//! ```text
//!   i64 get_id(1: string useragent)   i64 get_worker_id()   i64 get_datacenter_id()   i64 get_timestamp()
//! ```

use std::borrow::Cow;
use std::rc::Rc;

use mintage::{Clock, Layout, Role};

use super::codec::{Argument, Call, Exception, Fault};
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::thread::ServingThread;

/// The pool whose ids these are, and the preset that it is made with.
pub(super) const POOL: &str = "twitter";

/// A call that can be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked<'a> {
    /// An id, for an agent.
    Id(&'a str),
    WorkerId,
    DatacenterId,
    Timestamp,
}

/// A call that is refused, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) code: Code,
    pub(super) exception: Exception,
    pub(super) text: Cow<'static, str>,
    /// The connection ends with it.
    pub(super) ends_connection: bool,
}

impl Refusal {
    fn new(code: Code, exception: Exception, text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal {
            code,
            exception,
            text: text.into(),
            // Nobody gets an id of this server any more.
            ends_connection: code == Code::Stopped,
        }
    }

    /// Of a call that is not whole; `goes_on`: the next one can be read.
    pub(super) fn broken(fault: Fault, goes_on: bool) -> Refusal {
        let exception = match fault {
            Fault::Kind(_) => Exception::InvalidMessageType,
            _ => Exception::ProtocolError,
        };
        let text = match goes_on {
            true => fault.to_string(),
            false => {
                format!("{fault}; the connection ends, since it is not known where the next call begins")
            }
        };
        Refusal {
            ends_connection: !goes_on,
            ..Refusal::new(Code::Protocol, exception, text)
        }
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Refusal {
        let text = match (error.code, error.clock_back, error.retry_after_s) {
            // The original's words, with its two spaces.
            (Code::ClockBack, Some(by), _) => {
                let ms = by.as_millis().max(1);
                format!("Clock moved backwards.  Refusing to generate id for {ms} milliseconds").into()
            }
            (Code::Unavailable | Code::Moving, _, Some(seconds)) => {
                format!("not available right now, retry in {seconds} s").into()
            }
            _ => error.message,
        };
        Refusal::new(error.code, Exception::InternalError, text)
    }
}

/// What a call asks for.
#[inline]
pub(super) fn asked<'a>(call: &Call<'a>) -> Result<Asked<'a>, Refusal> {
    match call.name {
        b"get_id" => agent(call.argument).map(Asked::Id),
        b"get_worker_id" => Ok(Asked::WorkerId),
        b"get_datacenter_id" => Ok(Asked::DatacenterId),
        b"get_timestamp" => Ok(Asked::Timestamp),
        name => {
            let text = format!("Invalid method name: '{}'", String::from_utf8_lossy(name));
            Err(Refusal::new(Code::UnknownCommand, Exception::UnknownMethod, text))
        }
    }
}

fn agent(argument: Argument<'_>) -> Result<&str, Refusal> {
    let refuse = |exception, text: String| Err(Refusal::new(Code::InvalidArgument, exception, text));
    let misfits = |text| refuse(Exception::ProtocolError, text);
    match argument {
        Argument::Missing => misfits("get_id needs field 1, useragent, a string; there is none".into()),
        Argument::Other(kind) => misfits(format!(
            "field 1 of get_id, useragent, is a string, type 11; found type {kind}"
        )),
        Argument::Text(text) if text.len() > AGENT_BYTES_MAX => refuse(
            Exception::InternalError,
            format!(
                "useragent has at most {AGENT_BYTES_MAX} bytes; found {}",
                text.len()
            ),
        ),
        Argument::Text(text) => match std::str::from_utf8(text) {
            Ok(agent) if is_agent(text) => Ok(agent),
            _ => refuse(Exception::InternalError, NOT_AN_AGENT.into()),
        },
    }
}

fn is_agent(text: &[u8]) -> bool {
    let (first, rest) = (text.first(), text.get(1..).unwrap_or_default());
    first.is_some_and(u8::is_ascii_alphabetic)
        && rest
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Does what memory is enough for; `None`: [`wait`] does it.
#[inline]
pub(super) fn at_once(thread: &ServingThread, asked: Asked<'_>) -> Option<i64> {
    match asked {
        Asked::Id(_) => {
            let mut id = [0];
            (thread.try_mint(POOL.as_bytes(), &mut id) == 1).then_some(id[0].cast_signed())
        }
        Asked::Timestamp => Some(thread.service().ledger().clock().now().unix_millis()),
        Asked::WorkerId | Asked::DatacenterId => None,
    }
}

/// Does what may have to wait for a window, which is the store's to give.
pub(super) async fn wait(thread: &Rc<ServingThread>, asked: Asked<'_>) -> Result<i64, Refusal> {
    if let Asked::Id(_) = asked {
        let mut id = [0];
        thread.mint(POOL.as_bytes(), &mut id).await?;
        return Ok(id[0].cast_signed());
    }
    let (pool, worker) = thread.service().worker_of(POOL.as_bytes()).await?;
    let (datacenter, rest) = fields(pool.layout(), worker);
    let field = if asked == Asked::DatacenterId {
        datacenter
    } else {
        rest
    };
    Ok(field.cast_signed())
}

/// What of a worker's number is in the field of the datacenter, 0 where there is none, and what is in the others.
fn fields(layout: &Layout, worker: u64) -> (u64, u64) {
    let (mut left, mut datacenter, mut others, mut shift) = (worker, 0, 0, 0);
    let fields = layout.fields().iter().rev();
    for field in fields.filter(|field| field.role == Role::Worker) {
        let value = left & field.max();
        left >>= field.bits;
        match &*field.name {
            "datacenter" => datacenter = value,
            _ => {
                others |= value << shift;
                shift += field.bits;
            }
        }
    }
    (datacenter, others)
}

/// The refusal of a name that the original refuses, which says nothing.
const NOT_AN_AGENT: &str = "useragent must begin with a letter and go on with letters, digits and -";
/// The longest agent.
const AGENT_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::thrift::codec::{Reader, Step, refuse};

    #[test]
    fn agents_are_those_of_the_original() {
        for good in ["infra-dm", "a", "Z9-", "web-1", &"a".repeat(256)] {
            assert_eq!(agent(Argument::Text(good.as_bytes())), Ok(good));
        }
        for bad in [
            &b"1"[..],
            b"1asdf",
            b"",
            b"a_b",
            b"-a",
            b"a b",
            b"a\n",
            "\u{e9}".as_bytes(),
            b"a\xff",
        ] {
            let refusal = agent(Argument::Text(bad)).unwrap_err();
            assert_eq!(refusal.exception, Exception::InternalError, "{bad:?}");
            assert_eq!(
                refusal.text,
                "useragent must begin with a letter and go on with letters, digits and -"
            );
        }
        let long = agent(Argument::Text(&[b'a'; 257])).unwrap_err();
        assert_eq!(long.text, "useragent has at most 256 bytes; found 257");
        assert_eq!(long.exception, Exception::InternalError);
    }

    #[test]
    fn arguments_that_do_not_fit_are_errors_of_the_protocol() {
        for (argument, text) in [
            (
                Argument::Missing,
                "get_id needs field 1, useragent, a string; there is none",
            ),
            (
                Argument::Other(8),
                "field 1 of get_id, useragent, is a string, type 11; found type 8",
            ),
        ] {
            let refusal = agent(argument).unwrap_err();
            assert_eq!(
                (refusal.exception, &*refusal.text),
                (Exception::ProtocolError, text)
            );
        }
    }

    /// A call without arguments, and the bytes of its refusal.
    #[track_caller]
    fn check_refused(name: &str, expected: &[u8]) {
        let mut bytes = b"\x80\x01\0\x01".to_vec();
        bytes.extend((name.len() as u32).to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(b"\0\0\0\x05\0");
        let Step::Call { call, .. } = Reader::default().read(&bytes) else {
            panic!("{bytes:?}")
        };
        let refusal = asked(&call).unwrap_err();
        let mut out = Vec::new();
        refuse(&mut out, &call, refusal.exception, &refusal.text);
        assert_eq!(out, expected);
    }

    #[test]
    fn a_method_that_is_not_there_is_refused_as_stock_servers_do() {
        check_refused(
            "__can__finagle__trace__v3__",
            b"\x80\x01\0\x03\0\0\0\x1b__can__finagle__trace__v3__\0\0\0\x05\
              \x0b\0\x01\0\0\0\x32Invalid method name: '__can__finagle__trace__v3__'\x08\0\x02\0\0\0\x01\0",
        );
        check_refused(
            "Get_id",
            b"\x80\x01\0\x03\0\0\0\x06Get_id\0\0\0\x05\
              \x0b\0\x01\0\0\0\x1dInvalid method name: 'Get_id'\x08\0\x02\0\0\0\x01\0",
        );
        check_refused(
            "get_id",
            b"\x80\x01\0\x03\0\0\0\x06get_id\0\0\0\x05\
              \x0b\0\x01\0\0\0\x38get_id needs field 1, useragent, a string; there is none\x08\0\x02\0\0\0\x07\0",
        );
    }

    /// Every row of the table of conditions.
    #[test]
    fn refusals_of_the_service_are_internal_errors_in_words() {
        let error = |code| ServiceError::new(code, "its words");
        for (error, text, ends) in [
            (
                error(Code::Unavailable).with_retry_after_s(3),
                "not available right now, retry in 3 s",
                false,
            ),
            (
                error(Code::ClockBack).with_clock_back(Duration::from_millis(17)),
                "Clock moved backwards.  Refusing to generate id for 17 milliseconds",
                false,
            ),
            (
                error(Code::ClockBack).with_clock_back(Duration::from_micros(5)),
                "Clock moved backwards.  Refusing to generate id for 1 milliseconds",
                false,
            ),
            (error(Code::Stopped), "its words", true),
            (error(Code::Exhausted), "its words", false),
            (error(Code::NotFound), "its words", false),
        ] {
            let refusal = Refusal::from(error);
            assert_eq!(refusal.exception, Exception::InternalError, "{text}");
            assert_eq!((&*refusal.text, refusal.ends_connection), (text, ends));
        }
    }

    #[test]
    fn what_is_broken_says_whether_the_connection_goes_on() {
        let goes_on = Refusal::broken(Fault::Short, true);
        assert_eq!(goes_on.exception, Exception::ProtocolError);
        assert_eq!(goes_on.text, "the frame ends before its message does");
        let ends = Refusal::broken(Fault::TooLong, false);
        assert_eq!(
            ends.text,
            "a message has at most 65536 bytes; the connection ends, since it is not known where the next call begins"
        );
        let reply = Refusal::broken(Fault::Kind(2), true);
        assert_eq!(reply.exception, Exception::InvalidMessageType);
    }

    #[test]
    fn a_workers_number_is_told_by_its_fields() {
        let layout = |name| mintage::preset(name).unwrap().layout();
        assert_eq!(fields(&layout("twitter"), 0b10001_00011), (17, 3));
        assert_eq!(fields(&layout("leaf"), 1023), (0, 1023));
        let turned = Layout::builder("turned")
            .time("t", 41)
            .worker("rack", 3)
            .worker("datacenter", 2)
            .worker("box", 4)
            .sequence("s", 12)
            .build()
            .unwrap();
        assert_eq!(fields(&turned, 0b1_0110_0110), (2, 0b0101_0110));
    }
}
