//! gRPC: a bare server of tonic as the peer, and a reader of one stream that costs as little as it can.

use std::convert::Infallible;
use std::fs;
use std::future::{Future, Ready, ready};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use prost::Message;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower_service::Service;

use super::load::Sample;
use super::peers::Target;

pub(super) const PATH: &str = "/mintage.v1.Mint/Next";
/// How many numbers or ids a block of a stream has.
pub(super) const BLOCK: u32 = 10_000;

#[derive(Clone, PartialEq, Message)]
struct NextRequest {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct NextResponse {
    #[prost(int64, repeated, tag = "1")]
    ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct NextStreamRequest {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint32, optional, tag = "3")]
    block: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct IdStreamRequest {
    #[prost(string, tag = "1")]
    format: String,
    #[prost(uint32, optional, tag = "5")]
    block: Option<u32>,
}

/// Without its ids, which are only skipped: what is measured is the server.
#[derive(Clone, PartialEq, Message)]
struct IdBlock {
    #[prost(uint32, tag = "2")]
    count: u32,
}

#[derive(Clone, PartialEq, Message)]
struct NumberBlock {
    #[prost(sint64, tag = "1")]
    first: i64,
    #[prost(uint64, tag = "2")]
    count: u64,
}

/// A message as it stands in a body: not compressed, its length, itself.
fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    let length = u32::try_from(bytes.len()).expect("short").to_be_bytes();
    [&[0][..], &length, &bytes].concat()
}

/// Where h2load finds the body of a call of `Next`.
pub(super) fn call_file(folder: &Path) -> PathBuf {
    let file = folder.join("call");
    let call = NextRequest {
        name: "orders".into(),
    };
    fs::write(&file, framed(&call)).expect("the folder is ours");
    file
}

/// The service of the peer: as `tonic-build` would write it, with one method.
#[derive(Clone)]
struct Constant;

impl NamedService for Constant {
    const NAME: &'static str = "mintage.v1.Mint";
}

impl UnaryService<NextRequest> for Constant {
    type Response = NextResponse;
    type Future = Ready<Result<Response<NextResponse>, Status>>;

    fn call(&mut self, _: Request<NextRequest>) -> Self::Future {
        ready(Ok(Response::new(NextResponse { ids: vec![12_345] })))
    }
}

impl Service<http::Request<tonic::body::Body>> for Constant {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(async { Ok(Grpc::new(ProstCodec::default()).unary(Constant, request).await) })
    }
}

/// Serves the peer: `bench peer grpc PORT`.
pub(crate) fn peer(arguments: &[String]) {
    let Some(port) = arguments.get(1).and_then(|port| port.parse::<u16>().ok()) else {
        eprintln!("error: bench peer grpc PORT");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let server = tonic::transport::Server::builder().add_service(Constant);
    let served = runtime.block_on(server.serve(([127, 0, 0, 1], port).into()));
    served.expect("the port is free");
}

const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM_AND_HEADERS: u8 = 5;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// The largest window there is.
const WINDOW: u32 = (1 << 31) - 1;
/// So much is read before the windows are opened again.
const OPEN_AGAIN: u32 = 1 << 24;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A stream that is measured.
#[derive(Clone, Copy)]
pub(super) enum Streamed {
    /// Numbers, as blocks of three numbers each.
    Numbers,
    /// UUIDs of version 7, 16 bytes each.
    Uuids,
}

impl Streamed {
    fn path(self) -> &'static str {
        match self {
            Streamed::Numbers => "/mintage.v1.Mint/NextStream",
            Streamed::Uuids => "/mintage.v1.Mint/IdStream",
        }
    }

    fn asked(self) -> Vec<u8> {
        let block = Some(BLOCK);
        match self {
            Streamed::Numbers => framed(&NextStreamRequest {
                name: "streamed".into(),
                block,
            }),
            Streamed::Uuids => framed(&IdStreamRequest {
                format: "uuid7".into(),
                block,
            }),
        }
    }
}

