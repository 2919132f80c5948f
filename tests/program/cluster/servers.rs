//! A cluster of real servers on loopback, for one test.

use std::env;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use redis::{Cmd, Connection, FromRedisValue};

/// How often something is tried that should hold within seconds, and the time between: what is counted is not
/// time, of which a busy machine takes more.
const ATTEMPTS: u32 = 1200;
const PAUSE: Duration = Duration::from_millis(50);
/// How long a server may take for one answer.
const ANSWER: Duration = Duration::from_secs(60);

/// A server process.
pub struct Server {
    pub port: u16,
    /// The port by which servers of the cluster talk to each other.
    bus: u16,
    /// The port for encrypted connections, which is then also that of the cluster's map.
    tls: Option<u16>,
    process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address for encrypted connections.
    pub fn tls_address(&self) -> String {
        format!("127.0.0.1:{}", self.tls.unwrap())
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name} {pid}");
    }

    pub fn connection(&self) -> Connection {
        let client = redis::Client::open(format!("redis://{}/", self.address())).unwrap();
        client.get_connection_with_timeout(ANSWER).unwrap()
    }

    /// Whether it is this server, and no other, that answers on its port.
    fn answers(&self) -> bool {
        let client = redis::Client::open(format!("redis://{}/", self.address())).unwrap();
        let connection = client.get_connection_with_timeout(Duration::from_secs(1));
        let info = |mut connection: Connection| {
            // Whoever else has the port may never answer.
            connection.set_read_timeout(Some(Duration::from_secs(5)))?;
            redis::cmd("INFO").arg("server").query::<String>(&mut connection)
        };
        let own = format!("process_id:{}\r\n", self.process.id());
        connection.and_then(info).is_ok_and(|info| info.contains(&own))
    }

    pub fn ask<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command.query(&mut self.connection()).unwrap()
    }

    /// A field of INFO.
    pub fn info(&self, field: &str) -> String {
        let text: String = self.ask(redis::cmd("INFO").arg("everything"));
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_default().to_owned()
    }
}

/// Servers that form a cluster, and a folder.
pub struct Cluster {
    pub servers: Vec<Server>,
    pub folder: tempfile::TempDir,
}

/// The program of a server and the module, or why there is none.
fn needed() -> Result<(PathBuf, PathBuf), String> {
    let wanted = env::var("ACSM_CLUSTER_SERVER").ok();
    let names = wanted.as_deref().map_or(vec!["redis-server", "valkey-server"], |name| vec![name]);
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let server = names.iter().copied().find(runs).ok_or("no redis-server is installed")?;
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/libacsm_redis.so");
    let module = env::var_os("ACSM_REDIS_MODULE").map_or(built, PathBuf::from);
    match module.is_file() {
        true => Ok((server.into(), module)),
        false => Err("the module is not built: cargo build --release -p acsm-redis".to_owned()),
    }
}

impl Cluster {
    /// A cluster with this number of primaries and as many replicas or none, if servers can be started.
    pub fn start(primaries: usize, has_replicas: bool) -> Option<Cluster> {
        let replicas = if has_replicas { primaries } else { 0 };
        let cluster = Cluster::of_servers(primaries + replicas, |_| Ok(None))?;
        cluster.form(primaries, replicas);
        Some(cluster)
    }

    /// The same without replicas, and a further primary without slots.
    pub fn start_with_spare(primaries: usize) -> Option<Cluster> {
        let cluster = Cluster::of_servers(primaries + 1, |_| Ok(None))?;
        cluster.form(primaries, 0);
        Some(cluster)
    }

    /// The same without replicas, for encrypted connections as well, in an own authority's certificates:
    /// `ca.crt` in the folder.
    pub fn start_encrypted(primaries: usize) -> Option<Cluster> {
        let options = |folder: &Path| {
            make_certificates(folder)?;
            let path = |name: &str| folder.join(name).display().to_string();
            let words = ["tls-cluster yes", "tls-replication yes", "tls-auth-clients no"];
            let words = words.iter().flat_map(|line| line.split(' ')).map(str::to_owned);
            let files = [("cert", "server.crt"), ("key", "server.key"), ("ca-cert", "ca.crt")];
            let files = files.map(|(kind, file)| [format!("tls-{kind}-file"), path(file)]);
            let mut options: Vec<String> = words.chain(files.into_iter().flatten()).collect();
            options.iter_mut().step_by(2).for_each(|name| name.insert_str(0, "--"));
            Ok(Some(options))
        };
        let cluster = Cluster::of_servers(primaries, options)?;
        cluster.form(primaries, 0);
        Some(cluster)
    }

    /// Servers that do not know each other yet, with options for encryption if there are such.
    fn of_servers(
        count: usize,
        options: impl FnOnce(&Path) -> Result<Option<Vec<String>>, String>,
    ) -> Option<Cluster> {
        let folder = tempfile::tempdir().unwrap();
        let needed = needed().and_then(|needed| Ok((needed, options(folder.path())?)));
        let ((program, module), tls) = match needed {
            Ok(needed) => needed,
            Err(why) => return skipped(&why),
        };
        let start = || start_server(&program, &module, folder.path(), tls.as_deref());
        match (0..count).map(|_| start()).collect() {
            Ok(servers) => Some(Cluster { servers, folder }),
            // It knows no such options.
            Err(why) if tls.is_some() => {
                skipped(&format!("is the server built without TLS? {why}"))
            }
            Err(why) => panic!("{why}"),
        }
    }

