//! Single ids: of the pool `cosid`, or of the sequence or pool `cosid:NAME`.

use hyper::StatusCode;

use super::{JSON, TEXT, keyed};
use crate::auth::{Right, What};
use crate::error::{Answer, Code, ServiceError};
use crate::faces::keyed::NameBuffer;
use crate::faces::web::answer::Response;
use crate::faces::web::foreign::Asked;

/// Where ids come from unless the path names another source.
pub(super) const SHARED_POOL: &str = "cosid";
/// What the original calls that source.
const SHARED: &str = "__share__";

/// `GET /ids`, `/ids/{name}`, `/ids/as-string`, `/ids/as-string/{name}`
pub(super) async fn answer(asked: &Asked<'_>, name: Option<&str>, as_text: bool) -> Answer<Response> {
    let id = match name {
        None | Some(SHARED) => mint(asked, SHARED_POOL.as_bytes()).await?,
        Some(name) => of_name(asked, name.as_bytes()).await?,
    };
    Ok(match as_text {
        true => Response::new(StatusCode::OK, TEXT, base62(id).to_vec()),
        false => Response::new(StatusCode::OK, JSON, id.to_string()),
    })
}

async fn of_name(asked: &Asked<'_>, key: &[u8]) -> Answer<u64> {
    let config = asked.thread.config();
    let keyed = keyed(asked, &config);
    let mut buffer = NameBuffer::default();
    let name = keyed.name(key, &mut buffer)?;
    let is_pool = async || {
        let name = asked.thread.service().name(name)?;
        asked.thread.service().has_pool(&name).await
    };
    // A name that makes its sequence at first use must not stand in front of a pool.
    if !asked.thread.exists(name).await? && is_pool().await? {
        return mint(asked, name).await;
    }
    let number = keyed.take_one(key).await?;
    u64::try_from(number).map_err(|_| {
        ServiceError::new(
            Code::Exhausted,
            format!(
                "sequence {} has come to {number}, and ids begin at 0",
                String::from_utf8_lossy(name)
            ),
        )
    })
}

async fn mint(asked: &Asked<'_>, pool: &[u8]) -> Answer<u64> {
    asked.who.check(Right::Allocate, What::Named(pool))?;
    asked.thread.service().spend(&asked.who, asked.client.peer, 1);
    let mut id = [0];
    if asked.thread.try_mint(pool, &mut id) == 0 {
        asked.thread.mint(pool, &mut id).await?;
    }
    Ok(id[0])
}

/// How many digits an id has as text: those of the largest number of 64 bits, so that texts sort as their ids do.
const DIGITS: usize = 11;

/// An id in base 62, filled up with zeros.
fn base62(mut id: u64) -> [u8; DIGITS] {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [ALPHABET[0]; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(id % 62) as usize];
        id /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_62_has_eleven_digits() {
        for (id, text) in [
            (0, "00000000000"),
            (1, "00000000001"),
            (9, "00000000009"),
            (10, "0000000000A"),
            (35, "0000000000Z"),
            (36, "0000000000a"),
            (61, "0000000000z"),
            (62, "00000000010"),
            (i64::MAX as u64, "AzL8n0Y58m7"),
        ] {
            assert_eq!(std::str::from_utf8(&base62(id)).unwrap(), text);
        }
    }
}
