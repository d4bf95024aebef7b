//! Counts what is allocated, to show that nothing is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often memory was asked for while `work` ran.
pub fn during(work: impl FnOnce()) -> u64 {
    let before = COUNT.load(Ordering::Relaxed);
    COUNTING.store(true, Ordering::Relaxed);
    work();
    COUNTING.store(false, Ordering::Relaxed);
    COUNT.load(Ordering::Relaxed) - before
}

/// The system's allocator with a counter in front.
struct Counting;

// SAFETY: each method hands its arguments unchanged to the system's allocator and returns what that
// gives, so the contract that the caller keeps with this one is the one that `System` needs. The
// counter is an atomic and allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `pointer` came from `System` with this layout, as every block here does.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` with this layout, as every block here does.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// While times are taken the counter is off, so that it slows down nobody who allocates.
fn count() {
    if COUNTING.load(Ordering::Relaxed) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static COUNTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn an_allocation_is_counted() {
        // Other tests may allocate meanwhile, so only the lower bound is sure.
        assert!(during(|| drop(black_box(Box::new(1)))) >= 1);
        assert!(during(|| black_box(vec![1]).reserve(1_000)) >= 2);
    }
}
