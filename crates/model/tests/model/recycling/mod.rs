//! Recycling filters: exact fractions for tiny filters, simulations of filters of 1000 bits as in
//! the paper's §V, the limit of large filters, and plans.

mod exact;
mod limit;
mod plans;
mod simulated;

use acsm_model::recycling::{Filter, Hashing, Retain};

const VARIANTS: [(Hashing, Retain); 4] = [
    (Hashing::Colliding, Retain::Forget),
    (Hashing::Colliding, Retain::Keep),
    (Hashing::Distinct, Retain::Forget),
    (Hashing::Distinct, Retain::Keep),
];

fn filter(bits: u64, hashes: usize, (hashing, retain): (Hashing, Retain)) -> Filter {
    Filter { bits, hashes, hashing, retain }
}
