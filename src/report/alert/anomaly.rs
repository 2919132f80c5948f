//! EVE `anomaly` events: the beginning and the end of an overload of the store.

use serde::Serialize;

use super::eve::eve_time;
use crate::engine::OverloadEvent;

#[derive(Serialize)]
struct AnomalyEvent {
    timestamp: String,
    event_type: &'static str,
    anomaly: Anomaly,
    acsm: OwnFields,
}

#[derive(Serialize)]
struct Anomaly {
    #[serde(rename = "type")]
    kind: &'static str,
    event: &'static str,
}

#[derive(Serialize)]
struct OwnFields {
    overload: OverloadFields,
}

#[derive(Serialize)]
struct OverloadFields {
    status: &'static str,
    /// `null` if no flow arrived at the pending table, or there is none.
    pending_lifetime_seconds: Option<f64>,
    refused: u64,
    lost: u64,
    since: String,
}

/// Appends the event to `out`, as one line.
pub fn append(event: &OverloadEvent, out: &mut Vec<u8>) {
    let line = AnomalyEvent {
        timestamp: eve_time(event.time),
        event_type: "anomaly",
        anomaly: Anomaly { kind: "store", event: "store_overload" },
        acsm: OwnFields {
            overload: OverloadFields {
                status: event.status.name(),
                pending_lifetime_seconds: event.pending_lifetime_seconds,
                refused: event.refused,
                lost: event.lost,
                since: eve_time(event.since),
            },
        },
    };
    // Writing plain data to memory cannot fail.
    if serde_json::to_writer(&mut *out, &line).is_ok() {
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::OverloadStatus;
    use crate::time::Timestamp;

    #[test]
    fn an_overload_is_one_line() {
        let event = OverloadEvent {
            status: OverloadStatus::End,
            time: Timestamp::new(61, 0),
            since: Timestamp::new(1, 0),
            pending_lifetime_seconds: Some(0.5),
            refused: 3,
            lost: 70,
        };
        let mut line = Vec::new();
        append(&event, &mut line);
        let expected = r#"{"timestamp":"1970-01-01T00:01:01.000000+0000","event_type":"anomaly","#
            .to_owned()
            + r#""anomaly":{"type":"store","event":"store_overload"},"acsm":{"overload":{"status":"end","#
            + r#""pending_lifetime_seconds":0.5,"refused":3,"lost":70,"#
            + r#""since":"1970-01-01T00:00:01.000000+0000"}}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), expected + "\n");
    }
}
