//! Two network namespaces joined by a virtual Ethernet pair; removed when dropped, also by a panic.

use std::fs::File;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The interface at either end of the pair.
pub const CABLE: &str = "cable0";
/// Addresses of the sender and of the watcher, in whose namespace acsm runs.
pub const SENDER: &str = "10.99.0.1";
pub const WATCHER: &str = "10.99.0.2";
/// An address whose packets arrive at the watcher, and which never answers.
pub const SILENT: &str = "10.99.0.77";

pub struct NamespacePair {
    pub sender: String,
    pub watcher: String,
}

impl NamespacePair {
    /// Creates both namespaces and the link; `None` without the right to,
    /// after a message that tests are skipped.
    pub fn new() -> Option<NamespacePair> {
        static PAIRS: AtomicU32 = AtomicU32::new(0);
        let number = PAIRS.fetch_add(1, Ordering::Relaxed);
        let name = |end| format!("acsm-{}-{number}-{end}", std::process::id());
        let net = NamespacePair { sender: name("s"), watcher: name("w") };
        for namespace in [&net.sender, &net.watcher] {
            if let Err(why) = ip(&format!("netns add {namespace}")) {
                eprintln!("SKIPPED: no network namespaces here, nothing was captured live: {why}");
                return None;
            }
        }
        net.add_link();
        Some(net)
    }

    /// Adds the virtual Ethernet pair, with an address at each end.
    pub fn add_link(&self) {
        let NamespacePair { sender, watcher } = self;
        must(&format!(
            "link add {CABLE} netns {sender} type veth peer name {CABLE} netns {watcher}"
        ));
        for (namespace, address) in [(sender, SENDER), (watcher, WATCHER)] {
            must(&format!("-n {namespace} addr add {address}/24 dev {CABLE}"));
            must(&format!("-n {namespace} link set {CABLE} up"));
            must(&format!("-n {namespace} link set lo up"));
        }
        // Nothing answers ARP for it, so the sender gets a static entry.
        must(&format!(
            "-n {sender} neigh add {SILENT} lladdr 02:00:00:00:00:77 dev {CABLE} nud permanent"
        ));
    }

    /// Removes the pair: the interfaces at both ends are gone.
    pub fn remove_link(&self) {
        must(&format!("-n {} link del {CABLE}", self.watcher));
    }

    /// Runs `work` in a thread inside a namespace.
    pub fn inside<T: Send + 'static>(
        namespace: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let file = File::open(format!("/run/netns/{namespace}")).unwrap();
        thread::spawn(move || {
            use std::os::fd::AsFd as _;
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        })
    }

    /// Runs `work` in the sender's namespace and returns its result.
    pub fn send<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        NamespacePair::inside(&self.sender, work).join().unwrap()
    }

    /// Tries to connect to `ports` of the watcher, which are closed.
    pub fn scan(&self, ports: Range<u16>) {
        self.send(move || {
            for port in ports {
                assert!(!try_connect(WATCHER, port, Duration::from_secs(5)), "the port is closed");
            }
        });
    }

    /// Sends `count` datagrams to port 9 of the watcher, which is closed.
    pub fn send_datagrams(&self, count: u64) {
        self.send(move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for n in 0..count {
                // The refusals come back as errors of later sends.
                while socket.send_to(&[0; 100], address(WATCHER, 9)).is_err() {}
                if n % 100 == 0 {
                    // The cable's own queue is short.
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
    }

    /// A command inside the watcher's namespace.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.watcher, program]);
        command
    }

    /// A server at the watcher that accepts `connections` and echoes what it receives.
    pub fn echo_server(&self, port: u16, connections: usize) -> JoinHandle<()> {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let server = NamespacePair::inside(&self.watcher, move || {
            let listener = TcpListener::bind(address(WATCHER, port)).unwrap();
            ready.send(()).unwrap();
            for stream in listener.incoming().take(connections) {
                let mut stream = stream.unwrap();
                let mut copy = stream.try_clone().unwrap();
                std::io::copy(&mut stream, &mut copy).unwrap();
            }
        });
        is_ready.recv().unwrap();
        server
    }
}

impl Drop for NamespacePair {
    fn drop(&mut self) {
        for namespace in [&self.sender, &self.watcher] {
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

pub fn address(host: &str, port: u16) -> SocketAddr {
    SocketAddr::new(host.parse::<IpAddr>().unwrap(), port)
}

/// One try to connect, given up after `timeout`.
pub fn try_connect(host: &str, port: u16, timeout: Duration) -> bool {
    TcpStream::connect_timeout(&address(host, port), timeout).is_ok()
}

fn ip(words: &str) -> Result<Output, String> {
    let output = Command::new("ip").args(words.split_whitespace()).output();
    let output = output.map_err(|error| format!("ip of iproute2: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

pub fn must(words: &str) {
    ip(words).unwrap_or_else(|why| panic!("ip {words}: {why}"));
}
