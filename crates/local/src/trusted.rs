//! Files that decide who may do what, such as tokens, keys and passwords: nobody but root and ourselves may be able to put
//! another text there. The rules are those of sshd's `StrictModes`, for every folder on the way.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Whether the content of such a file can be believed: `true` if others than its owner and its group can read it.
///
/// A file that cannot be looked at is no concern of this: reading it says why.
///
/// # Errors
/// In words: what is owned, or can be written, by somebody else than root and our effective user, and what to do.
pub fn check(file: &Path) -> Result<bool, String> {
    let Ok(found) = fs::metadata(file) else {
        return Ok(false);
    };
    let ours = rustix::process::geteuid().as_raw();
    check_way(file, ours)?;
    check_owner(&found, ours, file, Part::File)?;
    if found.mode() & 0o022 != 0 {
        let (mode, file) = (found.mode() & 0o7777, file.display());
        return Err(format!(
            "others can write to it (mode {mode:04o}), and let in whom they like: chmod go-w {file}"
        ));
    }
    Ok(found.mode() & 0o004 != 0)
}

/// Looks at every folder and link on the way to a file, as the system follows them.
fn check_way(file: &Path, ours: u32) -> Result<(), String> {
    let Ok(whole) = std::path::absolute(file) else {
        return Ok(());
    };
    let names = |path: &Path| -> Vec<OsString> {
        let parts = path
            .components()
            .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        parts.map(|part| part.as_os_str().to_os_string()).collect()
    };
    let mut at = PathBuf::from("/");
    let mut next: VecDeque<OsString> = names(&whole).into();
    let mut links = 0;
    while let Some(name) = next.pop_front() {
        let Ok(folder) = fs::symlink_metadata(&at) else {
            return Ok(());
        };
        check_folder(&folder, ours, &at)?;
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        // What is there is the kernel's, such as a pipe of the shell behind /dev/fd.
        if at.starts_with("/proc") {
            return Ok(());
        }
        let Ok(found) = fs::symlink_metadata(&at) else {
            return Ok(());
        };
        if found.is_symlink() {
            links += 1;
            let Some(target) = fs::read_link(&at).ok().filter(|_| links <= LINKS_MAX) else {
                return Ok(());
            };
            check_owner(&found, ours, &at, Part::Link)?;
            match target.is_absolute() {
                true => at = PathBuf::from("/"),
                false => drop(at.pop()),
            }
            for name in names(&target).into_iter().rev() {
                next.push_front(name);
            }
        }
    }
    Ok(())
}

/// As many links as Linux follows (path_resolution(7)).
const LINKS_MAX: u32 = 40;

#[derive(Clone, Copy)]
enum Part {
    File,
    Folder,
    Link,
}

fn check_owner(found: &Metadata, ours: u32, at: &Path, part: Part) -> Result<(), String> {
    let owner = found.uid();
    if owner == 0 || owner == ours {
        return Ok(());
    }
    let (what, chown, at) = match part {
        Part::File => ("it".to_string(), "chown", at.display()),
        Part::Folder => (format!("the folder {}", at.display()), "chown", at.display()),
        Part::Link => (format!("the link {}", at.display()), "chown -h", at.display()),
    };
    let who = match ours {
        0 => "root".to_string(),
        ours => format!("root or to us, user {ours}"),
    };
    Err(format!(
        "{what} belongs to user {owner}, who can let in anybody by it, and must belong to {who}: {chown} {ours} {at}"
    ))
}

fn check_folder(found: &Metadata, ours: u32, at: &Path) -> Result<(), String> {
    check_owner(found, ours, at, Part::Folder)?;
    let (mode, shown) = (found.mode() & 0o7777, at.display());
    // In a sticky folder nobody moves or replaces what belongs to somebody else.
    let who = match mode {
        _ if mode & 0o1000 != 0 => return Ok(()),
        _ if mode & 0o002 != 0 => "everybody",
        _ if mode & 0o020 != 0 && found.gid() != 0 && !is_private(found.gid(), ours) => "its group",
        _ => return Ok(()),
    };
    Err(format!(
        "{who} can write to the folder {shown} (mode {mode:04o}), and put another file in its place: chmod go-w {shown}"
    ))
}

/// Whether nobody but one user is in a group, as where each user has a group of its own and files are made writable to it.
fn is_private(group: u32, user: u32) -> bool {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    is_private_by(&read("/etc/passwd"), &read("/etc/group"), group, user)
}

