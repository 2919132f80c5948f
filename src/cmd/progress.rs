//! The progress bar on standard error while an input is read, and the stopwatch for durations shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::capture::file::ReadProgress;

/// Limit of redraws per second; polling more often costs next to nothing.
const REDRAWS_PER_SECOND: u8 = 10;

const KNOWN_TOTAL: &str =
    "{bar:30} {bytes} of {total_bytes}, {items}, {items_per_second}, {eta} left";
const UNKNOWN_TOTAL: &str = "{spinner} {bytes}, {items}, {items_per_second}, {elapsed}";

/// Shows the progress of reading: a bar, or a spinner if the total is unknown (pipes).
///
/// Nothing is shown unless stderr is a terminal. The reading loop calls [`tick`](Self::tick) every
/// few thousand items, which are packets or pairs; dropping it clears the line.
pub(crate) struct Progress {
    bar: ProgressBar,
    read: Arc<ReadProgress>,
    items: Arc<AtomicU64>,
}

impl Progress {
    /// Starts a bar for what `read` counts, with packets as items; `quiet` hides it.
    pub(crate) fn new(read: Arc<ReadProgress>, quiet: bool) -> Self {
        Progress::of_items("packets", read, quiet)
    }

    /// The same for items of this name.
    pub(crate) fn of_items(name: &'static str, read: Arc<ReadProgress>, quiet: bool) -> Self {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            // hides itself if stderr is not a terminal
            false => ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND),
        };
        Progress::with_target(name, read, target)
    }

    fn with_target(
        name: &'static str,
        read: Arc<ReadProgress>,
        target: ProgressDrawTarget,
    ) -> Self {
        let items = Arc::new(AtomicU64::new(0));
        let template = if read.total_bytes().is_some() { KNOWN_TOTAL } else { UNKNOWN_TOTAL };
        let bar = ProgressBar::with_draw_target(read.total_bytes(), target);
        // a constant template; if it did not parse, the default style would do
        let style = ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("items", count_key(name, &items))
            .with_key("items_per_second", rate_key(&items));
        bar.set_style(style);
        Progress { bar, read, items }
    }

    /// Lets `write` write to standard error, above the bar.
    pub(crate) fn above(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Updates the number of items read so far; redraws if due.
    pub(crate) fn tick(&self, items: u64) {
        self.items.store(items, Ordering::Relaxed);
        self.bar.set_position(self.read.read_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn count_key(
    name: &'static str,
    items: &Arc<AtomicU64>,
) -> impl Fn(&ProgressState, &mut dyn std::fmt::Write) + Clone + Send + Sync + 'static {
    let items = Arc::clone(items);
    move |_, out| {
        let count = HumanCount(items.load(Ordering::Relaxed));
        let _ = write!(out, "{count} {name}");
    }
}

fn rate_key(
    items: &Arc<AtomicU64>,
) -> impl Fn(&ProgressState, &mut dyn std::fmt::Write) + Clone + Send + Sync + 'static {
    let items = Arc::clone(items);
    move |state, out| {
        let seconds = state.elapsed().as_secs_f64().max(0.001);
        let rate = items.load(Ordering::Relaxed) as f64 / seconds;
        let _ = write!(out, "{}/s", HumanCount(rate as u64));
    }
}

/// Nanoseconds since the first call: for durations that are shown, never for decisions.
pub(crate) fn stopwatch_nanos() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps what is written to it.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            120
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn drawn(total_bytes: Option<u64>) -> String {
        let screen = Screen::default();
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let progress =
            Progress::with_target("packets", Arc::new(ReadProgress::new(total_bytes)), target);
        progress.tick(1_234_567);
        progress.bar.force_draw();
        screen.0.lock().unwrap().clone()
    }

    #[test]
    fn shows_bytes_packets_rate_and_time_left() {
        let bar = drawn(Some(4096));
        for part in ["0 B of 4.00 KiB", "1,234,567 packets", "/s", "left"] {
            assert!(bar.contains(part), "{part} in {bar}");
        }
    }

    #[test]
    fn shows_no_time_left_where_the_total_is_unknown() {
        let spinner = drawn(None);
        assert!(spinner.contains("1,234,567 packets"), "{spinner}");
        assert!(!spinner.contains("left") && !spinner.contains(" of "), "{spinner}");
    }
}
