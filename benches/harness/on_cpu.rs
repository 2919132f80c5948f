//! The time that this thread has run, so that a busy machine disturbs less.

use std::time::Instant;

/// Measures from its start.
pub struct Stopwatch {
    started: Instant,
    on_cpu: Option<f64>,
}

impl Stopwatch {
    /// Measures from now on.
    pub fn start() -> Stopwatch {
        Stopwatch { started: Instant::now(), on_cpu: on_cpu_nanos() }
    }

    /// Nanoseconds that this thread has run since; elapsed time where the system does not report that.
    pub fn nanos(&self) -> f64 {
        let run = on_cpu_nanos().zip(self.on_cpu).map(|(now, then)| now - then);
        run.unwrap_or_else(|| self.started.elapsed().as_nanos() as f64)
    }
}

fn on_cpu_nanos() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}
