//! What a store is asked: the mix of states, of flows and strangers, and their pace.

use acsm_model::StateMix;
use acsm_model::aging::Arrivals;

/// Traffic as theory sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Which part of the flows is in which state.
    pub mix: StateMix,
    /// The part of the flows that are still in the state they came in. `sbf` gets on with those
    /// alone.
    pub kept: f64,
    /// The part of the lookups that are for strangers: the first packets of flows.
    pub absent: f64,
    /// Seconds from a flow's first packet to its last, on average.
    pub lifetime_seconds: f64,
    /// A flow silent for so long is forgotten.
    pub idle_seconds: f64,
}

impl Traffic {
    /// What we take traffic for as long as nobody measured it: eight of ten flows are in one state,
    /// which they have changed to; ten packets a flow, within five seconds; a minute's patience.
    pub fn typical(states: usize) -> Traffic {
        let rest = 0.2 / states.saturating_sub(1).max(1) as f64;
        let parts: Vec<f64> =
            (0..states.max(1)).map(|state| if state == 0 { 0.8 } else { rest }).collect();
        Traffic {
            mix: StateMix::new(&parts),
            kept: 0.2,
            absent: 0.1,
            lifetime_seconds: 5.0,
            idle_seconds: 60.0,
        }
    }

    /// How long a flow is in a store with a timer: from its first packet to when it is forgotten.
    pub fn held_seconds(&self) -> f64 {
        self.arrivals().held_seconds()
    }

    /// Arrivals of which one flow is held at any time, on average.
    pub(super) fn arrivals(&self) -> Arrivals {
        let of_pace = |per_second: f64| Arrivals {
            per_second,
            lifetime_seconds: self.lifetime_seconds.max(0.0),
            phase_seconds: self.idle_seconds.max(1e-9),
        };
        of_pace(1.0 / of_pace(1.0).held_seconds())
    }

    /// The part of held flows that still talk.
    pub(super) fn talking(&self) -> f64 {
        (self.lifetime_seconds.max(0.0) / self.held_seconds()).clamp(0.0, 1.0)
    }

    /// Lookups of flows for each flow that comes.
    pub(super) fn lookups_a_flow(&self) -> f64 {
        let absent = self.absent.clamp(1e-9, 1.0);
        (1.0 - absent) / absent
    }
}
