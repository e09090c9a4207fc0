//! Who this machine is: node ids and worker ids taken from it. Reads only when asked.
//!
//! `unsafe` here: getifaddrs and gethostname, C calls that std does not offer. What they give is copied out
//! at once; there is no safe twin.
#![allow(unsafe_code)]

#[cfg(unix)]
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::layout::{Layout, LayoutError};
use crate::uuid::Node;

/// A network interface of this machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    /// Its name, as `eth0`.
    pub name: String,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is the loopback interface.
    pub loopback: bool,
    /// Its hardware address, if it has one of six octets.
    pub hardware: Option<[u8; 6]>,
    /// Its IPv4 addresses.
    pub ipv4: Vec<Ipv4Addr>,
}

/// Why this machine could not say who it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostError {
    /// The system call failed.
    Io(std::io::Error),
    /// No interface is up with a hardware address from its maker.
    NoHardware,
    /// The interface asked for does not exist or has no hardware address.
    NoSuchInterface(String),
    /// No interface is up with a private IPv4 address.
    NoPrivateAddress,
    /// The host name does not end in a number.
    NoOrdinal(String),
    /// The worker does not fit the layout.
    Layout(LayoutError),
    /// The caller's check refused the worker.
    Refused(u64),
    /// Not a worker: `ip16`, `ordinal` or a number is expected.
    NotAWorker(String),
}

impl Interface {
    /// Whether its hardware address is one that its maker was given: not zero, not multicast, and not locally
    /// administered, as those of containers and virtual bridges are.
    pub fn is_globally_administered(&self) -> bool {
        self.hardware
            .is_some_and(|octets| octets != [0; 6] && octets[0] & 0b11 == 0)
    }
}

impl Node {
    /// The node of a network interface's hardware address: of `interface`, or of the first that is up, no
    /// loopback, and has an address given to its maker.
    ///
    /// Such ids tell which machine made them, and machines that share an address repeat each other's.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn hardware(interface: Option<&str>) -> Result<Node, HostError> {
        let all = interfaces()?;
        let found = match interface {
            Some(name) => all
                .iter()
                .find(|found| found.name == name && found.hardware != Some([0; 6])),
            None => all
                .iter()
                .find(|found| found.up && !found.loopback && found.is_globally_administered()),
        };
        match (found.and_then(|found| found.hardware), interface) {
            (Some(octets), _) => Ok(Node::from_octets(octets)),
            (None, Some(name)) => Err(HostError::NoSuchInterface(name.into())),
            (None, None) => Err(HostError::NoHardware),
        }
    }

    /// The node of this machine's first private IPv4 address; see [`Node::from_ipv4`].
    ///
    /// # Errors
    /// There is none.
    pub fn private_ipv4() -> Result<Node, HostError> {
        Ok(Node::from_ipv4(private_address(&interfaces()?)?))
    }

    /// The node of what tells this machine from others: its name, its machine id, its operating system; see
    /// [`Node::from_fingerprint`].
    ///
    /// # Errors
    /// The host name cannot be read.
    #[cfg(feature = "names")]
    pub fn host_fingerprint() -> Result<Node, HostError> {
        // Absent on many systems and in containers; the rest still tells hosts apart.
        let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
        let name = host_name()?;
        Ok(Node::from_fingerprint(&[
            name.as_bytes(),
            &machine,
            std::env::consts::OS.as_bytes(),
        ]))
    }
}

/// Where a Snowflake generator's worker id comes from.
///
/// Only a reservation (a lease from a store) makes sure that nobody else has the same worker. `Ip16` repeats
/// where networks overlap or addresses are reused; `Ordinal` where two deployments share a naming scheme; a
/// number where a configuration is copied.
///
/// ```
/// use mintage::{WorkerSource, preset};
/// let layout = preset("twitter").expect("a preset").layout();
/// let source: WorkerSource = "17".parse()?;
/// assert_eq!(source.resolve(&layout, |_| true)?, 17);
/// assert!("1024".parse::<WorkerSource>()?.resolve(&layout, |_| true).is_err());
/// # Ok::<(), mintage::HostError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WorkerSource {
    /// This number.
    Number(u64),
    /// The low 16 bits of the first private IPv4 address, as sonyflake does it.
    Ip16,
    /// The trailing number of the host name, as a Kubernetes StatefulSet gives it: `mint-3` is 3.
    Ordinal,
}

