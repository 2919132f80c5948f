//! The errors of any shape at any load: each store's model, under each way to expire.
//!
//! [`Theory::cell_errors`] serves the planner, [`Theory::predict`] a store that exists.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::curve::Curve;
use super::requirements::Traffic;
use super::shape::Shape;
use acsm_filters::{
    Backend, Expire, KbfDecode, LayoutKind, RecycleAt, SbfRules, Sizing, Storage, StoreSpec,
    fcf_fingerprints,
};
use acsm_model::bhbf::Masks;
use acsm_model::counts::{CellCounts, FlowCells};
use acsm_model::joint::JointDecoding;
use acsm_model::kbf::{Decoding, SumsOfThree, errors_of};
use acsm_model::recycling::{over_cycle, two_phase};
use acsm_model::{ErrorRates, StateMix, dbf, fcf, halves, sbf};

/// The models for one traffic, with what they computed before.
pub struct Theory {
    traffic: Rc<Traffic>,
    /// Of `bhbf`: a million steps, so only on demand.
    masks: OnceCell<Rc<Masks>>,
    sums: Rc<SumsOfThree>,
    /// Of `kbf` in joint decoding: only on demand, as it enumerates all sets of states.
    joint: OnceCell<Rc<JointDecoding>>,
    decode: KbfDecode,
    cell_bits: Option<u32>,
    sbf_rules: SbfRules,
    curves: RefCell<HashMap<CurveKey, Rc<Curve<ErrorsAt>>>>,
}

type ErrorsAt = Box<dyn Fn(f64) -> ErrorRates>;

/// Bits of a cell of `kbf` that are its count; the others are the sum of codes.
const KBF_COUNT_BITS: u32 = 3;
/// A flow in a store with stamps is reliable as long as at most this part of its lookups is wrong.
const RELIABLE_ERROR: f64 = 0.05;
/// A flow that is reliable for this many idle timeouts is taken to be so for good.
const RELIABLE_TIMEOUTS_MAX: f64 = 1024.0;

/// What the errors of a filter depend on, other than its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CurveKey {
    backend: Backend,
    layout: LayoutKind,
    hashes: usize,
    cells_per_line: usize,
    /// Whether expired flows leave ghosts on cells that they share.
    ghosts: bool,
}

impl Theory {
    /// The models for this traffic.
    pub fn new(traffic: Traffic) -> Theory {
        Theory {
            masks: OnceCell::new(),
            sums: Rc::new(SumsOfThree::new(&traffic.mix)),
            traffic: Rc::new(traffic),
            joint: OnceCell::new(),
            decode: KbfDecode::AllPairs,
            cell_bits: None,
            sbf_rules: SbfRules::Stateful,
            curves: RefCell::default(),
        }
    }

    /// The same with this decoding of `kbf`, in the narrowest cells unless others are given. `None` is
    /// the papers' decoding, whatever a store does by default: an upper bound of its errors.
    #[must_use]
    pub fn with_decode(self, decode: Option<KbfDecode>, cell_bits: Option<u32>) -> Theory {
        let decode = decode.unwrap_or(KbfDecode::AllPairs);
        let (joint, curves) = (OnceCell::new(), RefCell::default());
        Theory { decode, cell_bits, joint, curves, ..self }
    }

    /// The same with these rules of `sbf`.
    #[must_use]
    pub fn with_sbf_rules(self, sbf_rules: SbfRules) -> Theory {
        Theory { sbf_rules, curves: RefCell::default(), ..self }
    }

