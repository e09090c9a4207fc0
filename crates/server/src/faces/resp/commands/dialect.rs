//! What a port that speaks the Redis protocol understands: our own, or that of a system whose clients speak it too.

use super::{COMMANDS, Call, CommandRow, Flow};
use crate::auth::{Identity, Presented, Right, Tokens, What};
use crate::config::{Access, Config, FaceAuth, Keys};
use crate::faces;
use crate::faces::keyed::{NameBuffer, joined};
use crate::faces::resp::frame::FrameError;
use crate::metrics::FaceId;

/// The commands of a port, and its words for what it refuses before any command runs.
#[derive(Debug)]
pub struct Dialect {
    /// Its own commands.
    pub rows: &'static [CommandRow],
    /// Those of our own port that mean the same here, by their names.
    pub shared: &'static [&'static str],
    /// Who may use it, where it is the face of another system.
    pub access: Option<fn(&Config) -> &Access>,
    /// How its keys become names, where they are not names already.
    pub keys: Option<fn(&Config) -> &Keys>,
    /// Refuses a command that there is not.
    pub unknown: fn(&mut Call<'_>) -> Flow,
    /// Refuses a number of arguments that does not fit the command of this name.
    pub arity: fn(&mut Call<'_>, &str) -> Flow,
    /// What bytes that are no request are told.
    pub no_request: fn(&FrameError) -> String,
}

impl Dialect {
    /// The command called `name`, in any case.
    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> Option<&'static CommandRow> {
        let is_called = |row: &&CommandRow| name.eq_ignore_ascii_case(row.name.as_bytes());
        self.rows.iter().find(is_called).or_else(|| {
            let row = COMMANDS.iter().find(is_called)?;
            self.shared.contains(&row.name).then_some(row)
        })
    }

    /// Every command.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static CommandRow> + use<> {
        let shared = self.shared;
        let of_ours = COMMANDS.iter().filter(move |row| shared.contains(&row.name));
        self.rows.iter().chain(of_ours)
    }

    /// Whether it is the face of another system.
    #[inline]
    pub(crate) fn is_foreign(&self) -> bool {
        self.access.is_some()
    }

    /// Who a client is before it shows a token.
    pub(crate) fn before_a_word(
        &self,
        tokens: &Tokens,
        config: &Config,
        presented: &Presented,
        face: FaceId,
    ) -> Option<Identity> {
        tokens
            .before_a_word(presented, faces::name(face))
            .or(self.is_open(config).then_some(Identity::OPEN))
    }

    /// Whether a client may do something: what its token says, and what anybody may here.
    #[inline]
    pub(crate) fn allows(&self, identity: &Identity, right: Right, what: What<'_>, config: &Config) -> bool {
        identity.may(right, what) || self.is_open(config) && Identity::OPEN.may(right, what)
    }

    /// The name that a key stands for, as it is told; one that can have none is told as it came.
    pub(crate) fn name_of(&self, key: &[u8], config: &Config) -> String {
        let mut buffer = NameBuffer::default();
        let name = self.keys.and_then(|keys| joined(keys(config), key, &mut buffer));
        String::from_utf8_lossy(name.unwrap_or(key)).into_owned()
    }

    fn is_open(&self, config: &Config) -> bool {
        self.access
            .is_some_and(|access| access(config).auth == FaceAuth::Open)
    }
}
