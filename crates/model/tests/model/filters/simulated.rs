//! Simulated filters, in which all flows of every cell are known, and their errors beside those of a model.

use acsm_filters::rng::Random;
use acsm_model::counts::FlowCells;
use acsm_model::{ErrorRates, StateMix};

use crate::evidence::{assert_in_interval, mean_of};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    Absent,
    Known(usize),
    DontKnow,
}

#[derive(Clone, Copy)]
pub enum Layout {
    Spread,
    /// `lines` lines per flow, of `cells` cells each.
    Blocked {
        lines: usize,
        cells: usize,
    },
}

/// A flow: its cells, a salt for each, and its state.
pub struct Flow {
    pub cells: Vec<usize>,
    salts: Vec<usize>,
    pub state: usize,
}

/// A flow on a cell: its state, and that turned by its salt.
pub type Resident = (usize, usize);

pub struct Filter {
    pub cells: Vec<Vec<Resident>>,
    pub flows: Vec<Flow>,
    layout: Layout,
    hashes: usize,
    random: Random,
}

impl Filter {
    pub fn new(layout: Layout, cells: usize, hashes: usize, seed: u64) -> Filter {
        let random = Random::for_purpose(seed, 5);
        Filter { cells: vec![vec![]; cells], flows: vec![], layout, hashes, random }
    }

    pub fn random_flow(&mut self, mix: &StateMix) -> Flow {
        let (random, hashes) = (&mut self.random, self.hashes);
        let cells = match self.layout {
            Layout::Spread => {
                let part = self.cells.len() / hashes;
                (0..hashes).map(|i| i * part + random.below(part as u64) as usize).collect()
            }
            Layout::Blocked { lines, cells } => {
                let all_lines = self.cells.len() / cells;
                let (mut places, mut before): (Vec<usize>, usize) = (vec![], 0);
                for line in 0..lines {
                    let own = hashes / lines + usize::from(line < hashes % lines);
                    let [first, end] = [before, before + own].map(|k| all_lines * k / hashes);
                    let line = first + random.below((end - first) as u64) as usize;
                    places.extend((0..own).map(|n| {
                        let [start, end] = [n, n + 1].map(|n| n * cells / own);
                        line * cells + start + random.below((end - start) as u64) as usize
                    }));
                    before += own;
                }
                places
            }
        };
        let salts = (0..hashes).map(|_| random.below(16) as usize).collect();
        let mut at = random.unit();
        let state = mix.parts().iter().position(|part| {
            at -= part;
            at < 0.0
        });
        Flow { cells, salts, state: state.unwrap_or(0) }
    }

    pub fn fill(&mut self, mix: &StateMix, flows: usize) {
        for _ in 0..flows {
            let flow = self.random_flow(mix);
            for (cell, salt) in flow.cells.iter().zip(&flow.salts) {
                self.cells[*cell].push((flow.state, (flow.state + salt) % 16));
            }
            self.flows.push(flow);
        }
    }

    pub fn residents<'a>(&'a self, flow: &'a Flow) -> Vec<(&'a [Resident], usize)> {
        let cells = flow.cells.iter().zip(&flow.salts);
        cells.map(|(cell, salt)| (self.cells[*cell].as_slice(), *salt)).collect()
    }

    /// Error rates of all flows, and of `absent` absent flows.
    fn errors(&mut self, mix: &StateMix, absent: usize, judge: &Judge) -> ErrorRates {
        let mut errors = ErrorRates::default();
        let of_flows = 1.0 / self.flows.len() as f64;
        for flow in &self.flows {
            match judge(&self.residents(flow)) {
                Answer::Known(state) if state == flow.state => {}
                Answer::Known(_) => errors.false_return += of_flows,
                Answer::Absent => errors.false_negative += of_flows,
                Answer::DontKnow => errors.dont_know += of_flows,
            }
        }
        let of_absent = 1.0 / absent as f64;
        for _ in 0..absent {
            let flow = self.random_flow(mix);
            match judge(&self.residents(&flow)) {
                Answer::Absent => {}
                Answer::Known(_) => errors.false_positive += of_absent,
                Answer::DontKnow => errors.dont_know_absent += of_absent,
            }
        }
        errors
    }
}

pub type Judge = dyn Fn(&[(&[Resident], usize)]) -> Answer;

/// A kind of error and its rate.
pub type Kind = (&'static str, fn(&ErrorRates) -> f64);

pub struct Case<'a> {
    pub name: &'a str,
    pub layout: Layout,
    pub hashes: usize,
    pub load: f64,
    pub mix: StateMix,
    /// How wide an interval may be, and still count as evidence.
    pub resolution: f64,
}

pub const CELLS: usize = 8_192;
pub const ABSENT_FLOWS: usize = 20_000;

impl Case<'_> {
    pub fn runs(&self, judge: &Judge) -> Vec<ErrorRates> {
        let cells = match self.layout {
            Layout::Spread => CELLS / self.hashes * self.hashes,
            Layout::Blocked { cells, .. } => CELLS / cells * cells,
        };
        let flows = (self.load * cells as f64 / self.hashes as f64).round() as usize;
        let run = |seed| {
            let mut filter = Filter::new(self.layout, cells, self.hashes, seed);
            filter.fill(&self.mix, flows);
            filter.errors(&self.mix, ABSENT_FLOWS, judge)
        };
        (0..10).map(run).collect()
    }

    pub fn cells(&self) -> FlowCells {
        match self.layout {
            Layout::Spread => FlowCells::at_load(self.hashes, self.load),
            Layout::Blocked { lines, cells } => {
                FlowCells::blocked(self.hashes, self.load, lines, cells)
            }
        }
    }

    /// Each kind of error within its interval; kinds too rare to measure are only bounded.
    pub fn check(&self, model: ErrorRates, judge: &Judge) {
        let runs = self.runs(judge);
        let kinds: [Kind; 5] = [
            ("false positive", |e| e.false_positive),
            ("don't know, absent", |e| e.dont_know_absent),
            ("false negative", |e| e.false_negative),
            ("don't know", |e| e.dont_know),
            ("false return", |e| e.false_return),
        ];
        let mut measured = 0;
        for (kind, of) in kinds {
            let epochs: Vec<f64> = runs.iter().map(of).collect();
            let name = format!("{}: {kind}", self.name);
            let expected = of(&model) * 10.0 * ABSENT_FLOWS as f64;
            if of(&model) == 0.0 {
                assert!(epochs.iter().all(|rate| *rate == 0.0), "{name}: {epochs:?}");
            } else if expected > 300.0 {
                assert_in_interval(&name, of(&model), &epochs, self.resolution);
                measured += 1;
            } else {
                let (mean, half) = mean_of(&epochs);
                println!("{name}: model {:.2e}, simulated {mean:.2e} ± {half:.1e}", of(&model));
                assert!(
                    mean * 10.0 * ABSENT_FLOWS as f64 <= expected + 5.0 * (expected + 5.0).sqrt()
                );
            }
        }
        assert!(measured >= 2, "{}: nothing measured", self.name);
    }
}

pub fn spread(name: &str, hashes: usize, load: f64, mix: StateMix) -> Case<'_> {
    Case { name, layout: Layout::Spread, hashes, load, mix, resolution: 0.35 }
}
