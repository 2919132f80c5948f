//! Plans: what they promise, what runs get, and what the program prints.

mod command;
mod measured;
mod properties;