fn is_private_by(users: &str, groups: &str, group: u32, user: u32) -> bool {
    let number = |text: Option<&&str>| text.and_then(|text| text.parse::<u32>().ok());
    let mut name = None;
    for line in users.lines() {
        let row: Vec<&str> = line.split(':').collect();
        let (uid, gid) = (number(row.get(2)), number(row.get(3)));
        match (uid == Some(user), gid == Some(group)) {
            (true, true) => name = row.first().copied(),
            (false, true) => return false,
            _ => {}
        }
    }
    let Some(name) = name else {
        return false;
    };
    groups.lines().any(|line| {
        let row: Vec<&str> = line.split(':').collect();
        let mut members = row.get(3).into_iter().flat_map(|members| members.split(','));
        row.first() == Some(&name)
            && number(row.get(2)) == Some(group)
            && members.all(|member| member.is_empty() || member == name)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[track_caller]
    fn refused(file: &Path, words: &str) {
        let why = check(file).unwrap_err();
        assert!(why.contains(words), "{why}");
    }

    #[test]
    fn a_file_is_believed_that_nobody_else_can_write_or_replace() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.toml");
        assert_eq!(check(&file), Ok(false), "it is not there");
        fs::write(&file, "").unwrap();
        for (mode, can_be_read) in [
            (0o600, false),
            (0o400, false),
            (0o640, false),
            (0o644, true),
            (0o604, true),
        ] {
            set(&file, mode);
            assert_eq!(check(&file), Ok(can_be_read), "{mode:o}");
        }
        for mode in [0o620, 0o602, 0o666] {
            set(&file, mode);
            refused(&file, "others can write to it");
        }
        set(&file, 0o600);
        for (mode, is_good) in [
            (0o700, true),
            (0o755, true),
            (0o1777, true),
            (0o3777, true),
            (0o777, false),
            (0o757, false),
        ] {
            set(folder.path(), mode);
            assert_eq!(check(&file).is_ok(), is_good, "{mode:o}: {:?}", check(&file));
        }
        refused(&file, &format!("chmod go-w {}", folder.path().display()));
    }

    #[test]
    fn folders_above_and_folders_that_links_lead_through_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("open/inner")).unwrap();
        fs::create_dir(at("good")).unwrap();
        fs::write(at("open/inner/file"), "").unwrap();
        fs::write(at("good/file"), "").unwrap();
        symlink("../good/file", at("open/link")).unwrap();
        symlink("../open/inner/file", at("good/link")).unwrap();
        symlink("loop", at("good/loop")).unwrap();
        set(&at("open"), 0o777);
        let open = at("open").display().to_string();
        for name in [
            "open/inner/file",
            "open/link",
            "good/link",
            "good/../open/inner/file",
        ] {
            refused(&at(name), &open);
        }
        assert_eq!(check(&at("good/file")).map(drop), Ok(()));
        assert_eq!(check(&at("good/loop")), Ok(false));
    }

    /// A secret as Kubernetes mounts it: a link to a link, in a folder that everybody may write to and which is sticky.
    #[test]
    fn secrets_of_kubernetes_are_believed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("..2026")).unwrap();
        fs::write(at("..2026/tokens.toml"), "").unwrap();
        set(&at("..2026/tokens.toml"), 0o640);
        set(&at("..2026"), 0o2755);
        symlink("..2026", at("..data")).unwrap();
        symlink("..data/tokens.toml", at("tokens.toml")).unwrap();
        set(folder.path(), 0o3777);
        assert_eq!(check(&at("tokens.toml")), Ok(false));
    }

    #[test]
    fn what_belongs_to_others_is_not_believed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        symlink("file", at("link")).unwrap();
        chown(at("file"), Some(4711), None).unwrap();
        refused(&at("file"), "it belongs to user 4711");
        refused(&at("link"), "it belongs to user 4711");
        chown(at("file"), Some(0), None).unwrap();
        std::os::unix::fs::lchown(at("link"), Some(4711), None).unwrap();
        refused(&at("link"), "chown -h 0");
        chown(folder.path(), Some(4711), None).unwrap();
        refused(&at("file"), "the folder");
        chown(folder.path(), Some(0), Some(4711)).unwrap();
        set(folder.path(), 0o770);
        refused(&at("file"), "its group can write to the folder");
    }

    #[test]
    fn a_group_of_one_user_is_that_user() {
        let users =
            "root:x:0:0::/:\nann:x:1000:1000::/:\nbob:x:1001:100::/:\ncy:x:1002:1002::/:\ndi:x:1003:1002::/:";
        let groups = "root:x:0:\nann:x:1000:\nusers:x:100:\nbob:x:1001:ann\ncy:x:1002:";
        let is = |group, user| is_private_by(users, groups, group, user);
        assert!(is(1000, 1000));
        // Another's, a shared one, one with a member, one that is another's too, one that nobody knows.
        assert!(
            ![(1000, 1001), (100, 1001), (1001, 1001), (1002, 1002), (7, 1000)]
                .iter()
                .any(|(g, u)| is(*g, *u))
        );
    }
}
