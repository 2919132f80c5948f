//! `acsm plan`: which store, how large, and with which errors.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::input_args::InputArgs;
use super::presets::PresetName;
use super::progress::Progress;
use super::rule_args::{FlowKeyName, RuleArgs};
use super::store_args::{DecodeName, parse_idle_timeout};
use super::{Usage, output, signals, stderr};
use crate::capture::parse::Parser;
use crate::engine::Phase;
use crate::engine::plan::{
    Demand, Requirements, RequirementsError, Shape, Target, Traffic, demand, plan,
};
use crate::machine::Machine;
use crate::report::plan::{Origin, PlanReport, frontier_figure, page};
use crate::seed::Seed;
use crate::time::NANOS_PER_SEC;
use crate::units::{parse_bytes, parse_count, parse_share};
use acsm_filters::{Expire, KbfDecode, State, StateSet};
use acsm_model::StateMix;

const EXAMPLES: &str = "\
Examples:
  acsm plan --flows 2M --fp-rate 0.1%           memory: which store, how much?
  acsm plan --flows 2M --memory 16MiB           error: how often will each be wrong?
  acsm plan --memory 64MiB --error 1e-4         flows: how many can be followed?
  acsm plan --trace day.pcap --memory 1MiB      for the traffic of a capture
  acsm plan --flows 2M --plot frontier.svg      error against memory, as a figure
  acsm plan --flows 1G --json | jq '.options[.recommended]'

Any two of flows, memory and an error give the third. Figures are predictions for a
store that holds that many flows; `acsm replay --verify` measures. Exit codes: 0 done, also
when nothing meets the requirements (it says what comes closest), 1 failed, 2 wrong usage.";

/// Size a store: any two of flows, memory and error give the third
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct PlanArgs {
    /// Peak number of flows alive at once (1M, 908_522) [default: the trace's, or 1M]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    flows: Option<u64>,

    /// Accepted rate of false positives: absent flows that seem known (0.01, 1e-4, 0.1%)
    /// [default: 0.01]
    #[arg(long, value_name = "P", value_parser = parse_share)]
    fp_rate: Option<f64>,

    /// Accepted rate of all errors: lookups answered wrongly, or with "don't know"
    #[arg(long, value_name = "E", conflicts_with = "fp_rate", value_parser = parse_share)]
    error: Option<f64>,

    /// Memory for the store (64MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,

    /// Packets per second, for alerts per hour [default: the trace's, or what the flows send]
    #[arg(long, value_name = "R", value_parser = parse_count)]
    packet_rate: Option<u64>,

    /// How idle flows leave
    #[arg(long, value_enum, default_value = "timer")]
    expire: ExpireChoice,

    /// A flow idle for this long is forgotten [default: 5m; in preset paper 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_idle_timeout)]
    idle_timeout: Option<u64>,

    /// How kbf decodes the cells of a flow [default: predicted as all-pairs]
    #[arg(long, value_enum)]
    decode: Option<DecodeName>,

    /// Take flows, states and rates from this capture, by an exact pass; can be repeated
    #[arg(long, value_name = "FILE", help_heading = TRAFFIC)]
    trace: Vec<PathBuf>,

    /// A set of defaults: flow key and rules
    #[arg(long, value_enum, default_value = "operator", help_heading = TRAFFIC)]
    preset: PresetName,

    /// State machine: tcp-flags, tcp-connection, or a file [default: by preset]
    #[arg(long, value_name = "FILE", help_heading = TRAFFIC)]
    rules: Option<String>,

    /// What makes packets one flow [default: by preset]
    #[arg(long, value_enum, help_heading = TRAFFIC)]
    flow_key: Option<FlowKeyName>,

    /// Equal addresses in different VLANs are different flows
    #[arg(long, help_heading = TRAFFIC)]
    vlan_in_key: bool,

    /// Also draw errors against memory, store by store, into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,

    /// No progress bar, no warnings
    #[arg(short, long)]
    quiet: bool,
}

const TRAFFIC: &str = "Traffic";

/// Ways to expire, to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExpireChoice {
    /// Flow by flow, those idle for --idle-timeout: filters of cells have two halves that change with
    /// it
    Timer,
    /// Cell by cell, those that no flow touches for --idle-timeout, as in ACSM 2006 (dbf, sbf, kbf
    /// and bhbf)
    Stamps,
    /// Never
    None,
    /// All at once, when the store is full
    Recycle,
    /// The older half, when the newer is full
    TwoPhase,
    /// Show all of these, recommend timer or two-phase
    All,
}

