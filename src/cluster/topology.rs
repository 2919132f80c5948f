//! The servers of a cluster and the slots that each has, from the text of `CLUSTER NODES`.

use std::fmt;

use super::layout::SLOTS;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// A name or an IP address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Address {
    /// `host:port`, `[host]:port`, or a host alone, which has the port 6379.
    pub fn parse(text: &str) -> Option<Address> {
        const PORT: u16 = 6379;
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().ok()?)
            }
            _ => (text, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (!host.is_empty()).then(|| Address { host: host.to_owned(), port })
    }
}

/// A primary with its replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where the primary listens.
    pub address: Address,
    /// Its name within the cluster.
    pub id: String,
    /// Where its replicas listen.
    pub replicas: Vec<Address>,
}

/// All primaries, and which of them has which slot.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// In the order of their addresses.
    pub servers: Vec<Server>,
    /// Of each slot the number of its server.
    owners: Vec<Option<u16>>,
}

/// One line of `CLUSTER NODES`: id, address, flags, id of its primary, four numbers and words, slots.
struct Node<'a> {
    id: &'a str,
    address: Address,
    flags: Vec<&'a str>,
    primary: &'a str,
    slots: Vec<&'a str>,
}

impl<'a> Node<'a> {
    fn parse(line: &'a str, asked: &Address) -> Option<Node<'a>> {
        let mut words = line.split_ascii_whitespace();
        let (id, place, flags, primary) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        let slots = words.skip(4).collect();
        // ip:port@cport[,hostname[,…]]
        let (place, names) = place.split_once(',').unwrap_or((place, ""));
        let (host, port) = place.split('@').next()?.rsplit_once(':')?;
        let name = names.split(',').next().filter(|name| !name.is_empty() && !name.contains('='));
        let host = match (name, host) {
            (Some(name), _) => name,
            (None, "") => &asked.host, // it does not know its own address
            (None, host) => host,
        };
        let address = Address { host: host.to_owned(), port: port.parse().ok()? };
        Some(Node { id, address, flags: flags.split(',').collect(), primary, slots })
    }

    fn is(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

impl Topology {
    /// Reads the reply of the server at `asked`. None if there is no primary with slots in it.
    pub fn parse(nodes: &str, asked: &Address) -> Option<Topology> {
        let mut nodes: Vec<Node<'_>> = nodes
            .lines()
            .filter_map(|line| Node::parse(line, asked))
            .filter(|node| !node.is("handshake") && !node.is("noaddr"))
            .collect();
        // Each server has another order.
        nodes.sort_by(|a, b| a.address.cmp(&b.address));
        let mut found = Topology { servers: vec![], owners: vec![None; SLOTS] };
        for node in nodes.iter().filter(|node| node.is("master")) {
            // One that failed, and whose slots a replica has taken over, is no server any more.
            if node.is("fail") && node.slots.is_empty() {
                continue;
            }
            let of_it = |other: &&Node<'_>| other.primary == node.id && !other.is("fail");
            let replicas = nodes.iter().filter(of_it).map(|other| other.address.clone()).collect();
            let (address, id) = (node.address.clone(), node.id.to_owned());
            let number = found.servers.len() as u16;
            found.servers.push(Server { address, id, replicas });
            for slot in node.slots.iter().filter_map(|text| slots(text)).flatten() {
                found.owners[slot] = Some(number);
            }
        }
        found.owners.iter().any(Option::is_some).then_some(found)
    }

    /// The number of the server that has a slot.
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.owners.get(usize::from(slot)).copied().flatten().map(usize::from)
    }

    /// Notes that the server at an address has a slot. Returns whether it is a known one.
    pub fn set_owner(&mut self, slot: u16, address: &Address) -> bool {
        let number = self.servers.iter().position(|server| server.address == *address);
        if let (Some(number), Some(owner)) = (number, self.owners.get_mut(usize::from(slot))) {
            *owner = Some(number as u16);
        }
        number.is_some()
    }

    /// How many slots a server has.
    pub fn slots_of(&self, server: usize) -> usize {
        self.owners.iter().filter(|owner| **owner == Some(server as u16)).count()
    }

    /// The slots of a server.
    pub fn slots(&self, server: usize) -> impl Iterator<Item = u16> {
        let owned = move |slot: &u16| self.owner(*slot) == Some(server);
        (0..SLOTS as u16).filter(owned)
    }
}

/// The slots of `7` or `0-5460`; none of `[7->-…]`, which is about to move.
fn slots(text: &str) -> Option<std::ops::Range<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < SLOTS).then_some(first..last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "\
a1 127.0.0.1:7001@17001,host-1 myself,master - 0 0 1 connected 0-5 7 [8->-b2]
b2 127.0.0.1:7002@17002 master - 0 1700 2 connected 9-16383
c3 127.0.0.1:7003@17003,,shard-id=9f slave a1 0 1700 1 connected
d4 127.0.0.1:7004@17004 slave,fail b2 1700 1700 2 disconnected
e5 :0@0 master,noaddr - 0 0 0 disconnected
f6 127.0.0.1:7006@17006 master,fail - 1700 1700 3 disconnected
77 ::1:7007@17007 master - 0 1700 4 connected
";

    #[test]
    fn servers_have_their_slots_and_replicas() {
        let asked = Address::parse("localhost:7001").unwrap();
        let found = Topology::parse(NODES, &asked).unwrap();
        let addresses: Vec<String> =
            found.servers.iter().map(|server| server.address.to_string()).collect();
        assert_eq!(addresses, ["127.0.0.1:7002", "[::1]:7007", "host-1:7001"]);
        assert_eq!(found.servers[0].replicas, []);
        assert_eq!(found.servers[2].replicas, [Address::parse("127.0.0.1:7003").unwrap()]);
        let owners = [0, 5, 6, 7, 8, 9, 16_383].map(|slot| found.owner(slot));
        assert_eq!(owners, [Some(2), Some(2), None, Some(2), None, Some(0), Some(0)]);
        assert_eq!([0, 1, 2].map(|server| found.slots_of(server)), [16_375, 0, 7]);
        assert_eq!(found.slots(2).last(), Some(7));
    }

    #[test]
    fn a_slot_that_moved_is_noted() {
        let asked = Address::parse("localhost").unwrap();
        assert_eq!(asked.port, 6379);
        let mut found = Topology::parse(NODES, &asked).unwrap();
        assert!(found.set_owner(6, &Address::parse("[::1]:7007").unwrap()));
        assert!(!found.set_owner(6, &Address::parse("127.0.0.1:7099").unwrap()));
        assert_eq!(found.owner(6), Some(1));
        assert!(Topology::parse("", &asked).is_none());
        assert!(Topology::parse("a 1.2.3.4:1@2 myself,master - 0 0 1 connected", &asked).is_none());
        assert_eq!(["", ":1", "h:x"].map(Address::parse), [None, None, None]);
    }
}
