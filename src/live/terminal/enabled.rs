//! The thread that shows the dashboard: its keyboard and its screen, and how the terminal is taken over
//! and restored, at the end, on errors, and before the message of a panic.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{Messages, ScreenContext};
use crate::live::dashboard::{Action, Dashboard, Key, KeyReader, Look, Shown};
use crate::live::monitor::SignalFlags;
use crate::live::shared::{History, SnapshotReader};
use crate::live::view::View;

/// Time between checks for a new view or the end of the run; keys are read at once.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two screens: terminals may be slow. Only what changed is sent.
const FRAME_INTERVAL: Duration = Duration::from_millis(250);
/// How long the end of the run waits for a terminal that does not accept the current screen.
const STUCK_TIMEOUT: Duration = Duration::from_secs(2);
/// A second Ctrl-C within this time after the dashboard has closed does not end the process: the user
/// still wants the summary.
const DOUBLE_PRESS: Duration = Duration::from_secs(1);
/// After this time an ESC is the Escape key, not the start of a sequence, even over a slow line.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(50);

/// Whether a user can see and operate a dashboard: on a terminal that can do more than print lines, and
/// not in the background, where accessing it would stop the process.
pub fn can_show_dashboard() -> bool {
    let is_capable = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
    let is_in_foreground = || {
        rustix::termios::tcgetpgrp(io::stdin())
            .is_ok_and(|group| group == rustix::process::getpgrp())
    };
    is_capable && io::stdin().is_terminal() && io::stdout().is_terminal() && is_in_foreground()
}

/// A dashboard on the terminal; dropping it restores the terminal.
pub struct Screen {
    signals: SignalFlags,
    /// Closed when the thread ends.
    ended: Receiver<()>,
}

impl Screen {
    /// Takes over the terminal and starts the thread.
    pub fn start(context: ScreenContext) -> io::Result<Screen> {
        let signals = context.signals.clone();
        let may_exit = Arc::clone(&signals.may_exit);
        let (end, ended) = channel();
        let on_end = OnEnd { stop: Arc::clone(&signals.stop), _end: end };
        take_over()?;
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(output()?)))?;
        let show = move || {
            let message = context.message;
            if let Err(error) = ScreenThread::new(terminal, context).run() {
                message(&format_args!("acsm: the terminal is gone: {error}"));
            }
            drop(on_end);
            thread::sleep(DOUBLE_PRESS);
            may_exit.store(true, Ordering::Relaxed);
        };
        thread::Builder::new().name("dashboard".to_owned()).spawn(show)?;
        Ok(Screen { signals, ended })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.signals.stop.store(true, Ordering::Relaxed);
        // Nothing is ever sent: it returns when the thread ends or the time is over.
        if self.ended.recv_timeout(STUCK_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            restore();
            self.signals.may_exit.store(true, Ordering::Relaxed);
        }
    }
}

/// Restores the terminal and stops the run when the thread ends, in whatever way.
struct OnEnd {
    stop: Arc<AtomicBool>,
    _end: Sender<()>,
}

