//! Counts per key over a sliding window, in a table of fixed size.
//!
//! A window is cut into [`SLICES`] slices: it covers between three quarters and the whole of its
//! length, never more. The table is set-associative; when a set is full, the key with the least
//! in its window makes room, so a heavy key stays whatever swarms around it. A key that comes
//! back starts from nothing: counts may be too low, never too high.

use super::distinct::Bitmap;
use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

const SLICES: usize = 4;
const WAYS: usize = 8;

/// What one slice of a window holds.
pub(super) trait Tally: Copy {
    const EMPTY: Self;

    /// Adds an item to one slice; says whether the window weighs one more for it.
    fn add(window: &mut Window<'_, Self>, slice: usize, item: u64) -> bool;
    /// Grows with the total, and is cheaper to tell.
    fn weight(window: &Window<'_, Self>) -> u64;
    /// The least weight at which the total is `count`.
    fn weight_of(count: u64) -> u64;
    fn total(window: &Window<'_, Self>) -> u64;
}

/// The slices of one key. What is in a slice counts only if the slice is marked as filled: so
/// neither a new key nor the passing of time has to clear memory that it would have to fetch.
pub(super) struct Window<'w, T> {
    slices: &'w mut [T; SLICES],
    filled: &'w mut u8,
}

impl<T: Tally> Window<'_, T> {
    #[inline]
    fn filled(&self) -> impl Iterator<Item = &T> {
        let filled = *self.filled;
        self.slices.iter().enumerate().filter(move |(n, _)| filled >> n & 1 == 1).map(|(_, s)| s)
    }

    /// A slice to add to.
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

/// Counts everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events(u32);

impl Tally for Events {
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

/// Counts different items.
impl Tally for Bitmap {
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
        // A new key's window is not worth a loop.
        *self.filled != 0 && self.filled().any(|slice| slice.contains(item))
    }
}

fn united(window: &Window<'_, Bitmap>) -> Bitmap {
    window.filled().fold(Bitmap::EMPTY, |all, slice| all.union(slice))
}

/// The keys that share a place: a look-up reads one cache line, whatever else there is.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Set<T> {
    keys: [u64; WAYS],
    heads: [Head; WAYS],
    windows: [[T; SLICES]; WAYS],
}

impl<T: Tally> Set<T> {
    fn empty() -> Self {
        Set { keys: [0; WAYS], heads: [Head::default(); WAYS], windows: [[T::EMPTY; SLICES]; WAYS] }
    }

    /// Where a new key goes: to the first place that is idle at a time in this slice, or else to the
    /// first whose key is worth the least. Says whether that key loses something.
    #[inline(never)]
    fn victim(&self, slice: u64, at_nanos: u64) -> (usize, bool) {
        // The oldest slice of a window that is still open.
        let horizon = slice.saturating_sub(SLICES as u64 - 1);
        let mut least = (0, u64::MAX);
        for (way, head) in self.heads.iter().enumerate() {
            let Some(worth) = head.worth(horizon, at_nanos) else { return (way, false) };
            if worth < least.1 {
                least = (way, worth);
            }
        }
        (least.0, least.1 > 0)
    }
}

/// What is to be known of a key before its window is looked at. Two to a cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Head {
    /// The number of the youngest slice, in slice lengths since 1970.
    slice: u64,
    /// What the window weighed when something was last counted in it.
    weight: u64,
    silent_until_nanos: u64,
    /// At most what fits.
    suppressed: u32,
    /// Which slices hold something.
    filled: u8,
}

impl Head {
    /// What makes a key stay: silence that is to be kept, then weight, then youth, as one number.
    /// Nothing, if it is idle: no silence and no slice since `horizon`.
    #[inline]
    fn worth(&self, horizon: u64, at_nanos: u64) -> Option<u64> {
        if self.silent_until_nanos > at_nanos {
            return Some(self.worth_in_silence(horizon));
        }
        let youth = self.slice.checked_sub(horizon)?;
        Some(self.weight << 16 | youth)
    }

