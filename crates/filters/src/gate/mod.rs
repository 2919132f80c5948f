//! A gate in front of a store: a flow enters the store with its second packet, so that a flood of
//! single packets does not fill it.
//!
//! # Properties
//!
//! The gate remembers the state after a flow's first packet; without it the answer to that packet
//! would look unsolicited. It is consulted only for flows that are absent in the store, so a flow
//! in the store costs it nothing.
//!
//! | answer of the gate | effect |
//! |---|---|
//! | `Absent` | the flow is held: the gate stores its state, the store nothing |
//! | `Known` | the flow is admitted: it enters the store with its next state |
//! | `DontKnow` | two states seem to be pending: the flow is held until the gate forgets one, except before a store that writes without the old state |
//!
//! Admitted flows are marked. So a flow that has left the store again (deleted, aged) is not taken
//! for a pending one: it is absent, and admitted at once.
//!
//! A gate errs as any filter does. An absent flow can seem pending (a false positive); the mark of
//! other flows can hide a pending flow (a false negative); and a full gate forgets flows before
//! their second packet (a false negative as well).
//!
//! # Implementation
//!
//! [`Gate`] is a [`Dbf`](crate::Dbf) of single bits, in any layout, that recycles in one phase or
//! two. Two phases also change with the epoch, so that no flow is pending longer than flows of a
//! timed store live. [`Gated`] puts a gate in front of a store.

mod gated;
mod pending;

pub use gated::{Gated, GatedHandle, GatedPlace};
pub use pending::Gate;
