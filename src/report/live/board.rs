//! Where the latest view hangs, and what the last minutes were like.

use std::sync::{Arc, Mutex, PoisonError};

use super::{History, Sample, View};

/// Holds the latest [`View`] and the [`History`] up to it. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Posted>>);

#[derive(Debug, Default)]
struct Posted {
    view: Option<Arc<View>>,
    history: Arc<History>,
}

impl Board {
    /// Puts up a view in place of the one before.
    pub fn put(&self, view: View) {
        let view = Arc::new(view);
        let mut posted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = &posted.view {
            let sample = Sample::between(before, &view);
            Arc::make_mut(&mut posted.history).add(sample);
        }
        posted.view = Some(view);
    }

    /// The latest view; `None` in the first second.
    pub fn latest(&self) -> Option<Arc<View>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).view.clone()
    }

    /// The history up to it.
    pub fn history(&self) -> Arc<History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).history.clone()
    }
}
