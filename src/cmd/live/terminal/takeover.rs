//! Taking the terminal for a dashboard, and giving it back as it was: at the end, on errors, and before a
//! panic is told of.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// There is one terminal; a panic in any thread must find out whether it is taken.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the terminal: keys come one by one, and the screen is another one.
pub fn take() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(give_back_before_panics);
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    execute!(output()?, EnterAlternateScreen, Hide).inspect_err(|_| give_back())
}

/// Gives it back, if it is taken.
pub fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        if let Ok(mut output) = output() {
            let _ = execute!(output, LeaveAlternateScreen, Show);
            let _ = output.flush();
        }
        let _ = disable_raw_mode();
    }
}

/// Whether it is taken.
pub fn is_taken() -> bool {
    IS_TAKEN.load(Ordering::SeqCst)
}

/// Standard output without the lock on it, which a thread may hold that waits for a slow terminal.
pub fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

fn give_back_before_panics() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        tell(panic);
    }));
}
