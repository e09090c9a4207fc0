//! A machine of its own for a server: a network namespace joined to this one by a cable that can be cut.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use crate::engine::surroundings::Surroundings;
use crate::reserve::reserve;

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

/// How many there can be at a time.
const NUMBERS: u32 = 1 << 14;

impl Namespace {
    /// Makes one; only root may.
    ///
    /// # Panics
    /// When it cannot be made.
    #[track_caller]
    pub fn new() -> Namespace {
        let number = (0..NUMBERS).find(|number| reserve("namespace", *number));
        let number = number.expect("fewer than that are in use");
        // 198.18.0.0/15 is for tests between networks (RFC 2544): nobody routes it. Each has four addresses of it.
        let first = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + 4 * number;
        let made = Namespace {
            name: format!("mint-{number}"),
            // At most 15 characters.
            cable: format!("mint{number}"),
            here: Ipv4Addr::from(first + 1).into(),
            there: Ipv4Addr::from(first + 2).into(),
        };
        // A test that was killed left its own behind.
        made.remove();
        let (here, there) = (made.here, made.there);
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

    /// Removes both, where they are.
    fn remove(&self) {
        let (name, cable) = (self.name.as_str(), self.cable.as_str());
        // The cable goes with the namespace, but not before the last process in there.
        for words in [["link", "del", cable], ["netns", "del", name]] {
            let _ = Command::new("ip").args(words).stderr(Stdio::null()).status();
        }
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
        self.remove();
    }
}

/// Machines of a test in one network, which also reach this machine and are reached from it: a network namespace each,
/// all joined by a bridge in one more. All go when dropped.
#[derive(Debug)]
pub struct Lan {
    number: u32,
    count: u8,
}

/// How many there can be at a time.
const LANS: u32 = 1 << 12;

impl Lan {
    /// Makes so many machines, at most ten; only root may.
    ///
    /// # Panics
    /// When they cannot be made.
    #[track_caller]
    pub fn of(count: u8) -> Lan {
        let number = (0..LANS).find(|number| reserve("lan", *number));
        let number = number.expect("fewer than that are in use");
        let lan = Lan { number, count };
        // A test that was killed left its own behind.
        lan.remove();
        let (bridge, cable) = (lan.name("bridge"), format!("mintl{number}"));
        ip(&["netns", "add", &bridge]);
        let at_bridge = |args: &[&str]| ip(&[&["-n", bridge.as_str()], args].concat());
        at_bridge(&["link", "add", "name", "hub", "type", "bridge"]);
        at_bridge(&["link", "set", "hub", "up"]);
        ip(&[
            "link", "add", &cable, "type", "veth", "peer", "name", "here", "netns", &bridge,
        ]);
        for address in [lan.here(), lan.beside()] {
            ip(&["addr", "add", &format!("{address}/28"), "dev", &cable]);
        }
        ip(&["link", "set", &cable, "up"]);
        at_bridge(&["link", "set", "here", "master", "hub", "up"]);
        for at in 0..count {
            let (machine, port) = (lan.name(&at.to_string()), format!("m{at}"));
            ip(&["netns", "add", &machine]);
            at_bridge(&[
                "link", "add", &port, "type", "veth", "peer", "name", "lan", "netns", &machine,
            ]);
            at_bridge(&["link", "set", &port, "master", "hub", "up"]);
            let address = format!("{}/28", lan.address(at));
            for args in [
                &["addr", "add", &address, "dev", "lan"][..],
                &["link", "set", "lan", "up"],
                &["link", "set", "lo", "up"],
            ] {
                ip(&[&["-n", machine.as_str()], args].concat());
            }
        }
        lan
    }

    /// This machine's address.
    pub fn here(&self) -> IpAddr {
        self.host(1)
    }

    /// Another one of this machine's.
    pub fn beside(&self) -> IpAddr {
        self.host(2)
    }

    /// A machine's address.
    pub fn address(&self, at: u8) -> IpAddr {
        self.host(3 + u32::from(at))
    }

    /// A server on a machine.
    pub fn machine(&self, at: u8) -> Surroundings {
        Surroundings {
            environment: Vec::new(),
            address: self.address(at),
            machine: ["ip", "netns", "exec", &self.name(&at.to_string())]
                .map(String::from)
                .to_vec(),
        }
    }

    /// From now on a machine hears nothing of what these send; they still hear what it sends. Until [`Lan::mend`].
    ///
    /// # Panics
    /// When the rules cannot be set.
    #[track_caller]
    pub fn deafen(&self, at: u8, to: &[IpAddr]) {
        let mut rules = String::from(
            "add table inet cut\nadd chain inet cut in { type filter hook input priority 0; }\n",
        );
        for address in to {
            rules.push_str(&format!("add rule inet cut in ip saddr {address} drop\n"));
        }
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(&at.to_string()), "nft", "-f", "-"]);
        let said = crate::run::with_input(command, rules.as_bytes());
        assert_eq!(said.code, 0, "{said:?}");
    }

    /// A machine hears everybody again.
    ///
    /// # Panics
    /// When it was not deafened.
    #[track_caller]
    pub fn mend(&self, at: u8) {
        let name = self.name(&at.to_string());
        ip(&["netns", "exec", &name, "nft", "delete", "table", "inet", "cut"]);
    }

    /// 198.19.0.0/16 is the other half of what is for tests between networks; each has sixteen addresses of it.
    fn host(&self, number: u32) -> IpAddr {
        Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 19, 0, 0)) + 16 * self.number + number).into()
    }

    fn name(&self, of: &str) -> String {
        format!("mint-lan-{}-{of}", self.number)
    }

    fn remove(&self) {
        let quietly = |words: &[&str]| {
            let _ = Command::new("ip").args(words).stderr(Stdio::null()).status();
        };
        quietly(&["link", "del", &format!("mintl{}", self.number)]);
        for at in 0..self.count {
            quietly(&["netns", "del", &self.name(&at.to_string())]);
        }
        quietly(&["netns", "del", &self.name("bridge")]);
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        self.remove();
    }
}

#[track_caller]
fn ip(args: &[&str]) {
    let said = Command::new("ip").args(args).output().expect("ip can be started");
    assert!(said.status.success(), "ip {args:?}: {said:?}");
}
