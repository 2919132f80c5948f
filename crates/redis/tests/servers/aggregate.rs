//! Items per second of one, two and three servers at once, each with a slab and a client, and which part of
//! the machine's processors they take: where servers and clients together take all of them, a further
//! server brings nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use super::server::{Server, programs};
use super::speed::{KINDS, Kind, cpu, create, packed, send};

/// How many batches of a client are on their way.
const IN_FLIGHT: usize = 8;
/// How long an operation is repeated.
const TIME: Duration = Duration::from_secs(2);
const OPERATIONS: [(&str, Option<u64>); 2] = [("KBF.INSERT", Some(1)), ("KBF.QUERY", None)];

/// What an operation came to.
struct Measured {
    items_per_second: f64,
    /// Processors that the servers took, and the clients.
    servers: f64,
    clients: f64,
}

/// Seconds of CPU that this process has used.
fn own_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = |at: usize| fields.split_whitespace().nth(at).unwrap().parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0 // user and system time: in hundredths on Linux
}

fn measure(servers: &[Server], kind: &Kind, (name, values): (&str, Option<u64>)) -> Measured {
    let batches = packed(name, "slab", kind.items, values);
    let servers_cpu = || servers.iter().map(|server| cpu(&mut server.client())).sum::<f64>();
    let (cpu_before, own_before) = (servers_cpu(), own_cpu());
    let begin = Instant::now();
    let repeat = |server: &Server| {
        let client = &mut server.client();
        let mut passes = 0;
        while begin.elapsed() < TIME {
            // An insertion begins anew when the slab is full.
            if values.is_some() {
                create(client, kind);
            }
            send(client, &batches, IN_FLIGHT);
            passes += 1;
        }
        passes * kind.items
    };
    let items: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = servers.iter().map(|server| scope.spawn(|| repeat(server))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let seconds = begin.elapsed().as_secs_f64();
    Measured {
        items_per_second: items as f64 / seconds,
        servers: (servers_cpu() - cpu_before) / seconds,
        clients: (own_cpu() - own_before) / seconds,
    }
}

fn show(program: &Path) {
    println!("{}: 1 to 3 servers, k = 3, a client for each", program.display());
    println!("servers  operation    million items/s  processors of servers, of clients");
    for count in 1..=3 {
        let servers: Vec<Server> = (0..count).map(|_| Server::start(program, "")).collect();
        for operation in OPERATIONS {
            let Measured { items_per_second, servers, clients } =
                measure(&servers, &KINDS[0], operation);
            let (name, millions) = (operation.0, items_per_second / 1e6);
            println!("{count:7}  {name:10}  {millions:15.1}  {servers:21.2}, {clients:10.2}");
        }
    }
}

#[test]
#[ignore = "measures, and needs a release build: scripts/bench server"]
fn several_servers() {
    programs().iter().for_each(|program| show(program));
}