impl WorkerSource {
    /// The worker id, if it fits `layout` and `check` accepts it.
    ///
    /// # Errors
    /// The machine has no such thing; the worker does not fit the layout; `check` answered false.
    pub fn resolve(self, layout: &Layout, check: impl FnOnce(u64) -> bool) -> Result<u64, HostError> {
        let worker = match self {
            Self::Number(number) => number,
            Self::Ip16 => ip16_of(private_address(&interfaces()?)?),
            Self::Ordinal => ordinal_of(&host_name()?)?,
        };
        layout.pack_wide(0, worker, 0).map_err(HostError::Layout)?;
        if check(worker) {
            Ok(worker)
        } else {
            Err(HostError::Refused(worker))
        }
    }
}

impl FromStr for WorkerSource {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        match text {
            "ip16" => Ok(Self::Ip16),
            "ordinal" => Ok(Self::Ordinal),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => text
                .parse()
                .map(Self::Number)
                .map_err(|_| HostError::NotAWorker(text.into())),
            _ => Err(HostError::NotAWorker(text.into())),
        }
    }
}

/// The network interfaces of this machine, in the system's order.
///
/// # Errors
/// The system call fails.
#[cfg(unix)]
pub fn interfaces() -> Result<Vec<Interface>, HostError> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: writes one pointer through a pointer to our own.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(HostError::Io(std::io::Error::last_os_error()));
    }
    let mut order = Vec::new();
    let mut found: BTreeMap<String, Interface> = BTreeMap::new();
    let mut next = list;
    // SAFETY: `next` is null or an entry of the list, which lives until freeifaddrs below; entries are only
    // read. Names are C strings, and an address is read as what its family says it is.
    unsafe {
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let name = std::ffi::CStr::from_ptr(entry.ifa_name)
                .to_string_lossy()
                .into_owned();
            let interface = found.entry(name.clone()).or_insert_with(|| {
                order.push(name.clone());
                Interface {
                    name,
                    ..Interface::default()
                }
            });
            interface.up = entry.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
            interface.loopback = entry.ifa_flags & libc::IFF_LOOPBACK as libc::c_uint != 0;
            let Some(address) = entry.ifa_addr.as_ref() else {
                continue;
            };
            if i32::from(address.sa_family) == libc::AF_INET {
                let address = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                interface
                    .ipv4
                    .push(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)));
            }
            #[cfg(any(target_os = "linux", target_os = "android"))]
            if i32::from(address.sa_family) == libc::AF_PACKET {
                let address = entry.ifa_addr.cast::<libc::sockaddr_ll>().read_unaligned();
                if address.sll_halen == 6 {
                    interface.hardware = address.sll_addr.first_chunk().copied();
                }
            }
        }
        libc::freeifaddrs(list);
    }
    Ok(order.into_iter().filter_map(|name| found.remove(&name)).collect())
}

/// The network interfaces of this machine; none are known on this system.
///
/// # Errors
/// Never here.
#[cfg(not(unix))]
pub fn interfaces() -> Result<Vec<Interface>, HostError> {
    Ok(Vec::new())
}

/// The name of this machine.
///
/// # Errors
/// The system call fails.
pub fn host_name() -> Result<String, HostError> {
    #[cfg(unix)]
    {
        let mut name = [0u8; 256];
        // SAFETY: writes at most the length given into our own buffer; the last byte stays zero.
        if unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0 {
            return Err(HostError::Io(std::io::Error::last_os_error()));
        }
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(String::from_utf8_lossy(&name[..end]).into_owned())
    }
    #[cfg(not(unix))]
    {
        std::env::var("COMPUTERNAME").map_err(|error| HostError::Io(std::io::Error::other(error)))
    }
}

/// The first private or link-local address of an interface that is up (sonyflake's rule).
fn private_address(interfaces: &[Interface]) -> Result<Ipv4Addr, HostError> {
    let usable = interfaces
        .iter()
        .filter(|interface| interface.up && !interface.loopback);
    usable
        .flat_map(|interface| &interface.ipv4)
        .find(|address| address.is_private() || address.is_link_local())
        .copied()
        .ok_or(HostError::NoPrivateAddress)
}

fn ip16_of(address: Ipv4Addr) -> u64 {
    u64::from(u32::from(address) & 0xffff)
}

