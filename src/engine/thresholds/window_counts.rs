//! Counts per key over a sliding window, in a table of fixed size.
//!
//! A window is divided into [`SLICES`] slices: it covers between three quarters and the whole of its
//! length, never more. The table is set-associative. When a set is full, the key with the lowest
//! count in its window is evicted, so a frequent key survives any number of rare ones. A key that
//! returns after eviction starts from zero: counts may be too low, never too high.

use super::cases::CaseId;
use super::slice_counters::{SLICES, SliceCounter, Trigger, Window};
use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

const WAYS: usize = 8;

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
    cooldown_until_nanos: u64,
    /// The weight of the window after the last event.
    weight: u32,
    /// Events during the cool-down; saturates.
    suppressed: u32,
    /// The case that was opened for the key.
    case: CaseId,
    /// Attempts that succeeded, of about the window.
    successes: u16,
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
        Some(u64::from(self.weight) << 16 | recency.min(0xffff))
    }

    #[cold]
    fn priority_in_cooldown(&self, horizon: u64) -> u64 {
        1 << 63 | u64::from(self.weight) << 16 | self.slice.saturating_sub(horizon).min(0xffff)
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
    head.weight = T::weight(&window) as u32;
    // A quarter of them for each quarter of the window.
    let left = SLICES as u64 - passed;
    head.successes = (u64::from(head.successes) * left / SLICES as u64) as u16;
}

/// A key's count reached the trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub count: u64,
    /// Events during the cool-down since the last hit.
    pub suppressed: u64,
    /// Whether all went to one part of the key.
    pub is_narrow: bool,
}

/// A key after one more event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counting {
    /// The weight of its window.
    pub weight: u32,
    /// If its count has reached the trigger, outside a cool-down.
    pub reached: Option<Reached>,
    /// Its case, if one was opened.
    pub case: CaseId,
    /// Whether its count was reached: now, or less than a cool-down ago.
    pub is_hot: bool,
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

    /// Counts an item (its hash), which stands for `amount` of its kind, for a key (its hash) at a time
    /// that does not run backwards.
    pub fn count(&mut self, key: u64, item: u64, amount: u32, at_nanos: u64) -> Option<Counting> {
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
        let more = T::add(&mut window, head.slice as usize % SLICES, item, amount);
        head.weight = head.weight.saturating_add(more);
        let mut counting =
            Counting { weight: head.weight, reached: None, case: head.case, is_hot: false };
        if at_nanos < head.cooldown_until_nanos {
            head.suppressed = head.suppressed.saturating_add(1);
            self.suppressed += 1;
            counting.is_hot = true;
        } else if u64::from(head.weight) >= self.trigger_weight {
            counting.reached = reached(head, slices, &self.trigger, at_nanos);
            counting.is_hot = counting.reached.is_some();
        }
        Some(counting)
    }

    /// Notes an attempt that succeeded, for a key that has failed before.
    pub fn succeed(&mut self, key: u64) {
        if let Some(head) = self.find_mut(key) {
            head.successes = head.successes.saturating_add(1);
        }
    }

    /// Remembers the case of a key.
    pub fn set_case(&mut self, key: u64, case: CaseId) {
        if let Some(head) = self.find_mut(key) {
            head.case = case;
        }
    }

    /// The weight of a key.
    pub fn weight(&self, key: u64) -> Option<u32> {
        let set = self.sets.get(self.set_of(key))?;
        let way = set.keys.iter().position(|taken| *taken == key)?;
        set.heads.get(way).map(|head| head.weight)
    }

    /// The weight of a key whose count was reached less than a cool-down ago.
    pub fn hot_weight(&self, key: u64, at_nanos: u64) -> Option<u32> {
        let set = self.sets.get(self.set_of(key))?;
        let way = set.keys.iter().position(|taken| *taken == key)?;
        let head = set.heads.get(way).filter(|head| at_nanos < head.cooldown_until_nanos)?;
        Some(head.weight)
    }

    fn find_mut(&mut self, key: u64) -> Option<&mut Head> {
        let at = self.set_of(key);
        let set = self.sets.get_mut(at)?;
        let way = set.keys.iter().position(|taken| *taken == key)?;
        set.heads.get_mut(way)
    }
}

