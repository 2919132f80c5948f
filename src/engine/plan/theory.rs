//! The errors of any shape at any load: each store's model, under each way to expire.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::curve::Curve;
use super::shape::Shape;
use super::traffic::Traffic;
use acsm_filters::{Backend, Expire, KbfDecode, LayoutKind, SbfRules};
use acsm_model::bhbf::Masks;
use acsm_model::counts::{CellCounts, FlowCells};
use acsm_model::kbf::Decoding;
use acsm_model::kbf::{SumsOfThree, errors_of};
use acsm_model::recycling::stores::{over_cycle, two_phase};
use acsm_model::{ErrorRates, dbf, sbf};

/// What theory knows about one traffic. Computes nothing twice.
pub struct Theory {
    traffic: Rc<Traffic>,
    /// Of `bhbf`: a million steps, for those who ask.
    masks: OnceCell<Rc<Masks>>,
    sums: Rc<SumsOfThree>,
    decode: KbfDecode,
    sbf_rules: SbfRules,
    curves: RefCell<HashMap<CellsOf, Rc<Curve<ErrorsAt>>>>,
}

type ErrorsAt = Box<dyn Fn(f64) -> ErrorRates>;

/// What the errors of a filter depend on, but for its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CellsOf {
    backend: Backend,
    layout: LayoutKind,
    hashes: usize,
    cells_per_line: usize,
    /// Whether the dead leave ghosts on cells that they share.
    ghosts: bool,
}

impl Theory {
    /// Theory for this traffic.
    pub fn new(traffic: Traffic) -> Theory {
        Theory {
            masks: OnceCell::new(),
            sums: Rc::new(SumsOfThree::new(&traffic.mix)),
            traffic: Rc::new(traffic),
            decode: KbfDecode::AllPairs,
            sbf_rules: SbfRules::Stateful,
            curves: RefCell::default(),
        }
    }

    /// The same with variants of `kbf` and `sbf`.
    #[must_use]
    pub fn with_variants(self, decode: KbfDecode, sbf_rules: SbfRules) -> Theory {
        Theory { decode, sbf_rules, curves: RefCell::default(), ..self }
    }

    /// The traffic it is about.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The errors of a filter with k cells a flow and `load` flows a cell, on average where they
    /// change in the course of a cycle. Only blocked layouts ask for the cells of a line.
    pub fn cell_errors(
        &self,
        shape: Shape,
        cells_per_line: usize,
        hashes: usize,
        load: f64,
    ) -> ErrorRates {
        let curve = self.curve(shape, cells_per_line, hashes);
        match shape.expire {
            Expire::None | Expire::Timer => curve.at(load),
            // That all is forgotten at times is no error: who compares forgets by the same rule.
            Expire::Recycle => over_cycle(load, |load| curve.at(load)),
            Expire::TwoPhase => {
                let active = over_cycle(load, |load| curve.at(load));
                // A phase takes half the flows: whoever talks when it ends has one lookup in the
                // frozen half.
                let in_frozen = 2.0 * self.traffic.talking() / self.traffic.lookups_a_flow();
                two_phase(&active, &curve.at(load), in_frozen.clamp(0.0, 1.0))
            }
        }
    }

    fn curve(&self, shape: Shape, cells_per_line: usize, hashes: usize) -> Rc<Curve<ErrorsAt>> {
        let key = CellsOf {
            backend: shape.backend,
            layout: shape.layout,
            hashes,
            cells_per_line: match shape.layout {
                LayoutKind::Spread => 0,
                LayoutKind::Blocked(_) => cells_per_line,
            },
            ghosts: shape.expire == Expire::Timer,
        };
        let mut curves = self.curves.borrow_mut();
        Rc::clone(curves.entry(key).or_insert_with(|| Rc::new(Curve::new(self.errors_at(key)))))
    }

    fn errors_at(&self, of: CellsOf) -> ErrorsAt {
        let (traffic, sums) = (Rc::clone(&self.traffic), Rc::clone(&self.sums));
        let masks = (of.backend == Backend::Bhbf)
            .then(|| Rc::clone(self.masks.get_or_init(|| Rc::new(Masks::new()))));
        let (decode, states, of_flows) =
            (self.decode, traffic.mix.states(), Rc::clone(&self.traffic));
        let kept = match self.sbf_rules {
            SbfRules::Stateful => traffic.kept,
            SbfRules::PaperKbf => 0.0,
        };
        let of_store = move |cells: &FlowCells| match of.backend {
            Backend::Dbf => dbf::errors(cells, states),
            Backend::Sbf => sbf::errors_of_changing_flows(cells, &of_flows.mix, kept),
            Backend::Kbf => errors_of(cells, &sums, decoding(decode)),
            Backend::Bhbf | Backend::Exact | Backend::Fcf => {
                masks.as_ref().map(|masks| masks.errors(cells, states)).unwrap_or_default()
            }
        };
        if !of.ghosts {
            return Box::new(move |load| of_store(&of.cells(load)));
        }
        Box::new(move |load| {
            let stranger = of_store(&of.cells_with_ghosts(load, &traffic, 0.0));
            // Half-way through its life, as many have come on a flow's cells since it came.
            let flow =
                of_store(&of.cells_with_ghosts(load, &traffic, 0.5 * traffic.lifetime_seconds));
            ErrorRates {
                false_positive: stranger.false_positive,
                dont_know_absent: stranger.dont_know_absent,
                ..flow
            }
        })
    }
}

/// The model's name for a store's way to decode.
const fn decoding(decode: KbfDecode) -> Decoding {
    match decode {
        KbfDecode::AllPairs => Decoding::AllPairs,
        KbfDecode::Literal => Decoding::Literal,
        KbfDecode::ThreeWay => Decoding::ThreeWay,
    }
}

impl CellsOf {
    fn cells(&self, load: f64) -> FlowCells {
        match self.layout {
            LayoutKind::Spread => FlowCells::at_load(self.hashes, load),
            LayoutKind::Blocked(lines) => {
                FlowCells::blocked(self.hashes, load, lines, self.cells_per_line)
            }
        }
    }

    /// Cells under a timer, `age_seconds` after the flow came. What holds for all cells alike is
    /// taken to hold for those of a line, at its own pace of arrivals.
    fn cells_with_ghosts(&self, load: f64, traffic: &Traffic, age_seconds: f64) -> FlowCells {
        let arrivals = traffic.arrivals();
        // One flow is held: k cells of it on so many make this load.
        let cells = self.hashes as f64 / load;
        let LayoutKind::Blocked(lines) = self.layout else {
            return arrivals.cells_of_flow(cells, self.hashes, age_seconds);
        };
        FlowCells::on_lines(self.hashes, load, lines, self.cells_per_line, |flows, share| {
            let pace = flows * share / load;
            let before = CellCounts::geometric(1.0 - arrivals.empty(cells / pace, self.hashes));
            let since = load * pace * age_seconds / arrivals.held_seconds();
            before.and(&CellCounts::poisson(since))
        })
    }
}
