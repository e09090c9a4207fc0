//! What to do about a state file that is refused, in the words of this command's options and settings.

use mintage_local::file_system::WHY_REFUSED;
use mintage_local::snowflake::LocalError;
use mintage_local::state_file::StateFileError;
use mintage_wire::allow_file_system;

/// Of the file.
pub(crate) fn of_file(error: &StateFileError) -> Option<String> {
    match error {
        StateFileError::Damaged { path } | StateFileError::Foreign { path } => Some(format!(
            "use another file; remove {} only when no id of the last seconds can have come from it",
            path.display()
        )),
        StateFileError::Shared { kind, .. } => Some(allow_file_system(WHY_REFUSED, kind)),
        StateFileError::Io { .. } if error.is_link() => {
            Some("it is a link: name the file that it leads to".into())
        }
        StateFileError::Io { .. } => Some("name a file in a writable folder".into()),
        StateFileError::TooLong { .. } => None,
    }
}

/// Of what snowflakes reserve in it.
pub(crate) fn of_snowflakes(error: &LocalError) -> Option<String> {
    match error {
        LocalError::File(file) => of_file(file),
        LocalError::Layout(_) => None,
        LocalError::Other { .. } => Some("name another file, or leave out what differs".into()),
        LocalError::ClockBack { .. } => {
            Some("set the clock right, or take the policy hold, which goes on above the ids made".into())
        }
    }
}
