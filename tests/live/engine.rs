//! What a live run has and a replay does not, without an interface: idle times between packets, rules that
//! change during the run, snapshots, losses.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use acsm::capture::live::InterfaceCounts;
use acsm::capture::parse::Parser;
use acsm::capture::{CaptureError, FileSource, Frame, LinkType, PacketSource, TimeWindow};
use acsm::engine::{
    ActiveRules, Alert, Observer, Phase, Request, RunPlan, RunResult, Sink, Snapshot, WatchStep,
    run,
};
use acsm::live::{SharedSnapshot, StatsEvents, StoreModel, StoreTheory, View, ViewContext};
use acsm::machine::{Preset, Rules};
use acsm::report::replay::Prediction;
use acsm::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::Backend;
use acsm_test_support::plans::{replay_plan, undecided_connection_rules};
use acsm_test_support::{repository, schema};

const QUARTER: u64 = NANOS_PER_SEC / 4;

/// The frames of a capture, with idle times reported between them as an interface does.
#[derive(Clone, Default)]
struct Link {
    frames: Vec<(Timestamp, LinkType, u32, Vec<u8>)>,
    next: usize,
    is_file: bool,
    /// The next frame has arrived.
    arrived: bool,
    now: Timestamp,
    /// The link is idle from the last frame until then.
    end: Timestamp,
    /// From the frame of this index on, the number of lost frames.
    lost: Option<(usize, u64)>,
}

impl Link {
    fn of(trace: &str) -> Link {
        let path = repository::trace(trace);
        let mut source = FileSource::open(&[path], TimeWindow::default()).unwrap();
        let mut link = Link::default();
        while let Some(frame) = source.next_frame().unwrap() {
            let Frame { time, link_type, wire_bytes, bytes } = frame;
            link.frames.push((time, link_type, wire_bytes, bytes.to_vec()));
        }
        link
    }

    /// The same without idle times: a replay.
    fn as_file(&self) -> Link {
        Link { is_file: true, ..self.clone() }
    }
}

impl PacketSource for Link {
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let Some((time, link_type, wire_bytes, bytes)) = self.frames.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        // The next one has arrived only if it follows closely.
        let next = self.frames.get(self.next).map_or(self.end, |frame| frame.0);
        self.arrived = next.since(*time) < QUARTER;
        self.now = self.now.max(*time);
        Ok(Some(Frame { time: *time, link_type: *link_type, wire_bytes: *wire_bytes, bytes }))
    }

    fn may_wait(&self) -> bool {
        !self.arrived && !self.is_file
    }

    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        let next = self.frames.get(self.next).map_or(self.end, |frame| frame.0);
        self.now = if self.now == Timestamp::default() { next } else { self.now.plus(QUARTER) };
        self.arrived = self.now >= next;
        Ok((!self.arrived).then_some(self.now))
    }

    fn lost_frames(&self) -> u64 {
        self.lost.filter(|(from, _)| self.next >= *from).map_or(0, |(_, lost)| lost)
    }
}

/// Keeps alerts as text.
#[derive(Default)]
struct Kept(Vec<String>);

impl Sink for Kept {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        self.0.push(format!("{alert:?}"));
        Ok(())
    }

    fn step(&mut self, _: &WatchStep) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn plan(backend: Backend, workers: usize) -> RunPlan {
    let mut plan = replay_plan(backend, workers);
    let rules = Rules::load("tcp-connection").unwrap();
    plan.keyer.kind = acsm::flow::FlowKeyKind::Connection;
    plan.store.states = rules.machine.states().len();
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Operator));
    plan.store.flows = 2000;
    plan.phase = Phase::Nanos(2 * NANOS_PER_SEC);
    plan.startup_nanos = 2 * NANOS_PER_SEC;
    plan
}

fn watch(plan: &RunPlan, mut link: Link, mut observer: impl Observer) -> (Vec<String>, RunResult) {
    let (mut sink, stop, parser) = (Kept::default(), AtomicBool::new(false), Parser::default());
    let outcome = run(plan, &mut link, &parser, &mut sink, &stop, &mut observer).unwrap();
    (sink.0, outcome)
}

