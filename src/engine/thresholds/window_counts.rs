//! Counts per key over a sliding window, in a table of fixed size.
//!
//! A window is divided into [`SLICES`] slices: it covers between three quarters and the whole of its
//! length, never more. The table is set-associative. When a set is full, the key with the lowest
//! count in its window is evicted, so a frequent key survives any number of rare ones. A key that
//! returns after eviction starts from zero: counts may be too low, never too high.

use super::distinct::Bitmap;
use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

const SLICES: usize = 4;
const WAYS: usize = 8;

/// The content of one slice of a window.
pub(super) trait SliceCounter: Copy {
    const EMPTY: Self;

    /// Adds an item to one slice; returns whether the weight of the window grows by one.
    fn add(window: &mut Window<'_, Self>, slice: usize, item: u64) -> bool;
    /// A number that grows with the total and is cheaper to compute.
    fn weight(window: &Window<'_, Self>) -> u64;
    /// The least weight at which the total is `count`.
    fn weight_of(count: u64) -> u64;
    fn total(window: &Window<'_, Self>) -> u64;
}

/// The slices of one key. A slice counts only if it is marked as filled: so neither a new key nor
/// the passage of time has to fetch and clear memory.
pub(super) struct Window<'w, T> {
    slices: &'w mut [T; SLICES],
    filled: &'w mut u8,
}

impl<T: SliceCounter> Window<'_, T> {
    #[inline]
    fn filled(&self) -> impl Iterator<Item = &T> {
        let filled = *self.filled;
        self.slices.iter().enumerate().filter(move |(n, _)| filled >> n & 1 == 1).map(|(_, s)| s)
    }

    /// A slice to add to, marked as filled.
    #[inline]
    fn fill(&mut self, slice: usize) -> Option<&mut T> {
        let place = self.slices.get_mut(slice)?;
        if *self.filled >> slice & 1 == 0 {
            *self.filled |= 1 << slice;
            *place = T::EMPTY;
        }
        Some(place)
    }

    fn empty(&mut self, slice: usize) {
        *self.filled &= !(1 << slice);
    }
}

/// Counts all events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events(u32);

impl SliceCounter for Events {
    const EMPTY: Events = Events(0);

    fn add(window: &mut Window<'_, Self>, slice: usize, _item: u64) -> bool {
        let Some(Events(count)) = window.fill(slice) else { return false };
        let more = count.checked_add(1);
        *count = more.unwrap_or(*count);
        more.is_some()
    }

    fn weight(window: &Window<'_, Self>) -> u64 {
        window.filled().map(|slice| u64::from(slice.0)).sum()
    }

    fn weight_of(count: u64) -> u64 {
        count
    }

    fn total(window: &Window<'_, Self>) -> u64 {
        Self::weight(window)
    }
}

/// Counts distinct items.
impl SliceCounter for Bitmap {
    const EMPTY: Bitmap = Bitmap::EMPTY;

    #[inline]
    fn add(window: &mut Window<'_, Self>, slice: usize, item: u64) -> bool {
        let is_new = !window.holds(item);
        if let Some(slice) = window.fill(slice) {
            slice.add(item);
        }
        is_new
    }

    fn weight(window: &Window<'_, Self>) -> u64 {
        u64::from(united(window).set_bits())
    }

    fn weight_of(count: u64) -> u64 {
        u64::from(Bitmap::bits_for(count))
    }

    fn total(window: &Window<'_, Self>) -> u64 {
        united(window).estimate()
    }
}

impl Window<'_, Bitmap> {
    #[inline]
    fn holds(&self, item: u64) -> bool {
        // No loop for the window of a new key.
        *self.filled != 0 && self.filled().any(|slice| slice.contains(item))
    }
}

fn united(window: &Window<'_, Bitmap>) -> Bitmap {
    window.filled().fold(Bitmap::EMPTY, |all, slice| all.union(slice))
}

/// The keys that share a set; a search reads one cache line of keys.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Set<T> {
    keys: [u64; WAYS],
    heads: [Head; WAYS],
    windows: [[T; SLICES]; WAYS],
}

impl<T: SliceCounter> Set<T> {
    fn empty() -> Self {
        Set { keys: [0; WAYS], heads: [Head::default(); WAYS], windows: [[T::EMPTY; SLICES]; WAYS] }
    }

    /// Which way a new key takes: the first idle one, or else the first of the lowest priority.
    /// Returns whether a count is lost with it.
    #[inline(never)]
    fn victim(&self, slice: u64, at_nanos: u64) -> (usize, bool) {
        // The oldest slice of a window that is still open.
        let horizon = slice.saturating_sub(SLICES as u64 - 1);
        let mut least = (0, u64::MAX);
        for (way, head) in self.heads.iter().enumerate() {
            let Some(priority) = head.priority(horizon, at_nanos) else { return (way, false) };
            if priority < least.1 {
                least = (way, priority);
            }
        }
        (least.0, least.1 > 0)
    }
}

