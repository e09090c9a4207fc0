//! Which answer belongs to which request: servers answer in the order in which they were asked.

use std::collections::VecDeque;

use super::jute::{Malformed, malformed};
use super::numbers::xid;

/// Requests that were sent on one connection and not answered.
#[derive(Debug)]
pub struct InFlight<T> {
    waiting: VecDeque<(i32, T)>,
    last: i32,
    pinged: bool,
}

impl<T> Default for InFlight<T> {
    fn default() -> InFlight<T> {
        InFlight {
            waiting: VecDeque::new(),
            last: 0,
            pinged: false,
        }
    }
}

impl<T> InFlight<T> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Numbers a request, just before it is sent. Numbers begin anew at 1 behind 2^31 - 1.
    pub fn add(&mut self, request: T) -> i32 {
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.waiting.push_back((self.last, request));
        self.last
    }

    /// Notes that a ping is sent; false if there is one on its way.
    pub fn ping(&mut self) -> bool {
        !std::mem::replace(&mut self.pinged, true)
    }

    /// The request that an answer of this number belongs to; `None` for a ping's.
    ///
    /// # Errors
    /// It is no answer to the request whose turn it is: none of those that follow can be trusted.
    pub fn answered(&mut self, number: i32) -> Result<Option<T>, Malformed> {
        if number == xid::PING && std::mem::take(&mut self.pinged) {
            return Ok(None);
        }
        match self.waiting.pop_front_if(|(next, _)| *next == number) {
            Some((_, request)) => Ok(Some(request)),
            None => match self.waiting.front() {
                Some((next, _)) => malformed(format!("an answer to request {number} where {next} was next")),
                None => malformed(format!("an answer to request {number}, which nobody made")),
            },
        }
    }

    /// Those that are never answered now.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(_, request)| request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_by_the_request_whose_turn_it_is() {
        let mut sent = InFlight::default();
        assert_eq!((sent.add('a'), sent.add('b')), (1, 2));
        assert!(sent.answered(2).is_err());
        assert!(sent.answered(-1).is_err(), "nobody watches anything");
        assert_eq!(sent.answered(1), Ok(Some('a')));
        assert!(sent.answered(1).is_err(), "answered twice");
        assert_eq!(sent.answered(2), Ok(Some('b')));
        assert!(sent.answered(3).is_err(), "nobody asked");
    }

    #[test]
    fn a_ping_is_answered_once_and_one_is_on_its_way_at_a_time() {
        let mut sent = InFlight::default();
        assert!(sent.answered(-2).is_err());
        sent.add('a');
        assert!(sent.ping());
        assert!(!sent.ping());
        assert_eq!(sent.answered(-2), Ok(None));
        assert!(sent.answered(-2).is_err());
        assert_eq!(sent.answered(1), Ok(Some('a')));
    }

    #[test]
    fn numbers_begin_anew_and_are_never_those_of_pings() {
        let mut sent = InFlight {
            last: i32::MAX - 1,
            ..InFlight::default()
        };
        assert_eq!((sent.add('a'), sent.add('b')), (i32::MAX, 1));
        assert_eq!(sent.answered(i32::MAX), Ok(Some('a')));
        assert_eq!(sent.answered(1), Ok(Some('b')));
    }
}
