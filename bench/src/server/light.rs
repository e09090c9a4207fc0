//! A light client for protocols that have no load generator: one thread and a few connections, each of which gets the
//! same calls again and again. Its answers all have one length.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::load::Sample;
use super::peers::Target;

/// What is sent and what comes.
pub(super) struct Exchange {
    pub(super) connections: usize,
    pub(super) call: &'static [u8],
    /// What every answer begins with.
    pub(super) begins: &'static [u8],
}

/// `get_id("bench")`, framed, with a strict header.
pub(super) const THRIFT: Exchange = Exchange {
    connections: CONNECTIONS,
    call: b"\0\0\0\x1f\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x05bench\0",
    begins: b"\0\0\0\x1e\x80\x01\0\x02\0\0\0\x06get_id\0\0\0\0\x0a\0\0",
};

/// An id of the same pool over the Redis protocol: 19 digits for years to come.
pub(super) const SNOWFLAKE: Exchange = Exchange {
    connections: CONNECTIONS,
    call: b"*2\r\n$14\r\nMINT.SNOWFLAKE\r\n$7\r\ntwitter\r\n",
    begins: b"$19\r\n",
};

/// What costs no more than the sockets do.
pub(super) const PING: Exchange = Exchange {
    connections: CONNECTIONS,
    call: b"*1\r\n$4\r\nPING\r\n",
    begins: b"+PONG",
};

/// A number of 10 digits over HTTP, on as many connections as wrk has.
pub(super) const NEXT: Exchange = Exchange {
    connections: 64,
    call: b"POST /v1/sequences/wide/next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    begins: b"HTTP/1.1 200 OK\r\n",
};

/// How many connections there are where few suffice.
pub(super) const CONNECTIONS: usize = 8;

/// One run: for so long, every connection gets `pipeline` calls, then all answers are read.
pub(super) fn run(target: &Target, exchange: &Exchange, pipeline: usize, lasts: Duration) -> Sample {
    let connect = || connect(target.port);
    match &target.authority {
        None => run_over(connect, target, exchange, pipeline, lasts),
        Some(authority) => {
            let config = trusting(authority);
            run_over(|| secure(connect(), &config), target, exchange, pipeline, lasts)
        }
    }
}

fn run_over<S: Read + Write>(
    connect: impl Fn() -> S,
    target: &Target,
    exchange: &Exchange,
    pipeline: usize,
    lasts: Duration,
) -> Sample {
    let mut streams: Vec<S> = (0..exchange.connections).map(|_| connect()).collect();
    let mut answer_bytes = 0;
    for stream in &mut streams {
        answer_bytes = first_answer(stream, exchange.call);
    }
    let calls = exchange.call.repeat(pipeline);
    let mut answers = vec![0; answer_bytes * pipeline];
    let mut rounds = Vec::new();
    let (before, began) = (target.cpu_us(), Instant::now());
    while began.elapsed() < lasts {
        let round = Instant::now();
        for stream in &mut streams {
            stream.write_all(&calls).expect("the server reads");
        }
        for stream in &mut streams {
            stream.read_exact(&mut answers).expect("the server answers");
            for answer in answers.chunks_exact(answer_bytes) {
                assert!(
                    answer.starts_with(exchange.begins),
                    "{}: {}",
                    target.name,
                    answer.escape_ascii()
                );
            }
        }
        rounds.push(round.elapsed());
    }
    let took = began.elapsed();
    let count = (rounds.len() * exchange.connections * pipeline) as f64;
    let cpu_us = (target.cpu_us() - before) / count;
    rounds.sort_unstable();
    let at = |share: usize| rounds[(rounds.len() * share / 100).min(rounds.len() - 1)].as_secs_f64() * 1000.0;
    Sample {
        per_second: count / took.as_secs_f64(),
        cpu_us,
        p50_ms: at(50),
        p99_ms: at(99),
    }
}

/// How long an answer is: it comes in one piece.
fn first_answer(stream: &mut (impl Read + Write), call: &[u8]) -> usize {
    stream.write_all(call).expect("the server reads");
    stream.read(&mut [0; 4096]).expect("the server answers")
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
    stream.set_nodelay(true).expect("a socket of TCP");
    stream
}

/// What trusts the certificates of this authority.
fn trusting(authority: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(authority).expect("mint has made it");
    roots.add(certificate).expect("it is an authority");
    Arc::new(
        ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth(),
    )
}

fn secure(socket: TcpStream, config: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
    let name = IpAddr::from(Ipv4Addr::LOCALHOST).into();
    let client = ClientConnection::new(Arc::clone(config), name).expect("the name is one");
    StreamOwned::new(client, socket)
}
