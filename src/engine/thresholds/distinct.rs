//! Distinct counts: linear counting on a small bitmap.
//!
//! Whang, Vander-Zanden and Taylor 1990: n distinct items set some of m bits; with `v` bits left
//! unset, n is about m ln(m / v), with a standard error of sqrt(m (e^t − t − 1)), t = n / m. For
//! m = 512 that is 2.8 at n = 100 and 7.6 at n = 256: at the counts of usual thresholds
//! a bitmap is nearly exact. Bitmaps are united by OR, which a sliding window needs.

const WORDS: usize = 8;

/// Bits of a bitmap: the m of the formulas.
pub const BITMAP_BITS: u32 = 64 * WORDS as u32;

/// The largest count at which a bitmap is trusted; above it items are sampled.
const TRUSTED: u32 = BITMAP_BITS / 2;

/// A set of items that can estimate its size. One cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct Bitmap {
    words: [u64; WORDS],
}

impl Bitmap {
    /// Nothing added yet.
    pub const EMPTY: Bitmap = Bitmap { words: [0; WORDS] };

    /// Adds an item, given by its hash.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let bit = hash as u32 % BITMAP_BITS;
        if let Some(word) = self.words.get_mut(bit as usize / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Whether this item, or one that shares its bit, was added.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let bit = hash as u32 % BITMAP_BITS;
        self.words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// The items of both.
    pub fn union(mut self, other: &Bitmap) -> Bitmap {
        for (word, more) in self.words.iter_mut().zip(other.words) {
            *word |= more;
        }
        self
    }

    /// How many bits are set.
    pub fn set_bits(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// About how many distinct items were added. A full bitmap returns the maximum, 3194.
    pub fn estimate(&self) -> u64 {
        estimate_of(self.set_bits())
    }

    /// The estimate for this many set bits.
    pub fn estimate_of(set_bits: u32) -> u64 {
        estimate_of(set_bits.min(BITMAP_BITS))
    }

    /// The least number of set bits at which the estimate reaches `count`; `u32::MAX` if none.
    pub fn bits_for(count: u64) -> u32 {
        (0..=BITMAP_BITS).find(|&set| estimate_of(set) >= count).unwrap_or(u32::MAX)
    }
}

fn estimate_of(set_bits: u32) -> u64 {
    let unset = (BITMAP_BITS - set_bits).max(1);
    let m = f64::from(BITMAP_BITS);
    (m * (m / f64::from(unset)).ln()).round() as u64
}

/// The share of items that is sampled, so that a large count fits a bitmap: 1 in 2^shift (Estan and
/// Varghese's virtual bitmap).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    shift: u32,
}

impl Sampling {
    /// All items for counts up to 256, then every second, fourth, …
    pub fn for_count(count: u32) -> Self {
        Sampling { shift: count.div_ceil(TRUSTED).max(1).next_power_of_two().trailing_zeros() }
    }

    /// Whether an item is in the sample, by bits of its hash that [`Bitmap::add`] does not use.
    #[inline]
    pub fn takes(self, hash: u64) -> bool {
        (hash >> 32) & ((1 << self.shift) - 1) == 0
    }

    /// The count over the sample that corresponds to `count` over all items.
    pub fn scaled_down(self, count: u64) -> u64 {
        count.div_ceil(1 << self.shift)
    }

    /// The estimate for all items, from that over the sample.
    pub fn scale(self, estimate: u64) -> u64 {
        estimate << self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    fn filled(items: u32, random: &mut Random) -> Bitmap {
        let mut bitmap = Bitmap::EMPTY;
        for _ in 0..items {
            bitmap.add(random.next_u64());
        }
        bitmap
    }

    /// Mean and spread of the estimate over many bitmaps against the paper's formulas.
    #[test]
    fn bias_and_standard_error_are_as_theory_says() {
        let m = f64::from(BITMAP_BITS);
        let trials = 4000;
        for items in [10, 25, 100, 256, 512, 1024] {
            let mut random = Random::for_purpose(items.into(), 1);
            let t = f64::from(items) / m;
            let variance = m * (t.exp() - t - 1.0);
            let bias = (t.exp() - t - 1.0) / 2.0;
            let errors: Vec<f64> = (0..trials)
                .map(|_| filled(items, &mut random).estimate() as f64 - f64::from(items))
                .collect();
            let mean = errors.iter().sum::<f64>() / f64::from(trials);
            let spread = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / f64::from(trials);
            // Five standard deviations of the mean, and half a unit for rounding.
            let allowed = 5.0 * (variance / f64::from(trials)).sqrt() + 0.5;
            assert!((mean - bias).abs() < allowed, "{items}: mean error {mean}, theory {bias}");
            // A sample variance varies by sqrt(2 / trials); rounding adds up to 1/4; the formula
            // is the first order of a series, good to a tenth here.
            let allowed = variance * (5.0 * (2.0 / f64::from(trials)).sqrt() + 0.1) + 0.25;
            assert!((spread - variance).abs() < allowed, "{items}: {spread} against {variance}");
        }
    }

    #[test]
    fn repeats_and_unions_count_once() {
        let mut random = Random::new(5);
        let items: Vec<u64> = (0..60).map(|_| random.next_u64()).collect();
        let (mut once, mut twice, mut late) = (Bitmap::EMPTY, Bitmap::EMPTY, Bitmap::EMPTY);
        for &item in &items {
            once.add(item);
            twice.add(item);
            twice.add(item);
        }
        items[30..].iter().for_each(|&item| late.add(item));
        assert_eq!(once, twice);
        assert_eq!(once.union(&late), once);
    }

    #[test]
    fn a_full_bitmap_returns_its_maximum() {
        let full = filled(100_000, &mut Random::new(6));
        assert_eq!(full.estimate(), 3194);
        assert_eq!(Bitmap::EMPTY.estimate(), 0);
    }

    /// 20,000 items against a rule that asks for 10,000: a sample of 1 in 64.
    #[test]
    fn sampling_reaches_counts_beyond_the_bitmap() {
        assert!(Sampling::for_count(256).takes(u64::MAX), "small counts sample everything");
        assert!(Sampling::for_count(u32::MAX).shift < 32);
        let sampling = Sampling::for_count(10_000);
        let mut random = Random::new(7);
        let mut bitmap = Bitmap::EMPTY;
        let items = 20_000.0;
        for _ in 0..20_000 {
            let item = random.next_u64();
            if sampling.takes(item) {
                bitmap.add(item);
            }
        }
        // The sample is binomial, its estimate adds the error of linear counting.
        let share = 1.0 / 64.0;
        let t = items * share / f64::from(BITMAP_BITS);
        let variance = items * share * (1.0 - share) + f64::from(BITMAP_BITS) * (t.exp() - t - 1.0);
        let allowed = 5.0 * variance.sqrt() / share;
        assert!((sampling.scale(bitmap.estimate()) as f64 - items).abs() < allowed);
    }
}
