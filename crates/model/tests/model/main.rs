//! The closed forms of `model/` against evidence of another kind: exact fractions where cases are
//! few enough to list, simulations with fixed seeds, and the values that the papers print.

mod aging;
mod bloom;
mod bloom_g;
mod evidence;
mod fcf;
mod filters;
mod halves;
mod kv;
mod nonsense;
mod recycling;
mod special;
