//! Rules that came later. A run refers to its rules from all of its threads; so those that were ever
//! in force stay where they are until it ends: some hundred kilobytes a reload.

use std::cell::OnceCell;

use crate::engine::NewRules;

/// Rules in the order in which they came. Grows, and never moves what it holds.
#[derive(Debug, Default)]
pub struct Shelf(OnceCell<Box<Shelved>>);

#[derive(Debug)]
struct Shelved {
    rules: NewRules,
    next: Shelf,
}

impl Shelf {
    /// Puts rules on the shelf, and says where they are.
    pub fn put(&self, rules: NewRules) -> &NewRules {
        let mut end = self;
        while let Some(shelved) = end.0.get() {
            end = &shelved.next;
        }
        &end.0.get_or_init(|| Box::new(Shelved { rules, next: Shelf::default() })).rules
    }
}
