//! How other systems keep and compare UUIDs.
//!
//! RFC 9562 compares 16 bytes, most significant first. Systems that were there before it, or that do otherwise,
//! each have an order of their own: an index over version 7 is only in order of time where the system's order
//! is the bytes' own. What is here is exact, both ways, and needs none of those systems.

use core::cmp::Ordering;

use ::uuid::Uuid;

/// A system that keeps or compares UUIDs in its own way.
///
/// ```
/// use mintage::{Uuid, UuidOrder};
/// let id = Uuid::try_parse("00112233-4455-6677-8899-aabbccddeeff").expect("a uuid");
/// let bytes = UuidOrder::Microsoft.stored(&id).expect("it takes every id");
/// assert_eq!(bytes, 0x3322_1100_5544_7766_8899_aabb_ccdd_eeff_u128.to_be_bytes());
/// assert_eq!(UuidOrder::Microsoft.from_stored(bytes), id);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UuidOrder {
    /// RFC 9562: bytes as they stand, compared unsigned. PostgreSQL, DuckDB and most others.
    Rfc,
    /// .NET's `Guid.ToByteArray` and COM: the first three fields little-endian; compared as RFC 9562.
    Microsoft,
    /// SQL Server's `uniqueidentifier`: kept as [`UuidOrder::Microsoft`], compared from the node backwards, by
    /// groups (`System.Data.SqlTypes.SqlGuid`).
    SqlServer,
    /// MySQL's `UUID_TO_BIN(id, 1)`: time_hi, time_mid, time_low, so that version 1 sorts by time.
    MySqlSwap,
    /// MariaDB's `UUID` from 10.10.6 and 10.11.5 on: versions 1 to 5 kept with their groups in reverse, the
    /// others as they stand (`plugin/type_uuid/sql_type_uuid.h`).
    MariaDb,
    /// `java.util.UUID.compareTo`: two signed 64-bit numbers.
    Java,
    /// Cassandra's `timeuuid`: the time of version 1, then the rest as signed bytes (`TimeUUIDType.java`).
    Cassandra,
    /// ClickHouse's `UUID`: two little-endian numbers, compared by the second first.
    ClickHouse,
}

impl UuidOrder {
    /// Every order with its name.
    pub const ALL: &[(&str, UuidOrder)] = &[
        ("rfc", UuidOrder::Rfc),
        ("microsoft", UuidOrder::Microsoft),
        ("sqlserver", UuidOrder::SqlServer),
        ("mysql-swap", UuidOrder::MySqlSwap),
        ("mariadb", UuidOrder::MariaDb),
        ("java", UuidOrder::Java),
        ("cassandra", UuidOrder::Cassandra),
        ("clickhouse", UuidOrder::ClickHouse),
    ];

