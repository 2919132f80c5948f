//! The stores that can be compared, by name: one table, one line a store or variant.

use acsm_filters::{Backend, KbfDecode, LayoutKind, SbfRules, StoreSpec};

/// A store, or a variant of one, as `--backends` names it.
#[derive(Debug)]
pub struct StoreChoice {
    /// `kbf`, `kbf:literal`.
    name: &'static str,
    /// The structure.
    pub backend: Backend,
    set: fn(&mut StoreSpec),
}

const STORES: &[StoreChoice] = &[
    choice("kbf", Backend::Kbf, |_| {}),
    choice("kbf:literal", Backend::Kbf, |spec| spec.decode = KbfDecode::Literal),
    choice("kbf:three-way", Backend::Kbf, |spec| spec.decode = KbfDecode::ThreeWay),
    choice("sbf", Backend::Sbf, |_| {}),
    choice("sbf:paper-kbf", Backend::Sbf, |spec| spec.sbf = SbfRules::PaperKbf),
    choice("dbf", Backend::Dbf, |_| {}),
    choice("dbf:no-counters", Backend::Dbf, |spec| spec.dbf_counters = false),
    choice("bhbf", Backend::Bhbf, |_| {}),
    choice("fcf", Backend::Fcf, |_| {}),
    choice("exact", Backend::Exact, |_| {}),
];

const fn choice(name: &'static str, backend: Backend, set: fn(&mut StoreSpec)) -> StoreChoice {
    StoreChoice { name, backend, set }
}

impl StoreChoice {
    /// The store of this name.
    pub fn parse(text: &str) -> Result<&'static StoreChoice, String> {
        STORES.iter().find(|store| store.name == text).ok_or_else(|| {
            let names: Vec<&str> = STORES.iter().map(|store| store.name).collect();
            format!("`{text}` is no store to compare; there are {}", names.join(", "))
        })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The part of its name behind the colon.
    pub fn variant(&self) -> Option<&'static str> {
        self.name.split_once(':').map(|(_, variant)| variant)
    }

    /// Makes `spec`, which is of this backend, this variant. What the user asked of all stores
    /// and this one does not have is left out.
    pub fn apply(&self, spec: &mut StoreSpec) {
        (self.set)(spec);
        if !self.backend.has_cells() {
            (spec.hashes, spec.layout) = (None, LayoutKind::Spread);
        }
        if !matches!(self.backend, Backend::Kbf | Backend::Sbf) {
            spec.cell_bits = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_their_backend_and_are_found() {
        for store in STORES {
            assert_eq!(StoreChoice::parse(store.name).unwrap().name(), store.name);
            let head = store.name.split(':').next();
            assert_eq!(head, Some(store.backend.name()));
            let mut spec = StoreSpec::new(store.backend, 6);
            store.apply(&mut spec);
            let plain = StoreSpec::new(store.backend, 6);
            assert_eq!(spec == plain, store.variant().is_none(), "{}", store.name);
        }
        assert!(StoreChoice::parse("bloom").unwrap_err().contains("kbf:literal"));
    }
}
