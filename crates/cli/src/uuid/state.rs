//! `--state FILE`: one order for all processes of a host.

use std::path::Path;

use mintage::{Clock, SystemClock};
use mintage_local::state_file::StateFile;
use mintage_local::uuid::{LocalUuid, LocalUuidError, Notice};

use super::{Args, Sink};
use crate::errors::Failure;
use crate::local::allowed_file_systems;

pub(super) fn run(args: &Args, file: &Path, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let node = args.node.as_ref().map(|source| source.node()).transpose()?;
    let mut draw = mintage::fill_random;
    let file = StateFile::new(file).allow_file_systems(allowed_file_systems()?);
    let mut local = LocalUuid::open(file, node, &mut draw, SystemClock.now()).map_err(refused)?;
    let version = args.version.number();
    let (mut told, mut left) = (None, args.count.unwrap_or(1));
    loop {
        if told != local.notice() {
            told = local.notice();
            if let Some(notice) = told {
                sink.out.note(format!("note: {}", words(notice)));
            }
        }
        if left == 0 {
            return Ok(());
        }
        let mut batch = [mintage::Uuid::nil(); super::BATCH];
        let want = usize::try_from(left).unwrap_or(super::BATCH).min(super::BATCH);
        match local.fill(version, &mut draw, SystemClock.now(), &mut batch[..want]) {
            Ok(made) => {
                sink.put(&batch[..made])?;
                left -= made as u64;
            }
            Err(LocalUuidError::Wait(how_long)) => std::thread::sleep(how_long),
            Err(other) => return Err(refused(other)),
        }
    }
}

fn words(notice: Notice) -> &'static str {
    match notice {
        Notice::Unreadable => {
            "the state could not be read, or is a copy that was put back; the clock sequence is a new random one"
        }
        Notice::ClockWentBack => "the clock went back by more than 5 s; the clock sequence went up by one",
        Notice::OtherNode => "the state was of another node; the clock sequence is a new random one",
    }
}

fn refused(error: LocalUuidError) -> Failure {
    let hint = match &error {
        LocalUuidError::File(file) => crate::state_hints::of_file(file),
        LocalUuidError::Other { .. } => Some("name another file".into()),
        LocalUuidError::ClockSequencesSpent { .. } => Some("--node random never runs out".into()),
        _ => None,
    };
    match error {
        LocalUuidError::Other { .. } => Failure::usage(error),
        _ => Failure::cannot(error),
    }
    .with_hint_if(hint)
}
