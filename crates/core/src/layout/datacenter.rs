//! Worker ids of layouts that tell datacenters apart.

use super::{Field, Layout, LayoutError, Role, ones};

/// The names of a field for datacenters, in the layouts that have one.
const NAMES: [&str; 4] = ["datacenter", "datacenter_id", "data_center", "dc"];

impl Layout {
    /// The field among those of the worker that says in which datacenter it is: one called `datacenter`,
    /// `datacenter_id`, `data_center` or `dc`.
    pub fn datacenter_field(&self) -> Option<&Field> {
        let is_it = |field: &&Field| field.role == Role::Worker && NAMES.contains(&&*field.name);
        self.fields().iter().find(is_it)
    }

    /// The worker id of a worker in a datacenter: what the fields of both hold together.
    ///
    /// # Errors
    /// The layout has no field for datacenters, or a number does not fit its field.
    ///
    /// ```
    /// let twitter = mintage::preset("twitter").expect("a preset").layout();
    /// assert_eq!(twitter.worker_in(11, 26)?, 11 << 5 | 26);
    /// let refused = twitter.worker_in(32, 0).unwrap_err();
    /// assert_eq!(refused.to_string(), "datacenter 32 does not fit layout \"twitter\": 5 bits, largest is 31");
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn worker_in(&self, datacenter: u64, worker: u64) -> Result<u64, LayoutError> {
        let Some(field) = self.datacenter_field() else {
            return Err(LayoutError::NoDatacenter {
                layout: self.name().into(),
            });
        };
        let worker_bits = self.worker_bits() - field.bits;
        for (what, value, bits) in [
            ("datacenter", datacenter, field.bits),
            ("worker", worker, worker_bits),
        ] {
            if value > ones(bits) {
                let layout = self.name().into();
                return Err(LayoutError::TooLarge {
                    layout,
                    what,
                    value,
                    bits,
                });
            }
        }
        // The worker's bits fill its fields from the lowest up, around the datacenter wherever it stands.
        let (mut together, mut shift, mut rest) = (0, 0, worker);
        for part in self
            .fields()
            .iter()
            .rev()
            .filter(|part| part.role == Role::Worker)
        {
            let value = if part == field {
                datacenter
            } else {
                rest & part.max()
            };
            if part != field {
                rest >>= part.bits.min(63);
            }
            together |= value << shift;
            shift += part.bits;
        }
        Ok(together)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(layout: &str, datacenter: u64, worker: u64, fields: &[(&str, u64)]) {
        let layout: Layout = layout.parse().expect("a layout");
        let together = layout.worker_in(datacenter, worker).expect("they fit");
        let id = layout.pack(1, together, 0).expect("it fits");
        for (name, value) in fields {
            let field = layout
                .fields()
                .iter()
                .find(|field| field.name == *name)
                .expect("a field");
            assert_eq!(field.of(id), *value, "{name}");
        }
    }

    #[test]
    fn each_number_stands_in_its_own_field() {
        let (datacenter, worker) = (("dc", 3), ("worker", 9));
        check(
            "time=41,worker:dc=5,worker=5,sequence=12",
            3,
            9,
            &[datacenter, worker],
        );
        check(
            "time=41,worker=5,worker:dc=5,sequence=12",
            3,
            9,
            &[datacenter, worker],
        );
        check(
            "worker=5,time=41,sequence=12,worker:dc=5",
            3,
            9,
            &[datacenter, worker],
        );
        let three = [("rack", 2), ("datacenter", 3), ("worker", 1)];
        check(
            "time=41,worker:rack=2,worker:datacenter=5,worker=3,sequence=12",
            3,
            2 << 3 | 1,
            &three,
        );
        check("time=41,worker:dc=10,sequence=12", 1023, 0, &[("dc", 1023)]);
    }

    #[test]
    fn a_layout_without_datacenters_has_none() {
        let sonyflake = crate::preset("sonyflake").expect("a preset").layout();
        assert!(sonyflake.datacenter_field().is_none());
        assert!(matches!(
            sonyflake.worker_in(0, 0),
            Err(LayoutError::NoDatacenter { .. })
        ));
        let twitter = crate::preset("twitter").expect("a preset").layout();
        assert_eq!(twitter.worker_in(31, 31), Ok(1023));
        assert!(twitter.worker_in(31, 32).is_err() && twitter.worker_in(32, 31).is_err());
    }
}