    /// The traffic.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The errors of a filter with k cells per flow and `load` flows per cell (of one half, if there
    /// are two); the average over a cycle if the store recycles, over an epoch if it has halves.
    /// `cells_per_line` matters in blocked layouts only.
    pub fn cell_errors(
        &self,
        shape: Shape,
        cells_per_line: usize,
        hashes: usize,
        load: f64,
    ) -> ErrorRates {
        let curve = self.curve(shape, cells_per_line, hashes);
        match shape.expire {
            Expire::None | Expire::Stamps => curve.at(load),
            Expire::Timer => halves::errors(&self.traffic.arrivals(), load, |load| curve.at(load)),
            // Forgetting everything at once is no error: the reference forgets by the same rule.
            Expire::Recycle => over_cycle(load, |load| curve.at(load)),
            Expire::TwoPhase => {
                let active = over_cycle(load, |load| curve.at(load));
                // A phase takes half the flows. A flow that is active when it ends has one lookup
                // in the frozen half.
                let in_frozen = 2.0 * self.traffic.active() / self.traffic.lookups_per_flow();
                two_phase(&active, &curve.at(load), in_frozen.clamp(0.0, 1.0))
            }
        }
    }

    /// The age from which on one in twenty lookups of a flow is wrong, in a store with stamps and
    /// `load` flows per cell: for as long as a flow lives its cells collect the codes of flows that
    /// ended. `None` if this takes more than a thousand idle timeouts, and in other stores, where
    /// errors do not depend on a flow's age.
    pub fn reliable_seconds(
        &self,
        shape: Shape,
        cells_per_line: usize,
        hashes: usize,
        load: f64,
    ) -> Option<f64> {
        if shape.expire != Expire::Stamps || !shape.has_cells() {
            return None;
        }
        let key = CurveKey::new(shape, cells_per_line, hashes);
        let errors_of = self.errors_of(key);
        let is_reliable = |timeouts: f64| {
            let age_seconds = timeouts * self.traffic.idle_seconds;
            let cells = key.cells_with_ghosts(load, &self.traffic, age_seconds);
            errors_of(&cells).of_extant() <= RELIABLE_ERROR
        };
        let mut after = 1.0;
        while is_reliable(after) {
            after *= 2.0;
            if after > RELIABLE_TIMEOUTS_MAX {
                return None;
            }
        }
        let mut before = if after > 1.0 { 0.5 * after } else { 0.0 };
        for _ in 0..10 {
            let middle = 0.5 * (before + after);
            if is_reliable(middle) { before = middle } else { after = middle }
        }
        Some(before * self.traffic.idle_seconds)
    }

    /// The models for a store and the traffic it is assumed to have, whose flows are in the states that
    /// [can be stored](StoreSpec::stored_states).
    pub fn for_store(spec: &StoreSpec, traffic: Traffic) -> Theory {
        let decode = Some(spec.kbf_decode());
        Theory::new(traffic).with_decode(decode, spec.cell_bits).with_sbf_rules(spec.sbf)
    }

    /// The errors of a store with `live` flows in it. Stores that recycle are averaged over their
    /// cycle.
    ///
    /// ```
    /// use acsm::engine::plan::{Theory, Traffic};
    /// use acsm_filters::{Backend, StoreSpec};
    ///
    /// let spec = StoreSpec::new(Backend::Kbf, 6);
    /// let (sizing, theory) = (spec.sizing()?, Theory::for_store(&spec, Traffic::typical(6)));
    /// let planned = theory.predict(&spec, &sizing, spec.flows as f64);
    /// let crowded = theory.predict(&spec, &sizing, 2.0 * spec.flows as f64);
    /// assert!(planned.of_absent() < 0.011 && crowded.of_absent() > 5.0 * planned.of_absent());
    /// # Ok::<(), acsm_filters::SpecError>(())
    /// ```
    pub fn predict(&self, spec: &StoreSpec, sizing: &Sizing, live: f64) -> ErrorRates {
        let shape = Shape::of(spec);
        let flows = match (shape.expire, sizing.recycle_at) {
            (Expire::None | Expire::Timer | Expire::Stamps, _) => live,
            (_, Some(RecycleAt::Flows(flows))) => flows as f64 * shape.expire.phases() as f64,
            (_, Some(RecycleAt::Fill(fill))) => {
                -(-fill).ln_1p() * sizing.cells as f64 / sizing.hashes.max(1) as f64
            }
            (_, None) => spec.flows as f64,
        };
        match shape.backend.info().storage {
            // Nothing is predicted for a capped table: which flows it evicted is unknown.
            Storage::Entries => ErrorRates::default(),
            Storage::Slots => {
                let fingerprints = fcf_fingerprints(sizing.cell_bits, spec.stored_states().max(1));
                let load = flows / sizing.cells.max(1) as f64;
                slot_errors(fingerprints, load, &self.traffic.mix)
            }
            Storage::Cells => {
                let load = sizing.hashes as f64 * flows / sizing.cells.max(1) as f64;
                self.cell_errors(shape, sizing.cells_per_line, sizing.hashes, load)
            }
        }
    }

