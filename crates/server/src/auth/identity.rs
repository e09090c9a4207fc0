//! Who a connection or a request turned out to be.

use std::sync::Arc;

use mintage_wire::Right;

use super::CertificateName;
use super::known::Known;
use super::token::{Denied, What};
use crate::rates::{Measure, Rates};

/// Who a connection or request turned out to be.
#[derive(Clone, Debug)]
pub struct Identity(pub(super) Who);

#[derive(Clone, Debug)]
pub(super) enum Who {
    /// No tokens are configured.
    Anybody,
    /// A face asks for none, though some are configured.
    Guest,
    /// The holder of a token, on a face that it is good for or not.
    Known { known: Arc<Known>, is_here: bool },
}

impl Identity {
    /// Where no tokens are configured, everybody may do everything.
    pub const ANYBODY: Identity = Identity(Who::Anybody);

    /// A client of a face that asks for no token, though some are configured: it may take ids and look.
    pub const OPEN: Identity = Identity(Who::Guest);

    /// Whether it may: the same decision for every face.
    #[inline]
    pub fn may(&self, right: Right, what: What<'_>) -> bool {
        match &self.0 {
            Who::Anybody => true,
            Who::Guest => Right::Allocate.grants(right),
            Who::Known { known, is_here } => known.token.decide(right, what, *is_here).is_ok(),
        }
    }

    /// Whether it may.
    ///
    /// # Errors
    /// Why not, and what it may instead; counted for its token.
    #[inline]
    pub fn check(&self, right: Right, what: What<'_>) -> Result<(), Denied> {
        match &self.0 {
            Who::Anybody => Ok(()),
            Who::Guest if Right::Allocate.grants(right) => Ok(()),
            Who::Guest => Err(Denied {
                message: format!("without a token nobody may {}", right.as_str()),
                hint: None,
            }),
            Who::Known { known, is_here } => known.token.decide(right, what, *is_here).map_err(|because| {
                known.note_refusal();
                Denied::new(&known.token, right, what, because)
            }),
        }
    }

    /// What it has asked for lately and may ask for, where it has a token.
    pub(crate) fn measure(&self) -> Option<(&Measure, Rates)> {
        match &self.0 {
            Who::Anybody | Who::Guest => None,
            Who::Known { known, .. } => Some((&known.measure, known.token.rates)),
        }
    }

    /// The token's name; `default` where none is configured, as Redis calls its only user; `open` where none is asked for.
    pub fn name(&self) -> &str {
        match &self.0 {
            Who::Anybody => "default",
            Who::Guest => "open",
            Who::Known { known, .. } => &known.token.name,
        }
    }
}

/// What a connection shows by itself, before a word is said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Presented {
    /// The names of its certificate, which an authority of ours has signed.
    pub(crate) certificate_names: Vec<CertificateName>,
    /// The user of this machine at its other end.
    pub(crate) uid: Option<u32>,
}
