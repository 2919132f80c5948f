//! Codes of values, kept from one operation to the next.

use std::sync::Arc;

use super::SlabError;
use crate::codes::{CodeFamily, Codes};
use crate::kv::{KbfParameters, KvError};

/// The codes of the slabs that were used last: computing them takes longer than an operation.
#[derive(Debug, Default)]
pub struct CodesCache {
    /// The last used first.
    kept: Vec<((CodeFamily, u32), Arc<Codes>)>,
}

impl CodesCache {
    /// Nothing is kept.
    pub const fn new() -> CodesCache {
        CodesCache { kept: vec![] }
    }

    /// How many different codes are kept. The largest have 16 MiB.
    const KEPT_MAX: usize = 8;

    /// The codes for these parameters, which were checked.
    pub(super) fn codes(&mut self, parameters: &KbfParameters) -> Result<Arc<Codes>, SlabError> {
        let wanted = (parameters.family, parameters.values);
        match self.kept.iter().position(|(kept, _)| *kept == wanted) {
            Some(at) => self.kept[..=at].rotate_right(1),
            None => {
                let codes = Codes::new(wanted.0, wanted.1 as usize).map_err(KvError::from)?;
                self.kept.truncate(Self::KEPT_MAX - 1);
                self.kept.insert(0, (wanted, Arc::new(codes)));
            }
        }
        Ok(Arc::clone(&self.kept[0].1)) // there is one now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::KvSpec;

    #[test]
    fn the_last_used_are_kept() {
        let mut cache = CodesCache::default();
        let mut codes = |values: usize| {
            cache.codes(&KbfParameters::new(&KvSpec::new(10, values)).unwrap()).unwrap()
        };
        let first = codes(1000);
        for values in 1001..1001 + 3 * CodesCache::KEPT_MAX {
            assert_eq!(codes(values).count(), values);
            assert!(Arc::ptr_eq(&codes(1000), &first));
        }
        for values in 1001..1001 + CodesCache::KEPT_MAX {
            codes(values);
        }
        assert!(!Arc::ptr_eq(&codes(1000), &first));
        assert_eq!(cache.kept.len(), CodesCache::KEPT_MAX);
    }
}
