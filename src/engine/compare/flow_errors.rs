//! Errors of one run, flow by flow: few flows have any, and only they take memory.

use std::collections::HashMap;

use crate::engine::errors::{ErrorKind, Errors};

/// Errors of one flow, by [`ErrorKind`].
pub type ErrorCounts = [u32; ErrorKind::COUNT];

/// Counts errors, in all and flow by flow.
#[derive(Debug, Default)]
pub struct FlowErrors {
    /// In all; lookups and `flows_total` are not counted here.
    errors: Errors,
    /// The position of a flow in `flows`.
    positions: HashMap<u32, usize>,
    /// In the order of their first errors.
    flows: Vec<(u32, ErrorCounts)>,
}

impl FlowErrors {
    /// Counts an error.
    pub fn count(&mut self, flow: u32, kind: ErrorKind) {
        *self.errors.of_kind(kind) += 1;
        let position = *self.positions.entry(flow).or_insert_with(|| {
            self.flows.push((flow, ErrorCounts::default()));
            self.flows.len() - 1
        });
        if let Some((_, errors)) = self.flows.get_mut(position) {
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
    pub fn iter(&self) -> impl Iterator<Item = (u32, ErrorCounts)> {
        self.flows.iter().copied()
    }
}
