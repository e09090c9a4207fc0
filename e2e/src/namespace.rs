//! A machine of its own for a server: a network namespace joined to this one by a cable that can be cut.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

/// A network namespace and the pair of interfaces that joins it. Both go when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    cable: String,
    /// This side's address.
    pub here: IpAddr,
    /// That side's.
    pub there: IpAddr,
}

static NEXT: AtomicU8 = AtomicU8::new(1);

impl Namespace {
    /// Makes one; only root may.
    ///
    /// # Panics
    /// When it cannot be made.
    #[track_caller]
    pub fn new() -> Namespace {
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let process = std::process::id();
        // 198.18.0.0/15 is for tests between networks (RFC 2544): nobody routes it.
        let third = (process % 250) as u8;
        let (here, there) = (
            Ipv4Addr::new(
                198,
                18 + (process / 250 % 2) as u8,
                third,
                number.wrapping_mul(4) | 1,
            ),
            Ipv4Addr::new(
                198,
                18 + (process / 250 % 2) as u8,
                third,
                number.wrapping_mul(4) | 2,
            ),
        );
        let made = Namespace {
            name: format!("mint-{process}-{number}"),
            // At most 15 characters.
            cable: format!("mt{:x}n{number}", process & 0xff_ffff),
            here: here.into(),
            there: there.into(),
        };
        let (name, cable) = (made.name.as_str(), made.cable.as_str());
        let inner = format!("{cable}i");
        ip(&["netns", "add", name]);
        ip(&[
            "link", "add", cable, "type", "veth", "peer", "name", &inner, "netns", name,
        ]);
        ip(&["addr", "add", &format!("{here}/30"), "dev", cable]);
        ip(&["link", "set", cable, "up"]);
        made.run(&["ip", "addr", "add", &format!("{there}/30"), "dev", &inner]);
        made.run(&["ip", "link", "set", &inner, "up"]);
        made.run(&["ip", "link", "set", "lo", "up"]);
        made
    }

    /// The words that run a program in it.
    pub fn words(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(String::from).to_vec()
    }

    /// From now on nothing comes through from or to this port of this side: packets vanish, as on a cut cable.
    ///
    /// # Panics
    /// When the rules cannot be set.
    #[track_caller]
    pub fn cut(&self, port: u16) {
        let rules = format!(
            "add table inet cut\n\
             add chain inet cut in {{ type filter hook input priority 0; }}\n\
             add chain inet cut out {{ type filter hook output priority 0; }}\n\
             add rule inet cut in tcp sport {port} drop\n\
             add rule inet cut out tcp dport {port} drop\n"
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "nft", "-f", "-"]);
        let said = crate::run::with_input(command, rules.as_bytes());
        assert_eq!(said.code, 0, "{said:?}");
    }

    /// The opposite of [`Namespace::cut`].
    ///
    /// # Panics
    /// When the rules cannot be removed.
    #[track_caller]
    pub fn mend(&self) {
        self.run(&["nft", "delete", "table", "inet", "cut"]);
    }

    #[track_caller]
    fn run(&self, words: &[&str]) {
        let mut all = vec!["netns", "exec", self.name.as_str()];
        all.extend(words);
        ip(&all);
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Namespace::new()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The cable goes with the namespace.
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .stderr(Stdio::null())
            .status();
    }
}

#[track_caller]
fn ip(args: &[&str]) {
    let said = Command::new("ip").args(args).output().expect("ip can be started");
    assert!(said.status.success(), "ip {args:?}: {said:?}");
}
