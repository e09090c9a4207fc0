//! What a test has started ends with it, also where the test is killed and runs no destructor.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads a process a line, its id, when it began, and a signal; or `folder` and where it is. At their end, which is that of
/// whoever writes them, it sends the signals to those that still run, and removes the folders. An id alone might be another
/// process's by then.
const SCRIPT: &str = r#"
while read -r one; do all="$all$one
"; done
printf %s "$all" | while read -r pid began signal; do
    read -r stat 2>/dev/null <"/proc/$pid/stat" || continue
    set -- ${stat##*) }
    [ "${20}" = "$began" ] && kill -s "$signal" "$pid"
done
printf %s "$all" | while read -r word folder; do
    [ "$word" = folder ] || continue
    # Who was sent a signal may still write there.
    for try in 1 2 3 4 5; do rm -rf "$folder" && break; sleep 1; done
done
"#;

static WATCHER: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Sends this process a signal, such as `KILL`, when ours is gone.
///
/// The kernel's own signal for that comes when a thread ends, and a server often outlives the thread that started it.
///
/// # Panics
/// When no shell can be started.
pub fn ends_with_us(child: &Child, signal: &str) {
    let Some(began) = began(child.id()) else {
        return;
    };
    tell(&format!("{} {began} {signal}", child.id()));
}

/// Removes this folder when our process is gone; a path without line breaks.
///
/// # Panics
/// When no shell can be started.
pub fn goes_with_us(folder: &Path) {
    tell(&format!("folder {}", folder.display()));
}

fn tell(line: &str) {
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = watcher.get_or_insert_with(watch);
    writeln!(pipe, "{line}").expect("it reads until we are gone");
}

fn watch() -> ChildStdin {
    let started = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends all that runs in a terminal leaves it.
        .process_group(0)
        .spawn();
    started.expect("a shell can be started").stdin.expect("was piped")
}

/// When a process was started, in the kernel's clock ticks; `None` if there is none.
pub(crate) fn began(pid: u32) -> Option<String> {
    // After the name in parentheses, which may hold anything, the state is the first field.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    after.split(' ').nth(19).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_when_it_began() {
        let (own, first) = (began(std::process::id()), began(1));
        assert!(own.is_some() && own == began(std::process::id()) && own != first);
        assert_eq!(began(u32::MAX), None);
    }
}
