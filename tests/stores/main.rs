//! The stores: each against an independent slow model of it, and against the theory of its errors.

mod bhbf_merge;
mod conformance;
mod errors;
mod recent;
mod recycling;
mod slow_store;
mod static_set;
mod theory;