impl ExpireChoice {
    /// Those to plan for, and those to recommend from.
    fn planned_and_recommended(self) -> (Vec<Expire>, Vec<Expire>) {
        let only = |expire| (vec![expire], vec![expire]);
        match self {
            ExpireChoice::Timer => only(Expire::Timer),
            ExpireChoice::Stamps => only(Expire::Stamps),
            ExpireChoice::None => only(Expire::None),
            ExpireChoice::Recycle => only(Expire::Recycle),
            ExpireChoice::TwoPhase => only(Expire::TwoPhase),
            ExpireChoice::All => (Shape::EXPIRES.to_vec(), vec![Expire::Timer, Expire::TwoPhase]),
        }
    }
}

/// Plans, and prints the plan.
pub fn run(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let rule_args = args.rule_args();
    let keyer = rule_args.keyer(Seed::Number(1));
    let rules = rule_args.load(keyer.kind)?;
    let measured = match args.trace.is_empty() {
        true => None,
        false => Some(args.measure(&rule_args, &rules.machine)?),
    };
    let requirements = args.requirements(&rules.machine, measured.as_ref());
    let (planned, recommended) = args.expire.planned_and_recommended();
    let shapes: Vec<Shape> = Shape::all().filter(|shape| planned.contains(&shape.expire)).collect();
    let plan = plan(&requirements, &shapes, &recommended).map_err(usage)?;
    let origin = Origin {
        decode: args.decode.map(DecodeName::name),
        states: args
            .stored_states(&rules.machine)
            .map(|state| rules.machine.state_name(state).to_owned())
            .collect(),
        options: args.replay_options(),
        trace: args.trace.iter().map(|path| path.display().to_string()).collect(),
        preset: args.preset.preset(),
        has_pending_table: args.preset.pending_slots(1).is_some(),
    };
    let report = PlanReport::new(&requirements, &plan, origin);
    if let Some(path) = &args.plot {
        let expire = recommended.first().copied().unwrap_or(Expire::Timer);
        let figure = frontier_figure(&requirements, expire).map_err(usage)?;
        fs::write(path, figure.document()).with_context(|| format!("--plot {}", path.display()))?;
    }
    if args.json {
        return output::json_to_stdout(&report);
    }
    output::to_stdout(|out| page::write(out, &report))
}

impl PlanArgs {
    fn rule_args(&self) -> RuleArgs {
        RuleArgs {
            preset: self.preset,
            rules: self.rules.clone(),
            flow_key: self.flow_key,
            vlan_in_key: self.vlan_in_key,
            suppress: None,
            set: Vec::new(),
            min_severity: 4,
        }
    }

    /// What `acsm replay` has to be told for the same flows, rules and time-out, each with a blank after it.
    fn replay_options(&self) -> String {
        let rules = self.rules.as_ref().map(|rules| format!("--rules {} ", quoted(rules)));
        let name =
            |key: FlowKeyName| key.to_possible_value().map(|name| name.get_name().to_owned());
        let key = self.flow_key.and_then(name).map(|name| format!("--flow-key {name} "));
        let vlan = self.vlan_in_key.then(|| "--vlan-in-key ".to_owned());
        let seconds = self.idle_timeout.map(|nanos| nanos as f64 / NANOS_PER_SEC as f64);
        let idle = seconds.map(|seconds| format!("--idle-timeout {seconds}s "));
        [rules, key, vlan, idle].into_iter().flatten().collect()
    }

    /// One exact pass over the captures.
    fn measure(&self, rules: &RuleArgs, machine: &Machine) -> anyhow::Result<Demand> {
        let input = InputArgs {
            files: self.trace.clone(),
            from: None,
            to: None,
            filter: None,
            no_tunnels: false,
        };
        let mut source = input.open()?;
        let stop = source.progress().stop_flag();
        signals::stop_on_signals(&stop)?;
        let progress = Progress::new(source.progress(), self.quiet);
        let parser: Parser = input.parser();
        let goes_on = |frames| {
            progress.tick(frames);
            !stop.load(Ordering::Relaxed)
        };
        let rules = (&rules.keyer(Seed::Number(1)), machine);
        let result = demand(&mut source, &parser, rules, self.phase(), goes_on);
        drop(progress);
        if !self.quiet {
            stderr::warn_of_damage(source.damages());
            signals::warn_of_interruption(&stop);
        }
        let measured = result.context("--trace cannot be read to its end")?;
        if measured.flows_peak == 0 {
            anyhow::bail!("--trace: there are no TCP flows in it to plan for; leave it out");
        }
        Ok(measured)
    }

