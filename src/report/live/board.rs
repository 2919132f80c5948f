//! Where the latest view hangs.

use std::sync::{Arc, Mutex, PoisonError};

use super::View;

/// Holds the latest [`View`]. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Option<Arc<View>>>>);

impl Board {
    /// Puts up a view in place of the one before.
    pub fn put(&self, view: View) {
        let fresh = Some(Arc::new(view));
        // A reader that panicked left nothing half-done: the lock covers one pointer.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
    }

    /// The latest view; `None` in the first second.
    pub fn latest(&self) -> Option<Arc<View>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
