//! Prometheus metrics: a view in the text format, version 0.0.4.
//!
//! A new metric is a field of [`View`] and a few lines here; `docs/live.md` lists all of them. Addresses
//! are never labels: senders of packets must not determine the number of series. Every possible label
//! value is exported from the start, with 0, so that `rate()` sees the first increase.

use std::fmt::{Display, Write as _};

use super::view::{RuleView, View};
use crate::capture::live::InterfaceCounts;
use crate::capture::parse::Skip;

/// The text of `/metrics`.
pub fn metrics(view: &View) -> String {
    let mut text = Exposition::default();
    text.gauge("acsm_build_info", "What runs: its version, and where it keeps state.");
    text.sample(
        &[("version", env!("CARGO_PKG_VERSION")), ("backend", view.store.backend.name())],
        1,
    );
    text.gauge("acsm_uptime_seconds", "Time since the start.");
    text.sample(&[], view.uptime_seconds);
    traffic(&mut text, view);
    interfaces(&mut text, view);
    machine(&mut text, view);
    alerts(&mut text, view);
    store(&mut text, view);
    error(&mut text, view);
    pending(&mut text, view);
    workers(&mut text, view);
    text.text
}

fn traffic(text: &mut Exposition, view: &View) {
    text.counter("acsm_packets_total", "Frames of any kind that were seen.");
    text.sample(&[], view.packets);
    text.counter("acsm_tcp_packets_total", "Frames with a TCP header that counts.");
    text.sample(&[], view.tcp_packets);
    text.counter("acsm_bytes_total", "Bytes on the wire, of all frames.");
    text.sample(&[], view.bytes);
    text.counter("acsm_skipped_total", "Frames without a TCP header that counts, by reason.");
    for skip in Skip::ALL {
        text.sample(&[("reason", skip.name())], view.skipped.get(skip.name()));
    }
    text.counter("acsm_capture_drops_total", "Frames that were lost, by who lost them.");
    text.samples("reason", view.drops.by_reason());
}

fn interfaces(text: &mut Exposition, view: &View) {
    let interfaces = &view.interfaces;
    let mut each = |kind: &str, name: &'static str, help: &str, of: fn(&InterfaceCounts) -> u64| {
        text.family(kind, name, help);
        for counts in interfaces {
            text.sample(&[("interface", &counts.interface)], of(counts));
        }
    };
    each("gauge", "acsm_interface_up", "Whether the interface is captured from.", |counts| {
        u64::from(counts.is_open)
    });
    each("counter", "acsm_interface_packets_total", "Frames seen at the interface.", |counts| {
        counts.packets
    });
    each("counter", "acsm_interface_bytes_total", "Bytes of the frames seen there.", |counts| {
        counts.bytes
    });
    each(
        "counter",
        "acsm_interface_losses_of_link_total",
        "How often the interface was lost.",
        |counts| counts.losses_of_link,
    );
    text.counter("acsm_interface_drops_total", "Frames lost at the interface, by who lost them.");
    for counts in interfaces {
        let drops = [("kernel", counts.kernel_drops), ("interface", counts.interface_drops)];
        for (reason, lost) in drops {
            text.sample(&[("interface", &counts.interface), ("reason", reason)], lost);
        }
    }
}

fn machine(text: &mut Exposition, view: &View) {
    text.counter("acsm_lookups_total", "Questions to the store, by its answer.");
    text.samples("answer", view.lookups.by_answer());
    text.counter("acsm_state_entries_total", "Flows that came into a state.");
    text.samples("state", view.entered.iter());
    text.gauge("acsm_one_way", "Whether nearly all flows or handshakes show one direction only.");
    text.sample(&[], u8::from(view.one_way));
}

fn alerts(text: &mut Exposition, view: &View) {
    let named = |is_shown| view.rules.iter().filter(move |rule| rule.is_shown == is_shown);
    text.counter("acsm_alerts_total", "Alerts shown, by rule.");
    for RuleView { name, .. } in named(true) {
        text.sample(&[("rule", name)], view.alerts.get(name));
    }
    text.counter("acsm_alerts_only_counted_total", "Alerts of rules that are only counted.");
    for RuleView { name, .. } in named(false) {
        text.sample(&[("rule", name)], view.only_counted.get(name));
    }
    text.counter("acsm_alerts_left_out_total", "Alerts that were not shown, by reason.");
    text.samples("reason", view.left_out.iter());
    text.gauge("acsm_incidents_open", "Incidents that go on.");
    text.sample(&[], view.incidents.open);
    text.counter("acsm_incidents_total", "Incidents so far, those that go on among them.");
    text.sample(&[], view.incidents.total);
    let help = "Whether rules about packets without a session are mute: start, loss or flood.";
    text.gauge("acsm_no_session_muted", help);
    text.sample(&[], u8::from(view.no_session_muted));
}

