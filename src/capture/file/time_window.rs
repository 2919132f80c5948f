//! The part of a trace's time that the user asked for.

use crate::time::Timestamp;

/// Keeps frames with `from <= time < to`; a missing bound does not bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeWindow {
    /// The first moment inside.
    pub from: Option<Timestamp>,
    /// The first moment after it.
    pub to: Option<Timestamp>,
}

impl TimeWindow {
    /// Whether `time` lies inside.
    #[inline]
    pub fn contains(&self, time: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_its_start_and_not_its_end() {
        let [five, six, seven] = [5, 6, 7].map(Timestamp::from_nanos);
        let window = TimeWindow { from: Some(five), to: Some(seven) };
        assert_eq!([five, six, seven].map(|time| window.contains(time)), [true, true, false]);
        assert!(!window.contains(Timestamp::from_nanos(4)));
        assert!(TimeWindow::default().contains(Timestamp::MAX));
    }
}