    #[cold]
    fn worth_in_silence(&self, horizon: u64) -> u64 {
        1 << 63 | self.weight << 16 | self.slice.saturating_sub(horizon)
    }
}

/// Moves a key's window on to a younger slice.
#[inline(never)]
fn advance<T: Tally>(head: &mut Head, slices: &mut [T; SLICES], slice: u64) {
    let passed = slice.saturating_sub(head.slice).min(SLICES as u64);
    head.slice = slice;
    let mut window = Window { slices, filled: &mut head.filled };
    for gone in 0..passed {
        window.empty((slice - gone) as usize % SLICES);
    }
    head.weight = T::weight(&window);
}

/// When a key's count is enough, and for how long that was told.
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
    /// What was counted in silence since the last time.
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

impl<T: Tally> KeyTable<T> {
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

    /// Begins to load what it takes to find a key.
    pub fn prefetch(&self, key: u64) {
        if let Some(set) = self.sets.get(self.place_of(key)) {
            prefetch(Some(&set.keys));
            // Two to a cache line.
            set.heads.iter().step_by(2).for_each(|head| prefetch(Some(head)));
        }
    }

    #[inline]
    fn place_of(&self, key: u64) -> usize {
        (key >> 40) as usize & (self.sets.len() - 1)
    }

    /// Counts an item (its hash) for a key (its hash) at a time that does not run backwards.
    pub fn count(&mut self, key: u64, item: u64, at_nanos: u64) -> Option<Reached> {
        let slice = self.slicing.number_at(at_nanos);
        let at = self.place_of(key);
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
        // Time that runs backwards counts as the youngest slice.
        if slice > head.slice {
            advance(head, slices, slice);
        }
        let mut window = Window { slices, filled: &mut head.filled };
        head.weight += u64::from(T::add(&mut window, head.slice as usize % SLICES, item));
        if at_nanos < head.silent_until_nanos {
            head.suppressed = head.suppressed.saturating_add(1);
            self.suppressed += 1;
            return None;
        }
        if head.weight < self.trigger_weight {
            return None;
        }
        head.silent_until_nanos = at_nanos.saturating_add(self.trigger.cooldown_nanos);
        Some(reached(head, slices))
    }
}

/// What a key has reached; what was counted for it in silence is told now.
#[cold]
fn reached<T: Tally>(head: &mut Head, slices: &mut [T; SLICES]) -> Reached {
    let count = T::total(&Window { slices, filled: &mut head.filled });
    Reached { count, suppressed: std::mem::take(&mut head.suppressed).into() }
}

/// Which slice of time it is.
#[derive(Debug)]
struct Slicing {
    slice_nanos: u64,
    /// The slice last asked for, and when it began: most times need no division.
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

    fn table<T: Tally>(count: u64, cooldown_nanos: u64) -> KeyTable<T> {
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
        assert!(events.count(1, 0, 0).is_some(), "what comes late counts as now");
    }

    /// A key with one event in 16, the rest keys that come once: ten thousand times the table.
    #[test]
    fn a_heavy_key_survives_a_swarm() {
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

    /// Idle keys go first, then those with the least in their window, the oldest of these first;
    /// those whose silence is to be kept go last.
    #[test]
    fn the_key_that_is_worth_the_least_makes_room() {
        let head = |slice, weight, silent_until_nanos| Head {
            slice,
            weight,
            silent_until_nanos,
            ..Head::default()
        };
        let mut set = Set::<Events>::empty();
        set.heads = [head(100, 1, 60); WAYS];
        let mut makes_room = |way: usize, head| {
            set.heads[way] = head;
            set.victim(100, 50)
        };
        assert_eq!(makes_room(2, head(99, 8, 60)), (0, true), "all silent: by weight");
        assert_eq!(makes_room(5, head(100, 9, 50)), (5, true), "silence is over");
        assert_eq!(makes_room(3, head(100, 7, 0)), (3, true), "less weight");
        assert_eq!(makes_room(6, head(97, 7, 0)), (6, true), "as light, and older");
        assert_eq!(makes_room(7, head(96, 500, 0)), (7, false), "its window is over");
    }

    #[test]
    fn slices_are_those_of_a_division() {
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
