//! Tests of parts that only the engine sees: the shard loop and its cache, the pool, the shadow.

mod flows;
mod lookup_cache;
mod pool;
mod reference;
mod shadow;
mod traffic;

use super::batch::{Event, Marks, PacketContext};
use super::clock::Tick;
use super::shard::{NONE_HELD, ShardRules};
use crate::flow::{FlowKeyKind, Keyer, Packet, TcpFlags};
use crate::machine::{Preset, Rules};
use crate::time::NANOS_PER_SEC;
use acsm_filters::pending::PendingTable;
use acsm_filters::{HashKey, Random, State};

const KEYER: Keyer = Keyer {
    kind: FlowKeyKind::Connection,
    vlan_in_key: false,
    hash_key: HashKey::from_seed(1),
    pairs_directions: false,
};

/// States of `tcp-flags`, which fit the narrowest cells of every store.
const FEW_STATES: usize = 6;
/// States of `tcp-connection`, which has most states and transitions.
const MANY_STATES: usize = 14;

/// The rules with this many states.
fn rules(states: usize) -> Rules {
    let rules = Rules::load(if states == FEW_STATES { "tcp-flags" } else { "tcp-connection" });
    let rules = rules.unwrap();
    assert_eq!(rules.machine.states().len(), states);
    rules
}

fn shard_rules<'a>(
    rules: &Rules,
    half_open: &'a [bool; State::LIMIT],
    touch_absent: bool,
) -> ShardRules<'a> {
    let shown = rules.list.on_in(Preset::Operator);
    let held = &NONE_HELD;
    ShardRules { half_open, held, shown, keyer: KEYER, touch_absent, stopwatch: None }
}

/// Flags of open flows mostly, then those that open and end, then any.
fn random_flags(random: &mut Random) -> TcpFlags {
    match random.below(16) {
        0..=6 => TcpFlags::ACK,
        7..=9 => TcpFlags::SYN,
        10..=12 => TcpFlags::SYN.with(TcpFlags::ACK),
        13 => TcpFlags::FIN.with(TcpFlags::ACK),
        14 => TcpFlags::RST,
        _ => TcpFlags(random.below(256) as u8),
    }
}

/// The event of a packet.
fn event(packet: &Packet, index: usize, tick: Tick) -> Event {
    let (key, direction) = KEYER.key(packet);
    let context = PacketContext {
        epoch: tick.epoch,
        pending_epoch: PendingTable::epoch_of(packet.time.as_nanos() / NANOS_PER_SEC),
        marks: Marks::default().with(Marks::LATE, tick.is_late),
    };
    Event::new(packet, (KEYER.id(&key), direction), index as u32, context)
}
