//! Flow keys that bring their hash along: a keyed digest of whole words, where the standard library
//! would feed the same key to the same hash byte by byte.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher, RandomState};

use crate::flow::{FlowKey, FlowKeyKind, Keyer, Packet};
use acsm_filters::digest::HashKey;

/// A map of flows.
pub type FlowMap<T> = HashMap<Digested, T, BuildHasherDefault<TheDigest>>;
/// A set of flows.
pub type FlowSet = HashSet<Digested, BuildHasherDefault<TheDigest>>;

/// A flow key with its digest. Equal if the keys are: collisions of digests cost time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digested {
    /// The key.
    pub key: FlowKey,
    digest: u64,
}

impl Hash for Digested {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.digest);
    }
}

/// Takes the digest as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct TheDigest(u64);

impl Hasher for TheDigest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only digests come here, as whole words; anything else would still be a hash.
        for &byte in bytes {
            self.0 = acsm_filters::rng::mix(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }
}

/// Makes digested keys of one kind. The digests are secret to the process: nobody can aim a
/// capture at one place of a map, and what is counted does not depend on them.
#[derive(Debug, Clone, Copy)]
pub struct Digester(Keyer);

impl Digester {
    /// For flows of this kind.
    pub fn new(kind: FlowKeyKind) -> Self {
        let hash_key = HashKey::from_seed(RandomState::new().hash_one(0));
        Digester(Keyer { kind, vlan_in_key: false, hash_key })
    }

    /// The packet's flow.
    #[inline]
    pub fn flow(&self, packet: &Packet) -> Digested {
        let (key, _) = self.0.key(packet);
        Digested { key, digest: self.0.id(&key).position_bits() }
    }
}
