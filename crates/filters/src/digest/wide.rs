//! Several digests at once, where the processor has wide enough registers.
//!
//! A digest is a chain of additions and rotations, each of which waits for the one before.
//! Independent digests can be computed in parallel: AVX2 computes four for little more than the
//! cost of one. The loop is the ordinary one; compiled a second time for AVX2, LLVM vectorizes it.
//! (Without AVX2 there are two lanes and no gain.)
#![allow(unsafe_code)]

use super::HashKey;

/// The digests of `inputs`, half by half.
#[inline]
pub(super) fn digests<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, and this processor has it.
        return unsafe { digests_avx2(key, inputs, digests) };
    }
    one_by_one(key, inputs, digests);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn digests_avx2<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    one_by_one(key, inputs, digests);
}

#[inline(always)]
fn one_by_one<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    for (words, digest) in inputs.iter().zip(digests) {
        *digest = key.digest_halves(*words);
    }
}