fn store(text: &mut Exposition, view: &View) {
    let store = &view.store;
    let help = match store.live_estimated {
        true => "Flows alive, estimated: this store cannot count them.",
        false => "Flows alive.",
    };
    text.gauge("acsm_live_flows", help);
    text.sample(&[], store.live_flows);
    if let Some(planned) = store.planned_flows() {
        text.gauge("acsm_store_planned_flows", "Flows alive at once that the store was made for.");
        text.sample(&[], planned);
    }
    for (name, help, flows) in [
        ("acsm_flows_inserted_total", "Flows that came into the store.", store.inserted),
        ("acsm_flows_deleted_total", "Flows that were deleted at their end.", store.deleted),
        ("acsm_flows_evicted_total", "Flows that had to leave for others.", store.evicted),
        ("acsm_flows_refused_total", "Flows that found no room: the store was full.", store.full),
    ] {
        text.counter(name, help);
        text.sample(&[], flows);
    }
    text.gauge("acsm_store_fill_ratio", "The part of the store's cells in use.");
    text.sample(&[], store.fill_ratio);
    let help = "The share of answers that theory expects to be wrong at this load.";
    text.gauge("acsm_store_predicted_error_ratio", help);
    text.sample(&[], store.predicted_error.value());
    // Prometheus measures memory in bytes; its linter rejects names with `bits`.
    text.gauge(
        "acsm_store_bytes",
        "Memory that is allocated for the store: acsm_store_bits, in the base unit of Prometheus.",
    );
    text.sample(&[], store.bits.div_ceil(8));
}

/// The measured error. Like every ratio of Prometheus, from 0 to 1.
fn error(text: &mut Exposition, view: &View) {
    let Some(measured) = view.error.measured else { return };
    for (name, help, value) in [
        (
            "acsm_measured_error_ratio",
            "The share of wrong answers in the last minute, measured on a sample of flows.",
            measured.rate(),
        ),
        (
            "acsm_measured_error_ratio_low",
            "It is at least this, by the size of the sample.",
            measured.low,
        ),
        (
            "acsm_measured_error_ratio_high",
            "It is at most this, by the size of the sample.",
            measured.high,
        ),
        (
            "acsm_measured_error_ratio_worst",
            "That of the worst minute since the start.",
            measured.worst,
        ),
        (
            "acsm_measured_flows",
            "Sampled flows that were looked up in the last minute.",
            measured.flows as f64,
        ),
    ] {
        text.gauge(name, help);
        text.sample(&[], value);
    }
}

fn pending(text: &mut Exposition, view: &View) {
    let is_overloaded = view.overload.since.is_some();
    text.gauge("acsm_overload", "Whether new flows are too many for pending table or store.");
    text.sample(&[], u8::from(is_overloaded));
    text.counter(
        "acsm_store_refused_total",
        "Flows that were not let in: the store had as many as planned.",
    );
    text.sample(&[], view.store.refused);
    let Some(pending) = &view.pending else { return };
    text.gauge("acsm_pending_slots", "Flows that fit the pending table.");
    text.sample(&[], pending.slots);
    text.gauge("acsm_pending_used", "Flows that are pending.");
    text.sample(&[], pending.used);
    text.counter("acsm_pending_lost_total", "Flows that fell out of the pending table for others.");
    text.sample(&[], pending.lost);
    let help = "How long a pending flow is held at the rate of the last second, at least.";
    text.gauge("acsm_pending_lifetime_seconds", help);
    match pending.lifetime_seconds {
        Some(seconds) => text.sample(&[], seconds),
        None => text.sample(&[], "+Inf"),
    }
}

fn workers(text: &mut Exposition, view: &View) {
    let name = "acsm_batch_duration_seconds";
    text.family("summary", name, "Time that a worker takes for a batch of packets.");
    for (quantile, seconds) in ["0.5", "0.99"].into_iter().zip(view.batch_seconds) {
        text.sample(&[("quantile", quantile)], seconds);
    }
    let _ = writeln!(text.text, "{name}_sum {}", view.batches_total_seconds); // to a String
    let _ = writeln!(text.text, "{name}_count {}", view.batches);
}

/// The text so far. Writing to a String cannot fail.
#[derive(Debug, Default)]
struct Exposition {
    text: String,
    /// The metric family that the next samples belong to.
    family: &'static str,
}

impl Exposition {
    fn gauge(&mut self, name: &'static str, help: &str) {
        self.family("gauge", name, help);
    }

    fn counter(&mut self, name: &'static str, help: &str) {
        self.family("counter", name, help);
    }

    fn family(&mut self, kind: &str, name: &'static str, help: &str) {
        self.family = name;
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.family);
        for (index, (label, text)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(text));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{after} {value}");
    }

    /// One sample per name.
    fn samples<'n>(&mut self, label: &str, counts: impl IntoIterator<Item = (&'n str, u64)>) {
        for (name, count) in counts {
            self.sample(&[(label, name)], count);
        }
    }
}

/// A label value: rule files and the system choose names.
fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
