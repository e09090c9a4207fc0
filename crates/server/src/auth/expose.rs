//! What is told of tokens: by their names, of which two may be one.

use std::collections::BTreeMap;

use crate::metrics::Exposition;
use crate::thread::Shared;

/// Tells when each token was used last, and how often it was refused what it asked for.
pub(crate) fn expose(shared: &Shared, out: &mut Exposition) {
    let mut by_name: BTreeMap<String, (i64, u64)> = BTreeMap::new();
    for of in shared.service.tokens().uses() {
        let (last, refused) = by_name.entry(of.token.name).or_default();
        *last = of.last_used.map_or(0, |time| time.as_second()).max(*last);
        *refused += of.refused;
    }
    let words = "When a token was used last, in seconds since 1970; 0: not since the start.";
    out.metric("mint_token_last_use_seconds", "gauge", words);
    for (name, (last, _)) in &by_name {
        out.sample("mint_token_last_use_seconds", &[("token", name)], *last as f64);
    }
    let words = "Whether the tokens are those of the configuration and its file; 0: those from before, as it cannot be used.";
    out.metric("mint_tokens_usable", "gauge", words);
    let is_usable = shared.service.tokens().are_usable();
    out.sample("mint_tokens_usable", &[], if is_usable { 1.0 } else { 0.0 });
    let words = "Requests of a token's holder that its rights do not allow.";
    out.metric("mint_token_refused_total", "counter", words);
    for (name, (_, refused)) in &by_name {
        out.sample("mint_token_refused_total", &[("token", name)], *refused as f64);
    }
}
