//! The hasher of tables whose keys are digests of flows.

use std::hash::{BuildHasherDefault, Hasher};

/// Makes [`DigestHasher`]s.
pub type BuildDigestHasher = BuildHasherDefault<DigestHasher>;

/// A digest is its own hash: it is keyed already, so nobody can choose it.
#[derive(Debug, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks();
        self.0 = words.first().map_or(0, |word| u64::from_ne_bytes(*word));
    }

    #[inline]
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
