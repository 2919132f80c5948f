//! What the slices of a window hold: a number of events, distinct items, or how events are spread over
//! sources and over the parts of a prefix.

use super::distinct::Bitmap;

/// Slices of a window.
pub(super) const SLICES: usize = 4;

/// The count at which a rule hits, its window, the cool-down after a hit, and what else it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trigger {
    pub count: u64,
    pub window_nanos: u64,
    pub cooldown_nanos: u64,
    /// At least this share of attempts has to fail, in parts of 1000.
    pub share_permille: u16,
    /// From at least this many sources.
    pub sources: u16,
    /// Whether all may go to one part of the key.
    pub may_be_narrow: bool,
}

/// The content of one slice of a window.
pub(super) trait SliceCounter: Copy {
    const EMPTY: Self;

    /// Adds an item to one slice, which stands for `amount` of its kind; returns by how much the weight
    /// of the window grows.
    fn add(window: &mut Window<'_, Self>, slice: usize, item: u64, amount: u32) -> u32;
    /// A number that grows with the total and is cheaper to compute.
    fn weight(window: &Window<'_, Self>) -> u64;
    /// The least weight at which the total is `count`.
    fn weight_of(count: u64) -> u64;
    fn total(window: &Window<'_, Self>) -> u64;
    /// Whether the window meets what is asked for beside its weight.
    fn meets(_window: &Window<'_, Self>, _trigger: &Trigger) -> bool {
        true
    }
    /// Whether all of it went to one part of the key.
    fn is_narrow(_window: &Window<'_, Self>) -> bool {
        false
    }
}

/// The slices of one key. A slice counts only if it is marked as filled: so neither a new key nor
/// the passage of time has to fetch and clear memory.
pub(super) struct Window<'w, T> {
    pub slices: &'w mut [T; SLICES],
    pub filled: &'w mut u8,
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

    pub fn empty(&mut self, slice: usize) {
        *self.filled &= !(1 << slice);
    }
}

/// Counts all events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events(u32);

impl SliceCounter for Events {
    const EMPTY: Events = Events(0);

    fn add(window: &mut Window<'_, Self>, slice: usize, _item: u64, amount: u32) -> u32 {
        let Some(Events(count)) = window.fill(slice) else { return 0 };
        let more = count.checked_add(amount);
        *count = more.unwrap_or(*count);
        more.map_or(0, |_| amount)
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
    fn add(window: &mut Window<'_, Self>, slice: usize, item: u64, _amount: u32) -> u32 {
        let is_new = !window.holds(item);
        if let Some(slice) = window.fill(slice) {
            slice.add(item);
        }
        is_new.into()
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

/// Counts all events, with about how many sources and parts of the key they have: an item is both hashes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    sources: [u64; 2],
    parts: u64,
    events: u32,
}

/// Bits of a [`Spread`] for sources.
const SOURCE_BITS: u32 = 128;
/// So many of the 64 bits for parts of the key have to be set for events to be spread over it.
const SPREAD_PARTS: u32 = 6;

impl Spread {
    /// The item of an event, from the hashes of its source and of its part of the key.
    pub fn item(source: u64, part: u64) -> u64 {
        source & 0x7f | (part & 0x3f) << 8
    }

    fn united(window: &Window<'_, Spread>) -> Spread {
        window.filled().fold(Spread::EMPTY, |all, slice| Spread {
            sources: [all.sources[0] | slice.sources[0], all.sources[1] | slice.sources[1]],
            parts: all.parts | slice.parts,
            events: all.events.saturating_add(slice.events),
        })
    }

    /// About how many sources there are, by linear counting.
    fn source_estimate(&self) -> f64 {
        let set = self.sources[0].count_ones() + self.sources[1].count_ones();
        let unset = SOURCE_BITS.saturating_sub(set).max(1);
        f64::from(SOURCE_BITS) * (f64::from(SOURCE_BITS) / f64::from(unset)).ln()
    }
}

impl SliceCounter for Spread {
    const EMPTY: Spread = Spread { sources: [0; 2], parts: 0, events: 0 };

    fn add(window: &mut Window<'_, Self>, slice: usize, item: u64, amount: u32) -> u32 {
        let Some(slice) = window.fill(slice) else { return 0 };
        let source = item as usize & 0x7f;
        if let Some(word) = slice.sources.get_mut(source / 64) {
            *word |= 1 << (source % 64);
        }
        slice.parts |= 1 << (item >> 8 & 0x3f);
        slice.events = slice.events.saturating_add(amount);
        amount
    }

    fn weight(window: &Window<'_, Self>) -> u64 {
        window.filled().map(|slice| u64::from(slice.events)).sum()
    }

    fn weight_of(count: u64) -> u64 {
        count
    }

    fn total(window: &Window<'_, Self>) -> u64 {
        Self::weight(window)
    }

    fn meets(window: &Window<'_, Self>, trigger: &Trigger) -> bool {
        let all = Spread::united(window);
        let parts = all.parts.count_ones();
        let is_spread = parts >= SPREAD_PARTS || parts == 1 && trigger.may_be_narrow;
        is_spread && all.source_estimate() + 0.5 >= f64::from(trigger.sources)
    }

    fn is_narrow(window: &Window<'_, Self>) -> bool {
        Spread::united(window).parts.count_ones() == 1
    }
}

fn united(window: &Window<'_, Bitmap>) -> Bitmap {
    window.filled().fold(Bitmap::EMPTY, |all, slice| all.union(slice))
}
