//! What the functions do.

use std::borrow::Cow;

use mintage::Base;
use mintage_ledger::Name;

use super::answer::Wanted;
use super::call::Call;
use super::refusal::Refusal;
use super::settings::Settings;
use crate::qualified::{Malformed, Qualified};
use hyper::StatusCode;
use mintage_server::chassis::audit::{self, audited_answer};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::config::Keys;
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::keyed::{Keyed, NameBuffer};
use mintage_server::chassis::service::Condition;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::Asked;

/// Does what is asked.
pub(super) async fn perform(
    asked: &Asked<'_>,
    settings: &Settings,
    call: Call,
    wanted: &Wanted,
) -> Result<Response, Refusal> {
    match call {
        Call::Next(name) => {
            let taken = Target::of_name(asked, settings, &name).take(1).await?;
            Ok(wanted.scalar(taken[0]))
        }
        Call::Nextval(text) => {
            let taken = Target::of_text(asked, settings, &text)?.take(1).await?;
            Ok(wanted.scalar(taken[0]))
        }
        Call::Nextvals(text, count) => {
            wanted.check_rows(count)?;
            let taken = Target::of_text(asked, settings, &text)?.take(count).await?;
            Ok(wanted.rows(&taken))
        }
        Call::Setval(text, to) => {
            Target::of_text(asked, settings, &text)?.set(to).await?;
            Ok(wanted.scalar(to.value))
        }
    }
}

/// The sequence that is meant.
struct Target<'a> {
    asked: &'a Asked<'a>,
    keys: Cow<'a, Keys>,
    key: String,
    /// As the client has written it, without quotes.
    shown: String,
    /// Without its schema.
    relation: String,
}