    fn idle_timeout_nanos(&self) -> u64 {
        self.idle_timeout.unwrap_or(self.preset.idle_timeout_nanos())
    }

    /// Which flows are alive at once depends on when flows are forgotten.
    fn phase(&self) -> Phase {
        match self.expire {
            ExpireChoice::None => Phase::Never,
            _ => Phase::Nanos(self.idle_timeout_nanos()),
        }
    }

    /// The states that can be in the store: a pending table before it holds the others.
    fn stored_states(&self, machine: &Machine) -> impl Iterator<Item = State> + use<> {
        let has_pending_table = self.preset.pending_slots(1).is_some();
        let held = if has_pending_table { machine.held() } else { StateSet::EMPTY };
        let states = (0..machine.states().len()).filter_map(State::new);
        states.filter(move |state| !held.contains(*state))
    }

    fn requirements(&self, machine: &Machine, measured: Option<&Demand>) -> Requirements {
        let idle_seconds = self.idle_timeout_nanos() as f64 / NANOS_PER_SEC as f64;
        let states = self.stored_states(machine).count();
        let typical = Traffic { idle_seconds, ..Traffic::typical(states) };
        let measured_traffic = |demand| traffic_of(demand, self.stored_states(machine), &typical);
        let per_second = |count: u64| {
            let seconds = measured.map_or(0.0, Demand::seconds);
            (seconds > 0.0).then(|| count as f64 / seconds)
        };
        Requirements {
            flows: self.flows.or_else(|| {
                let solves_flows = self.memory.is_some() && self.target().is_some();
                measured.filter(|_| !solves_flows).map(|demand| demand.flows_peak)
            }),
            target: self.target(),
            decode: self.decode.map(KbfDecode::from),
            memory_bytes: self.memory,
            arrivals_per_second: measured.and_then(|demand| per_second(demand.flows_came)),
            packets_per_second: self
                .packet_rate
                .map(|rate| rate as f64)
                .or_else(|| measured.and_then(|demand| per_second(demand.lookups))),
            traffic: measured.map_or_else(|| typical.clone(), measured_traffic),
        }
    }

    fn target(&self) -> Option<Target> {
        self.error.map(Target::Error).or(self.fp_rate.map(Target::FpRate))
    }
}

/// A word of a command line, for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Requirements that are out of range, in terms of the options.
fn usage(error: RequirementsError) -> Usage {
    Usage::new(match error {
        RequirementsError::NoFlows => {
            anyhow::anyhow!("--flows 0: a store needs room for at least one flow")
        }
        RequirementsError::TooManyFlows { flows, limit } => {
            anyhow::anyhow!("--flows {flows}: plans go up to {limit}")
        }
        RequirementsError::Rate { target } => {
            let option = match target {
                Target::FpRate(_) => "--fp-rate",
                Target::Error(_) => "--error",
            };
            let rate = target.rate();
            anyhow::anyhow!(
                "{option} {rate:?}: it must be above 0 and below 1, such as 0.01, 1e-4 or 0.1%"
            )
        }
        RequirementsError::PacketRate { rate } => {
            anyhow::anyhow!("--packet-rate {rate:?}: it must be above 0")
        }
    })
}

/// The traffic of a capture, whose flows can be stored in these states.
fn traffic_of(demand: &Demand, states: impl Iterator<Item = State>, typical: &Traffic) -> Traffic {
    let flows: Vec<f64> = states.map(|state| demand.states_at_peak[state.index()] as f64).collect();
    let is_any_stored = flows.iter().sum::<f64>() > 0.0;
    Traffic {
        mix: if is_any_stored { StateMix::new(&flows) } else { typical.mix.clone() },
        kept: demand.kept_at_peak as f64 / demand.flows_peak.max(1) as f64,
        absent: demand.lookups_absent as f64 / demand.lookups.max(1) as f64,
        lifetime_seconds: demand.lifetime_seconds(),
        idle_seconds: typical.idle_seconds,
    }
}
