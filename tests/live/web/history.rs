//! Samples between views, and how many are kept.

use acsm::live::{DropCounts, History, LookupCounts, Sample, SharedSnapshot, View};
use serde_json::json;

use super::fixture::{map, small_view};

/// `small_view`, and what it became two seconds later.
fn two_views() -> (View, View) {
    let before = small_view();
    let mut after = View {
        uptime_seconds: before.uptime_seconds + 2.0,
        packets: before.packets + 50,
        tcp_packets: before.tcp_packets + 40,
        bytes: before.bytes + 10_000,
        drops: DropCounts { kernel: 13, interface: 3 },
        alerts: map(json!({"syn_flood": 3, "port_scan": 4})),
        lookups: LookupCounts { known: 100, absent: 20, dont_know: 8 },
        entered: map(json!({"syn_sent": 9, "established": 18})),
        ..before.clone()
    };
    after.store.live_flows = 11;
    (before, after)
}

#[test]
fn a_sample_is_the_difference_per_second() {
    let (before, after) = two_views();
    let expected = Sample {
        uptime_seconds: 63.5,
        packets_per_second: 25.0,
        tcp_packets_per_second: 20.0,
        bytes_per_second: 5000.0,
        drops_per_second: 6.0,
        alerts_per_second: 2.5,
        dont_know_per_second: 3.5,
        entered_per_second: vec![0.0, 5.0],
        live_flows: 11,
        fill_ratio: 0.25,
        predicted_error: 0.00012.into(),
    };
    assert_eq!(Sample::between(&before, &after), expected);
}

#[test]
fn counts_that_fall_and_time_that_stands_still_give_no_nonsense() {
    let (before, after) = two_views();
    // Rules that were read again may lack a rule and its count.
    let backwards = Sample::between(&after, &before);
    for rate in [
        backwards.packets_per_second,
        backwards.alerts_per_second,
        backwards.drops_per_second,
        backwards.entered_per_second[1],
    ] {
        assert_eq!(rate, 0.0);
    }
    let at_once = Sample::between(&before, &View { uptime_seconds: 61.5, ..after });
    assert!(at_once.packets_per_second.is_finite());
    let same = Sample::between(&before, &before);
    assert_eq!((same.packets_per_second, same.bytes_per_second), (0.0, 0.0));
}

#[test]
fn a_state_that_is_new_counts_from_zero() {
    let (before, mut after) = two_views();
    after.entered = map(json!({"closed": 6, "established": 18}));
    assert_eq!(Sample::between(&before, &after).entered_per_second, [3.0, 5.0]);
}

#[test]
fn ten_minutes_are_kept() {
    let (before, after) = two_views();
    let mut history = History::default();
    assert_eq!(history.samples().len(), 0);
    for second in 1..=700 {
        let after = View { uptime_seconds: f64::from(second), ..after.clone() };
        history.add(Sample::between(&before, &after));
        assert_eq!(history.samples().len(), second.min(600) as usize);
    }
    let times: Vec<f64> = history.samples().map(|sample| sample.uptime_seconds).collect();
    assert_eq!((times[0], times[599]), (101.0, 700.0));
    assert!(times.is_sorted());
}

#[test]
fn a_shared_snapshot_keeps_the_history() {
    let shared = SharedSnapshot::default();
    let (before, after) = two_views();
    shared.publish(before.clone());
    assert_eq!(shared.history().samples().len(), 0, "it takes two views");
    shared.clone().publish(after.clone());
    let history = shared.history();
    assert_eq!(history.samples().collect::<Vec<_>>(), [&Sample::between(&before, &after)]);
    assert_eq!(*shared.latest().unwrap(), after);
}
