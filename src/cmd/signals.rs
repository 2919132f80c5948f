//! Signals: SIGINT and SIGTERM stop a run, which then prints its summary; SIGHUP and SIGUSR1.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

use super::stderr;

/// Sets `stop` at the first SIGINT or SIGTERM; the second one ends the process at once.
pub fn stop_on_signals(stop: &Arc<AtomicBool>) -> anyhow::Result<()> {
    stop_or_end_on_signals(stop, stop)
}

/// Sets `stop` at SIGINT and SIGTERM; ends the process at once if `may_end` is set by then.
pub fn stop_or_end_on_signals(
    stop: &Arc<AtomicBool>,
    may_end: &Arc<AtomicBool>,
) -> anyhow::Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(may_end))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(stop)))
            .context("cannot handle signals")?;
    }
    survive_file_size_limit()
}

/// With a handler, exceeding the limit on the size of files is an error of the write, after which whole
/// lines and no temporary files are left; by default the signal would end the process.
pub fn survive_file_size_limit() -> anyhow::Result<()> {
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())
        .context("cannot handle signals")?;
    Ok(())
}

/// Sets `reload` at each SIGHUP and `reopen` at each SIGUSR1, on systems with these signals.
pub fn note_requests(reload: &Arc<AtomicBool>, reopen: &Arc<AtomicBool>) -> anyhow::Result<()> {
    #[cfg(unix)]
    for (signal, flag) in
        [(signal_hook::consts::SIGHUP, reload), (signal_hook::consts::SIGUSR1, reopen)]
    {
        signal_hook::flag::register(signal, Arc::clone(flag)).context("cannot handle signals")?;
    }
    #[cfg(not(unix))]
    let _ = (reload, reopen);
    Ok(())
}

/// Says that the input was not read to its end, if `stop` is set.
pub fn warn_of_interruption(stop: &AtomicBool) {
    if stop.load(Ordering::Relaxed) {
        stderr::message("acsm: interrupted; the summary covers what was read");
    }
}
