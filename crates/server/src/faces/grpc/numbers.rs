//! Numbers of sequences, one answer at a time.

use mintage::Run;
use mintage_wire::Op;
use prost::Message;

use super::asking::Asking;
use super::message::{self, Reply};
use crate::auth::What;
use crate::service::Answer;
use crate::turn::{SMALL_BYTES, bytes_of_ids, take_in_turns};

#[derive(Clone, PartialEq, Message)]
pub(super) struct NextRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(uint64, optional, tag = "2")]
    pub(super) count: Option<u64>,
    #[prost(bool, tag = "3")]
    pub(super) contiguous: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NextResponse {
    #[prost(int64, repeated, tag = "1")]
    pub(super) ids: Vec<i64>,
    #[prost(message, optional, tag = "2")]
    pub(super) range: Option<NumberBlock>,
    #[prost(bool, tag = "3")]
    pub(super) cycle: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct NumberBlock {
    #[prost(sint64, tag = "1")]
    pub(super) first: i64,
    #[prost(uint64, tag = "2")]
    pub(super) count: u64,
    #[prost(sint64, tag = "3")]
    pub(super) increment: i64,
}

impl From<Run> for NumberBlock {
    fn from(run: Run) -> Self {
        NumberBlock {
            first: run.first,
            count: run.count,
            increment: run.step,
        }
    }
}

/// `Next`: as `POST /v1/sequences/{name}/next`.
pub(super) async fn next(asking: &Asking, message: &[u8]) -> Answer<Reply> {
    let asked: NextRequest = message::read(message)?;
    let name = asked.name.as_bytes();
    let who = asking.admit(Op::Next, What::Named(name)).await?;
    let thread = &asking.thread;
    let count = thread.count(Some(asked.count.unwrap_or(1)))?;
    asking.spend(&who, count);
    let _room = match bytes_of_ids(count, 0) {
        bytes if bytes > SMALL_BYTES && !asked.contiguous => Some(asking.client.room(thread, bytes).await?),
        _ => None,
    };
    let mut answer = NextResponse::default();
    if asked.contiguous {
        let taken = thread.take_contiguous(name, count, &asking.asker(&who)).await?;
        answer.range = Some(taken.0.into());
    } else {
        let push = |run: Run| answer.ids.extend(run.iter());
        take_in_turns(thread, name, count, &asking.asker(&who), push).await?;
    }
    answer.cycle = thread.is_cycling(name);
    Ok(Reply::one(&answer))
}
