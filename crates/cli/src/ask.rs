//! What is asked for: an operation, with everything that belongs to it.

use mintage_wire::{Op, percent};
use serde::Serialize;
use serde_json::Value;

/// An operation, asked of a server or of a store.
pub(crate) struct Ask {
    pub(crate) op: Op,
    /// What stands for the placeholders of its path.
    pub(crate) arguments: Vec<String>,
    parameters: Vec<(&'static str, String)>,
    /// The document that goes with it.
    pub(crate) document: Option<Value>,
}

impl Ask {
    /// An operation, with the arguments of its path.
    pub(crate) fn new(op: Op, arguments: &[&str]) -> Self {
        Ask {
            op,
            arguments: arguments.iter().map(|argument| argument.to_string()).collect(),
            parameters: Vec::new(),
            document: None,
        }
    }

    /// The same with a parameter.
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.parameters.push((name, value.to_string()));
        self
    }

    /// The same with a parameter, if there is one.
    pub(crate) fn with_if(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The same with a document.
    pub(crate) fn saying(self, document: &impl Serialize) -> Self {
        let document = serde_json::to_value(document).expect("texts and numbers are JSON");
        Ask {
            document: Some(document),
            ..self
        }
    }

    /// How HTTP asks for it.
    pub(crate) fn method(&self) -> &'static str {
        self.op.row().method
    }

    /// Path and query.
    pub(crate) fn target(&self) -> String {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut target = self.op.row().path_to(&arguments);
        for (at, (name, value)) in self.parameters.iter().enumerate() {
            let before = if at == 0 { '?' } else { '&' };
            target.push_str(&format!("{before}{name}={}", percent::encode(value)));
        }
        target
    }

    /// The value of a parameter.
    #[cfg(feature = "server")]
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| *known == name)?;
        Some(&found.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_holds_every_argument_and_parameter() {
        let ask = Ask::new(Op::Next, &["shop/orders"])
            .with("count", 3)
            .with_if("as", Some("a b"))
            .with_if("more", None::<u8>);
        assert_eq!(
            (ask.method(), ask.target().as_str()),
            ("POST", "/v1/sequences/shop%2Forders/next?count=3&as=a%20b")
        );
    }
}