    /// Makes a cluster of the servers: the first ones have slots, the ones after them are their replicas.
    fn form(&self, primaries: usize, replicas: usize) {
        let first = &self.servers[0];
        for server in &self.servers[1..] {
            let mut meet = redis::cmd("CLUSTER");
            let port = first.tls.unwrap_or(first.port);
            let () = server.ask(meet.arg("MEET").arg("127.0.0.1").arg(port).arg(first.bus));
        }
        for (number, server) in self.servers[..primaries].iter().enumerate() {
            let [begin, end] = [number, number + 1].map(|n| n * 16_384 / primaries);
            let mut slots = redis::cmd("CLUSTER");
            let () = server.ask(slots.arg("ADDSLOTSRANGE").arg(begin).arg(end - 1));
        }
        let is_ok = |server: &Server| {
            let state: String = server.ask(redis::cmd("CLUSTER").arg("INFO"));
            let known = format!("cluster_known_nodes:{}", self.servers.len());
            state.contains("cluster_state:ok") && state.contains(&known)
        };
        let primaries_known = |server: &Server| {
            let nodes: String = server.ask(redis::cmd("CLUSTER").arg("NODES"));
            nodes.lines().filter(|line| line.contains("master")).count()
        };
        wait_until("the cluster is formed", || self.servers.iter().all(is_ok));
        let followers = &self.servers[primaries..primaries + replicas];
        for (number, server) in followers.iter().enumerate() {
            let id: String = self.servers[number].ask(redis::cmd("CLUSTER").arg("MYID"));
            let () = server.ask(redis::cmd("CLUSTER").arg("REPLICATE").arg(id));
        }
        wait_until("replicas are connected", || {
            let expected = self.servers.len() - replicas;
            followers.iter().all(|server| server.info("master_link_status") == "up")
                && self.servers.iter().all(|server| primaries_known(server) == expected)
        });
    }

    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.servers.iter().map(Server::address).collect();
        addresses.join(",")
    }

    /// `acsm cluster` with the words of a line.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_acsm"));
        command.arg("cluster").args(line.split_whitespace()).env("ACSM_CLUSTER", self.url());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it with this on standard input.
    pub fn run(&self, line: &str, input: &str) -> Output {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join();
        output
    }

    /// What a run that must succeed prints on standard output.
    #[track_caller]
    pub fn done(&self, line: &str, input: &str) -> String {
        let output = self.run(line, input);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The document that a run prints.
    #[track_caller]
    pub fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.done(line, "")).unwrap()
    }

    /// Writes a file into the folder and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

/// Says why there is no cluster, unless there must be one.
fn skipped(why: &str) -> Option<Cluster> {
    assert_ne!(env::var("ACSM_CLUSTER_TESTS").as_deref(), Ok("require"), "{why}");
    println!("skipped: {why}");
    None
}

/// An authority, `ca.crt`, and a server of this machine, `server.crt` and `server.key`, by `openssl`.
fn make_certificates(folder: &Path) -> Result<(), String> {
    let extensions = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n";
    std::fs::write(folder.join("server.ext"), extensions).unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let lines = [
        format!("req -x509 {key} -days 2 -subj /CN=authority -keyout ca.key -out ca.crt"),
        format!("req {key} -subj /CN=server -keyout server.key -out server.csr"),
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
         -extfile server.ext -out server.crt"
            .to_owned(),
    ];
    for line in lines {
        let mut openssl = Command::new("openssl");
        let output = openssl.args(line.split_whitespace()).current_dir(folder).output();
        let output = output.map_err(|_| "openssl is not installed".to_owned())?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {line}: {message}");
    }
    Ok(())
}

/// Starts a server that answers. Between the search for free ports and their use anybody may take one, as a
/// client too: a server that ends is started again on others.
fn start_server(
    program: &Path,
    module: &Path,
    folder: &Path,
    tls: Option<&[String]>,
) -> Result<Server, String> {
    let mut log = String::new();
    for _ in 0..3 {
        // All ports at once, so that they differ.
        let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = free.map(|listener| listener.local_addr().unwrap().port());
        let own = folder.join(ports[0].to_string());
        std::fs::create_dir_all(&own).unwrap();
        let mut server = spawn_server(program, module, &own, ports, tls);
        let mut has_ended = false;
        wait_until("a server answers or ends", || {
            has_ended = server.process.try_wait().unwrap().is_some();
            has_ended || server.answers()
        });
        if !has_ended {
            return Ok(server);
        }
        log = std::fs::read_to_string(own.join("log")).unwrap_or_default();
    }
    Err(format!("no server of three started; the last one's log: {log}"))
}

fn spawn_server(
    program: &Path,
    module: &Path,
    own: &Path,
    [port, bus, tls_port]: [u16; 3],
    tls: Option<&[String]>,
) -> Server {
    let log = std::fs::File::create(own.join("log")).unwrap();
    let mut command = mortal(program);
    if let Some(options) = tls {
        command.args(["--tls-port", &tls_port.to_string()]).args(options);
    }
    let process = command
        .args(["--port", &port.to_string(), "--cluster-port", &bus.to_string()])
        .args(["--bind", "127.0.0.1", "--cluster-enabled", "yes"])
        .args(["--cluster-node-timeout", "15000", "--cluster-require-full-coverage", "no"])
        .args(["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"])
        .args(["--loadmodule", &module.display().to_string()])
        .current_dir(own)
        .stdout(log)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Server { port, bus, tls: tls.map(|_| tls_port), process }
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

/// Waits until something holds.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..ATTEMPTS {
        if holds() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("waited in vain until {what}");
}
