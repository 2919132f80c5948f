//! The beginning or the end of an overload as a message.

use std::fmt;

use super::format::grouped;
use crate::engine::{OverloadEvent, OverloadStatus};

/// Displays an event in one line.
#[derive(Debug, Clone, Copy)]
pub struct OverloadMessage<'a>(pub &'a OverloadEvent);

impl fmt::Display for OverloadMessage<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OverloadEvent { status, time, since, pending_lifetime_seconds, refused, lost } = self.0;
        match status {
            OverloadStatus::Start => {
                write!(out, "store overload at {time}: new flows are too many")?
            }
            OverloadStatus::End => write!(out, "store overload over at {time}, began at {since}")?,
        }
        if let Some(seconds) = pending_lifetime_seconds {
            write!(out, "; pending flows are held for {seconds:.1} s")?;
        }
        if *refused > 0 {
            write!(out, "; {} flows found no room in the store", grouped(*refused))?;
        }
        if *lost > 0 {
            write!(out, "; {} pending flows lost", grouped(*lost))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn an_event_is_one_sentence() {
        let start = OverloadEvent {
            status: OverloadStatus::Start,
            time: Timestamp::new(3600, 0),
            since: Timestamp::new(3600, 0),
            pending_lifetime_seconds: Some(0.66),
            refused: 0,
            lost: 12_000,
        };
        assert_eq!(
            OverloadMessage(&start).to_string(),
            "store overload at 1970-01-01T01:00:00.000000000Z: new flows are too many; pending flows \
             are held for 0.7 s; 12,000 pending flows lost"
        );
        let status = OverloadStatus::End;
        let end =
            OverloadEvent { status, pending_lifetime_seconds: None, refused: 7, lost: 0, ..start };
        assert_eq!(
            OverloadMessage(&end).to_string(),
            "store overload over at 1970-01-01T01:00:00.000000000Z, began at \
             1970-01-01T01:00:00.000000000Z; 7 flows found no room in the store"
        );
    }
}
