//! The slow model of a specification.

use acsm_filters::{Backend, Budget, Expire, FlowId, KbfDecode, RecycleAt, SbfRules, StoreSpec};

use crate::slow::bhbf::SlowBhbf;
use crate::slow::dbf::SlowDbf;
use crate::slow::exact::SlowExact;
use crate::slow::fcf::SlowFcf;
use crate::slow::halves::SlowHalves;
use crate::slow::kbf::SlowKbf;
use crate::slow::recycling::{Full, SlowRecycling};
use crate::slow::sbf::{SlowRules, SlowSbf};
use crate::slow::{Shape, Slow};

pub fn slow_store(spec: &StoreSpec, start: u32) -> Box<dyn Slow> {
    let sizing = spec.sizing().unwrap();
    if spec.expire == Expire::Timer && spec.backend.has_cells() {
        let of = spec.clone();
        let mut halves = SlowHalves::new(move || slow_array(&of), i64::from(start));
        halves.writes_unknown = spec.backend == Backend::Sbf;
        return Box::new(halves);
    }
    let Some(at) = sizing.recycle_at else { return slow_array(spec) };
    let full = match at {
        RecycleAt::Fill(fill) => {
            let cells = sizing.cells / (FlowId::SHARDS as u64 * sizing.phases);
            Full::Beyond(((fill * cells as f64) as u64).min(cells - 1))
        }
        RecycleAt::Flows(flows) => Full::Insertions(flows.div_ceil(FlowId::SHARDS as u64)),
    };
    let of = spec.clone();
    let make = move || slow_array(&of);
    Box::new(SlowRecycling::new(make, sizing.phases as usize, full, spec.retain))
}

fn slow_array(spec: &StoreSpec) -> Box<dyn Slow> {
    let sizing = spec.sizing().unwrap();
    let cells = sizing.cells as usize / (FlowId::SHARDS * sizing.phases as usize);
    let has_cells = spec.backend.has_cells();
    let timed = if has_cells { spec.expire == Expire::Stamps } else { spec.expire.is_timed() };
    if spec.backend == Backend::Exact {
        let capped = matches!(spec.budget, Budget::MemoryBytes(_));
        return Box::new(SlowExact::new(capped.then_some(cells), timed));
    }
    if spec.backend == Backend::Fcf {
        return Box::new(SlowFcf::new(cells, spec.states, sizing.cell_bits, timed));
    }
    let (layout, hashes, cells_per_line) = (spec.layout, sizing.hashes, sizing.cells_per_line);
    let shape = Shape { layout, hashes, cells, cells_per_line, timed };
    match spec.backend {
        Backend::Kbf => match spec.kbf_decode() {
            decode @ (KbfDecode::Joint | KbfDecode::Salt) => {
                Box::new(SlowKbf::joint(shape, spec.states, decode, sizing.cell_bits))
            }
            decode => Box::new(SlowKbf::new(shape, spec.states, decode)),
        },
        Backend::Bhbf => Box::new(SlowBhbf::new(shape, spec.states)),
        Backend::Sbf => {
            let count_max = (1 << (sizing.cell_bits - 5)) - 1;
            let rules = match (spec.sbf, spec.expire) {
                (SbfRules::PaperKbf, _) => SlowRules::PaperKbf,
                (SbfRules::NoCounters, _) => SlowRules::NoCounters,
                (_, Expire::Timer) => SlowRules::Lasting,
                _ => SlowRules::Stateful,
            };
            Box::new(SlowSbf::new(shape, count_max, rules))
        }
        _ => Box::new(SlowDbf::new(shape, spec.states, (1 << sizing.cell_bits) - 1)),
    }
}
