//! Users of this machine, as the kernel tells them of the other end of a unix socket.

use std::sync::OnceLock;

/// Whether a user is nobody in particular: the kernel shows everybody who has no number in this user namespace as this one
/// (user_namespaces(7)).
pub(crate) fn is_nobody(uid: u32) -> bool {
    static SHOWN: OnceLock<u32> = OnceLock::new();
    let shown = SHOWN.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
        text.trim().parse().unwrap_or(NOBODY)
    });
    uid == *shown || uid == NOBODY || uid == u32::MAX
}

/// As kernels have it unless told otherwise.
const NOBODY: u32 = 65_534;

/// Checks the user of a token.
///
/// # Errors
/// It stands for more than one.
pub(super) fn check(uid: u32) -> Result<u32, String> {
    match is_nobody(uid) {
        false => Ok(uid),
        true => Err(format!(
            "uid = {uid} is nobody: everybody who has no number in a user namespace has this one there; give the program a \
             user of its own"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_not_a_user() {
        assert!(check(NOBODY).unwrap_err().contains("uid = 65534 is nobody"));
        assert!(check(u32::MAX).is_err());
        assert_eq!([0, 1000, 65_533, 65_535].map(|uid| check(uid).is_ok()), [true; 4]);
    }
}
