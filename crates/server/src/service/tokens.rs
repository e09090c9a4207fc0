//! Keeps the tokens as their file has them, and notes their use and their end.

use std::convert::Infallible;
use std::time::Duration;

use jiff::Timestamp;

use super::Service;
use crate::auth::Tokens;
use crate::config::Config;
use crate::rates::{Limits, Rates};
use crate::seen::seen;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Knows the tokens of a configuration and of its file from here on. A file that cannot be used changes nothing, and gives
/// `None`; otherwise what there is to warn of.
pub(super) fn take(tokens: &Tokens, limits: &Limits, config: &Config) -> Option<Option<String>> {
    match config.all_tokens() {
        Ok((all, warning)) => {
            let by_token = all.iter().any(|token| token.rates != Rates::default());
            limits.set(config, by_token);
            tokens.replace(all, config.wants_tokens());
            tokens.note_usable(true);
            Some(warning)
        }
        Err(why) => {
            tracing::error!(why, "the tokens cannot be used: those from before are kept");
            // At a start there are none from before, and then nobody is let in.
            tokens.require(config.wants_tokens());
            tokens.note_usable(false);
            limits.set(config, true);
            None
        }
    }
}

impl Service {
    /// Follows the tokens' file for ever.
    pub(crate) async fn follow_tokens(&self) -> Infallible {
        let look = |config: &Config| config.token_file.0.clone().map(|path| (seen(&path.0), path));
        let mut before = look(&self.config());
        let mut last = before.clone();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.tokens.look(Timestamp::now());
            let config = self.config();
            let now = look(&config);
            // Only a file that was the same a look ago: whoever writes it where it is may be half way through.
            let is_written = std::mem::replace(&mut last, now.clone()) == now;
            // Told of once, whatever comes of it.
            if is_written
                && std::mem::replace(&mut before, now.clone()) != now
                && let Some(warning) = take(&self.tokens, &self.limits, &config)
            {
                tracing::info!(tokens = self.tokens.uses().len(), "the tokens were read again");
                if let Some(about) = warning {
                    tracing::warn!(about, "the configuration");
                }
            }
        }
    }
}
