//! A gate before a store: a flow enters the store with its second packet, so that a flood of
//! single packets passes by.
//!
//! # Properties
//!
//! The gate remembers the state that a flow's first packet left it in, else the answer to that
//! packet would look unsolicited. It is asked only for flows that the store does not have; so a
//! flow in the store costs it nothing.
//!
//! | the gate says | and then |
//! |---|---|
//! | `Absent` | the flow is held: the gate takes its state, the store takes nothing |
//! | `Known` | the flow goes on from there and enters the store with the state that follows |
//! | `DontKnow` | two states seem to be the flow's: it is held until the gate forgets one. A store that writes without the old state lets it in |
//!
//! Flows that went in are marked. So a flow that has left the store again
//! (deleted, aged) is not taken for one that still waits: it is absent, and may enter at once.
//!
//! A gate may be mistaken, as any filter: a stranger seems to wait (a false positive), or a mark
//! that is others' hides a flow that does wait (a false negative). And it forgets flows when it is
//! full, before their second packet came: a false negative too.
//!
//! # Implementation
//!
//! [`Gate`] is a [`Dbf`](super::Dbf) of single bits, in any layout, emptied as the recycling paper has
//! it: at once, or by halves. Halves also change with the epoch, so that nothing waits longer than
//! flows of a timed store live. [`Gated`] puts it before a store.

mod gated;
mod waiting;

pub use gated::{Gated, GatedHandle, GatedPlace};
pub use waiting::{Gate, GateStats};
