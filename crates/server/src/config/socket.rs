//! Settings of the files of unix sockets.

use nix::unistd::{Group, User};

use super::value::{Setting, quoted};

/// Who may connect: the bits of a file's mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketMode(pub u32);

/// Whose a socket is.
///
/// ```
/// use mintage_server::config::{Setting, SocketOwner};
/// assert_eq!(SocketOwner::parse("0:0")?.ids()?, (Some(0), Some(0)));
/// assert_eq!(SocketOwner::parse(":1234")?.ids()?, (None, Some(1234)));
/// assert!(SocketOwner::parse("nobody-of-that-name")?.ids().unwrap_err().contains("no user"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketOwner {
    user: String,
    group: String,
}

impl SocketOwner {
    /// The numbers of its user and group; `None` leaves it as it is.
    ///
    /// # Errors
    /// There is no such user or group.
    pub fn ids(&self) -> Result<(Option<u32>, Option<u32>), String> {
        let user = id(&self.user, "user", |name| {
            User::from_name(name).map(|found| found.map(|user| user.uid.as_raw()))
        })?;
        let group = id(&self.group, "group", |name| {
            Group::from_name(name).map(|found| found.map(|group| group.gid.as_raw()))
        })?;
        Ok((user, group))
    }
}

fn id(
    text: &str,
    kind: &str,
    find: impl FnOnce(&str) -> nix::Result<Option<u32>>,
) -> Result<Option<u32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(number) = text.parse() {
        return Ok(Some(number));
    }
    match find(text) {
        Ok(Some(found)) => Ok(Some(found)),
        Ok(None) => Err(format!("there is no {kind} {text:?}")),
        Err(error) => Err(format!("{kind} {text:?} cannot be looked up: {error}")),
    }
}

impl Setting for SocketMode {
    const KIND: &'static str = "mode";

    fn parse(text: &str) -> Result<Self, String> {
        match u32::from_str_radix(text, 8) {
            Ok(mode) if mode <= 0o777 => Ok(SocketMode(mode)),
            _ => Err(format!(
                "{text:?} is no mode: three digits from 0 to 7, such as 0660"
            )),
        }
    }

    fn show(&self) -> String {
        quoted(&format!("{:04o}", self.0))
    }
}

impl Setting for SocketOwner {
    const KIND: &'static str = "owner";

    fn parse(text: &str) -> Result<Self, String> {
        let (user, group) = text.split_once(':').unwrap_or((text, ""));
        let fits = |name: &str| name.chars().all(|c| c.is_ascii_graphic() && c != ':');
        match (user.is_empty() && group.is_empty(), fits(user) && fits(group)) {
            (false, true) => Ok(SocketOwner {
                user: user.into(),
                group: group.into(),
            }),
            _ => Err(format!("{text:?} is no owner: USER, USER:GROUP or :GROUP")),
        }
    }

    fn show(&self) -> String {
        match self.group.is_empty() {
            true => quoted(&self.user),
            false => quoted(&format!("{}:{}", self.user, self.group)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_owners_are_read_and_shown() {
        assert_eq!(SocketMode::parse("660").unwrap().show(), "\"0660\"");
        for text in ["", "0999", "1777", "rw"] {
            assert!(
                SocketMode::parse(text).unwrap_err().contains("such as 0660"),
                "{text:?}"
            );
        }
        for text in ["mint", "mint:web", ":web"] {
            assert_eq!(SocketOwner::parse(text).unwrap().show(), quoted(text));
        }
        for text in ["", ":", "a:b:c", "a b"] {
            assert!(SocketOwner::parse(text).is_err(), "{text:?}");
        }
    }
}
