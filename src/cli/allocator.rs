//! Ends a tool with words, not with a signal, if there is not enough memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::OnceLock;

/// The system's allocator. A request that fails ends the process with exit status 2.
// The hook of the standard library for this is not stable; without it the process aborts.
struct ReportingAllocator;

#[global_allocator]
static ALLOCATOR: ReportingAllocator = ReportingAllocator;

static TOOL: OnceLock<String> = OnceLock::new();

/// Sets the name of the tool for the error; the first call holds.
pub(super) fn set_tool(tool: &str) {
    let _ = TOOL.set(tool.to_owned());
}

// SAFETY: every call is passed to the system's allocator as it is, and its result is returned unless it is
// null.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        or_end(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        or_end(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        or_end(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

fn or_end(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

/// Reports the error, without allocating, and ends the process at once: no destructor may need memory.
#[cold]
fn end() -> ! {
    let tool = TOOL.get().map_or("rsv", String::as_str);
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "{tool}: error: out of memory");
    let _ = writeln!(stderr, "{tool}: hint: ask for less at a time, or allow more memory (ulimit -v)");
    signal_hook::low_level::exit(2)
}
