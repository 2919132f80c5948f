//! EVE `stats` events: all totals of a view, written among the alerts once per interval.

use serde::Serialize;

use super::view::{Counts, LookupCounts, OverloadView, StoreView, View};
use crate::capture::live::InterfaceCounts;
use crate::report::replay::{CurrentError, PendingReport};

/// An event. `stats` has Suricata's names; figures that Suricata has no name for are in `acsm`.
#[derive(Debug, Serialize)]
struct StatsEvent<'a> {
    timestamp: String,
    event_type: &'static str,
    stats: SuricataStats,
    acsm: OwnStats<'a>,
}

#[derive(Debug, Serialize)]
struct SuricataStats {
    uptime: u64,
    capture: CaptureStats,
    decoder: DecoderStats,
    detect: DetectStats,
    flow: FlowStats,
    #[serde(skip_serializing_if = "Option::is_none")]
    memcap: Option<MemcapStats>,
}

#[derive(Debug, Serialize)]
struct CaptureStats {
    kernel_packets: u64,
    kernel_drops: u64,
    kernel_ifdrops: u64,
}

#[derive(Debug, Serialize)]
struct DecoderStats {
    pkts: u64,
    /// Not known of captures in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    tcp: u64,
}

#[derive(Debug, Serialize)]
struct DetectStats {
    alert: u64,
    alerts_suppressed: u64,
}

/// In Suricata an emergency is what an overload is here.
#[derive(Debug, Serialize)]
struct FlowStats {
    total: u64,
    active: u64,
    memuse: u64,
    memcap: u64,
    get_used: u64,
    emerg_mode_entered: u64,
    emerg_mode_over: u64,
}

/// In percent. Suricata's share of memory in use is the share of planned flows here: memory is constant.
#[derive(Debug, Serialize)]
struct MemcapStats {
    pressure: u64,
    pressure_max: u64,
}

#[derive(Debug, Serialize)]
struct OwnStats<'a> {
    interfaces: &'a [InterfaceCounts],
    skipped: &'a Counts,
    lookups: LookupCounts,
    entered: &'a Counts,
    alerts: &'a Counts,
    only_counted: &'a Counts,
    left_out: &'a Counts,
    store: &'a StoreView,
    pending: Option<&'a PendingReport>,
    error: CurrentError,
    overload: &'a OverloadView,
    one_way: bool,
    no_session_muted: bool,
}

/// Writes the events of a run.
#[derive(Debug, Default)]
pub struct StatsEvents {
    pressure_max: u64,
}

impl StatsEvents {
    /// Appends the event of `view` to `out`, as one line.
    pub fn append(&mut self, view: &View, out: &mut Vec<u8>) {
        let memcap = view.store.planned_flows().map(|planned| {
            let pressure = 100 * view.store.live_flows / planned.max(1);
            self.pressure_max = self.pressure_max.max(pressure);
            MemcapStats { pressure, pressure_max: self.pressure_max }
        });
        append_line(view, memcap, out);
    }
}

fn append_line(view: &View, memcap: Option<MemcapStats>, out: &mut Vec<u8>) {
    let event = StatsEvent {
        timestamp: eve_time(&view.time),
        event_type: "stats",
        stats: SuricataStats {
            uptime: view.uptime_seconds as u64,
            capture: CaptureStats {
                kernel_packets: view.packets + view.drops.kernel,
                kernel_drops: view.drops.kernel,
                kernel_ifdrops: view.drops.interface,
            },
            decoder: DecoderStats {
                pkts: view.packets,
                bytes: (!view.interfaces.is_empty()).then_some(view.bytes),
                tcp: view.tcp_packets,
            },
            detect: DetectStats {
                alert: view.alerts.total(),
                alerts_suppressed: view.left_out.total(),
            },
            memcap,
            flow: FlowStats {
                total: view.store.inserted,
                active: view.store.live_flows,
                memuse: view.store.bits.div_ceil(8),
                memcap: view.store.full + view.store.refused,
                get_used: view.store.evicted,
                emerg_mode_entered: view.overload.totals.entered,
                emerg_mode_over: view.overload.totals.over,
            },
        },
        acsm: OwnStats {
            interfaces: &view.interfaces,
            skipped: &view.skipped,
            lookups: view.lookups,
            entered: &view.entered,
            alerts: &view.alerts,
            only_counted: &view.only_counted,
            left_out: &view.left_out,
            store: &view.store,
            pending: view.pending.as_ref(),
            error: view.error,
            overload: &view.overload,
            one_way: view.one_way,
            no_session_muted: view.no_session_muted,
        },
    };
    // Writing plain data to memory cannot fail.
    if serde_json::to_writer(&mut *out, &event).is_ok() {
        out.push(b'\n');
    }
}

/// A time as Suricata writes it: microseconds, and `+0000` where RFC 3339 has `Z`.
fn eve_time(time: &str) -> String {
    format!("{}+0000", time.get(..26).unwrap_or(time))
}
