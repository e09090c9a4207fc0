//! Sixteen bytes that are stored at once.
//!
//! Processors hand a load what was just stored, without a way through the cache, only if one store has all of it.
//! A number of 128 bits lies in two registers and is stored as two halves: who reads its 16 bytes right afterwards
//! waits until both are in the cache, and with it everything that comes later (15 of 50 ns of a UUID of version 5).
//!
//! `unsafe` here: an instruction of the processor, and the 16 bytes of a register are taken as an array of 16 bytes.
#![allow(unsafe_code)]

/// The bytes of `number`, highest first, to be read again at once.
#[inline]
pub(crate) fn quarter(number: u128) -> [u8; 16] {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
    {
        use core::arch::asm;
        use core::arch::x86_64::{__m128i, _mm_set_epi64x};
        // SAFETY: SSE2 is there, by the condition above; the assembly holds no instruction; both types are 16 bytes,
        // of which every value is valid.
        unsafe {
            let [high, low] = [number >> 64, number].map(|half| (half as u64).swap_bytes() as i64);
            let mut register = _mm_set_epi64x(low, high);
            // No instruction: the compiler no longer sees where the value came from, and does not store the halves.
            asm!("/* {0} */", inout(xmm_reg) register, options(pure, nomem, nostack, preserves_flags));
            core::mem::transmute::<__m128i, [u8; 16]>(register)
        }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2", not(miri))))]
    number.to_be_bytes()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_quarter_has_the_bytes_of_its_number_lowest_first() {
        let number = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128;
        assert_eq!(super::quarter(number), number.to_be_bytes());
    }
}
