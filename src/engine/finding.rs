//! What a worker finds in one round: buffers that travel with it and are used again.

use super::alert::WatchStep;
use super::event::Event;
use crate::flow::Packet;
use crate::machine::RuleId;
use crate::state::{Lookup, State};

/// An alert before anything thins it out. It names its packet by the event's `index`: packets stay
/// with the core that made them.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// What raised it.
    pub event: Event,
    /// Which rule it broke.
    pub rule: RuleId,
    /// What the store said about its flow.
    pub answer: Lookup,
    /// The state that the flow is in now, if that is known.
    pub state: Option<State>,
    /// How sure the answer is.
    pub confidence: f64,
}

/// All that there is to say about one round.
#[derive(Debug, Default)]
pub struct Findings {
    /// The round's packets, once the round is back from all workers.
    pub packets: Vec<Packet>,
    /// Alerts by the store's word.
    pub alerts: Vec<Finding>,
    /// Alerts by the exact shadow's.
    pub shadow_alerts: Vec<Finding>,
    /// Steps of the watched flow, each with its packet's place in the round.
    pub steps: Vec<(u32, WatchStep)>,
}

impl Findings {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.alerts.clear();
        self.shadow_alerts.clear();
        self.steps.clear();
    }

    /// Takes over what `other`, of another worker, holds.
    pub fn append(&mut self, other: &mut Findings) {
        self.alerts.append(&mut other.alerts);
        self.shadow_alerts.append(&mut other.shadow_alerts);
        self.steps.append(&mut other.steps);
    }

    /// Puts everything in packet order, the rules of one packet in the order of the rule book.
    pub fn sort(&mut self) {
        let order = |finding: &Finding| (finding.event.index, finding.rule);
        self.alerts.sort_unstable_by_key(order);
        self.shadow_alerts.sort_unstable_by_key(order);
        self.steps.sort_unstable_by_key(|(index, _)| *index);
    }
}
