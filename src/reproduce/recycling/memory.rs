//! Filters that remember recent messages: with one phase, with two as printed and as ours, and
//! partitioned by age (Shtul, Baquero, Almeida: *Age-Partitioned Bloom Filters*, arXiv 2001.03147).

use acsm_filters::rng::Random;
use acsm_filters::{
    Backend, Epoch, Expire, FlowId, Lookup, RecycleAt, Recycling, Sbf, SbfRule, SbfRules, Sizing,
    State, Store, StoreSpec, UNTIMED,
};

use super::simulate::Bits;
use crate::reproduce::Failure;

/// Something that is told of arrivals, and says which of them it has met before.
pub trait Remembers {
    /// Whether it seems to have met this message before; it has now.
    fn arrive(&mut self, message: u64) -> bool;
}

/// The bits of a message: those of hash functions 0 to `count` − 1.
fn places(message: u64, count: usize, bits: u64) -> Vec<u32> {
    let mut random = Random::for_purpose(message, 1);
    (0..count).map(|_| random.below(bits) as u32).collect()
}

/// One or two phases, as the paper describes them: every arrival is added to the active filter.
pub struct Printed {
    active: Bits,
    frozen: Option<Bits>,
    bits: u64,
    hashes: usize,
    sigma: u64,
}

impl Printed {
    /// Of all of these bits in one phase, or of half of them in each of two.
    pub fn new(bits: u64, two: bool, hashes: usize, sigma: u64) -> Printed {
        let bits = if two { bits / 2 } else { bits };
        Printed {
            active: Bits::new(bits),
            frozen: two.then(|| Bits::new(bits)),
            bits,
            hashes,
            sigma,
        }
    }
}

impl Remembers for Printed {
    fn arrive(&mut self, message: u64) -> bool {
        let places = places(message, self.hashes, self.bits);
        let found = self.active.has(&places)
            || self.frozen.as_ref().is_some_and(|frozen| frozen.has(&places));
        self.active.insert(&places);
        if self.active.set > self.sigma {
            if let Some(frozen) = &mut self.frozen {
                std::mem::swap(frozen, &mut self.active);
            }
            self.active.clear();
        }
        found
    }
}

/// Two phases as `--expire two-phase` has them: one shard of the real store, whose hits move from the
/// frozen half to the active one.
pub struct Ours {
    shard: Recycling<Sbf<8, UNTIMED>>,
    state: State,
}

/// The sizing of a store of about this many cells per shard, and how many they are.
pub fn sizing_of(flows: u64, hashes: usize, fill: f64) -> Result<(Sizing, u64), Failure> {
    let shards = FlowId::SHARDS as u64;
    let spec = StoreSpec {
        expire: Expire::TwoPhase,
        recycle_at: Some(RecycleAt::Fill(fill)),
        hashes: Some(hashes),
        flows: flows * shards,
        ..StoreSpec::new(Backend::Sbf, 1)
    };
    let sizing = spec.sizing()?;
    let cells = sizing.cells / shards;
    Ok((sizing, cells))
}

impl Ours {
    /// A shard of that sizing.
    pub fn new(sizing: &Sizing) -> Result<Ours, Failure> {
        let rule = SbfRule::new(SbfRules::Stateful);
        let shard = Recycling::new(sizing, || Sbf::<8, UNTIMED>::new(rule, sizing))?;
        Ok(Ours { shard, state: State::FIRST })
    }
}

impl Remembers for Ours {
    fn arrive(&mut self, message: u64) -> bool {
        let now = Epoch(0);
        let bits = Random::for_purpose(message, 2).next_u64();
        let place = self.shard.locate(FlowId(bits.into()), ());
        let found = self.shard.lookup(&place, now);
        match found.answer {
            Lookup::Absent => drop(self.shard.insert(&place, self.state, now.stamp())),
            _ => self.shard.touch(&place, &found, now.stamp()),
        }
        found.answer != Lookup::Absent
    }
}

/// An age-partitioned Bloom filter: k + l slices, each with a hash function of its own. A message sets a
/// bit in each of the k youngest; it is found if k neighbouring slices have its bits. After each
/// generation the oldest slice is emptied and becomes the youngest. So a message is found for at
/// least l generations.
pub struct AgePartitioned {
    /// The youngest first, each with the number of its hash function.
    slices: std::collections::VecDeque<(usize, Bits)>,
    partition: Partition,
    /// Messages of this generation that set a bit.
    inserted: u64,
}

/// The parameters of an age-partitioned filter.
#[derive(Debug, Clone, Copy)]
pub struct Partition {
    /// k: slices of a message.
    pub hashes: usize,
    /// l: generations for which it is found.
    pub older: usize,
    /// Bits of a slice.
    pub slice_bits: u64,
    /// g: messages of a generation.
    pub generation: u64,
}

