//! `acsm replay` as its users meet it: the built program, on generated, hand-made and real traces.

mod aging;
mod attacks;
mod bad_input;
mod contract;
mod corpus;
mod endings;
mod eve;
mod gate;
mod hygiene;
mod paper;
mod program;
mod recycling;
mod same_bytes;
mod schema;
mod selection;
mod wire;
