//! A light client for protocols that have no load generator: one thread and a few connections, each of which gets the
//! same calls again and again. Its answers all have one length.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::load::Sample;
use super::peers::Target;

/// What is sent and what comes.
pub(super) struct Exchange {
    pub(super) call: &'static [u8],
    /// What every answer begins with.
    pub(super) begins: &'static [u8],
    pub(super) answer_bytes: usize,
}

/// `get_id("bench")`, framed, with a strict header.
pub(super) const THRIFT: Exchange = Exchange {
    call: b"\0\0\0\x1f\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x05bench\0",
    begins: b"\0\0\0\x1e\x80\x01\0\x02\0\0\0\x06get_id\0\0\0\0\x0a\0\0",
    answer_bytes: 34,
};

/// An id of the same pool over the Redis protocol: 19 digits for years to come.
pub(super) const SNOWFLAKE: Exchange = Exchange {
    call: b"*2\r\n$14\r\nMINT.SNOWFLAKE\r\n$7\r\ntwitter\r\n",
    begins: b"$19\r\n",
    answer_bytes: 26,
};

/// What costs no more than the sockets do.
pub(super) const PING: Exchange = Exchange {
    call: b"*1\r\n$4\r\nPING\r\n",
    begins: b"+PONG",
    answer_bytes: 7,
};

/// How many connections there are.
pub(super) const CONNECTIONS: usize = 8;

/// One run: for so long, every connection gets `pipeline` calls, then all answers are read.
pub(super) fn run(target: &Target, exchange: &Exchange, pipeline: usize, lasts: Duration) -> Sample {
    let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(target.port)).collect();
    let calls = exchange.call.repeat(pipeline);
    let mut answers = vec![0; exchange.answer_bytes * pipeline];
    let mut rounds = Vec::new();
    let (before, began) = (target.cpu_us(), Instant::now());
    while began.elapsed() < lasts {
        let round = Instant::now();
        for stream in &mut streams {
            stream.write_all(&calls).expect("the server reads");
        }
        for stream in &mut streams {
            stream.read_exact(&mut answers).expect("the server answers");
            for answer in answers.chunks_exact(exchange.answer_bytes) {
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
    let count = (rounds.len() * CONNECTIONS * pipeline) as f64;
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

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
    stream.set_nodelay(true).expect("a socket of TCP");
    stream
}
