//! Prefetching: loads into the cache that the processor does not wait for.
#![allow(unsafe_code)]

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