/// What begins the one stream of a connection.
fn opening(streamed: Streamed) -> Vec<u8> {
    let literal = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    // `:method POST` and `:scheme http`; then literals of names of the static table (RFC 7541, A), and `te` as text.
    let head = [
        &[0x83, 0x86, 0x04][..],
        &literal(streamed.path()),
        &[0x01],
        &literal("localhost"),
        &[0x0f, 0x10],
        &literal("application/grpc"),
        &[0x00],
        &literal("te"),
        &literal("trailers"),
    ]
    .concat();
    // SETTINGS_INITIAL_WINDOW_SIZE
    let settings = [&[0, 4][..], &WINDOW.to_be_bytes()].concat();
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, &settings),
        frame(WINDOW_UPDATE, 0, 0, &(WINDOW - 65_535).to_be_bytes()),
        frame(HEADERS, END_HEADERS, 1, &head),
        frame(DATA, 1, 1, &streamed.asked()),
    ]
    .concat()
}

/// One run: reads one stream for so long, and looks at every block of it.
pub(super) fn stream(target: &Target, streamed: Streamed, lasts: Duration) -> Sample {
    let mut stream = TcpStream::connect(("127.0.0.1", target.port)).expect("the server accepts");
    stream.set_nodelay(true).expect("a socket of TCP");
    let mut reader = Blocks::of(streamed);
    let (before, began) = (target.cpu_us(), Instant::now());
    stream.write_all(&opening(streamed)).expect("the server reads");
    let mut chunk = vec![0; 1 << 18];
    while began.elapsed() < lasts {
        let read = stream.read(&mut chunk).expect("the server writes");
        assert_ne!(read, 0, "the stream goes on");
        let answer = reader.read(&chunk[..read]);
        stream.write_all(&answer).expect("the server reads");
    }
    let took = began.elapsed().as_secs_f64();
    let cpu_us = target.cpu_us() - before;
    let ids = reader.ids as f64;
    Sample {
        per_second: ids / took,
        cpu_us: cpu_us / ids,
        p50_ms: f64::NAN,
        p99_ms: f64::NAN,
    }
}

/// What was read of a stream of blocks.
struct Blocks {
    streamed: Streamed,
    unread: Vec<u8>,
    body: Vec<u8>,
    ids: u64,
    last: i64,
    unacknowledged: u32,
}

impl Blocks {
    fn of(streamed: Streamed) -> Blocks {
        Blocks {
            streamed,
            unread: Vec::new(),
            body: Vec::new(),
            ids: 0,
            last: 0,
            unacknowledged: 0,
        }
    }

    /// Takes what has come, and gives back what is to be answered.
    fn read(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.unread.extend_from_slice(bytes);
        let unread = std::mem::take(&mut self.unread);
        let (mut at, mut answer) = (0, Vec::new());
        while let Some(&[high, middle, low, kind, flags, ..]) =
            unread.get(at..).filter(|rest| rest.len() >= HEAD_BYTES)
        {
            let length = u32::from_be_bytes([0, high, middle, low]);
            let end = at + HEAD_BYTES + length as usize;
            let Some(payload) = unread.get(at + HEAD_BYTES..end) else {
                break;
            };
            assert_ne!(
                flags & END_STREAM_AND_HEADERS,
                END_STREAM_AND_HEADERS,
                "it was refused"
            );
            match kind {
                DATA => {
                    self.body.extend_from_slice(payload);
                    self.unacknowledged += length;
                }
                SETTINGS if flags & ACK == 0 => answer.extend(frame(SETTINGS, ACK, 0, &[])),
                _ => {}
            }
            at = end;
        }
        self.unread.extend_from_slice(&unread[at..]);
        self.count();
        if self.unacknowledged >= OPEN_AGAIN {
            let room = std::mem::take(&mut self.unacknowledged).to_be_bytes();
            answer.extend(frame(WINDOW_UPDATE, 0, 0, &room));
            answer.extend(frame(WINDOW_UPDATE, 0, 1, &room));
        }
        answer
    }

    /// Counts the blocks that have come whole.
    fn count(&mut self) {
        let mut at = 0;
        while let Some(head) = self.body.get(at..at + 5) {
            let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes")) as usize;
            let Some(message) = self.body.get(at + 5..at + 5 + length) else {
                break;
            };
            self.ids += match self.streamed {
                Streamed::Numbers => {
                    let block = NumberBlock::decode(message).expect("a block");
                    assert!(block.first > self.last, "numbers rise");
                    self.last = block.first + i64::try_from(block.count).expect("a count") - 1;
                    block.count
                }
                Streamed::Uuids => u64::from(IdBlock::decode(message).expect("a block").count),
            };
            at += 5 + length;
        }
        self.body.drain(..at);
    }
}