/// What the table knows of a key without reading its window. Two per cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Head {
    /// The number of the youngest slice, in slice lengths since 1970.
    slice: u64,
    /// The weight of the window after the last event.
    weight: u64,
    cooldown_until_nanos: u64,
    /// Events during the cool-down; saturates.
    suppressed: u32,
    /// Which slices are filled, one bit each.
    filled: u8,
}

impl Head {
    /// The priority to stay in the table: a running cool-down, then weight, then recency, as one
    /// number. `None` for an idle key: no cool-down, and no event since slice `horizon`.
    #[inline]
    fn priority(&self, horizon: u64, at_nanos: u64) -> Option<u64> {
        if self.cooldown_until_nanos > at_nanos {
            return Some(self.priority_in_cooldown(horizon));
        }
        let recency = self.slice.checked_sub(horizon)?;
        Some(self.weight << 16 | recency)
    }

    #[cold]
    fn priority_in_cooldown(&self, horizon: u64) -> u64 {
        1 << 63 | self.weight << 16 | self.slice.saturating_sub(horizon)
    }
}

/// Advances the window of a key to a later slice.
#[inline(never)]
fn advance<T: SliceCounter>(head: &mut Head, slices: &mut [T; SLICES], slice: u64) {
    let passed = slice.saturating_sub(head.slice).min(SLICES as u64);
    head.slice = slice;
    let mut window = Window { slices, filled: &mut head.filled };
    for gone in 0..passed {
        window.empty((slice - gone) as usize % SLICES);
    }
    head.weight = T::weight(&window);
}

/// The count at which a rule hits, its window, and the cool-down after a hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trigger {
    pub count: u64,
    pub window_nanos: u64,
    pub cooldown_nanos: u64,
}

/// A key's count reached the trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub count: u64,
    /// Events during the cool-down since the last hit.
    pub suppressed: u64,
}

/// The keys of one rule.
#[derive(Debug)]
pub(super) struct KeyTable<T> {
    sets: Table<Set<T>>,
    trigger: Trigger,
    trigger_weight: u64,
    slicing: Slicing,
    pub evicted: u64,
    pub suppressed: u64,
}

impl<T: SliceCounter> KeyTable<T> {
    /// Room for about `keys` keys.
    pub fn new_in(arena: &Arena, keys: usize, trigger: Trigger) -> Self {
        let sets = keys.clamp(WAYS, 1 << 24).div_ceil(WAYS).next_power_of_two();
        KeyTable {
            sets: arena.small_table(sets, Set::empty()),
            trigger,
            trigger_weight: T::weight_of(trigger.count),
            slicing: Slicing::new(trigger.window_nanos),
            evicted: 0,
            suppressed: 0,
        }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    /// Prefetches the set of a key.
    pub fn prefetch(&self, key: u64) {
        if let Some(set) = self.sets.get(self.set_of(key)) {
            prefetch(Some(&set.keys));
            // Two per cache line.
            set.heads.iter().step_by(2).for_each(|head| prefetch(Some(head)));
        }
    }

    #[inline]
    fn set_of(&self, key: u64) -> usize {
        (key >> 40) as usize & (self.sets.len() - 1)
    }

    /// Counts an item (its hash) for a key (its hash) at a time that does not run backwards.
    pub fn count(&mut self, key: u64, item: u64, at_nanos: u64) -> Option<Reached> {
        let slice = self.slicing.number_at(at_nanos);
        let at = self.set_of(key);
        let set = self.sets.get_mut(at)?;
        let way = match set.keys.iter().position(|taken| *taken == key) {
            Some(way) => way,
            None => {
                let (way, evicts) = set.victim(slice, at_nanos);
                self.evicted += u64::from(evicts);
                *set.keys.get_mut(way)? = key;
                *set.heads.get_mut(way)? = Head { slice, ..Head::default() };
                way
            }
        };
        let (head, slices) = (set.heads.get_mut(way)?, set.windows.get_mut(way)?);
        // An earlier time counts in the latest slice.
        if slice > head.slice {
            advance(head, slices, slice);
        }
        let mut window = Window { slices, filled: &mut head.filled };
        head.weight += u64::from(T::add(&mut window, head.slice as usize % SLICES, item));
        if at_nanos < head.cooldown_until_nanos {
            head.suppressed = head.suppressed.saturating_add(1);
            self.suppressed += 1;
            return None;
        }
        if head.weight < self.trigger_weight {
            return None;
        }
        head.cooldown_until_nanos = at_nanos.saturating_add(self.trigger.cooldown_nanos);
        Some(reached(head, slices))
    }
}

/// The count of a key that hits, and the events of its cool-down, which restart at 0.
#[cold]
fn reached<T: SliceCounter>(head: &mut Head, slices: &mut [T; SLICES]) -> Reached {
    let count = T::total(&Window { slices, filled: &mut head.filled });
    Reached { count, suppressed: std::mem::take(&mut head.suppressed).into() }
}

/// Numbers of time slices.
#[derive(Debug)]
struct Slicing {
    slice_nanos: u64,
    /// The last slice, and its start: most times need no division.
    number: u64,
    began_nanos: u64,
}

impl Slicing {
    fn new(window_nanos: u64) -> Self {
        let slice_nanos = (window_nanos / SLICES as u64).max(1);
        Slicing { slice_nanos, number: 0, began_nanos: 0 }
    }

