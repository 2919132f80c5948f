//! The flows that one run was wrong about: few, and only they take memory.

use std::collections::HashMap;

use crate::engine::verify::{ErrorKind, Errors};

/// Errors of one flow, by [`ErrorKind`].
pub type FlowErrors = [u32; ErrorKind::COUNT];

/// Counts errors, in all and flow by flow.
#[derive(Debug, Default)]
pub struct ErringFlows {
    /// In all; lookups and `flows_total` are left to whoever knows them.
    errors: Errors,
    /// Where in `flows` a flow stands.
    places: HashMap<u32, usize>,
    /// In the order of their first errors.
    flows: Vec<(u32, FlowErrors)>,
}

impl ErringFlows {
    /// Counts an error.
    pub fn count(&mut self, flow: u32, kind: ErrorKind) {
        *self.errors.of_kind(kind) += 1;
        let place = *self.places.entry(flow).or_insert_with(|| {
            self.flows.push((flow, FlowErrors::default()));
            self.flows.len() - 1
        });
        if let Some((_, errors)) = self.flows.get_mut(place) {
            let count = &mut errors[kind as usize];
            *count = count.saturating_add(1);
        }
    }

    /// Errors of every kind so far.
    pub fn total(&self) -> u64 {
        self.errors.total()
    }

    /// The counts in all, of which only errors and `flows_wrong` are set.
    pub fn errors(&self) -> Errors {
        Errors { flows_wrong: self.flows.len() as u64, ..self.errors }
    }

    /// Each flow with its errors.
    pub fn iter(&self) -> impl Iterator<Item = (u32, FlowErrors)> {
        self.flows.iter().copied()
    }
}
