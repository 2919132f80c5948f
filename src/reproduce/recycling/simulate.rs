//! The paper's simulation: a filter of few bits that recycles, and messages from a pool.

use acsm_filters::rng::Random;
use acsm_model::recycling::{Filter, Hashing, Retain};

use crate::reproduce::mean_interval;

/// A Bloom filter of plain bits, and how many are set.
#[derive(Debug, Clone)]
pub struct Bits {
    bits: Vec<bool>,
    /// How many bits are set.
    pub set: u64,
}

impl Bits {
    /// An empty filter.
    pub fn new(bits: u64) -> Bits {
        Bits { bits: vec![false; bits as usize], set: 0 }
    }

    /// Whether all of these are set.
    pub fn has(&self, places: &[u32]) -> bool {
        places.iter().all(|&place| self.bits[place as usize])
    }

    /// Sets these.
    pub fn insert(&mut self, places: &[u32]) {
        for &place in places {
            let bit = &mut self.bits[place as usize];
            self.set += u64::from(!*bit);
            *bit = true;
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.bits.fill(false);
        self.set = 0;
    }
}

/// The bits of a message.
pub fn draw(random: &mut Random, filter: &Filter) -> Vec<u32> {
    let mut places = Vec::with_capacity(filter.hashes);
    while places.len() < filter.hashes {
        let place = random.below(filter.bits) as u32;
        if filter.hashing == Hashing::Colliding || !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// When a filter is full.
#[derive(Debug, Clone, Copy)]
pub enum Full {
    /// With more bits set than this: σ.
    Beyond(u64),
    /// With this many messages that set bits: N.
    Messages(u64),
}

/// What a two-phase filter freezes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phases {
    /// There is one filter only.
    One,
    /// The filter without the message that made it overflow, as (24) has it.
    FreezeBefore,
    /// The filter with that message, as §II-C has it.
    FreezeAfter,
}

/// One epoch: its arrivals, and how it ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epoch {
    /// New messages.
    pub new: u64,
    /// Those that were taken for repeats: the false positives.
    pub wrong: u64,
    /// Cycles that ended.
    pub cycles: u64,
    /// New messages in them.
    pub new_in_cycles: u64,
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// The filter, or each of the two.
    pub filter: Filter,
    /// When it is full.
    pub full: Full,
    /// One or two of them.
    pub phases: Phases,
    /// Messages of the pool, from which arrivals are drawn evenly.
    pub pool: u64,
}

impl Simulation {
    /// The paper's pool of 1,000 messages, one filter.
    pub fn new(filter: Filter, full: Full) -> Simulation {
        Simulation { filter, full, phases: Phases::One, pool: 1000 }
    }

    /// An epoch of `arrivals` messages from a pool of its own.
    pub fn epoch(&self, random: &mut Random, arrivals: u64) -> Epoch {
        let pool: Vec<Vec<u32>> = (0..self.pool).map(|_| draw(random, &self.filter)).collect();
        // In which cycle each message was last seen: tells new messages from repeats.
        let mut seen = vec![0u64; pool.len()];
        let (mut active, mut frozen) = (Bits::new(self.filter.bits), Bits::new(self.filter.bits));
        let (mut cycle, mut set_bits, mut new_here) = (2, 0, 0);
        let mut epoch = Epoch::default();
        for _ in 0..arrivals {
            let message = random.below(self.pool) as usize;
            let places = &pool[message];
            let last = std::mem::replace(&mut seen[message], cycle);
            let two = self.phases != Phases::One;
            if last == cycle {
                continue;
            }
            // Of two filters, the first has no frozen one yet.
            let is_new = !two || last + 1 < cycle;
            let hit = active.has(places);
            if is_new && (!two || cycle > 2) {
                epoch.new += 1;
                epoch.wrong += u64::from(hit || two && frozen.has(places));
            }
            new_here += 1;
            set_bits += u64::from(!hit);
            let before = (self.phases == Phases::FreezeBefore).then(|| active.clone());
            active.insert(places);
            let full = match self.full {
                Full::Beyond(sigma) => active.set > sigma,
                Full::Messages(most) => set_bits >= most,
            };
            if full {
                epoch.cycles += 1;
                epoch.new_in_cycles += new_here;
                (set_bits, new_here) = (0, 0);
                cycle += 1;
                if two {
                    frozen = before.unwrap_or_else(|| active.clone());
                }
                active.clear();
                if !two && self.filter.retain == Retain::Keep {
                    active.insert(places);
                    seen[message] = cycle;
                }
            }
        }
        epoch
    }

    /// The rates of several epochs, and the mean number of new messages of their cycles.
    pub fn epochs(&self, random: &mut Random, count: usize, arrivals: u64) -> (Vec<f64>, f64) {
        let epochs: Vec<Epoch> = (0..count).map(|_| self.epoch(random, arrivals)).collect();
        let rate = |epoch: &Epoch| epoch.wrong as f64 / epoch.new.max(1) as f64;
        let sum = |of: fn(&Epoch) -> u64| epochs.iter().map(of).sum::<u64>() as f64;
        let messages = sum(|epoch| epoch.new_in_cycles) / sum(|epoch| epoch.cycles).max(1.0);
        (epochs.iter().map(rate).collect(), messages)
    }
}

/// The mean of a few epochs and its 99 % interval by Student's t; the normal one for other counts.
pub fn student(values: &[f64]) -> (f64, [f64; 2]) {
    let Some((mean, [low, high])) = mean_interval(values, usize::MAX) else {
        return (values.first().copied().unwrap_or(0.0), [0.0, 1.0]);
    };
    // Two-sided 99 % quantiles of t with n − 1 degrees of freedom, over that of the normal distribution.
    let wider = match values.len() {
        7 => 3.7074 / 2.5758,
        10 => 3.2498 / 2.5758,
        14 => 3.0123 / 2.5758,
        20 => 2.8609 / 2.5758,
        70 => 2.6490 / 2.5758,
        _ => 1.0,
    };
    (mean, [mean - (mean - low) * wider, mean + (high - mean) * wider])
}
