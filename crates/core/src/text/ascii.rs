//! Text that was just written with an alphabet of ASCII.
//!
//! `unsafe` here: bytes are taken as text without looking at each, which would cost two to three times what writing
//! them does. Only for what the encoders of this crate wrote; every build with debug assertions, as the tests are,
//! looks nevertheless.
#![allow(unsafe_code)]

/// The text of `written`, the whole of which one of this crate's encoders has just filled with letters of ASCII.
#[inline]
pub(crate) fn str_of(written: &[u8]) -> &str {
    debug_assert!(written.is_ascii(), "an encoder wrote {written:02x?}");
    // SAFETY: the callers' encoders write digits and letters of alphabets of ASCII, and ASCII is UTF-8.
    unsafe { core::str::from_utf8_unchecked(written) }
}