impl Partition {
    /// The probability that k neighbouring slices have the bits of a message that was never there, in
    /// the mean over a generation. Slices are independent: each has its hash function.
    pub fn false_positive_rate(&self) -> f64 {
        const POINTS: u32 = 16;
        let at = |point: u32| self.rate_at((f64::from(point) + 0.5) / f64::from(POINTS));
        (0..POINTS).map(at).sum::<f64>() / f64::from(POINTS)
    }

    /// The same when this part of the generation is over.
    fn rate_at(&self, part: f64) -> f64 {
        let k = self.hashes;
        // Chances of the length of the run of slices that ends here; the last one is for good.
        let mut runs = vec![0.0; k + 1];
        runs[0] = 1.0;
        for slice in 0..k + self.older {
            let generations = (slice as f64 + part).min(k as f64);
            let messages = generations * self.generation as f64;
            let filled = 1.0 - (messages * (-1.0 / self.slice_bits as f64).ln_1p()).exp();
            let broken: f64 = runs[..k].iter().sum::<f64>() * (1.0 - filled);
            for run in (1..=k).rev() {
                let kept = if run == k { runs[k] } else { 0.0 };
                runs[run] = kept + runs[run - 1] * filled;
            }
            runs[0] = broken;
        }
        runs[k]
    }

    /// For how many messages a message is surely found: l generations.
    pub fn window(&self) -> u64 {
        self.older as u64 * self.generation
    }

    /// The parameters with the longest window for these bits and this rate.
    pub fn best(bits: u64, rate: f64) -> Option<Partition> {
        let mut best: Option<Partition> = None;
        for hashes in 2..=20usize {
            for older in (1..=16).chain((20..=80).step_by(5)) {
                let slice_bits = bits / (hashes + older) as u64;
                let of = |generation| Partition { hashes, older, slice_bits, generation };
                let (mut low, mut high) = (0, 4 * slice_bits);
                while high > low + 1 {
                    let middle = low.midpoint(high);
                    let keeps = of(middle).false_positive_rate() <= rate;
                    *(if keeps { &mut low } else { &mut high }) = middle;
                }
                let found = of(low);
                if low > 0 && best.is_none_or(|best| found.window() > best.window()) {
                    best = Some(found);
                }
            }
        }
        best
    }
}

impl AgePartitioned {
    /// An empty filter.
    pub fn new(partition: Partition) -> AgePartitioned {
        let slices = partition.hashes + partition.older;
        let slices = (0..slices).map(|hash| (hash, Bits::new(partition.slice_bits))).collect();
        AgePartitioned { slices, partition, inserted: 0 }
    }
}

impl Remembers for AgePartitioned {
    fn arrive(&mut self, message: u64) -> bool {
        let places = places(message, self.slices.len(), self.partition.slice_bits);
        let (mut run, mut found) = (0, false);
        for (hash, slice) in &self.slices {
            run = if slice.has(&places[*hash..=*hash]) { run + 1 } else { 0 };
            found |= run == self.partition.hashes;
        }
        let mut new = false;
        for (hash, slice) in self.slices.iter_mut().take(self.partition.hashes) {
            let before = slice.set;
            slice.insert(&places[*hash..=*hash]);
            new |= slice.set > before;
        }
        self.inserted += u64::from(new);
        if self.inserted >= self.partition.generation {
            self.inserted = 0;
            if let Some((hash, mut oldest)) = self.slices.pop_back() {
                oldest.clear();
                self.slices.push_front((hash, oldest));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_finds_what_came_within_its_window_and_errs_as_computed() {
        let partition = Partition { hashes: 4, older: 3, slice_bits: 400, generation: 50 };
        let mut filter = AgePartitioned::new(partition);
        let (mut wrong, mut asked) = (0, 0);
        for message in 0..60_000u64 {
            if message > 1000 {
                asked += 1;
                wrong += u32::from(filter.arrive(message));
            } else {
                filter.arrive(message);
            }
        }
        // Messages never repeat: each that is found is a false positive, and counts as no insertion
        // only if it sets no bit, which lowers the rate by less than its own size.
        let (rate, form) = (f64::from(wrong) / f64::from(asked), partition.false_positive_rate());
        let bound = 5.0 * (form / f64::from(asked)).sqrt() + 0.05 * form;
        assert!((rate - form).abs() < bound, "{rate:e}, {form:e} ± {bound:e}");

        let mut filter = AgePartitioned::new(partition);
        for message in 0..5_000u64 {
            filter.arrive(message);
        }
        // Found again, and without an effect on older ones: asked from a copy each.
        for back in 1..partition.window() {
            let places = places(5_000 - back, filter.slices.len(), partition.slice_bits);
            let hits = filter.slices.iter().map(|(hash, slice)| slice.has(&places[*hash..=*hash]));
            let longest = hits.fold((0, 0), |(run, most), hit| {
                let run = if hit { run + 1 } else { 0 };
                (run, most.max(run))
            });
            assert!(longest.1 >= partition.hashes, "{back} messages ago");
        }
    }
}