fn ordinal_of(host: &str) -> Result<u64, HostError> {
    // `mint-3.mint.default.svc` names pod 3: the first label counts.
    let label = host.split('.').next().unwrap_or_default();
    let digits = label.len() - label.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    label[label.len() - digits..]
        .parse()
        .map_err(|_| HostError::NoOrdinal(host.into()))
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot ask the system who it is: {error}"),
            Self::NoHardware => {
                f.write_str("no interface is up with a hardware address of its maker; use a random node")
            }
            Self::NoSuchInterface(name) => write!(f, "no interface {name:?} with a hardware address"),
            Self::NoPrivateAddress => f.write_str(
                "no interface is up with a private IPv4 address; give the worker as a number, or lease one",
            ),
            Self::NoOrdinal(host) => write!(f, "the host name {host:?} does not end in a number"),
            Self::Layout(error) => error.fmt(f),
            Self::Refused(worker) => write!(f, "worker id {worker} was refused by the check; choose another"),
            Self::NotAWorker(text) => write!(f, "worker {text:?} is not `ip16`, `ordinal` or a number"),
        }
    }
}

impl std::error::Error for HostError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Layout(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, hardware: [u8; 6], ipv4: &str) -> Interface {
        let ipv4 = vec![ipv4.parse().expect("an address")];
        Interface {
            name: name.into(),
            up: true,
            loopback: false,
            hardware: Some(hardware),
            ipv4,
        }
    }

    #[test]
    fn only_addresses_given_to_a_maker_count_as_hardware() {
        let check = |first, expected| {
            let interface = interface("eth0", [first, 1, 2, 3, 4, 5], "10.0.0.1");
            assert_eq!(interface.is_globally_administered(), expected, "{first:02x}");
        };
        check(0x00, true);
        check(0x02, false);
        check(0x01, false);
        assert!(!Interface::default().is_globally_administered());
        assert!(!interface("eth0", [0; 6], "10.0.0.1").is_globally_administered());
    }

    #[test]
    fn ip16_is_sonyflakes() {
        let public = interface("a", [0; 6], "8.8.8.8");
        let private = interface("b", [0; 6], "192.168.3.4");
        let both = [public.clone(), private];
        assert_eq!(private_address(&both).map(ip16_of).ok(), Some(3 << 8 | 4));
        assert!(matches!(
            private_address(&[public]),
            Err(HostError::NoPrivateAddress)
        ));
        let mut down = interface("c", [0; 6], "10.0.0.1");
        down.up = false;
        assert!(private_address(&[down]).is_err());
    }

    #[test]
    fn the_ordinal_is_the_trailing_number_of_the_first_label() {
        assert_eq!(ordinal_of("mint-3").ok(), Some(3));
        assert_eq!(
            ordinal_of("mint-12.mint.default.svc.cluster.local").ok(),
            Some(12)
        );
        for host in ["mint", "", "mint-", "9x", "mint-99999999999999999999"] {
            assert!(ordinal_of(host).is_err(), "{host}");
        }
    }

    #[test]
    fn worker_sources_are_read_and_checked() {
        let layout = crate::preset("twitter").expect("a preset").layout();
        assert_eq!("ip16".parse::<WorkerSource>().ok(), Some(WorkerSource::Ip16));
        assert_eq!(
            "ordinal".parse::<WorkerSource>().ok(),
            Some(WorkerSource::Ordinal)
        );
        for text in ["", "-1", "1.5", "IP16", "18446744073709551616"] {
            assert!(text.parse::<WorkerSource>().is_err(), "{text}");
        }
        let refused = WorkerSource::Number(7).resolve(&layout, |worker| worker != 7);
        assert!(matches!(refused, Err(HostError::Refused(7))));
        let too_large = WorkerSource::Number(1024)
            .resolve(&layout, |_| true)
            .expect_err("10 bits");
        assert!(too_large.to_string().contains("largest is 1023"));
    }

    #[test]
    #[cfg(unix)]
    fn this_machine_answers() {
        let interfaces = interfaces().expect("the system answers");
        assert!(interfaces.iter().all(|interface| !interface.name.is_empty()));
        assert!(!host_name().expect("the system answers").is_empty());
        assert!(Node::host_fingerprint().expect("a name").is_multicast());
        assert!(matches!(
            Node::hardware(Some("no such one")),
            Err(HostError::NoSuchInterface(_))
        ));
    }
}
