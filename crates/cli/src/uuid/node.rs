//! Where the node of versions 1, 2 and 6 comes from.

use std::str::FromStr;

use mintage::{HostError, Node, SystemEntropy};

use crate::errors::Failure;

/// `--node`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NodeSource {
    Random,
    /// The named interface, or the first that is up with an address of its maker.
    Hardware(Option<String>),
    Ip,
    Fingerprint,
    Given(Node),
}

impl FromStr for NodeSource {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeSource, String> {
        Ok(match text {
            "random" => NodeSource::Random,
            "hardware" => NodeSource::Hardware(None),
            "ip" => NodeSource::Ip,
            "fingerprint" => NodeSource::Fingerprint,
            _ => match (text.strip_prefix("hardware:"), text.parse()) {
                (Some(interface), _) if !interface.is_empty() => {
                    NodeSource::Hardware(Some(interface.to_string()))
                }
                (_, Ok(node)) => NodeSource::Given(node),
                _ => {
                    return Err(
                        "a node is random, hardware, hardware:INTERFACE, ip, fingerprint, or six octets as \
                         9f:6b:de:ce:d8:46"
                            .into(),
                    );
                }
            },
        })
    }
}

impl NodeSource {
    /// The node.
    pub(super) fn node(&self) -> Result<Node, Failure> {
        let found = match self {
            NodeSource::Random => Ok(Node::random(&mut SystemEntropy)),
            NodeSource::Hardware(interface) => Node::hardware(interface.as_deref()),
            NodeSource::Ip => Node::private_ipv4(),
            NodeSource::Fingerprint => Node::host_fingerprint(),
            NodeSource::Given(node) => Ok(*node),
        };
        found.map_err(|error| {
            let hint = match &error {
                HostError::NoSuchInterface(_) => interfaces_hint(),
                HostError::NoHardware | HostError::NoPrivateAddress => {
                    Some("--node random is always there".into())
                }
                _ => None,
            };
            let message = match &error {
                // Core speaks of workers here, too.
                HostError::NoPrivateAddress => "no interface is up with a private IPv4 address".into(),
                HostError::NoHardware => "no interface is up with a hardware address of its maker".into(),
                other => other.to_string(),
            };
            Failure::cannot(message).with_hint_if(hint)
        })
    }
}

/// The interfaces that have a hardware address.
fn interfaces_hint() -> Option<String> {
    let names: Vec<String> = mintage::interfaces()
        .ok()?
        .into_iter()
        .filter(|found| found.hardware.is_some_and(|octets| octets != [0; 6]))
        .map(|found| found.name)
        .collect();
    match names.as_slice() {
        [] => Some("no interface here has one; --node random is always there".into()),
        _ => Some(format!("there are {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_as_documented() {
        let given = |text: &str| NodeSource::Given(text.parse().unwrap());
        for (text, expected) in [
            ("random", Some(NodeSource::Random)),
            ("hardware", Some(NodeSource::Hardware(None))),
            ("hardware:eth0", Some(NodeSource::Hardware(Some("eth0".into())))),
            ("hardware:", None),
            ("ip", Some(NodeSource::Ip)),
            ("fingerprint", Some(NodeSource::Fingerprint)),
            ("9f:6b:de:ce:d8:46", Some(given("9f6bdeced846"))),
            ("9F6BDECED846", Some(given("9f6bdeced846"))),
            ("9f:6b", None),
            ("mac", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