impl Drop for OnEnd {
    fn drop(&mut self) {
        restore();
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The state of the thread.
struct ScreenThread {
    terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
    reader: SnapshotReader,
    stop: Arc<AtomicBool>,
    read_messages: fn() -> Messages,
    dashboard: Dashboard,
    /// What is shown.
    view: Option<Arc<View>>,
    history: Arc<History>,
    messages: Messages,
}

impl ScreenThread {
    fn new(
        terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
        context: ScreenContext,
    ) -> ScreenThread {
        let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        ScreenThread {
            terminal,
            reader: context.shared.reader(),
            stop: context.signals.stop,
            read_messages: context.messages,
            dashboard: Dashboard::new(Look { colours }),
            view: None,
            history: Arc::default(),
            messages: (context.messages)(),
        }
    }

    fn run(&mut self) -> io::Result<()> {
        let mut keyboard = Keyboard::default();
        let (mut is_stale, mut next_frame) = (true, Instant::now());
        let mut size = self.terminal.size()?;
        while is_taken_over() && !self.stop.load(Ordering::Relaxed) {
            let timeout = match is_stale {
                true => next_frame.saturating_duration_since(Instant::now()),
                false => POLL_INTERVAL,
            };
            for key in keyboard.read(timeout)? {
                match self.dashboard.handle(key) {
                    Action::Quit => return Ok(()),
                    Action::Repaint => self.terminal.clear()?,
                    Action::Redraw => {}
                    Action::Nothing => continue,
                }
                is_stale = true;
            }
            let size_now = self.terminal.size()?;
            is_stale |= self.update() | (std::mem::replace(&mut size, size_now) != size_now);
            if is_stale && Instant::now() >= next_frame {
                self.draw()?;
                (is_stale, next_frame) = (false, Instant::now() + FRAME_INTERVAL);
            }
        }
        Ok(())
    }

    /// Takes new messages and, unless paused, a new view; returns whether there was anything new.
    fn update(&mut self) -> bool {
        let messages = (self.read_messages)();
        let state = |messages: &Messages| (messages.number, messages.is_recent);
        let mut is_new = state(&messages) != state(&self.messages);
        self.messages = messages;
        if self.dashboard.is_paused() {
            return is_new;
        }
        if let Some(latest) = self.reader.latest()
            && !self.view.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, &latest))
        {
            (self.view, self.history, is_new) = (Some(latest), self.reader.history(), true);
        }
        is_new
    }

    fn draw(&mut self) -> io::Result<()> {
        let shown = Shown {
            view: self.view.as_deref(),
            history: &self.history,
            messages: &self.messages.texts,
            has_recent_message: self.messages.is_recent,
        };
        let dashboard = &mut self.dashboard;
        self.terminal.draw(|frame| dashboard.draw(frame, &shown))?;
        Ok(())
    }
}

/// Keys from standard input. Not by crossterm's reader: that one loops forever when the terminal hangs up
/// (crossterm#793), and may block on an incomplete sequence.
#[derive(Debug, Default)]
struct Keyboard {
    reader: KeyReader,
}

impl Keyboard {
    /// Waits up to `timeout` for keys. An error means that the terminal is gone.
    fn read(&mut self, timeout: Duration) -> io::Result<Vec<Key>> {
        let timeout = if self.reader.is_waiting() { ESCAPE_TIMEOUT } else { timeout };
        let limit = Timespec::try_from(timeout).unwrap_or_default();
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, Some(&limit)) {
            Ok(0) => return Ok(self.reader.time_out().into_iter().collect()),
            Err(Errno::INTR) => return Ok(vec![]),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let hung_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if polled.iter().any(|polled| polled.revents().intersects(hung_up)) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(self.reader.feed(bytes.get(..length).unwrap_or_default())),
            Err(Errno::INTR | Errno::AGAIN) => Ok(vec![]),
            Err(error) => Err(error.into()),
        }
    }
}

/// Of the process's one terminal: a panic in any thread must know whether to restore it.
static IS_TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// Switches to raw mode and to the alternate screen.
fn take_over() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(restore_before_panic_messages);
    enable_raw_mode()?;
    IS_TAKEN_OVER.store(true, Ordering::SeqCst);
    execute!(output()?, EnterAlternateScreen, Hide).inspect_err(|_| restore())
}

/// Restores the terminal, if it is taken over.
fn restore() {
    if IS_TAKEN_OVER.swap(false, Ordering::SeqCst) {
        // If the terminal is gone, there is nothing to restore.
        if let Ok(mut output) = output() {
            let _ = execute!(output, LeaveAlternateScreen, Show);
            let _ = output.flush();
        }
        let _ = disable_raw_mode();
    }
}

fn is_taken_over() -> bool {
    IS_TAKEN_OVER.load(Ordering::SeqCst)
}

/// Standard output without its lock, which a thread that waits for a slow terminal may hold.
fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

fn restore_before_panic_messages() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        print(panic);
    }));
}
