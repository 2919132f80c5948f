//! A shell in a terminal that a test can type on and look at.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::namespaces::NamespacePair;

/// The longest wait for anything: after that the test fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A tmux server of our own with one window of 80×24; gone when dropped.
pub struct Tmux {
    socket: String,
}

impl Tmux {
    /// A shell inside the watcher's namespace; `None` without tmux, after a message on stderr.
    pub fn new(net: &NamespacePair) -> Option<Tmux> {
        if let Err(why) = Command::new("tmux").arg("-V").output() {
            eprintln!("SKIPPED: no tmux here, the dashboard was not tested on a terminal: {why}");
            return None;
        }
        let tmux = Tmux { socket: net.watcher.clone() };
        let mut start = net.command("tmux");
        // Without a configuration file, and in UTF-8 whatever the locale.
        start.args(["-u", "-L", &tmux.socket, "-f", "/dev/null"]);
        start.args(["new-session", "-d", "-x", "80", "-y", "24", "sh"]);
        for variable in ["TMUX", "NO_COLOR", "ENV"] {
            start.env_remove(variable);
        }
        let output = start.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        tmux.wait_for("a prompt", |screen| !screen.trim().is_empty());
        Some(tmux)
    }

    fn command(&self, words: &[&str]) -> String {
        let output = Command::new("tmux").args(["-u", "-L", &self.socket]).args(words).output();
        let output = output.unwrap();
        assert!(output.status.success(), "tmux {words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys, named as tmux names them.
    pub fn press(&self, keys: &[&str]) {
        self.command(&[&["send-keys"], keys].concat());
    }

    /// Types a line and Enter.
    pub fn line(&self, line: &str) {
        self.command(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    pub fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.command(&["resize-window", "-x", &width, "-y", &height]);
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.command(&["capture-pane", "-p"])
    }

    /// The same with the sequences that style it.
    pub fn styled_screen(&self) -> String {
        self.command(&["capture-pane", "-p", "-e"])
    }

    /// Whether the alternate screen is shown.
    pub fn is_on_other_screen(&self) -> bool {
        self.command(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    /// Waits for a screen that `is_it` recognises.
    pub fn wait_for(&self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if is_it(&screen) {
                return screen;
            }
            assert!(started.elapsed() < WAIT_TIMEOUT, "timed out waiting for {what}:\n{screen}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the alternate screen is left.
    pub fn wait_for_own_screen(&self) {
        let started = Instant::now();
        while self.is_on_other_screen() {
            assert!(started.elapsed() < WAIT_TIMEOUT, "timed out waiting for the shell's screen");
        }
    }

    /// Closes the terminal under the program that runs on it.
    pub fn hang_up(self) {
        drop(self);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let words = ["-L", self.socket.as_str(), "kill-server"];
        let _ = Command::new("tmux").args(words).output();
    }
}
