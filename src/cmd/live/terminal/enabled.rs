//! The thread that shows the dashboard.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::keyboard::Keyboard;
use super::takeover::{give_back, is_taken, output, take};
use crate::cmd::live::watcher::Asked;
use crate::cmd::stderr;
use crate::report::dashboard::{Action, Dashboard, Look, Shown};
use crate::report::live::{Board, History, View};

/// How often to look for a new view, and whether the end has come; keys are heard at once.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Lines may be slow: no more than four screens a second, and of each only what changed.
const BETWEEN_SCREENS: Duration = Duration::from_millis(250);
/// Whoever does not take a screen within this time does not see the end of it either.
const PATIENCE_AT_END: Duration = Duration::from_secs(2);
/// Whoever presses Ctrl-C twice wants the end, not one without a summary: so soon it is the same wish.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Whether there is somebody to look at a dashboard and to type: on a terminal that can do more than print
/// lines, and not from the background, where touching it would stop the process.
pub fn can_show_dashboard() -> bool {
    let is_capable = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
    let is_in_foreground = || {
        rustix::termios::tcgetpgrp(io::stdin())
            .is_ok_and(|group| group == rustix::process::getpgrp())
    };
    is_capable && io::stdin().is_terminal() && io::stdout().is_terminal() && is_in_foreground()
}

/// A dashboard on the terminal; dropping it gives the terminal back and says what was held back.
pub struct Screen {
    asked: Asked,
    /// Closed when the thread ends.
    ended: Receiver<()>,
    _messages: stderr::Hold,
}

impl Screen {
    /// Takes the terminal and starts the thread.
    pub fn start(board: &Board, asked: &Asked) -> io::Result<Screen> {
        let held = stderr::hold();
        let (end, ended) = channel();
        let leave = Leave { stop: Arc::clone(&asked.stop), _end: end };
        let may_end = Arc::clone(&asked.may_end);
        take()?;
        let backend = CrosstermBackend::new(BufWriter::new(output()?));
        let mut thread = ScreenThread {
            terminal: Terminal::new(backend)?,
            board: board.clone(),
            stop: Arc::clone(&asked.stop),
            dashboard: Dashboard::new(Look { colours: shows_colours() }),
            view: None,
            history: Arc::default(),
            said: stderr::log(),
        };
        let show = move || {
            if let Err(error) = thread.run() {
                stderr::message(format_args!("acsm: the terminal is gone: {error}"));
            }
            drop(leave);
            thread::sleep(SAME_WISH);
            may_end.store(true, Ordering::Relaxed);
        };
        thread::Builder::new().name("dashboard".to_owned()).spawn(show)?;
        Ok(Screen { asked: asked.clone(), ended, _messages: held })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.asked.stop.store(true, Ordering::Relaxed);
        // Nothing is ever sent: it ends by time or by the thread's end.
        if self.ended.recv_timeout(PATIENCE_AT_END) == Err(RecvTimeoutError::Timeout) {
            give_back();
            self.asked.may_end.store(true, Ordering::Relaxed);
        }
    }
}

/// What holds when the thread ends, in whatever way.
struct Leave {
    stop: Arc<AtomicBool>,
    _end: Sender<()>,
}

impl Drop for Leave {
    fn drop(&mut self) {
        give_back();
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn shows_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

struct ScreenThread {
    terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
    board: Board,
    stop: Arc<AtomicBool>,
    dashboard: Dashboard,
    /// What is shown.
    view: Option<Arc<View>>,
    history: Arc<History>,
    said: stderr::Log,
}

impl ScreenThread {
    fn run(&mut self) -> io::Result<()> {
        let mut keyboard = Keyboard::default();
        let (mut is_stale, mut next_screen) = (true, Instant::now());
        let mut size = self.terminal.size()?;
        while is_taken() && !self.stop.load(Ordering::Relaxed) {
            let patience = match is_stale {
                true => next_screen.saturating_duration_since(Instant::now()),
                false => LOOK_EVERY,
            };
            for key in keyboard.keys(patience)? {
                match self.dashboard.handle(key) {
                    Action::Quit => return Ok(()),
                    Action::Repaint => self.terminal.clear()?,
                    Action::Redraw => {}
                    Action::Nothing => continue,
                }
                is_stale = true;
            }
            let size_now = self.terminal.size()?;
            is_stale |= self.take_news() | (std::mem::replace(&mut size, size_now) != size_now);
            if is_stale && Instant::now() >= next_screen {
                self.draw()?;
                (is_stale, next_screen) = (false, Instant::now() + BETWEEN_SCREENS);
            }
        }
        Ok(())
    }

    /// Takes what is new; whether there was anything. A screen that stands still hears only messages.
    fn take_news(&mut self) -> bool {
        let said = stderr::log();
        let mut is_new = (said.total, said.is_recent) != (self.said.total, self.said.is_recent);
        self.said = said;
        let latest = self.board.latest().filter(|_| !self.dashboard.is_paused());
        if let Some(latest) = latest
            && !self.view.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, &latest))
        {
            (self.view, self.history, is_new) = (Some(latest), self.board.history(), true);
        }
        is_new
    }

    fn draw(&mut self) -> io::Result<()> {
        let shown = Shown {
            view: self.view.as_deref(),
            history: &self.history,
            said: &self.said.messages,
            said_lately: self.said.is_recent,
        };
        let dashboard = &mut self.dashboard;
        self.terminal.draw(|frame| dashboard.draw(frame, &shown))?;
        Ok(())
    }
}
