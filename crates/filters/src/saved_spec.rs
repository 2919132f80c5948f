//! The specification of a store in a snapshot.
//!
//! A store is loaded into one of the same specification and the same sizes: another version of this
//! crate may choose other sizes for a specification. Both are saved as text, a line per setting, and
//! compared as such.

use std::io::{self, Read, Write};

use crate::snapshot::{SectionKind, SnapshotError, SnapshotReader, SnapshotWriter};
use crate::spec::{Sizing, StoreSpec};

impl StoreSpec {
    /// Adds the specification to a snapshot, in a section of its own. The sections of the shards
    /// follow, in their order.
    pub fn save<W: Write>(&self, out: &mut SnapshotWriter<W>) -> io::Result<()> {
        let sizing = self.sizing().map_err(io::Error::other)?;
        let lines = self.settings(Some(&sizing)).map(|(name, value)| format!("{name} {value}\n"));
        out.section(SectionKind::STORE_SPEC, lines.concat().as_bytes())
    }

    /// Checks that a store in a snapshot was saved with this specification.
    pub fn check_saved<R: Read>(&self, input: &mut SnapshotReader<R>) -> Result<(), SnapshotError> {
        let section = input.section(SectionKind::STORE_SPEC)?;
        let text = String::from_utf8_lossy(&section.content);
        let saved = text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        let wanted = self.settings(self.sizing().ok().as_ref());
        let other = |setting: &str, saved: &str, wanted: &str| {
            let [setting, saved, wanted] = [setting, saved, wanted].map(str::to_owned);
            Err(SnapshotError::OtherSetting { setting, saved, wanted })
        };
        for (name, value) in &wanted {
            match saved.clone().find(|(saved, _)| saved == name) {
                Some((_, saved)) if saved == value => {}
                Some((_, saved)) => return other(name, saved, value),
                None => return other(name, "unknown", value),
            }
        }
        let is_unknown = |(name, _): &(&str, &str)| wanted.iter().all(|(wanted, _)| wanted != name);
        match saved.clone().find(is_unknown) {
            Some((name, saved)) => other(name, saved, "unknown"),
            None => Ok(()),
        }
    }

    /// All settings by name; and all sizes, if there is such a store.
    fn settings(&self, sizing: Option<&Sizing>) -> [(&'static str, String); 20] {
        let size = |of: fn(&Sizing) -> u64| sizing.map_or(0, of).to_string();
        // Without `..`, so that a new setting is not forgotten here.
        let StoreSpec {
            backend,
            states,
            held,
            flows,
            budget,
            hashes,
            cell_bits,
            layout,
            expire,
            recycle_at,
            retain,
            sbf,
            decode: _, // what it leads to is saved
            dbf_counters,
            pending,
        } = self;
        [
            ("backend", backend.name().to_owned()),
            ("states", states.to_string()),
            ("held", format!("{held:?}")),
            ("flows", flows.to_string()),
            ("budget", format!("{budget:?}")),
            ("hashes_given", format!("{hashes:?}")),
            ("cell_bits_given", format!("{cell_bits:?}")),
            ("layout", layout.name().to_owned()),
            ("expire", expire.name().to_owned()),
            ("recycle_at", format!("{recycle_at:?}")),
            ("retain", retain.to_string()),
            ("sbf", format!("{sbf:?}")),
            ("decode", format!("{:?}", self.kbf_decode())),
            ("dbf_counters", dbf_counters.to_string()),
            ("pending", format!("{pending:?}")),
            ("cells", size(|sizing| sizing.cells)),
            ("hashes", size(|sizing| sizing.hashes as u64)),
            ("cell_bits", size(|sizing| sizing.cell_bits.into())),
            ("cells_per_line", size(|sizing| sizing.cells_per_line as u64)),
            ("bits", size(|sizing| sizing.bits)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Backend, Expire};

    fn spec() -> StoreSpec {
        StoreSpec { flows: 1000, pending: Some(1 << 17), ..StoreSpec::new(Backend::Kbf, 6) }
    }

    fn saved(spec: &StoreSpec) -> Vec<u8> {
        let mut out = SnapshotWriter::new(vec![]).unwrap();
        spec.save(&mut out).unwrap();
        out.finish().unwrap()
    }

    fn check(spec: &StoreSpec, saved: &[u8]) -> Result<(), SnapshotError> {
        spec.check_saved(&mut SnapshotReader::new(saved).unwrap())
    }

    /// Files have this text in them: it is not to change.
    #[test]
    fn the_text_of_a_specification_is_fixed() {
        let saved = saved(&spec());
        let mut input = SnapshotReader::new(&saved[..]).unwrap();
        let section = input.section(SectionKind::STORE_SPEC).unwrap();
        assert_eq!(
            String::from_utf8(section.content).unwrap(),
            "backend kbf\nstates 6\nheld StateSet(0)\nflows 1000\nbudget FpRate(0.01)\nhashes_given None\n\
             cell_bits_given None\nlayout spread\nexpire timer\nrecycle_at None\nretain true\n\
             sbf Stateful\ndecode Salt\ndbf_counters true\npending Some(131072)\ncells 9632\n\
             hashes 7\ncell_bits 8\ncells_per_line 30\nbits 172032\n"
        );
    }

    #[test]
    fn another_specification_is_refused_with_what_differs() {
        let saved = saved(&spec());
        check(&spec(), &saved).unwrap();
        for (other, message) in [
            (
                StoreSpec { backend: Backend::Sbf, ..spec() },
                "it was saved with backend kbf, and not sbf",
            ),
            (
                StoreSpec { expire: Expire::Stamps, ..spec() },
                "it was saved with expire timer, and not stamps",
            ),
            (StoreSpec { flows: 1001, ..spec() }, "it was saved with flows 1000, and not 1001"),
            (
                StoreSpec { pending: None, ..spec() },
                "it was saved with pending Some(131072), and not None",
            ),
        ] {
            assert_eq!(check(&other, &saved).unwrap_err().to_string(), message);
        }
        let impossible = StoreSpec { states: 0, ..spec() };
        assert!(matches!(check(&impossible, &saved), Err(SnapshotError::OtherSetting { .. })));
    }

    /// As from another version, which has other settings.
    #[test]
    fn a_setting_that_is_missing_or_unknown_is_refused() {
        let with_text = |text: &str| {
            let mut out = SnapshotWriter::new(vec![]).unwrap();
            out.section(SectionKind::STORE_SPEC, text.as_bytes()).unwrap();
            out.finish().unwrap()
        };
        let own = spec()
            .settings(spec().sizing().ok().as_ref())
            .map(|(name, value)| format!("{name} {value}\n"));
        check(&spec(), &with_text(&own.concat())).unwrap();
        let error = check(&spec(), &with_text(&own[1..].concat())).unwrap_err();
        assert_eq!(error.to_string(), "it was saved with backend unknown, and not kbf");
        let error = check(&spec(), &with_text(&(own.concat() + "color blue\n"))).unwrap_err();
        assert_eq!(error.to_string(), "it was saved with color blue, and not unknown");
        assert!(check(&spec(), &with_text("\n\u{0}")).is_err());
    }
}
