//! Who this machine is, checked against what it tells otherwise.

#![cfg(unix)]

use std::net::Ipv4Addr;

use mintage::*;

/// The first private address of an interface that is up, if this machine has one.
fn private_address() -> Option<Ipv4Addr> {
    let all = interfaces().unwrap();
    let usable = all.iter().filter(|interface| interface.up && !interface.loopback);
    let mut addresses = usable.flat_map(|interface| interface.ipv4.clone());
    addresses.find(|address| address.is_private() || address.is_link_local())
}

#[test]
fn a_node_and_a_worker_of_the_private_address_hold_it() {
    let layout: Layout = "time=41,worker=16,sequence=6".parse().unwrap();
    let worker = WorkerSource::Ip16.resolve(&layout, |_| true);
    let Some(address) = private_address() else {
        assert!(matches!(Node::private_ipv4(), Err(HostError::NoPrivateAddress)));
        assert!(matches!(worker, Err(HostError::NoPrivateAddress)));
        return;
    };
    let [a, b, c, d] = address.octets();
    assert_eq!(Node::private_ipv4().unwrap().octets(), [1, 0, a, b, c, d]);
    assert_eq!(worker.unwrap(), u64::from(c) << 8 | u64::from(d));
}

#[test]
fn a_worker_given_as_a_number_is_that_number_where_the_check_takes_it() {
    let layout: Layout = "time=41,worker=10,sequence=12".parse().unwrap();
    let mut asked = None;
    let worker = "17".parse::<WorkerSource>().unwrap().resolve(&layout, |worker| {
        asked = Some(worker);
        true
    });
    assert_eq!((worker.unwrap(), asked), (17, Some(17)));
}

#[test]
fn a_worker_of_the_host_name_is_the_number_at_the_end_of_its_first_label() {
    let layout: Layout = "time=31,worker=32,sequence=1".parse().unwrap();
    let name = host_name().unwrap();
    let label = name.split('.').next().unwrap();
    let digits = label.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap();
    let number: Option<u64> = digits.parse().ok();
    match (WorkerSource::Ordinal.resolve(&layout, |_| true), number) {
        (Ok(worker), Some(number)) => assert_eq!(worker, number, "{name}"),
        (Err(HostError::Layout(_)), Some(number)) => assert!(number > u64::from(u32::MAX), "{name}"),
        (Err(HostError::NoOrdinal(told)), None) => assert_eq!(told, name),
        (other, _) => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_hardware_node_is_the_address_of_its_interface() {
    let all = interfaces().unwrap();
    for interface in &all {
        let node = Node::hardware(Some(&interface.name)).ok();
        let address = interface.hardware.filter(|octets| *octets != [0; 6]);
        assert_eq!(node.map(Node::octets), address, "{}", interface.name);
    }
    let makers = all
        .iter()
        .find(|interface| interface.up && !interface.loopback && interface.is_globally_administered());
    match Node::hardware(None) {
        Ok(node) => assert_eq!(
            Some(node.octets()),
            makers.and_then(|interface| interface.hardware)
        ),
        Err(HostError::NoHardware) => assert!(makers.is_none()),
        Err(other) => panic!("{other}"),
    }
}
