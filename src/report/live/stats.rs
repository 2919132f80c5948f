//! EVE `stats` events: totals, once a minute, among the alerts.

use serde_json::json;

use super::{View, count, total};

/// Appends the line of `view`, with its newline, to `out`. `stats` has Suricata's names; what they
/// have no name for is in `acsm`.
pub fn stats_line(view: &View, out: &mut Vec<u8>) {
    let drops = |who: &str| count(&view.drops, who);
    let line = json!({
        "timestamp": eve_time(&view.time),
        "event_type": "stats",
        "stats": {
            "uptime": view.uptime_seconds as u64,
            "capture": {
                "kernel_packets": view.packets + drops("kernel"),
                "kernel_drops": drops("kernel"),
                "kernel_ifdrops": drops("interface"),
            },
            "decoder": { "pkts": view.packets, "bytes": view.bytes, "tcp": view.tcp_packets },
            "detect": { "alert": total(&view.alerts) },
        },
        "acsm": {
            "interfaces": view.interfaces,
            "skipped": view.skipped,
            "lookups": view.lookups,
            "entered": view.entered,
            "alerts": view.alerts,
            "only_counted": view.only_counted,
            "left_out": view.left_out,
            "store": view.store,
            "one_way": view.one_way,
            "no_session_muted": view.no_session_muted,
        },
    });
    // Writing plain data to memory cannot fail.
    if serde_json::to_writer(&mut *out, &line).is_ok() {
        out.push(b'\n');
    }
}

/// Suricata's way to write a time: microseconds, and `+0000` where RFC 3339 has `Z`.
fn eve_time(time: &str) -> String {
    format!("{}+0000", time.get(..26).unwrap_or(time))
}
