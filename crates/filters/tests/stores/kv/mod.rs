//! Key-value stores: against a slow model, a hash map and closed forms.

mod filter;
mod properties;
mod rates;
mod slab;
mod slow;
mod store;

/// A key of eight bytes.
fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}