/// The count of a key that hits, and the events of its cool-down, which restart at 0. `None` if it takes
/// more than a count, and that is not met.
#[cold]
fn reached<T: SliceCounter>(
    head: &mut Head,
    slices: &mut [T; SLICES],
    trigger: &Trigger,
    at_nanos: u64,
) -> Option<Reached> {
    let window = Window { slices, filled: &mut head.filled };
    let count = T::total(&window);
    let attempts = count + u64::from(head.successes);
    let is_enough = count * 1000 >= attempts * u64::from(trigger.share_permille);
    if !is_enough || !T::meets(&window, trigger) {
        return None;
    }
    let is_narrow = T::is_narrow(&window);
    head.cooldown_until_nanos = at_nanos.saturating_add(trigger.cooldown_nanos);
    Some(Reached { count, suppressed: std::mem::take(&mut head.suppressed).into(), is_narrow })
}

/// Numbers of time slices.
#[derive(Debug)]
pub(super) struct Slicing {
    slice_nanos: u64,
    /// The last slice, and its start: most times need no division.
    number: u64,
    began_nanos: u64,
}

impl Slicing {
    pub fn new(window_nanos: u64) -> Self {
        let slice_nanos = (window_nanos / SLICES as u64).max(1);
        Slicing { slice_nanos, number: 0, began_nanos: 0 }
    }

    #[inline]
    pub fn number_at(&mut self, at_nanos: u64) -> u64 {
        if at_nanos.wrapping_sub(self.began_nanos) >= self.slice_nanos {
            self.number = at_nanos / self.slice_nanos;
            self.began_nanos = self.number * self.slice_nanos;
        }
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::super::distinct::Bitmap;
    use super::super::slice_counters::Events;
    use super::*;
    use acsm_filters::rng::Random;

    const WINDOW: u64 = 1000;

    fn table<T: SliceCounter>(count: u64, cooldown_nanos: u64) -> KeyTable<T> {
        KeyTable::new_in(
            &Arena::default(),
            64,
            Trigger {
                count,
                window_nanos: WINDOW,
                cooldown_nanos,
                share_permille: 0,
                sources: 0,
                may_be_narrow: true,
            },
        )
    }

    impl<T: SliceCounter> KeyTable<T> {
        fn hit(&mut self, key: u64, item: u64, at_nanos: u64) -> Option<Reached> {
            self.count(key, item, 1, at_nanos).unwrap().reached
        }
    }

    #[test]
    fn fires_at_the_count_and_then_keeps_silent() {
        let mut events = table::<Events>(10, 5000);
        let fired: Vec<(u64, Reached)> =
            (0..6000).filter_map(|at| Some((at, events.hit(1, 0, at)?))).collect();
        assert_eq!(fired[0], (9, Reached { count: 10, suppressed: 0, is_narrow: false }));
        let (at, again) = fired[1];
        assert_eq!((at, again.suppressed), (5009, 4999));
        assert!((750..=1000).contains(&again.count), "three quarters to all of the window");
        assert_eq!((fired.len(), events.suppressed), (2, 4999 + 990));
    }

    #[test]
    fn what_is_slower_than_the_window_never_fires() {
        let mut events = table::<Events>(10, 0);
        assert!((0..1000).all(|i| events.hit(1, 0, i * WINDOW / 9).is_none()));
    }

    #[test]
    fn distinct_items_count_once_over_all_slices() {
        let mut random = Random::new(1);
        let items: Vec<u64> = (0..9).map(|_| random.next_u64()).collect();
        let mut distinct = table::<Bitmap>(10, 0);
        for at in 0..5000 {
            assert_eq!(distinct.hit(1, items[at as usize % 9], at), None);
        }
        let more = (0..4).filter_map(|_| distinct.hit(1, random.next_u64(), 5000)).count();
        assert!(more >= 1);
    }

    #[test]
    fn gaps_of_years_and_time_running_backwards() {
        let mut events = table::<Events>(10, 0);
        for i in 0..9 {
            assert_eq!(events.hit(1, 0, i), None);
        }
        assert_eq!(events.hit(1, 0, u64::MAX), None, "the window moved on");
        for at in (0..8).rev() {
            assert_eq!(events.hit(1, 0, at), None);
        }
        assert!(events.hit(1, 0, 0).is_some(), "late events count as current");
    }

    /// One key has every 16th event; all other keys occur once, ten thousand times the table size.
    #[test]
    fn a_frequent_key_survives_many_rare_ones() {
        let mut random = Random::new(2);
        let mut events = table::<Events>(50, u64::MAX);
        let mut fired = 0;
        for at in 0..640_000u64 {
            let key = if at % 16 == 0 { 7 << 40 } else { random.next_u64() };
            fired += u32::from(events.hit(key, 0, at / 100).is_some());
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
