//! What the kBF papers tell of their trace, and what they do not.

use super::one_way::Pace;
use crate::time::NANOS_PER_SEC;

/// Flows in the papers' trace.
pub const PAPER_FLOWS: u64 = 908_522;
/// Flows with a FIN in it.
pub const PAPER_FIN_FLOWS: u64 = 900;
/// Flows with a RST in it.
pub const PAPER_RST_FLOWS: u64 = 1_658;

/// What the papers do not tell of their trace, or tell in numbers that other traces do not share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperTraffic {
    /// The share of flows that are one SYN and nothing else; `None`: those of one packet that begin with
    /// a SYN.
    pub syn_only_share: Option<f64>,
    /// The share of flows that begin with a SYN and go on, so that they change state; `None`: a fifth of
    /// those of two packets and more.
    pub opening_share: Option<f64>,
    /// The share of flows with a FIN; `None`: 900 of 908,522.
    pub fin_share: Option<f64>,
    /// The share of flows with a RST; `None`: 1,658 of 908,522.
    pub rst_share: Option<f64>,
    /// The times between packets.
    pub pace: Pace,
}

impl Default for PaperTraffic {
    fn default() -> Self {
        // From 10 ms to 10 s between packets.
        let pace = Pace::Gaps { least: NANOS_PER_SEC / 100, most: 10 * NANOS_PER_SEC };
        PaperTraffic {
            syn_only_share: None,
            opening_share: None,
            fin_share: None,
            rst_share: None,
            pace,
        }
    }
}

impl PaperTraffic {
    /// Whether the shares leave room for each other, and the times are some.
    pub(super) fn is_possible(&self) -> bool {
        let [syn_only, opening, fin, rst] =
            [self.syn_only_share, self.opening_share, self.fin_share, self.rst_share]
                .map(|share| share.unwrap_or(0.0));
        let room = 1.0 - syn_only + 1e-9;
        let (least, most) = self.pace.ends();
        [opening, fin, rst].iter().all(|share| (0.0..=room).contains(share))
            && (0.0..=1.0).contains(&syn_only)
            && 0 < least
            && least <= most
    }
}
