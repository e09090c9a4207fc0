//! The two statements that nearly all are, answered without waiting and without a copy: one ticket, one `NEXTVAL`.
//!
//! Requests that are equal byte by byte and follow each other are one take.

use std::rc::Rc;

use mintage::Run;

use super::answer::{Column, Done, write_column, write_count, write_eof, write_ok};
use super::execute::key;
use super::packet::{HEAD_BYTES, Packets, put_text};
use super::plan::{Expression, From, Item, Parsed, Select, Statement};
use super::session::Session;
use super::value::{Digits, Kind};
use crate::sql::names::SqlName;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;

/// One of the two.
#[derive(Clone, Copy, Debug)]
pub(super) enum AtOnce<'p> {
    /// A row of a table; whether it replaces one.
    Ticket(&'p SqlName, bool),
    /// `SELECT NEXTVAL(s)`, with its column's name.
    Next(&'p SqlName, &'p str),
}

/// What a text is of these.
#[inline]
pub(super) fn of(parsed: &Parsed) -> Option<AtOnce<'_>> {
    let [Ok(statement)] = &parsed.statements[..] else {
        return None;
    };
    match statement {
        Statement::Ticket(ticket)
            if ticket.rows == 1 && ticket.ids.is_empty() && ticket.returning.is_empty() =>
        {
            Some(AtOnce::Ticket(&ticket.table, ticket.replaces))
        }
        Statement::Select(selects) => match &selects[..] {
            [
                Select {
                    items,
                    from: From::Nothing,
                    limit: None,
                    ..
                },
            ] => match &items[..] {
                [
                    Item::One {
                        expression: Expression::Next(sequence),
                        name,
                    },
                ] => Some(AtOnce::Next(sequence, name)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Answers as many of `most` equal requests as there are numbers in stock; how many. `is_binary`: rows are bytes.
#[inline]
pub(super) fn answer(
    parsed: &Parsed,
    (session, thread, peer): (&mut Session, &Rc<ServingThread>, Peer),
    most: u64,
    is_binary: bool,
    out: &mut Vec<u8>,
) -> u64 {
    let service = thread.service();
    // Each request by itself where they are counted.
    let Some(asked) = of(parsed).filter(|_| !service.has_limits()) else {
        return 0;
    };
    if session.in_transaction && session.is_read_only {
        return 0;
    }
    let (AtOnce::Ticket(name, _) | AtOnce::Next(name, _)) = asked;
    let config = thread.config();
    let key = key(
        name,
        &session.database,
        &config.faces.get::<crate::mysql::Settings>().keys,
    );
    let key = key.as_bytes();
    if !session.identity.may(Right::Allocate, What::Named(key)) {
        return 0;
    }
    let Some(run) = thread.try_take(key, most.min(config.turn_ids)) else {
        return 0;
    };
    service.spend(&session.identity, peer, run.count);
    session.touches();
    match asked {
        AtOnce::Ticket(_, replaces) => {
            session.last_insert_id = run.last().cast_unsigned();
            session.row_count = if replaces { 2 } else { 1 };
            write_tickets(out, run, session);
        }
        AtOnce::Next(_, column) => {
            session.numbers.took(key, run.last());
            session.row_count = -1;
            session.found_rows = 1;
            let head = parsed.head.get_or_init(|| head(column));
            for number in run.iter() {
                write_number(out, head, number, session.status(), is_binary);
            }
        }
    }
    run.count
}

fn write_tickets(out: &mut Vec<u8>, run: Run, session: &Session) {
    let (affected, status) = (session.row_count.unsigned_abs(), session.status());
    for number in run.iter() {
        let done = Done {
            affected,
            insert_id: number.cast_unsigned(),
            status,
        };
        write_ok(&mut Packets::new(out, 1), done);
    }
}

/// The packets before the row: one column.
fn head(column: &str) -> Box<[u8]> {
    let mut out = Vec::new();
    let mut packets = Packets::new(&mut out, 1);
    write_count(&mut packets, 1);
    write_column(&mut packets, &Column::new(column, Kind::Integer));
    out.into()
}

/// The packets of the head are the first two, so that the next has number 3.
const BEHIND_HEAD: u8 = 3;

#[inline]
fn write_number(out: &mut Vec<u8>, head: &[u8], number: i64, status: u16, is_binary: bool) {
    out.extend_from_slice(head);
    let mut packets = Packets::new(out, BEHIND_HEAD);
    write_eof(&mut packets, status);
    packets.write(|out| match is_binary {
        true => {
            // No value is NULL.
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(&number.to_le_bytes());
        }
        false => put_text(out, Digits::of(number).as_bytes()),
    });
    write_eof(&mut packets, status);
}

/// How often the packet of `len` bytes at the beginning of `input` follows itself.
#[inline]
pub(super) fn run_length(input: &[u8], len: usize) -> u64 {
    debug_assert!(len >= HEAD_BYTES);
    let (first, rest) = input.split_at(len);
    1 + rest.chunks_exact(len).take_while(|next| *next == first).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::grammar::parse;

    #[test]
    fn one_ticket_and_one_number_are_known_and_nothing_else() {
        for (text, is_one) in [
            ("REPLACE INTO t (stub) VALUES ('a')", true),
            ("INSERT INTO t () VALUES ()", true),
            ("INSERT INTO t (id) VALUES (NULL)", true),
            ("SELECT NEXTVAL(s)", true),
            ("select next value for db.s as n", true),
            ("INSERT INTO t () VALUES (), ()", false),
            ("INSERT INTO t (id) VALUES (5)", false),
            ("INSERT INTO t () VALUES () RETURNING id", false),
            ("SELECT NEXTVAL(s), 1", false),
            ("SELECT NEXTVAL(s) FROM seq_1_to_3", false),
            ("SELECT NEXTVAL(s) LIMIT 0", false),
            ("SELECT NEXTVAL(s); SELECT 1", false),
            ("SELECT 1", false),
            ("nothing", false),
        ] {
            assert_eq!(of(&parse(text)).is_some(), is_one, "{text}");
        }
    }

    #[test]
    fn runs_of_equal_packets_are_counted() {
        let packet = b"\x01\0\0\0\x0e";
        assert_eq!(run_length(&packet.repeat(3), 5), 3);
        assert_eq!(run_length(&[&packet[..], b"\x01\0"].concat(), 5), 1);
    }

    #[test]
    fn a_number_is_five_packets() {
        let mut out = Vec::new();
        write_number(&mut out, &head("n"), 7, 2, false);
        let mut numbers = Vec::new();
        let mut rest = &out[..];
        while let crate::mysql::packet::Step::Packet { number, len, .. } =
            crate::mysql::packet::read(rest, 100)
        {
            numbers.push(number);
            rest = &rest[len..];
        }
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert!(rest.is_empty());
    }
}
