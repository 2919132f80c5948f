//! What people and programs get to see.

pub mod inspect;
pub mod text;
