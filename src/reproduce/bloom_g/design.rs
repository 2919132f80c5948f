//! The filters that the paper compares: which words, how many bits, the closed form and the real
//! structure of each.

use acsm_filters::{BloomG, BloomGSpec};
use acsm_model::bloom;
use acsm_model::bloom_g::BloomG as Model;

use crate::reproduce::{Context, EVENTS_LEAST, Failure, Panel, Rate};

/// m and w of the paper's figures.
pub const BITS: u64 = 1 << 20;
pub const WORD_BITS: u32 = 64;
/// The best k of Bloom-g is searched up to here.
const HASHES_MAX: usize = 40;

/// How k is chosen.
#[derive(Debug, Clone, Copy)]
pub enum Bits {
    /// This k.
    Fixed(usize),
    /// The k with the fewest errors at the load.
    Best,
    /// The same, among those that take at most 3 log2 m hash bits.
    Within,
}

/// A filter of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Design {
    /// As the paper writes it: `B2(k=3)`.
    pub name: &'static str,
    /// g, or 0 for a Bloom filter, in which g = k.
    pub words: usize,
    /// How k is chosen.
    pub bits: Bits,
}

/// B(k=3), against which the paper compares.
pub const BLOOM_3: Design = Design { name: "B(k=3)", words: 0, bits: Bits::Fixed(3) };
/// B(optimal k).
pub const BLOOM_BEST: Design = Design { name: "B(optimal k)", words: 0, bits: Bits::Best };

impl Design {
    /// The closed form of the filter with m = 2^20 for this load.
    pub fn model(&self, load: f64) -> Model {
        self.model_of(BITS as f64, load)
    }

    /// The same with another m.
    pub fn model_of(&self, bits: f64, load: f64) -> Model {
        let elements = load * bits;
        let words = self.words.max(1);
        let blank = Model { bits, word_bits: WORD_BITS, words, hashes: words };
        let filter = match (self.words, self.bits) {
            (0, Bits::Best) => Model {
                hashes: (bloom::optimal_hashes(1.0 / load).round() as usize).max(1),
                ..blank
            },
            (_, Bits::Fixed(hashes)) => Model { hashes, ..blank },
            (_, Bits::Best) => blank.with_best_hashes(elements, HASHES_MAX),
            (_, Bits::Within) => blank.with_best_hashes_within(elements, 3.0 * bits.log2()),
        };
        if self.words == 0 { Model { words: filter.hashes, ..filter } } else { filter }
    }

    /// The false positive rate by the paper's (1) or (9) at this load.
    pub fn form(&self, load: f64) -> f64 {
        self.model(load).false_positive_rate(load * BITS as f64)
    }
}

/// How much is measured at each point.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Filters, each with elements of its own.
    pub filters: u32,
    /// Queries for absent elements of each. So few that filters deviate less than the sample does.
    pub queries: u64,
}

impl Effort {
    /// That of a scale.
    pub fn of(context: &Context<'_>) -> Effort {
        let (filters, queries) = context.pick((2, 20_000), (20, 50_000), (200, 50_000));
        Effort { filters, queries }
    }

    /// All queries of a point.
    pub fn trials(self) -> u64 {
        u64::from(self.filters) * self.queries
    }
}

/// What queries for absent elements find.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Absent elements that are found.
    pub rate: Rate,
    /// Words that were read.
    pub read: u64,
    /// The most words that one query read.
    pub most_read: u32,
}

/// Fills real filters with random elements, and asks for others.
pub fn measure(
    context: &Context<'_>,
    model: &Model,
    load: f64,
    effort: Effort,
    purpose: u64,
) -> Result<Measured, Failure> {
    let spec = BloomGSpec {
        bits: model.bits as u64,
        word_bits: model.word_bits,
        words: model.words as u32,
        hashes: model.hashes as u32,
    };
    let mut random = context.random(purpose);
    let mut measured = Measured::default();
    for _ in 0..effort.filters {
        let mut filter = BloomG::new(&spec).map_err(|error| Failure::Other(error.to_string()))?;
        for _ in 0..(load * model.bits) as u64 {
            filter.insert(random.next_u64());
        }
        for _ in 0..effort.queries {
            let query = filter.query(random.next_u64());
            measured.rate.events += u64::from(query.found);
            measured.read += u64::from(query.accesses);
            measured.most_read = measured.most_read.max(query.accesses);
        }
    }
    measured.rate.trials = effort.trials();
    Ok(measured)
}

/// Draws the curve of a design: the paper's form, and what is measured where events can be expected.
/// Returns how many points were measured, and how many of their intervals hold the exact rate.
pub fn curve(
    context: &Context<'_>,
    panel: &mut Panel,
    design: &Design,
    loads: &[f64],
    purpose: u64,
) -> Result<(usize, usize), Failure> {
    let effort = Effort::of(context);
    let (mut points, mut inside) = (0, 0);
    for (n, &load) in (0..).zip(loads) {
        context.done(0.0)?;
        let model = design.model(load);
        panel.computed(format!("{}, by (9)", design.name), load, design.form(load));
        let exact = model.false_positive_rate_exact((load * model.bits).floor());
        if exact * (effort.trials() as f64) < EVENTS_LEAST {
            continue;
        }
        let rate = measure(context, &model, load, effort, 1000 * purpose + n)?.rate;
        let [low, high] = rate.interval();
        points += 1;
        inside += usize::from((low..=high).contains(&exact));
        panel.rate(format!("{}, measured", design.name), load, rate, effort.filters);
    }
    Ok((points, inside))
}