impl<'a> Target<'a> {
    /// One that the configuration names: by the name that it has here.
    fn of_name(asked: &'a Asked<'a>, settings: &Settings, name: &Name) -> Target<'a> {
        let keys = Keys {
            create: settings.keys.create,
            ..Keys::default()
        };
        Target {
            asked,
            keys: Cow::Owned(keys),
            key: name.to_string(),
            shown: name.to_string(),
            relation: name.to_string(),
        }
    }

    /// One that the client names.
    fn of_text(asked: &'a Asked<'a>, settings: &'a Settings, text: &str) -> Result<Target<'a>, Refusal> {
        let qualified = Qualified::parse(text).map_err(|malformed| {
            let (state, message) = match malformed {
                Malformed::Syntax => ("42602", "invalid name syntax".to_string()),
                Malformed::TooManyParts => {
                    let shown: String = text.chars().take(SHOWN_MAX).collect();
                    (
                        "42601",
                        format!("improper relation name (too many dotted names): {shown}"),
                    )
                }
            };
            let refusal = Refusal::new(Code::InvalidName, state, message);
            refusal.with_hint("quote a name that holds dots, blanks or capital letters")
        })?;
        Ok(Target {
            asked,
            keys: Cow::Borrowed(&settings.keys),
            key: qualified.key(),
            shown: qualified.to_string(),
            relation: qualified.name().to_string(),
        })
    }

    fn keyed(&self) -> Keyed<'_> {
        self.asked.keyed(&self.keys)
    }

    /// What its sequence is called.
    fn name(&self) -> Result<Name, Refusal> {
        let mut buffer = NameBuffer::default();
        let name = self.keyed().name(self.key.as_bytes(), &mut buffer);
        let name = name.ok().and_then(|name| Name::from_bytes(name).ok());
        name.ok_or_else(|| self.unknown())
    }

    /// Takes so many numbers.
    async fn take(&self, count: u64) -> Result<Vec<i64>, Refusal> {
        self.needs(Right::Allocate)?;
        let mut numbers = Vec::with_capacity(count as usize);
        let each = |run: mintage::Run| numbers.extend(run.iter());
        if let Err(error) = self.keyed().take(self.key.as_bytes(), count, each).await {
            return Err(self.not_taken(error).await);
        }
        Ok(numbers)
    }

    async fn not_taken(&self, error: ServiceError) -> Refusal {
        match error.code {
            Code::NotFound => self.unknown(),
            Code::Exhausted => {
                let (which, bound) = match self.bounds().await {
                    Some((_, max, true)) => ("maximum", max),
                    Some((min, _, false)) => ("minimum", min),
                    None => return error.into(),
                };
                let name = &self.relation;
                let message = format!("nextval: reached {which} value of sequence \"{name}\" ({bound})");
                Refusal::new(Code::Exhausted, "2200H", message).with_status(StatusCode::BAD_REQUEST)
            }
            _ => error.into(),
        }
    }

    /// Moves it forward; it is made where it is not there.
    async fn set(&self, to: Base) -> Result<(), Refusal> {
        let (name, service) = (self.name(), self.asked.thread.service());
        if let Err(refusal) = self.needs(Right::Admin) {
            if let Ok(name) = name {
                audit::refused(service, self.asked.act("setval", &name)).await;
            }
            return Err(refusal);
        }
        let name = name?;
        let setting = service.set_to(&name, to, Condition::Always);
        let set = match audited_answer(service, self.asked.act("setval", &name), setting).await {
            Ok(set) => set,
            Err(error) => return Err(self.not_set(error, to.value).await),
        };
        let (token, peer) = (self.asked.who.name(), self.asked.client.peer);
        tracing::info!(what = "setval", %name, token, %peer, "changed");
        if set.pending.is_empty() {
            return Ok(());
        }
        // Servers of the cluster that do not follow yet may give out older numbers: no client may think otherwise.
        let pending = set.pending.join(", ");
        let message = format!("the sequence was moved, and {pending} may still give out numbers of before");
        let error = ServiceError::new(Code::Unavailable, message);
        Err(error
            .with_hint("ask again until it is answered with the value")
            .with_retry_after_s(1)
            .into())
    }

    async fn not_set(&self, error: ServiceError, value: i64) -> Refusal {
        let name = &self.relation;
        match error.code {
            Code::OnlyForward => {
                let message = format!("setval: value {value} would move sequence \"{name}\" back");
                let refusal = Refusal::new(Code::OnlyForward, "22023", message);
                let refusal = refusal.with_status(StatusCode::BAD_REQUEST);
                refusal
                    .with_details(error.message)
                    .with_hint("mint seq restart NAME --with N --allow-repeat goes back, loudly")
            }
            Code::InvalidArgument => {
                let bounds = self.bounds().await;
                let bounds = bounds.map_or(String::new(), |(min, max, _)| format!(" ({min}..{max})"));
                let message =
                    format!("setval: value {value} is out of bounds for sequence \"{name}\"{bounds}");
                Refusal::new(Code::InvalidArgument, "22003", message).with_details(error.message)
            }
            _ => error.into(),
        }
    }

    /// Its least and its greatest number, and whether it ascends.
    async fn bounds(&self) -> Option<(i64, i64, bool)> {
        let name = self.name().ok()?;
        let info = self.asked.thread.service().find(&name).await.ok()??;
        Some((info.def.min, info.def.max, info.def.increment > 0))
    }

    fn needs(&self, right: Right) -> Result<(), Refusal> {
        let mut buffer = NameBuffer::default();
        let name = self.keyed().name(self.key.as_bytes(), &mut buffer);
        // What has no name is refused as what there is not.
        let what = name.map_or(What::Nothing, What::Named);
        match self.asked.who.check(right, what) {
            Ok(()) => Ok(()),
            Err(_) => {
                let message = format!("permission denied for sequence {}", self.relation);
                Err(Refusal::new(Code::Forbidden, "42501", message))
            }
        }
    }

    fn unknown(&self) -> Refusal {
        let message = format!("relation \"{}\" does not exist", self.shown);
        Refusal::new(Code::NotFound, "42P01", message)
    }
}

/// How much of somebody else's text is shown in a refusal.
const SHOWN_MAX: usize = 80;