    #[inline]
    fn number_at(&mut self, at_nanos: u64) -> u64 {
        if at_nanos.wrapping_sub(self.began_nanos) >= self.slice_nanos {
            self.number = at_nanos / self.slice_nanos;
            self.began_nanos = self.number * self.slice_nanos;
        }
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    const WINDOW: u64 = 1000;

    fn table<T: SliceCounter>(count: u64, cooldown_nanos: u64) -> KeyTable<T> {
        KeyTable::new_in(
            &Arena::default(),
            64,
            Trigger { count, window_nanos: WINDOW, cooldown_nanos },
        )
    }

    #[test]
    fn fires_at_the_count_and_then_keeps_silent() {
        let mut events = table::<Events>(10, 5000);
        let fired: Vec<(u64, Reached)> =
            (0..6000).filter_map(|at| Some((at, events.count(1, 0, at)?))).collect();
        assert_eq!(fired[0], (9, Reached { count: 10, suppressed: 0 }));
        let (at, again) = fired[1];
        assert_eq!((at, again.suppressed), (5009, 4999));
        assert!((750..=1000).contains(&again.count), "three quarters to all of the window");
        assert_eq!((fired.len(), events.suppressed), (2, 4999 + 990));
    }

    #[test]
    fn what_is_slower_than_the_window_never_fires() {
        let mut events = table::<Events>(10, 0);
        assert!((0..1000).all(|i| events.count(1, 0, i * WINDOW / 9).is_none()));
    }

    #[test]
    fn distinct_items_count_once_over_all_slices() {
        let mut random = Random::new(1);
        let items: Vec<u64> = (0..9).map(|_| random.next_u64()).collect();
        let mut distinct = table::<Bitmap>(10, 0);
        for at in 0..5000 {
            assert_eq!(distinct.count(1, items[at as usize % 9], at), None);
        }
        let more = (0..4).filter_map(|_| distinct.count(1, random.next_u64(), 5000)).count();
        assert!(more >= 1);
    }

    #[test]
    fn gaps_of_years_and_time_running_backwards() {
        let mut events = table::<Events>(10, 0);
        for i in 0..9 {
            assert_eq!(events.count(1, 0, i), None);
        }
        assert_eq!(events.count(1, 0, u64::MAX), None, "the window moved on");
        for at in (0..8).rev() {
            assert_eq!(events.count(1, 0, at), None);
        }
        assert!(events.count(1, 0, 0).is_some(), "late events count as current");
    }

    /// One key has every 16th event; all other keys occur once, ten thousand times the table size.
    #[test]
    fn a_frequent_key_survives_many_rare_ones() {
        let mut random = Random::new(2);
        let mut events = table::<Events>(50, u64::MAX);
        let mut fired = 0;
        for at in 0..640_000u64 {
            let key = if at % 16 == 0 { 7 << 40 } else { random.next_u64() };
            fired += u32::from(events.count(key, 0, at / 100).is_some());
        }
        assert_eq!(fired, 1);
        assert!(events.evicted > 100_000);
    }

    /// Idle keys are evicted first, then those with the lowest count, the least recent of these
    /// first; keys in their cool-down last.
    #[test]
    fn the_key_of_lowest_priority_is_evicted() {
        let head = |slice, weight, cooldown_until_nanos| Head {
            slice,
            weight,
            cooldown_until_nanos,
            ..Head::default()
        };
        let mut set = Set::<Events>::empty();
        set.heads = [head(100, 1, 60); WAYS];
        let mut evicts = |way: usize, head| {
            set.heads[way] = head;
            set.victim(100, 50)
        };
        assert_eq!(evicts(2, head(99, 8, 60)), (0, true), "all in cool-down: by weight");
        assert_eq!(evicts(5, head(100, 9, 50)), (5, true), "its cool-down is over");
        assert_eq!(evicts(3, head(100, 7, 0)), (3, true), "less weight");
        assert_eq!(evicts(6, head(97, 7, 0)), (6, true), "same weight, less recent");
        assert_eq!(evicts(7, head(96, 500, 0)), (7, false), "its window is over");
    }

    #[test]
    fn slice_numbers_are_time_divided_by_length() {
        let mut random = Random::new(3);
        for window_nanos in [0, 1, 4, 1000, u64::MAX] {
            let mut slicing = Slicing::new(window_nanos);
            for _ in 0..1000 {
                let at = random.next_u64() >> random.below(64);
                for at in [at, at.saturating_add(random.below(300)), at.saturating_sub(1)] {
                    let slice_nanos = (window_nanos / 4).max(1);
                    assert_eq!(slicing.number_at(at), at / slice_nanos, "{at} {window_nanos}");
                }
            }
        }
    }
}
