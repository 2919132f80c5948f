//! A run at one moment, in names: what `/api/snapshot` gives and dashboards draw.

use serde::Serialize;
use serde_json::{Map, Value};

use super::SeenAlert;
use crate::capture::live::InterfaceCounts;
use crate::engine::Snapshot;
use crate::engine::top::Talker;
use crate::machine::{Rule, RuleSet, Rules};
use crate::report::replay::Prediction;
use acsm_filters::{Sizing, StoreSpec};

/// So many of the busiest addresses are shown.
const TOP: usize = 10;

/// A live run at one moment. Counts are totals since the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// The latest time told by a packet or by silence.
    pub time: String,
    /// Seconds since the start, by the wall clock.
    pub uptime_seconds: f64,
    /// Frames of any kind.
    pub packets: u64,
    /// Frames with a TCP header that counts.
    pub tcp_packets: u64,
    /// Bytes on the wire, of all frames.
    pub bytes: u64,
    /// Frames without a TCP header, by reason.
    pub skipped: Map<String, Value>,
    /// What each interface saw and lost.
    pub interfaces: Vec<InterfaceCounts>,
    /// Frames lost, by who lost them: `kernel`, `interface`.
    pub drops: Map<String, Value>,
    /// Lookups by answer: `known`, `absent`, `dont_know`.
    pub lookups: Map<String, Value>,
    /// Flows that came into a state, by its name.
    pub entered: Map<String, Value>,
    /// Every rule in force.
    pub rules: Vec<RuleView>,
    /// Alerts shown, by rule.
    pub alerts: Map<String, Value>,
    /// Alerts of rules that are only counted.
    pub only_counted: Map<String, Value>,
    /// Alerts left out, by reason.
    pub left_out: Map<String, Value>,
    /// The store.
    pub store: StoreView,
    /// Whether nearly all flows show one direction only.
    pub one_way: bool,
    /// Whether "no session" rules are mute at the moment.
    pub no_session_muted: bool,
    /// Median and 99th percentile of a worker's time for a batch, in seconds.
    pub batch_seconds: [f64; 2],
    /// Batches so far.
    pub batches: u64,
    /// The time for all of them together.
    pub batches_total_seconds: f64,
    /// The busiest sources; estimates.
    pub top_sources: Vec<TalkerView>,
    /// The busiest destinations; estimates.
    pub top_destinations: Vec<TalkerView>,
    /// The latest alerts, oldest first; at most 256.
    pub latest_alerts: Vec<SeenAlert>,
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleView {
    /// Its name.
    pub name: String,
    /// 1 (gravest) to 4.
    pub severity: u8,
    /// Whether its alerts are shown; else they are only counted.
    pub is_shown: bool,
}

/// The store at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreView {
    /// Its name.
    pub backend: &'static str,
    /// All that is allocated for it.
    pub bits: u64,
    /// The part of its cells in use.
    pub fill_ratio: f64,
    /// Flows alive.
    pub live_flows: u64,
    /// Whether that is an estimate.
    pub live_estimated: bool,
    /// How many it was made for.
    pub flows: u64,
    /// The share of answers that theory expects to be wrong at this load.
    pub predicted_error: f64,
    /// Flows inserted.
    pub inserted: u64,
    /// Flows deleted.
    pub deleted: u64,
    /// Flows that had to leave for others.
    pub evicted: u64,
    /// Insertions that found no room.
    pub full: u64,
}

/// A busy address.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // as in [`Talker`]
pub struct TalkerView {
    pub address: std::net::IpAddr,
    pub packets: u64,
    pub bytes: u64,
    pub at_most_over: u64,
}

/// What a view needs beyond the engine's snapshot.
#[derive(Debug, Clone)]
pub struct ViewContext<'a> {
    /// The rules in force.
    pub rules: &'a Rules,
    /// Those whose alerts are shown.
    pub shown: RuleSet,
    /// The store that was asked for.
    pub spec: &'a StoreSpec,
    /// What it came to.
    pub sizing: &'a Sizing,
    /// What interfaces saw and lost.
    pub interfaces: Vec<InterfaceCounts>,
    /// The latest alerts.
    pub latest_alerts: Vec<SeenAlert>,
    /// Seconds since the start.
    pub uptime_seconds: f64,
    /// What theory expects of the store.
    pub prediction: Prediction,
}