    /// The order called `name`.
    ///
    /// ```
    /// use mintage::UuidOrder;
    /// assert_eq!(UuidOrder::from_name("java"), Some(UuidOrder::Java));
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let row = Self::ALL.iter().find(|(known, _)| *known == name);
        row.map(|(_, order)| *order)
    }

    /// Compares as the system does.
    ///
    /// ```
    /// use mintage::{Uuid, UuidOrder};
    /// let (low, high) = (Uuid::nil(), Uuid::max());
    /// assert!(UuidOrder::Rfc.compare(&low, &high).is_lt());
    /// assert!(UuidOrder::Java.compare(&low, &high).is_gt()); // its numbers are signed
    /// ```
    pub fn compare(self, a: &Uuid, b: &Uuid) -> Ordering {
        self.key(a).cmp(&self.key(b))
    }

    /// The bytes that the system keeps; `None` if it refuses the id, as MariaDB does with version 8 and above
    /// under a variant that is not RFC 9562's.
    pub fn stored(self, id: &Uuid) -> Option<[u8; 16]> {
        let bytes = *id.as_bytes();
        Some(match self {
            Self::Rfc | Self::Java | Self::Cassandra => bytes,
            Self::Microsoft | Self::SqlServer => taken(&bytes, &MICROSOFT),
            Self::MySqlSwap => taken(&bytes, &MYSQL_SWAP),
            // `m_buffer[6] & -m_buffer[8] & 0x80`: such bytes would read as those of another id.
            Self::MariaDb if bytes[6] & bytes[8].wrapping_neg() & 0x80 != 0 => return None,
            Self::MariaDb if is_reversed(&bytes) => taken(&bytes, &REVERSED),
            Self::MariaDb => bytes,
            Self::ClickHouse => taken(&bytes, &CLICKHOUSE),
        })
    }

    /// The id that the system keeps as these bytes; undoes [`UuidOrder::stored`].
    #[allow(clippy::wrong_self_convention)] // it is a constructor in the order `self`
    pub fn from_stored(self, bytes: [u8; 16]) -> Uuid {
        Uuid::from_bytes(match self {
            Self::Rfc | Self::Java | Self::Cassandra => bytes,
            Self::Microsoft | Self::SqlServer => taken(&bytes, &MICROSOFT),
            Self::MySqlSwap => put(&bytes, &MYSQL_SWAP),
            // `from[6] & -from[8] & 0x80`
            Self::MariaDb if bytes[6] & bytes[8].wrapping_neg() & 0x80 != 0 => put(&bytes, &REVERSED),
            Self::MariaDb => bytes,
            Self::ClickHouse => taken(&bytes, &CLICKHOUSE),
        })
    }

    /// Bytes whose plain order is the order in which the system sorts ids.
    ///
    /// ```
    /// use mintage::{Uuid, UuidOrder};
    /// let id = Uuid::try_parse("00112233-4455-6677-8899-aabbccddeeff").expect("a uuid");
    /// let key = UuidOrder::SqlServer.key(&id);
    /// assert_eq!(key, 0xaabb_ccdd_eeff_8899_7766_5544_3322_1100_u128.to_be_bytes());
    /// ```
    pub fn key(self, id: &Uuid) -> [u8; 16] {
        let bytes = *id.as_bytes();
        match self {
            Self::Rfc | Self::Microsoft => bytes,
            Self::SqlServer => taken(&bytes, &SQL_SERVER),
            Self::MySqlSwap => taken(&bytes, &MYSQL_SWAP),
            Self::MariaDb => self.stored(id).unwrap_or(bytes),
            Self::Java => flipped(bytes, JAVA_SIGNS),
            Self::Cassandra => flipped(taken(&bytes, &MYSQL_SWAP), CASSANDRA_SIGNS),
            Self::ClickHouse => taken(&bytes, &HALVES),
        }
    }

    /// The id whose [`UuidOrder::key`] is `key`: with the bytes of a version 7 as the key, the id that the
    /// system sorts where the version 7 stands in time. Its version and variant are then no longer where RFC
    /// 9562 has them.
    ///
    /// ```
    /// use mintage::UuidOrder;
    /// let first = mintage::uuid7();
    /// let next = mintage::uuid7();
    /// let [first, next] = [first, next].map(|id| UuidOrder::SqlServer.from_key(id.into_bytes()));
    /// assert!(UuidOrder::SqlServer.compare(&first, &next).is_lt());
    /// ```
    #[allow(clippy::wrong_self_convention)] // it is a constructor in the order `self`
    pub fn from_key(self, key: [u8; 16]) -> Uuid {
        match self {
            Self::Rfc | Self::Microsoft => Uuid::from_bytes(key),
            Self::SqlServer => Uuid::from_bytes(put(&key, &SQL_SERVER)),
            Self::MySqlSwap | Self::MariaDb => self.from_stored(key),
            Self::Java => Uuid::from_bytes(flipped(key, JAVA_SIGNS)),
            Self::Cassandra => Uuid::from_bytes(put(&flipped(key, CASSANDRA_SIGNS), &MYSQL_SWAP)),
            Self::ClickHouse => Uuid::from_bytes(taken(&key, &HALVES)),
        }
    }
}

/// MariaDB's `mem_need_swap`: a first byte of the version group from 0x01 to 0x5f and not the NCS variant.
fn is_reversed(bytes: &[u8; 16]) -> bool {
    (0x01..0x60).contains(&bytes[6]) && bytes[8] & 0x80 != 0
}

/// A permutation of bytes: place i has the byte that stood at `places[i]`.
type Places = [usize; 16];

const MICROSOFT: Places = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
const SQL_SERVER: Places = [10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0];
const MYSQL_SWAP: Places = [6, 7, 4, 5, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15];
const REVERSED: Places = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
const CLICKHOUSE: Places = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];
const HALVES: Places = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];

/// The sign bits of two 64-bit numbers.
const JAVA_SIGNS: u128 = 1 << 127 | 1 << 63;
/// The sign bits of the last eight bytes.
const CASSANDRA_SIGNS: u128 = 0x8080_8080_8080_8080;

