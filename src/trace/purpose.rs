//! What random numbers are drawn for: each purpose has its own, so that one more draw for one
//! thing changes nothing else.

use super::attack::AttackKind;
use acsm_filters::rng::Random;

/// What random numbers are drawn for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// All about one conversation.
    Conversation,
    /// All about one client.
    Client,
    /// All about one pair of the paper profile.
    BackbonePair,
    /// Which of these pairs carry FIN and RST.
    BackboneMarks,
    /// How a probe goes on.
    Attack(AttackKind),
    /// A probe's sequence numbers.
    AttackNumbers(AttackKind),
}

impl Purpose {
    /// The random numbers of the `index`-th thing of this purpose.
    pub fn random(self, seed: u64, index: u64) -> Random {
        let tag = match self {
            Purpose::Conversation => 1,
            Purpose::Client => 2,
            Purpose::BackbonePair => 3,
            Purpose::BackboneMarks => 4,
            Purpose::Attack(kind) => 0x100 + kind as u64,
            Purpose::AttackNumbers(kind) => 0x200 + kind as u64,
        };
        Random::for_purpose(seed, tag << 40 | index)
    }
}