    fn curve(&self, shape: Shape, cells_per_line: usize, hashes: usize) -> Rc<Curve<ErrorsAt>> {
        let key = CurveKey::new(shape, cells_per_line, hashes);
        let mut curves = self.curves.borrow_mut();
        Rc::clone(curves.entry(key).or_insert_with(|| Rc::new(Curve::new(self.errors_at(key)))))
    }

    /// The model of joint decoding, with the codes that a store has.
    fn joint_decoding(&self) -> Rc<JointDecoding> {
        let mix = &self.traffic.mix;
        let cell_bits =
            self.cell_bits.unwrap_or_else(|| Backend::Kbf.narrowest_cell_bits(mix.states(), false));
        let code_bits = cell_bits.saturating_sub(KBF_COUNT_BITS);
        let compute = || {
            Rc::new(match self.decode {
                KbfDecode::Salt => JointDecoding::salted(mix.states(), code_bits),
                _ => JointDecoding::new(mix, code_bits),
            })
        };
        Rc::clone(self.joint.get_or_init(compute))
    }

    /// The errors of `kbf` by what is on the cells of a flow.
    fn kbf_errors(&self) -> impl Fn(&FlowCells) -> ErrorRates + use<> {
        let sums = Rc::clone(&self.sums);
        let joint = self.decode.is_joint().then(|| self.joint_decoding());
        let decoding = match self.decode {
            KbfDecode::Literal => Decoding::Literal,
            KbfDecode::ThreeWay => Decoding::ThreeWay,
            KbfDecode::AllPairs | KbfDecode::Joint | KbfDecode::Salt => Decoding::AllPairs,
        };
        move |cells: &FlowCells| match &joint {
            Some(joint) => joint.errors(cells),
            None => errors_of(cells, &sums, decoding),
        }
    }

    /// The errors by what is on the cells of a flow.
    fn errors_of(&self, of: CurveKey) -> impl Fn(&FlowCells) -> ErrorRates + use<> {
        let traffic = Rc::clone(&self.traffic);
        let kbf_errors = (of.backend == Backend::Kbf).then(|| self.kbf_errors());
        let masks = (of.backend == Backend::Bhbf)
            .then(|| Rc::clone(self.masks.get_or_init(|| Rc::new(Masks::new()))));
        let states = traffic.mix.states();
        let kept = match self.sbf_rules {
            SbfRules::Stateful | SbfRules::NoCounters => traffic.kept,
            SbfRules::PaperKbf => 0.0,
        };
        let sbf_errors = match self.sbf_rules {
            SbfRules::NoCounters => sbf::errors_without_counters,
            SbfRules::Stateful | SbfRules::PaperKbf => sbf::errors_of_changing_flows,
        };
        move |cells: &FlowCells| match of.backend {
            Backend::Dbf => dbf::errors(cells, states),
            Backend::Sbf => sbf_errors(cells, &traffic.mix, kept),
            Backend::Kbf => kbf_errors.as_ref().map(|errors| errors(cells)).unwrap_or_default(),
            Backend::Bhbf | Backend::Exact | Backend::Fcf => {
                masks.as_ref().map(|masks| masks.errors(cells, states)).unwrap_or_default()
            }
        }
    }

