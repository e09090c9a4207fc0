//! What the service refuses, here on a store or through a server: the same words, hint and exit code.

use mintage_wire::{CODES, Code, Problem};

use crate::errors::Failure;

/// What to do when a sequence does not go back.
const GOING_BACK: &str =
    "mint seq restart NAME --with N --allow-repeat goes back; numbers given out before then repeat";

impl From<Problem<'_>> for Failure {
    fn from(problem: Problem<'_>) -> Failure {
        let row = CODES.iter().find(|row| row.name == problem.code);
        refused(row.map(|row| row.code), &problem.detail, problem.hint.as_deref())
    }
}

/// A refusal of this code, in the words of this command.
pub(crate) fn refused(code: Option<Code>, message: &str, hint: Option<&str>) -> Failure {
    let hint = match code {
        // The service speaks of headers and fields; here they are a variable and an option.
        Some(Code::Unauthenticated | Code::WrongToken) => Some("set MINT_TOKEN to a token of this server"),
        Some(Code::OnlyForward | Code::NeedsAllowRepeat) => Some(GOING_BACK),
        _ => hint,
    };
    Failure::Said {
        code: code.map_or(3, |code| code.row().exit_code),
        message: message.to_string(),
        hint: hint.map(String::from),
    }
}
