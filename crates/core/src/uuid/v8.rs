//! UUID version 8: 122 bits of the maker's own.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                           custom_a                            |
//! |           custom_a            |  ver  |       custom_b        |
//! |var|                       custom_c                            |
//! |                           custom_c                            |
//! ```
//!
//! Only version and variant are fixed; how unique it is is the maker's affair (RFC 9562 section 5.8).

use ::uuid::Uuid;

use super::{UuidError, stamp};

/// The UUID of version 8 of 128 custom bits, 6 of which give way to version and variant.
///
/// ```
/// let id = mintage::uuid8([0x24, 0x89, 0xe9, 0xad, 0x2e, 0xe2, 0x2e, 0x00, 0x0e, 0xc9, 0x32, 0xd5, 0xf6, 0x91, 0x81, 0xc0]);
/// assert_eq!(id.to_string(), "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0"); // RFC 9562 appendix B.1
/// ```
pub const fn uuid8(custom: [u8; 16]) -> Uuid {
    stamp(u128::from_be_bytes(custom), 8)
}

/// The UUID of version 8 of three custom fields of 48, 12 and 62 bits, nothing of which is lost.
///
/// # Errors
/// A field is too large.
///
/// ```
/// let id = mintage::uuid8_from(0x2489e9ad2ee2, 0xe00, 0x0ec9_32d5_f691_81c0)?;
/// assert_eq!(id.to_string(), "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0");
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub fn uuid8_from(custom_a: u64, custom_b: u16, custom_c: u64) -> Result<Uuid, UuidError> {
    for (what, value, bits) in [
        ("custom_a", custom_a, 48),
        ("custom_b", u64::from(custom_b), 12),
        ("custom_c", custom_c, 62),
    ] {
        let max = crate::layout::ones(bits);
        if value > max {
            return Err(UuidError::TooLarge { what, value, max });
        }
    }
    let high = custom_a << 16 | u64::from(custom_b);
    Ok(stamp(u128::from(high) << 64 | u128::from(custom_c), 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_do_not_fit_are_refused_and_all_others_kept() {
        assert!(uuid8_from(1 << 48, 0, 0).is_err());
        assert!(uuid8_from(0, 1 << 12, 0).is_err());
        assert!(uuid8_from(0, 0, 1 << 62).is_err());
        let full = uuid8_from((1 << 48) - 1, (1 << 12) - 1, (1 << 62) - 1).expect("all fit");
        assert_eq!(full.to_string(), "ffffffff-ffff-8fff-bfff-ffffffffffff");
        assert_eq!(full, uuid8([0xff; 16]));
    }
}
