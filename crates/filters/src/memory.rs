//! Memory for tables with random access, and prefetching from it.
//!
//! Tables that are used together are allocated together, so that the system can back them with huge
//! pages: then an access needs no walk through the page tables, and a program that starts takes one
//! page fault per 2 MiB instead of one per 4 KiB. Where there are no huge pages it is ordinary
//! memory.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::StoreError;
use crate::spec::LINE_BYTES;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Memory for tables that are used together. Each table starts at a cache line.
///
/// ```
/// use acsm_filters::memory::Arena;
///
/// let arena = Arena::with_capacity(4 << 20);
/// let mut tables: Vec<_> = (0..4).map(|n| arena.table(1 << 17, n as u64).unwrap()).collect();
/// tables[1][5] = 7;
/// drop(arena);
/// assert_eq!((tables[0][5], tables[1][5], tables[1][6]), (0, 7, 1));
/// ```
#[derive(Debug, Default)]
pub struct Arena {
    capacity: usize,
    rest: RefCell<Option<Rest>>,
}

/// What is left of a chunk.
#[derive(Debug)]
struct Rest {
    chunk: Arc<Chunk>,
    used: usize,
}

/// Memory from the system, freed with the last table in it.
#[derive(Debug)]
struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
}

/// A fixed number of elements in an [`Arena`]: an owned slice.
pub struct Table<T> {
    start: NonNull<T>,
    len: usize,
    /// Where they are.
    _chunk: Arc<Chunk>,
}

impl Arena {
    /// An arena of about this many bytes, allocated with the first table. A table that does not fit
    /// gets separate memory, and the rest of the old memory stays unused.
    pub fn with_capacity(bytes: usize) -> Arena {
        Arena { capacity: bytes, rest: RefCell::default() }
    }

    /// A table of `len` times `value`; `None` if the memory cannot be allocated.
    pub fn table<T: Copy>(&self, len: usize, value: T) -> Option<Table<T>> {
        const { assert!(align_of::<T>() <= LINE_BYTES) };
        let bytes = len.checked_mul(size_of::<T>())?.checked_next_multiple_of(LINE_BYTES)?;
        let mut rest = self.rest.borrow_mut();
        let has_room = |rest: &Rest| rest.chunk.layout.size() - rest.used >= bytes;
        if !rest.as_ref().is_some_and(has_room) {
            let size = if rest.is_none() { self.capacity.max(bytes) } else { bytes };
            *rest = Some(Rest { chunk: Arc::new(Chunk::new(size)?), used: 0 });
        }
        let Rest { chunk, used } = rest.as_mut()?;
        // SAFETY: the chunk has `bytes` more bytes from there on, as was just seen to.
        let start: NonNull<T> = unsafe { chunk.start.add(*used) }.cast();
        *used += bytes;
        for n in 0..len {
            // SAFETY: `len` elements fit `bytes`, which no other table has; each
            // table begins with a cache line, and no element asks for more alignment than that.
            unsafe { start.add(n).write(value) };
        }
        Some(Table { start, len, _chunk: Arc::clone(chunk) })
    }

    /// The same for a small table: if the memory cannot be allocated the program aborts, as with any
    /// collection of the standard library.
    pub fn small_table<T: Copy>(&self, len: usize, value: T) -> Table<T> {
        self.table(len, value).unwrap_or_else(|| {
            let layout = Layout::array::<T>(len).unwrap_or(Layout::new::<T>());
            handle_alloc_error(layout)
        })
    }
}

impl Chunk {
    /// At least one line: an allocation must not be empty.
    fn new(bytes: usize) -> Option<Chunk> {
        let align = if bytes >= HUGE_PAGE_BYTES { HUGE_PAGE_BYTES } else { LINE_BYTES };
        let layout = Layout::from_size_align(bytes.max(LINE_BYTES), align).ok()?;
        // SAFETY: its size is not 0.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        advise_huge_pages(start, bytes);
        Some(Chunk { start, layout })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and no table is left in it.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: a chunk does nothing with its memory but give it back in the end.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

/// Asks for huge pages where whole ones fit. Nothing depends on whether they are granted.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    let whole = bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if whole > 0 {
        // SAFETY: these bytes are ours, and the advice does not change their contents.
        let _ = unsafe {
            rustix::mm::madvise(start.as_ptr().cast(), whole, rustix::mm::Advice::LinuxHugepage)
        };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_pages(_start: NonNull<u8>, _bytes: usize) {}

/// Shows the number of elements only.
impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", self.len)
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: all elements were written when the table was made, its chunk lives as long as it
        // does, and no other table has this part of it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for reading; `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: it owns its elements as a vector does.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Table<T> {}

/// A vector of `len` times `value`, or an error instead of an abort.
pub(crate) fn allocate<T: Clone>(len: usize, value: T) -> Result<Vec<T>, StoreError> {
    let mut vector = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    vector.try_reserve_exact(len).map_err(|_| StoreError::OutOfMemory { bytes })?;
    vector.resize(len, value);
    Ok(vector)
}

/// The same in an arena.
pub(crate) fn allocate_in<T: Copy>(
    arena: &Arena,
    len: usize,
    value: T,
) -> Result<Table<T>, StoreError> {
    let bytes = len.saturating_mul(size_of::<T>());
    arena.table(len, value).ok_or(StoreError::OutOfMemory { bytes })
}

/// Starts loading the cache line of `element` without waiting for it.
#[inline(always)]
pub fn prefetch<T>(element: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = element {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86_64, and a prefetch reads and writes nothing, whatever the
        // address; this one comes from a live reference besides.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = element;
}

/// The same for an element that will be overwritten and was last used by another core: the cache
/// line is loaded exclusively.
#[inline(always)]
pub fn prefetch_to_write<T>(element: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = element {
        let address = std::ptr::from_ref(element);
        // SAFETY: a prefetch reads and writes nothing, whatever the address. A processor of x86_64
        // that does not know it takes it for no operation.
        unsafe {
            std::arch::asm!(
                "prefetchw [{address}]",
                address = in(reg) address,
                options(nostack, preserves_flags, readonly)
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = element;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_adjacent_and_do_not_overlap() {
        let arena = Arena::with_capacity(3 * HUGE_PAGE_BYTES);
        let mut tables: Vec<Table<u8>> =
            (0..5).map(|n| arena.table(HUGE_PAGE_BYTES - 100, n).unwrap()).collect();
        let apart = |a: &Table<u8>, b: &Table<u8>| b.as_ptr().addr() - a.as_ptr().addr();
        assert!(tables[0].as_ptr().addr().is_multiple_of(HUGE_PAGE_BYTES));
        let size = (HUGE_PAGE_BYTES - 100).next_multiple_of(LINE_BYTES);
        assert_eq!([apart(&tables[0], &tables[1]), apart(&tables[1], &tables[2])], [size; 2]);
        drop(arena);
        tables.iter_mut().for_each(|table| table[0] += 10);
        drop(tables.remove(0));
        for (n, table) in (1..).zip(&tables) {
            assert!(table[0] == n + 10 && table[1..].iter().all(|&byte| byte == n), "{n}");
        }
    }

    #[test]
    fn too_large_a_table_is_refused() {
        let arena = Arena::default();
        assert!(arena.table(usize::MAX / 2, 0u64).is_none());
        assert!(arena.table(usize::MAX / 16, 0u64).is_none());
        assert!(arena.table(0, 0u64).is_some_and(|nothing| nothing.is_empty()));
        assert_eq!(*arena.table(3, 7u8).unwrap(), [7, 7, 7]);
    }
}