fn taken(bytes: &[u8; 16], places: &Places) -> [u8; 16] {
    places.map(|place| bytes[place])
}

/// Undoes [`taken`].
fn put(bytes: &[u8; 16], places: &Places) -> [u8; 16] {
    let mut out = [0; 16];
    for (byte, place) in bytes.iter().zip(places) {
        out[*place] = *byte;
    }
    out
}

fn flipped(bytes: [u8; 16], signs: u128) -> [u8; 16] {
    (u128::from_be_bytes(bytes) ^ signs).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Uniform, and of every version and variant often enough.
    fn ids() -> impl Strategy<Value = Uuid> {
        (any::<u128>(), 0u128..16, 0u128..16).prop_map(|(bits, version, variant)| {
            let cleared = bits & !(0xf << 76 | 0xf << 60);
            Uuid::from_u128(cleared | version << 76 | variant << 60)
        })
    }

    proptest! {
        #[test]
        fn what_is_stored_reads_back(id in ids(), key: [u8; 16]) {
            for (name, order) in UuidOrder::ALL {
                match order.stored(&id) {
                    Some(bytes) => prop_assert_eq!(order.from_stored(bytes), id, "{}", name),
                    None => prop_assert!(*order == UuidOrder::MariaDb && id.as_bytes()[6] >= 0x80 && id.as_bytes()[8] <= 0x80),
                }
                if *order != UuidOrder::MariaDb {
                    prop_assert_eq!(order.from_key(order.key(&id)), id, "{}", name);
                    prop_assert_eq!(order.key(&order.from_key(key)), key, "{}", name);
                }
            }
        }

        #[test]
        fn javas_order_is_that_of_two_signed_numbers(a in ids(), b in ids()) {
            let halves = |id: &Uuid| {
                let (high, low) = id.as_u64_pair();
                (high as i64, low as i64)
            };
            prop_assert_eq!(UuidOrder::Java.compare(&a, &b), halves(&a).cmp(&halves(&b)));
        }

        #[test]
        fn cassandras_order_is_time_then_signed_bytes(a in ids(), b in ids()) {
            // TimeUUIDType.java: reorderTimestampBytes, then `signedBytesToNativeLong` of the lower half.
            let parts = |id: &Uuid| {
                let (high, low) = id.as_u64_pair();
                let time = high << 48 | (high << 16 & 0xffff_0000_0000) | high >> 32;
                (time, (low ^ 0x0080_8080_8080_8080) as i64)
            };
            prop_assert_eq!(UuidOrder::Cassandra.compare(&a, &b), parts(&a).cmp(&parts(&b)));
        }

        #[test]
        fn clickhouses_order_begins_with_the_second_half(a in ids(), b in ids()) {
            let halves = |id: &Uuid| {
                let (high, low) = id.as_u64_pair();
                (low, high)
            };
            prop_assert_eq!(UuidOrder::ClickHouse.compare(&a, &b), halves(&a).cmp(&halves(&b)));
        }

        #[test]
        fn sql_servers_order_is_that_of_sqlguid(a in ids(), b in ids()) {
            // SqlGuid.cs: x_rgiGuidOrder over the bytes of Guid.ToByteArray.
            let order = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
            let key = |id: &Uuid| {
                let stored = UuidOrder::SqlServer.stored(id).unwrap_or_default();
                order.map(|place: usize| stored[place])
            };
            prop_assert_eq!(UuidOrder::SqlServer.compare(&a, &b), key(&a).cmp(&key(&b)));
        }

        #[test]
        fn version_1_sorts_by_time_where_the_system_says_so(
            ticks in 0u64..1 << 60, later in 1u64..1 << 40, node in 0u64..1 << 48, clock_seq in 0u16..0x4000,
        ) {
            let make = |ticks| {
                let ticks = crate::GregorianTicks::from_bits(ticks);
                crate::uuid1_from(ticks, clock_seq, crate::Node::from_bits(node)).expect("it fits")
            };
            let (a, b) = (make(ticks), make((ticks + later).min((1 << 60) - 1)));
            for order in [UuidOrder::MySqlSwap, UuidOrder::MariaDb, UuidOrder::Cassandra] {
                prop_assert_eq!(order.compare(&a, &b), ticks.cmp(&(ticks + later).min((1 << 60) - 1)), "{:?}", order);
            }
        }
    }
}
