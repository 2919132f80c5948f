//! `acsm replay` on generated, handmade and real traces.

mod aging;
mod attacks;
mod bad_input;
mod contract;
mod corpus;
mod endings;
mod eve;
mod floods;
mod hygiene;
mod incidents;
mod paper;
mod pending;
mod recycling;
mod same_bytes;
mod selection;
mod stats;
mod wire;