impl View {
    /// `snapshot` in names.
    pub fn new(snapshot: &Snapshot, context: ViewContext<'_>) -> View {
        let ViewContext { rules, spec, sizing, interfaces, .. } = context;
        let (tally, stats) = (&snapshot.tally, &snapshot.stats);
        let lookups = tally.lookups;
        let sum = |of: fn(&InterfaceCounts) -> u64| -> u64 { interfaces.iter().map(of).sum() };
        let by_rule = |counts: &[u64]| {
            let pairs = rules.list.iter().zip(counts.iter().copied());
            map(pairs.filter(|(_, n)| *n > 0).map(|(rule, n)| (rule.name.as_str(), n)))
        };
        let top = snapshot.top.as_ref();
        let quantile = |share| tally.batch_nanos.quantile(share) as f64 / 1e9;
        View {
            time: snapshot.time.to_string(),
            uptime_seconds: context.uptime_seconds,
            packets: snapshot.frames.packets,
            tcp_packets: snapshot.frames.tcp_packets,
            bytes: sum(|counts| counts.bytes),
            skipped: map(snapshot.frames.skipped.iter().map(|(why, n)| (why.name(), n))),
            drops: map([
                ("kernel", sum(|counts| counts.kernel_drops)),
                ("interface", sum(|counts| counts.interface_drops)),
            ]),
            lookups: map([
                ("known", lookups.known),
                ("absent", lookups.absent),
                ("dont_know", lookups.dont_know),
            ]),
            entered: entered(rules, &tally.entered),
            rules: rules.list.iter().map(|rule| RuleView::new(rule, context.shown)).collect(),
            alerts: by_rule(&snapshot.shown),
            only_counted: by_rule(&tally.only_counted),
            left_out: map(snapshot.left_out.by_reason()),
            store: StoreView {
                backend: spec.backend.name(),
                bits: sizing.bits,
                fill_ratio: stats.fill_ratio(),
                live_flows: stats.live.round() as u64,
                live_estimated: stats.live_estimated,
                flows: spec.flows,
                predicted_error: context.prediction.now,
                inserted: stats.inserted,
                deleted: stats.deleted,
                evicted: stats.evicted,
                full: stats.full,
            },
            one_way: snapshot.one_way,
            no_session_muted: snapshot.no_session_muted,
            batch_seconds: [quantile(0.5), quantile(0.99)],
            batches: tally.batch_nanos.count(),
            batches_total_seconds: tally.batch_nanos.total() as f64 / 1e9,
            top_sources: top.map_or_else(Vec::new, |top| talkers(top.sources(TOP))),
            top_destinations: top.map_or_else(Vec::new, |top| talkers(top.destinations(TOP))),
            latest_alerts: context.latest_alerts,
            interfaces,
        }
    }
}

impl RuleView {
    fn new(rule: &Rule, shown: RuleSet) -> RuleView {
        let (name, severity) = (rule.name.clone(), rule.severity);
        RuleView { name, severity, is_shown: shown.contains(rule.id) }
    }
}

fn map<'n>(pairs: impl IntoIterator<Item = (&'n str, u64)>) -> Map<String, Value> {
    pairs.into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect()
}

/// A count of a view by its name; one that is not there is none.
pub fn count(counts: &Map<String, Value>, name: &str) -> u64 {
    counts.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// All counts of a view by name, together.
pub fn total(counts: &Map<String, Value>) -> u64 {
    counts.values().filter_map(Value::as_u64).sum()
}

/// States that differ only in the end they remember share a name: they are added up.
fn entered(rules: &Rules, counts: &[u64]) -> Map<String, Value> {
    let mut named = Map::new();
    for (state, count) in rules.machine.states().iter().zip(counts) {
        let sum = self::count(&named, &state.name) + count;
        named.insert(state.name.clone(), sum.into());
    }
    named
}

fn talkers(talkers: Vec<Talker>) -> Vec<TalkerView> {
    let view = |talker: Talker| TalkerView {
        address: talker.address,
        packets: talker.packets,
        bytes: talker.bytes,
        at_most_over: talker.at_most_over,
    };
    talkers.into_iter().map(view).collect()
}
