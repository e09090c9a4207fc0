//! What servers send, as lines of JSON.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use serde_json::Value;

use super::event::Trouble;
use super::read::follow;
use super::text::plain;
use crate::connect::Client;
use crate::errors::Failure;
use crate::out::Out;

/// Something that a server sent, or why it sends nothing.
type Sent = (usize, Result<Value, Trouble>);

/// Prints frames until `number` have been printed, or for ever.
pub(super) fn run(
    urls: &[String],
    clients: &[Arc<Client>],
    number: Option<u64>,
    out: &mut Out,
) -> Result<(), Failure> {
    let sent = read(clients);
    // For each server: whether it has told something, and whether it is known not to tell.
    let (mut has_told, mut is_down) = (false, vec![false; urls.len()]);
    let mut left = number;
    for (at, what) in sent {
        match what {
            Ok(mut frame) => {
                (has_told, is_down[at]) = (true, false);
                if urls.len() > 1 {
                    frame["url"] = urls[at].as_str().into();
                }
                out.json_line(&frame)?;
                out.flush()?;
                left = left.map(|left| left - 1);
                if left == Some(0) {
                    return Ok(());
                }
            }
            Err(trouble) => {
                let was_down = std::mem::replace(&mut is_down[at], true);
                if !has_told && is_down.iter().all(|is_down| *is_down) {
                    return Err(Failure::cannot(&trouble.message).with_hint_if(trouble.hint));
                }
                if !was_down {
                    out.note(format!("{}: {}", urls[at], plain(&trouble.message)));
                }
            }
        }
    }
    Ok(())
}

/// What servers send, in the order in which it comes.
fn read(clients: &[Arc<Client>]) -> Receiver<Sent> {
    let (send, sent) = sync_channel(64);
    for (at, client) in clients.iter().enumerate() {
        let (client, send) = (Arc::clone(client), send.clone());
        thread::spawn(move || {
            follow(&client, |told| {
                let what = match told.map(serde_json::from_str::<Value>) {
                    Ok(Ok(frame)) if frame.is_object() => Ok(frame),
                    Ok(_) => Err(Trouble::not_a_frame()),
                    Err(trouble) => Err(trouble),
                };
                match send.send((at, what)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
        });
    }
    sent
}
