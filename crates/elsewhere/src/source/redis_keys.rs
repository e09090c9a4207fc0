//! Keys that other systems keep in Redis, and what they count: known by their names, which are fixed texts there.
//!
//! | key | what it is |
//! | --- | --- |
//! | `cosid:{NAMESPACE.NAME}.adder` | a segment of CosId: a counter, which its proxy calls `NAMESPACE.NAME` |
//! | `cosid:{NAMESPACE}:adder`, `:itc_idx`, `:revert` | the machines of a namespace of CosId: no counter |
//! | `IdGen:WorkerId:…` | the workers of yitter's IdGenerator: no counter |
//!
//! The first two differ by one character. Whoever took the second for a counter would fence what instances lease their
//! machine numbers from, and none of them would start any more.

/// What CosId's segments stand under.
const SEGMENT: (&[u8], &[u8]) = (b"cosid:{", b"}.adder");

/// What a namespace of CosId keeps of its machines.
#[cfg(feature = "redis")]
const MACHINES: [&str; 3] = ["}:adder", "}:itc_idx", "}:revert"];

/// What yitter's workers stand under.
#[cfg(feature = "redis")]
const YITTER: &str = "IdGen:WorkerId:";

/// The `NAMESPACE.NAME` of the segment of CosId that a key of Redis counts; `None`: it is no such key.
///
/// ```
/// use mintage_elsewhere::source::cosid_segment;
/// assert_eq!(cosid_segment(b"cosid:{shop.orders}.adder"), Some(&b"shop.orders"[..]));
/// assert_eq!(cosid_segment(b"cosid:{shop}:adder"), None);
/// ```
pub fn cosid_segment(key: &[u8]) -> Option<&[u8]> {
    let name = key.strip_prefix(SEGMENT.0)?.strip_suffix(SEGMENT.1)?;
    (!name.is_empty()).then_some(name)
}

/// Why a key is no counter although it may look like one, and what to do; `None`: it may be one.
#[cfg(feature = "redis")]
pub(super) fn no_counter(key: &str, place: &str) -> Option<String> {
    let of_cosid = key.strip_prefix("cosid:{");
    let namespace = of_cosid.and_then(|rest| MACHINES.iter().find_map(|end| rest.strip_suffix(end)));
    if let Some(namespace) = namespace {
        return Some(format!(
            "CosId leases the machine numbers of {namespace:?} by it, and it is no counter: mint pool create \
             'cosid:{namespace}' --preset cosid --avoid-from 'cosid+{place}?namespace={namespace}'"
        ));
    }
    key.starts_with(YITTER).then(|| {
        format!(
            "yitter's IdGenerator leases its workers by it, and it is no counter: mint pool create NAME --preset yitter \
             --avoid-from 'yitter+{place}'"
        )
    })
}

#[cfg(test)]
#[cfg(feature = "redis")]
mod tests {
    use super::*;

    #[test]
    fn segments_of_cosid_are_told_from_its_machines() {
        for (key, segment) in [
            ("cosid:{shop.orders}.adder", Some("shop.orders")),
            ("cosid:{shop.a}b}.adder", Some("shop.a}b")),
            (
                "cosid:{cosid-proxy.__share__}.adder",
                Some("cosid-proxy.__share__"),
            ),
            ("cosid:{}.adder", None),
            ("cosid:{shop}:adder", None),
            ("cosid:{shop.orders}.adder.old", None),
            ("my-cosid:{shop.orders}.adder", None),
            ("Cosid:{shop.orders}.adder", None),
        ] {
            assert_eq!(cosid_segment(key.as_bytes()), segment.map(str::as_bytes), "{key}");
            assert!(
                segment.is_none() || no_counter(key, "redis://db").is_none(),
                "{key}"
            );
        }
    }

    #[test]
    fn what_leases_workers_is_refused_with_the_command_that_avoids_them() {
        for key in ["cosid:{m9}:adder", "cosid:{m9}:itc_idx", "cosid:{m9}:revert"] {
            let why = no_counter(key, "redis://db:6379").unwrap_or_default();
            let command = "mint pool create 'cosid:m9' --preset cosid --avoid-from 'cosid+redis://db:6379?namespace=m9'";
            assert!(why.ends_with(command), "{key}: {why}");
        }
        assert!(
            no_counter("IdGen:WorkerId:Index", "redis://db")
                .is_some_and(|why| why.contains("yitter+redis://db"))
        );
        for key in ["orders", "cosid:{m9}.adder", "cosid:m9:adder", "IdGen:orders"] {
            assert_eq!(no_counter(key, "redis://db"), None, "{key}");
        }
    }
}