#[test]
fn idle_times_change_no_alert() {
    let mut link = Link::of("attacks.pcap.gz");
    link.end = link.frames.last().unwrap().0.plus(60 * NANOS_PER_SEC);
    for backend in [Backend::Exact, Backend::Kbf] {
        for workers in [1, 2] {
            let plan = plan(backend, workers);
            let (live, at_end) = watch(&plan, link.clone(), |_| {});
            let (replayed, at_last_packet) = watch(&plan, link.as_file(), |_| {});
            assert!(live.len() > 50, "{}", live.len());
            assert_eq!(live, replayed, "{backend:?}, {workers} workers");
            assert_eq!(at_end.store.live.round(), 0.0, "all have aged in the idle time at the end");
            assert_eq!(at_end.store.occupied, 0);
            assert!(at_last_packet.store.occupied > 0, "a file has no idle time at its end");
        }
    }
}

#[test]
fn a_loss_mutes_what_it_may_have_caused() {
    let link = Link::of("attacks.pcap.gz").as_file();
    let active = Arc::new(ActiveRules::new(undecided_connection_rules(), Preset::Operator));
    let plan = RunPlan { active, ..plan(Backend::Exact, 1) };
    let (_, without) = watch(&plan, link.clone(), |_| {});
    // One packet lost early on: only the two seconds after it differ.
    let lost = Some((link.frames.len() / 4, 1));
    let (_, with) = watch(&plan, Link { lost, ..link.clone() }, |_| {});
    let muted = |outcome: &RunResult| outcome.alerts.suppressed.muted;
    let shown = |outcome: &RunResult| outcome.alerts.shown.iter().sum::<u64>();
    assert!(muted(&with) >= muted(&without));
    assert!(shown(&with) <= shown(&without) && shown(&with) > shown(&without) / 2);
    // An endless start-up, as if packets were lost all the time, mutes more.
    let mut plan = plan;
    plan.startup_nanos = u64::MAX;
    let (_, never) = watch(&plan, link, |_| {});
    assert!(muted(&never) > muted(&with));
}

/// Asks for a snapshot after every batch.
struct Curious<'c>(&'c mut Vec<Snapshot>);

impl Observer for Curious<'_> {
    fn batch(&mut self, _frames: u64) -> Request {
        Request::Snapshot
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        self.0.push(snapshot);
    }
}

#[test]
fn snapshots_lead_up_to_the_outcome_and_change_nothing() {
    let link = Link::of("attacks.pcap.gz");
    let mut reports = vec![];
    for workers in [1, 2] {
        let mut plan = plan(Backend::Kbf, workers);
        plan.top_talkers = true;
        let mut snapshots = vec![];
        let (seen, outcome) = watch(&plan, link.clone(), Curious(&mut snapshots));
        assert_eq!(seen, watch(&plan, link.clone(), |_| {}).0);
        let packets: Vec<u64> = snapshots.iter().map(|snapshot| snapshot.frames.packets).collect();
        assert!(packets.len() > 3 && packets.is_sorted(), "{packets:?}");
        let last = snapshots.last().unwrap();
        assert_eq!(last.frames.packets, outcome.frames.packets);
        assert_eq!(last.shards.lookups, outcome.shards.lookups);
        assert_eq!(last.time, outcome.frames.span.unwrap().1);
        let entered: u64 = last.shards.entered.iter().sum();
        assert!(entered >= last.store.inserted && last.store.inserted > 0);
        let top = last.top.as_ref().unwrap().sources(3);
        assert!(top.len() == 3 && top[0].packets >= top[2].packets);
        reports.push((last.shown, last.shards.entered, top));
    }
    assert_eq!(reports[0], reports[1], "whatever the number of workers");
}

