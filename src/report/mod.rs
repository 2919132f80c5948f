//! What people and programs get to see.

pub mod alert;
pub mod inspect;
pub mod replay;
pub mod text;
pub mod trace;
