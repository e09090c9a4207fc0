//! The nodes and workers that a column of a log names.

use std::collections::HashMap;

use mintage::{Node, UuidError};

use super::scheme::{BackfillFormat, Scheme};

/// The nodes that rows name, each read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    by_text: HashMap<Vec<u8>, u32>,
    values: Vec<u64>,
    names: Vec<String>,
}

impl Nodes {
    /// The index of a node; a new one is read as the format has it.
    ///
    /// # Errors
    /// It is no node, or there are too many, in words.
    #[inline]
    pub(crate) fn index(&mut self, text: &[u8], scheme: &Scheme) -> Result<u32, String> {
        match self.by_text.get(text) {
            Some(index) => Ok(*index),
            None => self.add(text, scheme),
        }
    }

    fn add(&mut self, text: &[u8], scheme: &Scheme) -> Result<u32, String> {
        let shown = crate::error::shown(text);
        let words = std::str::from_utf8(text).map_err(|_| format!("node {shown} is not text"))?;
        let words = words.trim();
        if words.is_empty() {
            return Err("the node is empty".into());
        }
        let value = match &scheme.options().format {
            BackfillFormat::Snowflake { layout, .. } => {
                let worker: u64 = words
                    .parse()
                    .map_err(|_| format!("node {shown} is not a worker: a Snowflake's worker is a number"))?;
                if worker >= layout.workers() {
                    return Err(format!(
                        "worker {worker} does not fit layout {:?}: at most {}",
                        layout.name(),
                        layout.workers() - 1
                    ));
                }
                worker
            }
            _ => {
                let node: Node = words.parse().unwrap_or_else(|_: UuidError| {
                    Node::from_fingerprint(&[b"mintage node", words.as_bytes()])
                });
                let [a, b, c, d, e, f] = node.octets();
                u64::from_be_bytes([0, 0, a, b, c, d, e, f])
            }
        };
        // Two spellings of one address are one node.
        if let Some(same) = self.values.iter().position(|known| *known == value) {
            self.by_text.insert(text.to_vec(), same as u32);
            return Ok(same as u32);
        }
        if self.values.len() == NODES_MAX {
            return Err(format!(
                "node {shown} is one more than {NODES_MAX}: is this the right column?"
            ));
        }
        let index = self.values.len() as u32;
        self.by_text.insert(text.to_vec(), index);
        self.values.push(value);
        self.names.push(shown);
        Ok(index)
    }

    pub(super) fn value(&self, index: u32) -> u64 {
        self.values.get(index as usize).copied().unwrap_or(0)
    }

    pub(super) fn name(&self, index: u32) -> String {
        self.names.get(index as usize).cloned().unwrap_or_default()
    }
}

/// How many nodes a log may come from.
const NODES_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mintage::UuidText;

    use super::super::scheme::{SchemeOptions, node_of};
    use super::*;

    fn scheme(format: BackfillFormat) -> Scheme {
        let options = SchemeOptions {
            format,
            text: UuidText::Hyphenated,
            keyed: false,
            node_column: true,
            node: None,
            clock_seq: 0,
            spread_ns: None,
            seed: Vec::new(),
        };
        Scheme::new(options).unwrap()
    }

    #[test]
    fn nodes_are_addresses_names_or_workers() {
        let addresses = scheme(BackfillFormat::Uuid1);
        let mut nodes = Nodes::default();
        let a = nodes.index(b"9f:6b:de:ce:d8:46", &addresses).unwrap();
        assert_eq!(
            nodes.index(b"9F-6B-DE-CE-D8-46", &addresses).unwrap(),
            a,
            "one address"
        );
        let b = nodes.index(b"web-1", &addresses).unwrap();
        assert_ne!(a, b);
        assert!(node_of(nodes.value(b)).is_multicast());
        assert!(nodes.index(b" ", &addresses).unwrap_err().contains("empty"));
        let layout = Arc::new(mintage::preset("twitter").unwrap().layout());
        let scheme = scheme(BackfillFormat::Snowflake {
            layout,
            workers: (0, 0),
        });
        let mut nodes = Nodes::default();
        let index = nodes.index(b"17", &scheme).unwrap();
        assert_eq!(nodes.value(index), 17);
        assert!(
            nodes
                .index(b"1024", &scheme)
                .unwrap_err()
                .contains("at most 1023")
        );
        assert!(
            nodes
                .index(b"web-1", &scheme)
                .unwrap_err()
                .contains("not a worker")
        );
    }
}