#[test]
fn a_view_is_a_snapshot_with_names() {
    let link = Link::of("attacks.pcap.gz").as_file();
    let mut plan = plan(Backend::Kbf, 1);
    plan.top_talkers = true;
    let mut snapshots = vec![];
    let (_, outcome) = watch(&plan, link, Curious(&mut snapshots));
    let interface = InterfaceCounts {
        interface: "eth0".to_owned(),
        packets: 7,
        bytes: 700,
        kernel_drops: 3,
        ..InterfaceCounts::default()
    };
    let (last, sizing) = (snapshots.last().unwrap(), plan.store.sizing().unwrap());
    let prediction = Prediction::new(&plan, &sizing, &last.shards.lookups, last.store.live);
    let context = ViewContext {
        rules: &plan.active.rules,
        shown: plan.active.shown,
        spec: &plan.store,
        sizing: &sizing,
        interfaces: vec![interface],
        latest_alerts: vec![],
        uptime_seconds: 61.5,
    };
    let view = View::new(last, context);
    assert_eq!((view.packets, view.bytes), (outcome.frames.packets, 700));
    assert_eq!(view.drops.kernel, 3);
    assert!(view.entered.get("syn_sent") > 100, "{:?}", view.entered);
    assert!(view.alerts.get("syn_flood") > 0 && view.store.live_estimated);
    StoreTheory::new(Some(StoreModel::new(&plan, sizing))).complete(&view.store.predicted_error);
    let predicted = view.store.predicted_error.value();
    assert!((predicted / prediction.now - 1.0).abs() < 1e-9, "{predicted}");
    assert!(predicted > 0.0 && predicted < prediction.planned, "{predicted}: it is far from full");
    assert!(view.top_sources.len() == 10 && view.top_destinations.len() == 10);

    let mut line = vec![];
    StatsEvents::default().append(&view, &mut line);
    let schema = serde_json::from_str(include_str!("../../docs/eve-stats.schema.json")).unwrap();
    let event = serde_json::from_slice(&line).unwrap();
    assert_eq!(schema::complaints(&schema, &event), [""; 0]);
    assert_eq!(event["stats"]["capture"]["kernel_drops"], 3);

    let shared = SharedSnapshot::default();
    assert!(shared.latest().is_none());
    shared.clone().publish(view.clone());
    assert_eq!(*shared.latest().unwrap(), view);
}

/// Changes the rules after some frames.
struct Changes {
    after: u64,
    rules: Option<Arc<ActiveRules>>,
}

impl Observer for Changes {
    fn batch(&mut self, frames: u64) -> Request {
        match self.rules.take_if(|_| frames > self.after) {
            Some(rules) => Request::SetRules(rules),
            None => Request::Continue,
        }
    }
}

fn with_change(plan: &RunPlan, mut link: Link, rules: ActiveRules) -> (Vec<String>, RunResult) {
    let (mut sink, stop, parser) = (Kept::default(), AtomicBool::new(false), Parser::default());
    let mut observer = Changes { after: 5000, rules: Some(Arc::new(rules)) };
    let outcome = run(plan, &mut link, &parser, &mut sink, &stop, &mut observer).unwrap();
    (sink.0, outcome)
}

#[test]
fn the_same_rules_again_change_nothing() {
    let link = Link::of("attacks.pcap.gz").as_file();
    for workers in [1, 2] {
        let plan = plan(Backend::Kbf, workers);
        let same = ActiveRules::clone(&plan.active);
        assert_eq!(same.can_replace(&plan.active.rules), Ok(()));
        let (changed, outcome) = with_change(&plan, link.clone(), same);
        let (plain, plain_outcome) = watch(&plan, link.clone(), |_| {});
        assert_eq!(changed, plain);
        assert_eq!(outcome.alerts.shown, plain_outcome.alerts.shown);
        assert_eq!(outcome.shards.only_counted, plain_outcome.shards.only_counted);
    }
}

#[test]
fn rules_that_are_gone_raise_no_more_alerts_and_flows_live_on() {
    let link = Link::of("attacks.pcap.gz");
    let plan = plan(Backend::Exact, 2);
    let silent = ActiveRules { shown: Default::default(), ..ActiveRules::clone(&plan.active) };
    let (alerts, outcome) = with_change(&plan, link.clone(), silent);
    let (plain, plain_outcome) = watch(&plan, link, |_| {});
    assert!(!alerts.is_empty() && alerts.len() < plain.len());
    assert_eq!(alerts, plain[..alerts.len()]);
    assert_eq!(outcome.shards.lookups, plain_outcome.shards.lookups, "states were kept");
}

#[test]
fn a_machine_with_other_states_cannot_follow() {
    let rules = |name: &str| Rules::load(name).unwrap();
    let new = ActiveRules::new(rules("tcp-flags"), Preset::Operator);
    let why = new.can_replace(&rules("tcp-connection")).unwrap_err();
    assert!(why.contains("syn_sent") && why.contains("finrst"), "{why}");

    // A state that ages differently is a different state too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    let text = repository::read("rules/tcp-connection.toml");
    std::fs::write(&path, text.replacen("half_open = true\n", "", 1)).unwrap();
    let new = ActiveRules::new(rules(path.to_str().unwrap()), Preset::Operator);
    assert!(new.can_replace(&rules("tcp-connection")).unwrap_err().contains("half-open"));
}
