//! What has to be seen beside a packet before an alert about it, which rests on the answer of an approximate
//! store, is believed.

/// What confirms an alert and what refutes it, as a rules file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Confirmation {
    /// How long is waited for it.
    pub within_nanos: u64,
    /// Any of these confirms it.
    pub by: EvidenceSet,
    /// Any of these refutes it: the store was wrong.
    pub refuted_by: EvidenceSet,
}

/// One thing that can be seen of a connection, independent of any store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The other end sends a SYN+ACK.
    SynAck = 1,
    /// The other end sends a RST.
    Reset = 2,
    /// The other end sends a segment with ACK, neither SYN nor RST.
    Segment = 4,
    /// The sender had sent a SYN before.
    OwnSynBefore = 8,
    /// The other end had sent a SYN before.
    SynBefore = 16,
    /// Both had.
    SynsBefore = 32,
}

/// A set of [`Evidence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EvidenceSet(u8);

impl EvidenceSet {
    /// Whether it has this one.
    pub const fn has(self, evidence: Evidence) -> bool {
        self.0 & evidence as u8 != 0
    }

    /// Whether it is about what came before the packet.
    pub const fn looks_back(self) -> bool {
        self.has(Evidence::OwnSynBefore)
            || self.has(Evidence::SynBefore)
            || self.has(Evidence::SynsBefore)
    }
}

impl FromIterator<Evidence> for EvidenceSet {
    fn from_iter<I: IntoIterator<Item = Evidence>>(list: I) -> EvidenceSet {
        EvidenceSet(list.into_iter().fold(0, |set, evidence| set | evidence as u8))
    }
}
