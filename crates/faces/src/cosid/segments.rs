//! Segments: runs of the sequence `cosid:NAMESPACE.NAME`.

use hyper::StatusCode;
use mintage::SequenceOptions;
use mintage_ledger::SequenceSpec;

use super::parameters::Parameters;
use super::{JSON, keyed};
use mintage_server::chassis::audit::audited_answer;
use mintage_server::chassis::error::{Answer, Code};
use mintage_server::chassis::keyed::NameBuffer;
use mintage_server::chassis::machines::check_may_make;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::Asked;

/// `POST /segments/distributor/{namespace}/{name}?offset&step`: makes the sequence, which begins after `offset`. One that
/// exists stays as it is, whatever the offset.
pub(super) async fn distributor(asked: &Asked<'_>, key: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let offset = parameters.number("offset", 0..=i64::MAX - 1)?;
    parameters.number("step", 1..=i64::MAX)?;
    make(asked, key, offset).await?;
    Ok(Response::empty(StatusCode::OK))
}

/// `PATCH /segments/{namespace}/{name}?step`: takes a run and answers its last number, as the original's counter stands
/// after it. A name that nobody has made begins at 1.
pub(super) async fn next(asked: &Asked<'_>, key: &str) -> Answer<Response> {
    let step = Parameters::of(asked.head).number("step", 1..=i64::MAX)?;
    let step = u64::try_from(step).expect("within its range");
    let config = asked.thread.config();
    let keyed = keyed(asked, &config);
    let taken = match keyed.take_counted(key.as_bytes(), step).await {
        Err(error) if error.code == Code::NotFound => {
            make(asked, key, 0).await?;
            keyed.take_counted(key.as_bytes(), step).await?
        }
        taken => taken?,
    };
    Ok(Response::new(StatusCode::OK, JSON, taken.0.last().to_string()))
}

/// Makes the sequence of a key, unless it is there, for who may.
async fn make(asked: &Asked<'_>, key: &str, offset: i64) -> Answer<()> {
    make_for(asked, key, offset, true).await
}

/// Makes the sequence of a generator that the configuration lists, unless it is there, for anybody who asks for an id.
pub(super) async fn make_listed(asked: &Asked<'_>, key: &str) -> Answer<()> {
    make_for(asked, key, 0, false).await
}

async fn make_for(asked: &Asked<'_>, key: &str, offset: i64, needs_admin: bool) -> Answer<()> {
    let config = asked.thread.config();
    let mut buffer = NameBuffer::default();
    let name = keyed(asked, &config).name(key.as_bytes(), &mut buffer)?;
    if asked.thread.exists(name).await? {
        return Ok(());
    }
    let name = asked.thread.service().name(name)?;
    let act = asked.act("create", &name);
    if needs_admin {
        check_may_make(asked.thread.service(), &asked.who, "sequence", act.clone(), &name).await?;
    }
    let spec = SequenceSpec {
        options: SequenceOptions {
            start: Some(offset + 1),
            ..SequenceOptions::default()
        },
        ..SequenceSpec::default()
    };
    let service = asked.thread.service();
    let making = service.create_by_use(&name, &spec);
    match audited_answer(service, act, making).await {
        // Somebody else made it in the same moment.
        Err(error) if error.code == Code::Exists => Ok(()),
        made => made.map(drop),
    }
}