    fn errors_at(&self, of: CurveKey) -> ErrorsAt {
        let (of_store, traffic) = (self.errors_of(of), Rc::clone(&self.traffic));
        if !of.ghosts {
            return Box::new(move |load| of_store(&of.cells(load)));
        }
        Box::new(move |load| {
            let absent = of_store(&of.cells_with_ghosts(load, &traffic, 0.0));
            // A lookup finds a flow halfway through its life, on average.
            let age_seconds = 0.5 * traffic.lifetime_seconds;
            let extant = of_store(&of.cells_with_ghosts(load, &traffic, age_seconds));
            ErrorRates {
                false_positive: absent.false_positive,
                dont_know_absent: absent.dont_know_absent,
                ..extant
            }
        })
    }
}

/// Errors of `fcf` with `load` flows per slot. Flows that find no slot are false negatives.
pub(super) fn slot_errors(fingerprints: u64, load: f64, mix: &StateMix) -> ErrorRates {
    let in_use = load.min(fcf::LOAD_THRESHOLD);
    let errors = fcf::errors_among(fingerprints as f64, in_use, mix);
    let lost = if load > in_use { 1.0 - in_use / load } else { 0.0 };
    ErrorRates { false_negative: lost, dont_know: errors.dont_know * (1.0 - lost), ..errors }
}

impl CurveKey {
    fn new(shape: Shape, cells_per_line: usize, hashes: usize) -> CurveKey {
        CurveKey {
            backend: shape.backend,
            layout: shape.layout,
            hashes,
            cells_per_line: match shape.layout {
                LayoutKind::Spread => 0,
                LayoutKind::Blocked(_) => cells_per_line,
            },
            ghosts: shape.expire == Expire::Stamps,
        }
    }

    fn cells(&self, load: f64) -> FlowCells {
        match self.layout {
            LayoutKind::Spread => FlowCells::at_load(self.hashes, load),
            LayoutKind::Blocked(lines) => {
                FlowCells::blocked(self.hashes, load, lines, self.cells_per_line)
            }
        }
    }

    /// Cells under a timer, `age_seconds` after the flow was inserted. What holds for all cells is
    /// taken to hold for those of a line, at the line's own rate of arrivals.
    fn cells_with_ghosts(&self, load: f64, traffic: &Traffic, age_seconds: f64) -> FlowCells {
        let arrivals = traffic.arrivals();
        // The number of cells on which one held flow makes this load.
        let cells = self.hashes as f64 / load;
        let LayoutKind::Blocked(lines) = self.layout else {
            return arrivals.cells_of_flow(cells, self.hashes, age_seconds);
        };
        FlowCells::on_lines(self.hashes, load, lines, self.cells_per_line, |flows, share| {
            let relative_rate = flows * share / load;
            let cells = cells / relative_rate;
            let before = CellCounts::geometric(1.0 - arrivals.empty(cells, self.hashes));
            let since = load * relative_rate * age_seconds / arrivals.held_seconds();
            before.and(&CellCounts::poisson(since))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_use_the_cells_per_line_of_wider_cells() {
        let traffic = Traffic::typical(6);
        let sums = SumsOfThree::new(&traffic.mix);
        for (cell_bits, cells_per_line) in [(8, 64), (16, 32), (32, 16)] {
            let spec = StoreSpec {
                layout: LayoutKind::Blocked(1),
                expire: Expire::None,
                cell_bits: Some(cell_bits),
                ..StoreSpec::new(Backend::Kbf, 6)
            };
            let sizing = spec.sizing().unwrap();
            let flows = spec.flows as f64;
            let load = sizing.hashes as f64 * flows / sizing.cells as f64;
            let on_lines_of = |cells_per_line| {
                let cells = FlowCells::blocked(sizing.hashes, load, 1, cells_per_line);
                errors_of(&cells, &sums, Decoding::AllPairs).of_absent()
            };
            let expected = on_lines_of(cells_per_line);
            let theory = Theory::for_store(&spec, traffic.clone());
            let predicted = theory.predict(&spec, &sizing, flows).of_absent();
            // As precise as the interpolation, and the cells per line make a difference.
            assert!((predicted / expected - 1.0).abs() < 0.01, "{cell_bits}: {predicted}");
            assert!(cells_per_line == 64 || predicted > 1.1 * on_lines_of(64), "{cell_bits}");
        }
    }
}
