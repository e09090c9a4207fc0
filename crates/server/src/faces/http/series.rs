//! `/v1/series`: generated series, of which nothing is held but the page that is answered.

use std::rc::Rc;

use mintage::{SeriesError, SeriesForm, TextSeries};

use super::id_list::IdList;
use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::faces::web::head::{Head, Media};
use crate::service::{Answer, Door};
use crate::thread::ServingThread;
use crate::turn::{SLICE, Turn};

/// `GET /v1/series?from=1&to=15&step=3`, also `&as=letter`, and a page of it with `&count=100&after=10`.
pub(super) async fn show(thread: &Rc<ServingThread>, head: &Head<'_>, query: &Query<'_>) -> Answer<Response> {
    let (from, to, step) = (text(query, "from")?, text(query, "to")?, text(query, "step")?);
    let (Some(from), Some(to)) = (from, to) else {
        let error = ServiceError::new(Code::InvalidArgument, "a series needs its bounds, from and to");
        return Err(
            error.with_hint("for example /v1/series?from=1&to=15&step=3, or /v1/series/seq_1_to_15_step_3")
        );
    };
    let series = TextSeries::new(&from, &to, step.as_deref(), form(query)?).map_err(refused)?;
    answer(thread, head, query, &series).await
}

/// `GET /v1/series/seq_1_to_15_step_3`: as MariaDB's Sequence engine calls it.
pub(super) async fn show_named(
    thread: &Rc<ServingThread>,
    head: &Head<'_>,
    query: &Query<'_>,
    name: &[u8],
) -> Answer<Response> {
    let name = String::from_utf8_lossy(name);
    let series = TextSeries::named(&name, form(query)?).map_err(refused)?;
    answer(thread, head, query, &series).await
}

fn form(query: &Query<'_>) -> Answer<Option<SeriesForm>> {
    // The table of operations has let no other word pass.
    Ok(text(query, "as")?.as_deref().and_then(SeriesForm::from_name))
}

fn text(query: &Query<'_>, name: &str) -> Answer<Option<String>> {
    let value = query.get(name)?;
    Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

fn refused(error: SeriesError) -> ServiceError {
    let refusal = ServiceError::new(Code::InvalidArgument, error.to_string());
    match error.hint() {
        Some(hint) => refusal.with_hint(hint),
        None => refusal,
    }
}

async fn answer(
    thread: &Rc<ServingThread>,
    head: &Head<'_>,
    query: &Query<'_>,
    series: &TextSeries,
) -> Answer<Response> {
    let media = head.media()?;
    if media == Media::Octets {
        check_packs(series)?;
    }
    let page = Page::of(thread, query, series)?;
    let (first, count) = (page.first, page.count);
    let widest = if count == 0 {
        0
    } else {
        series.text(first).len().max(20)
    };
    let mut list = IdList::of_series(media, count as usize * (widest + 3));
    let mut turn = Turn::begin(thread);
    for slice in (0..count).step_by(SLICE) {
        turn.give_way_if_over().await;
        for place in slice..(slice + SLICE as u64).min(count) {
            let place = first + u128::from(place);
            list.push(
                |body| series.write(place, body),
                |body| body.extend_from_slice(&packed(series, place)),
            );
        }
    }
    let next = page.has_more.then(|| series.text(first + u128::from(count) - 1));
    Ok(Response::lasting(media, list.finish_series(next.as_deref())))
}

/// What of a series is answered.
struct Page {
    first: u128,
    count: u64,
    has_more: bool,
}

impl Page {
    fn of(thread: &Door, query: &Query<'_>, series: &TextSeries) -> Answer<Self> {
        let first = match text(query, "after")? {
            None => 0,
            Some(after) => place_after(series, &after)?,
        };
        let left = series.count() - first;
        let most = match query.number("count")? {
            Some(count) => thread.count(count)?,
            None => thread.config().max_count,
        };
        match u64::try_from(left) {
            Ok(count) if count <= most => Ok(Page {
                first,
                count,
                has_more: false,
            }),
            _ if query.number("count")?.is_some() => Ok(Page {
                first,
                count: most,
                has_more: true,
            }),
            _ => {
                let message = format!(
                    "the series goes on for {left} values, an answer holds at most {most} (server.max_count)"
                );
                Err(ServiceError::new(Code::InvalidCount, message).with_hint(format!(
                    "take it page by page: count={most}, then after=LAST of each page for the next"
                )))
            }
        }
    }
}

/// The place behind a value.
fn place_after(series: &TextSeries, after: &str) -> Answer<u128> {
    let what = match series.place_of(after) {
        Ok(Some(place)) => return Ok(place + 1),
        Ok(None) => "a value of this series",
        Err(_) => series.form().one(),
    };
    let shown: String = after.chars().take(40).collect();
    let message = format!("after={shown} is not {what}");
    Err(ServiceError::new(Code::InvalidArgument, message))
}

/// Refuses bytes where a value has none of its own, or where eight could mean two numbers.
fn check_packs(series: &TextSeries) -> Answer<()> {
    let message = match series.numbers() {
        None => format!(
            "a series of form {} is text alone and has no bytes",
            series.form().name()
        ),
        Some(numbers)
            if numbers.first().min(numbers.last()) < 0
                && numbers.first().max(numbers.last()) > i64::MAX.into() =>
        {
            "numbers below 0 and above 2^63-1 do not go into eight bytes together".into()
        }
        Some(_) => return Ok(()),
    };
    Err(ServiceError::new(Code::NotAcceptable, message).with_hint("ask for application/json or text/plain"))
}

/// A number's eight bytes, in two's complement, the highest first.
fn packed(series: &TextSeries, place: u128) -> [u8; 8] {
    let number = series.numbers().map_or(0, |numbers| numbers.at(place));
    (number as u64).to_be_bytes()
}
