//! The structures against independent evidence: slow models of their rules, and closed forms.

mod bhbf_merge;
mod bloom_g;
mod borrowed;
mod cap;
mod conformance;
mod errors;
mod halves;
mod kv;
mod no_counters;
mod pending;
mod pending_evidence;
mod pending_rates;
mod recycling;
mod slow;
mod snapshot_format;
mod snapshot_stores;
mod static_set;
mod support;
mod theory;
