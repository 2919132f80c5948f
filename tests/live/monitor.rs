//! A running `acsm live`, and what it writes.

use std::fs::Permissions;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::namespaces::{CABLE, NamespacePair};

const ACSM: &str = env!("CARGO_BIN_EXE_acsm");
/// The longest wait for anything: after that the test fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The kernel delivers packets in blocks, after a tenth of a second at the latest.
const DELIVERY_TIME: Duration = Duration::from_millis(500);

/// `acsm live` on the watcher's end of the cable; killed when dropped.
pub struct Monitor {
    child: Child,
    /// What a service manager would receive.
    notices: UnixDatagram,
    folder: tempfile::TempDir,
}

/// What the monitor wrote until it ended.
pub struct MonitorOutput {
    pub summary: Value,
    pub eve: String,
    pub stderr: String,
    folder: tempfile::TempDir,
}

impl Monitor {
    /// Starts it, with alerts in a file, and waits until it captures.
    pub fn start(net: &NamespacePair, options: &str) -> Monitor {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("notify");
        let notices = UnixDatagram::bind(&socket).unwrap();
        notices.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
        // Any user that it changes to may write there, as with systemd.
        for path in [folder.path(), &socket] {
            std::fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        let child = net
            .command(ACSM)
            .args(["live", "-i", CABLE, "--json", "--alerts", "eve.json"])
            .args(options.split_whitespace())
            .current_dir(folder.path())
            .env("NOTIFY_SOCKET", &socket)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut monitor = Monitor { child, notices, folder };
        match monitor.notice() {
            Ok(word) => assert_eq!(word, "READY=1"),
            Err(error) => panic!("it never got ready: {error}: {}", monitor.kill_and_read_stderr()),
        }
        monitor
    }

    /// The next message to the service manager, if there is one.
    fn notice(&self) -> io::Result<String> {
        let mut word = [0; 64];
        loop {
            match self.notices.recv(&mut word) {
                // The system does not resume a wait with a timeout after a signal.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => {
                    return received.map(|bytes| String::from_utf8_lossy(&word[..bytes]).into());
                }
            }
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The value of a line of its /proc/PID/status.
    pub fn status(&self, name: &str) -> String {
        self.statuses(name).swap_remove(0)
    }

    /// The same of each of its threads, the first one first.
    pub fn statuses(&self, name: &str) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let mut tasks: Vec<PathBuf> = tasks.map(|task| task.unwrap().path()).collect();
        tasks.sort();
        let value = |task: PathBuf| {
            let status = std::fs::read_to_string(task.join("status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.unwrap_or_default().trim().to_owned()
        };
        tasks.into_iter().map(value).collect()
    }

    /// The names of its threads.
    pub fn threads(&self) -> Vec<String> {
        self.statuses("Name")
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(status.success());
    }

    /// Alerts so far.
    pub fn alerts(&self) -> Vec<Value> {
        let eve = std::fs::read_to_string(self.path("eve.json")).unwrap_or_default();
        eve.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits for an alert that `is_it` recognises.
    pub fn wait_for(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_until("an alert comes", || self.alerts().into_iter().find(&is_it))
    }

    /// Ends it and returns what it wrote about everything sent before.
    pub fn end(mut self) -> MonitorOutput {
        sleep(DELIVERY_TIME);
        self.signal("TERM");
        let status = wait_until("it ends", || self.child.try_wait().unwrap());
        let (mut summary, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut summary).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(status.success(), "{status}: {stderr}");
        assert_eq!(self.notice().unwrap(), "STOPPING=1");
        let eve = std::fs::read_to_string(self.path("eve.json")).unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        MonitorOutput { summary: serde_json::from_str(&summary).unwrap(), eve, stderr, folder }
    }

    fn kill_and_read_stderr(&mut self) -> String {
        let _ = self.child.kill();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        stderr
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl MonitorOutput {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn count(&self, pointer: &str) -> u64 {
        self.summary.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
    }

    /// What `acsm replay` prints for the recording: the summary and the EVE lines.
    pub fn replay(&self, options: &str, capture: &Path) -> (Value, String) {
        let eve = self.path("replayed.json");
        let output = Command::new(ACSM)
            .args(["replay", "--preset", "operator", "--json", "--alerts"])
            .arg(&eve)
            .args(options.split_whitespace())
            .arg(capture)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary = serde_json::from_slice(&output.stdout).unwrap();
        (summary, std::fs::read_to_string(eve).unwrap())
    }
}

/// Waits for something that must happen.
pub fn wait_until<T>(what: &str, mut has_come: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(it) = has_come() {
            return it;
        }
        assert!(started.elapsed() < WAIT_TIMEOUT, "timed out waiting until {what}");
        sleep(Duration::from_millis(10));
    }
}
