//! Rules about many packets: so many of something, per key, within a window.

/// A rule's index in its rule book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u8);

/// What a threshold counts per.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThresholdKey {
    /// Per source address.
    Source,
    /// Per destination address.
    Destination,
    /// Per (source, destination) pair.
    Pair,
    /// Per (source, destination port): one service asked for on many hosts.
    SourceAndPort,
}

/// What a threshold counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Half-open 5-tuples: a SYN and no later ACK from its sender in time.
    HalfOpen,
    /// Distinct destination ports that refused (RST) or did not answer a first packet.
    UnansweredPorts,
    /// Distinct destination hosts of first packets of any kind that came to nothing (refused, not
    /// answered in time, or left half-open); IPv6 by /64.
    Destinations,
    /// RST packets, but for the first three in each direction of a 5-tuple that was seen before.
    Resets,
    /// FIN packets, but for the first three in each direction of a 5-tuple that was seen before.
    Fins,
    /// SYN+ACK packets that answer no SYN and that nothing but RST follows.
    UnsolicitedSynAcks,
}

/// So many of something, per key, within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdRule {
    /// Which rule it is.
    pub rule: RuleId,
    /// What is counted.
    pub counted: Counted,
    /// Per what.
    pub per: ThresholdKey,
    /// It fires when the count within a window reaches this.
    pub count: u32,
    /// Length of the window.
    pub window_nanos: u64,
    /// After it fired for a key it is silent for that key this long; what comes in between is
    /// counted and told with the next alert.
    pub cooldown_nanos: u64,
}
