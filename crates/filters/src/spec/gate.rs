//! The gate before a store, which flows pass with their second packet: its settings and size.

use std::str::FromStr;

use super::{
    Backend, Budget, Expire, LayoutKind, MEMORY_LIMIT_BYTES, Sizing, SpecError, StoreSpec,
};

/// The false positive rate of a full gate.
const FP_RATE: f64 = 0.01;

/// A gate as it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSpec {
    /// Where the bits of a flow lie: spread (Bloom), or in one to three lines (Bloom-g).
    pub layout: LayoutKind,
    /// How it forgets: [`Expire::Recycle`] or [`Expire::TwoPhase`].
    pub expire: Expire,
    /// How many flows it remembers until it is full; `None`: as many as the store.
    pub flows: Option<u64>,
}

impl GateSpec {
    /// Its name on the command line and in reports.
    pub const fn name(&self) -> &'static str {
        match self.layout {
            LayoutKind::Spread => "bloom",
            LayoutKind::Blocked(1) => "bloom-1",
            LayoutKind::Blocked(2) => "bloom-2",
            LayoutKind::Blocked(_) => "bloom-3",
        }
    }

    /// How many flows it remembers before `store` until it is full.
    pub fn flows_before(&self, store: &StoreSpec) -> u64 {
        self.flows.unwrap_or(store.flows)
    }

    /// What a gate before `store` takes: single bits, for (flow, state).
    pub fn sizing(&self, store: &StoreSpec) -> Result<Sizing, SpecError> {
        let flows = self.flows_before(store);
        let bits = StoreSpec {
            flows,
            // A flow is looked for in every state: each lookup can be a false positive.
            budget: Budget::FpRate(FP_RATE / store.states.max(1) as f64),
            layout: self.layout,
            expire: self.expire,
            dbf_counters: false,
            ..StoreSpec::new(Backend::Dbf, store.states)
        };
        bits.sizing().map_err(|error| match error {
            SpecError::NoFlows | SpecError::TooLarge { .. } | SpecError::TooManyCells { .. } => {
                SpecError::GateFlows { flows }
            }
            error => error,
        })
    }

    /// What `store` takes with this gate before it. A memory budget is for both.
    pub(super) fn sizing_with(&self, store: &StoreSpec) -> Result<Sizing, SpecError> {
        let gate = self.sizing(store)?;
        let gate_bytes = gate.bits / 8;
        let budget = match store.budget {
            Budget::MemoryBytes(bytes) => Budget::MemoryBytes(bytes.saturating_sub(gate_bytes)),
            rate => rate,
        };
        let alone = StoreSpec { gate: None, budget, ..store.clone() };
        let sizing = alone.sizing().map_err(|error| match (error, store.budget) {
            (SpecError::TooSmall { least, .. }, Budget::MemoryBytes(bytes)) => {
                SpecError::TooSmall { bytes, least: least + gate_bytes }
            }
            (error, _) => error,
        })?;
        let bits = sizing.bits + gate.bits;
        if bits / 8 > MEMORY_LIMIT_BYTES {
            return Err(SpecError::TooLarge { bytes: (bits / 8) as f64 });
        }
        let bits_per_flow = bits as f64 / store.flows as f64;
        Ok(Sizing { bits, bits_per_flow, gate_bits: gate.bits, ..sizing })
    }
}

/// `bloom`, `bloom-1`, `bloom-2,recycle`.
impl FromStr for GateSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<GateSpec, SpecError> {
        let (name, expire) = text.split_once(',').unwrap_or((text, "two-phase"));
        let layout = match name {
            "bloom" => LayoutKind::Spread,
            "bloom-1" => LayoutKind::Blocked(1),
            "bloom-2" => LayoutKind::Blocked(2),
            "bloom-3" => LayoutKind::Blocked(3),
            _ => return Err(SpecError::Gate),
        };
        let expire = match expire {
            "recycle" => Expire::Recycle,
            "two-phase" => Expire::TwoPhase,
            _ => return Err(SpecError::Gate),
        };
        Ok(GateSpec { layout, expire, flows: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> GateSpec {
        name.parse().unwrap()
    }

    fn gated(gate: &str, store: StoreSpec) -> StoreSpec {
        StoreSpec { gate: Some(named(gate)), ..store }
    }

    #[test]
    fn names_are_read_back_and_nothing_else_is() {
        for name in ["bloom", "bloom-1", "bloom-2", "bloom-3"] {
            let gate = named(name);
            assert_eq!((gate.name(), gate.expire), (name, Expire::TwoPhase));
            assert_eq!(format!("{name},two-phase").parse(), Ok(gate));
            let at_once = GateSpec { expire: Expire::Recycle, ..gate };
            assert_eq!(format!("{name},recycle").parse(), Ok(at_once));
        }
        for text in ["", "none", "bloom-0", "bloom-4", "Bloom", "bloom,", "bloom,timer", "dbf"] {
            assert_eq!(text.parse::<GateSpec>(), Err(SpecError::Gate), "{text}");
        }
    }

    #[test]
    fn a_gate_counts_into_the_bits() {
        for backend in [Backend::Exact, Backend::Kbf, Backend::Fcf] {
            let store = StoreSpec::new(backend, 6);
            let alone = store.sizing().unwrap();
            let both = gated("bloom", store).sizing().unwrap();
            assert_eq!(both.bits, alone.bits + both.gate_bits);
            assert_eq!((both.cells, both.hashes), (alone.cells, alone.hashes));
            // log2(e) · log2(600) bits for each of a million flows.
            let bits_per_flow = both.gate_bits as f64 / 1e6;
            assert!((13.2..13.5).contains(&bits_per_flow), "{bits_per_flow}");
        }
    }

    #[test]
    fn memory_is_for_both() {
        let bytes = 4 << 20;
        let store =
            StoreSpec { budget: Budget::MemoryBytes(bytes), ..StoreSpec::new(Backend::Kbf, 6) };
        let mut spec = gated("bloom-1", store);
        let both = spec.sizing().unwrap();
        assert!(both.bits <= 8 * bytes && both.bits > 8 * bytes - (1 << 17), "{both:?}");
        assert!(both.gate_bits > 12_000_000);

        spec.budget = Budget::MemoryBytes(1 << 20);
        let Err(SpecError::TooSmall { bytes, least }) = spec.sizing() else { panic!("too small") };
        assert_eq!(bytes, 1 << 20);
        spec.budget = Budget::MemoryBytes(least);
        assert!(spec.sizing().is_ok());
    }

    #[test]
    fn impossible_gates_are_refused() {
        for flows in [0, 100_000_000_000, u64::MAX] {
            let gate = GateSpec { flows: Some(flows), ..named("bloom") };
            let spec = StoreSpec { gate: Some(gate), ..StoreSpec::new(Backend::Kbf, 6) };
            assert_eq!(spec.sizing(), Err(SpecError::GateFlows { flows }));
        }
        let gate = GateSpec { flows: Some(4_000_000_000), ..named("bloom-1,recycle") };
        assert!(gate.sizing(&StoreSpec::new(Backend::Kbf, 16)).is_ok());
    }
}
