//! `acsm generate`: a seeded, labelled trace, and its ground truth.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{self, Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::{Usage, stderr};
use crate::generate::{
    AttackKind, AttackSpec, Format, Link, Pace, PaperTraffic, Precision, Profile, Trace,
    TraceError, TraceSpec, Truth,
};
use crate::units::{UnitError, parse_count, parse_duration_nanos, parse_share};

/// Write a seeded trace with exact counts and labelled attacks
///
/// The trace is a pcap file. Its ground truth is a JSON file next to it, with the keys of
/// `acsm inspect --json`, the attacks (attackers, victims, times, the rule that should detect them)
/// and the networks of the ordinary traffic. The same options and seed give the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to write the trace; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Where to write the ground truth [default: next to the trace, x.pcap -> x.truth.json]
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// realistic: clients and servers in both directions; paper: the kBF papers' backbone hour
    #[arg(long, value_enum, default_value_t = ProfileName::Realistic)]
    profile: ProfileName,

    /// How many packets, exactly, attacks included [default: 10 per flow; 1M or, for paper, 5M]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    packets: Option<u64>,

    /// How many flows (directed address pairs), exactly; attacks and long-lived connections add
    /// theirs [default: a tenth of the packets; for paper 908,522]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    flows: Option<u64>,

    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Attacks to put in: names with commas between, `all` for the twelve ordinary ones, `every` for
    /// these and the others
    ///
    /// The twelve: syn_flood, syn_flood_one_source, syn_scan, fin_scan, null_scan, xmas_scan, ack_scan,
    /// port_scan, host_sweep, rst_storm, fin_storm, synack_reflection.
    ///
    /// Floods against a table of flows: unanswered_syn_flood, repeated_syn_flood, answered_syn_flood,
    /// blind_ack_flood, blind_data_flood, challenge_ack_flood, late_ack_flood, ack_flood, synack_flood,
    /// rst_flood, fin_flood, botnet_flood, subnet_syn_flood.
    ///
    /// What else an operator meets: carpet_bombing, login_guessing, slow_port_scan, slow_host_sweep,
    /// connection_flood, backscatter; and what is no attack: service_restart, busy_server.
    ///
    /// NAME:N has N probes (in a flood: N attackers), NAME:N@R sends R of them per second:
    /// ack_flood:2M@100k. An attack that does not fit into its part of the duration is faster.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_attacks)]
    attacks: Vec<Attacks>,

    /// Connections that live as long as the trace and talk every 5 s, beside the others (realistic
    /// only)
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_count)]
    long_lived: u64,

    /// Share of connections that end silently, without FIN or RST (realistic only) [default: 6% of
    /// the last ones between two hosts]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    silent_share: Option<f64>,

    /// Link-layer header of frames
    #[arg(long, value_enum, default_value_t = LinkName::Raw)]
    link: LinkName,

    /// How many bytes of each frame to write [default: 64 from the IP header on]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    snaplen: Option<u32>,

    /// Resolution of timestamps
    #[arg(long, value_enum, default_value_t = PrecisionName::Us)]
    precision: PrecisionName,

    /// Only connections that are opened and closed properly: no loss, no resets, none captured in
    /// part
    #[arg(long)]
    well_behaved: bool,

    /// Share of conversations in IPv6 (realistic only)
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = parse_share)]
    ipv6_share: f64,

    #[command(flatten)]
    paper: PaperArgs,

    /// Duration of the trace [default: 5m; for paper 1h]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_nanos)]
    duration: Option<u64>,
}

/// What the papers do not tell of their trace.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Profile paper")]
struct PaperArgs {
    /// Share of flows that are one SYN and nothing else [default: some 8%: a fifth of those of
    /// one packet]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    syn_only_share: Option<f64>,

    /// Share of flows that begin with a SYN and go on, and so change state [default: a fifth of those
    /// of two packets or more]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    opening_share: Option<f64>,

    /// Share of flows with a FIN [default: the papers' 900 of 908,522]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    fin_share: Option<f64>,

    /// Share of flows with a RST [default: the papers' 1,658 of 908,522]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    rst_share: Option<f64>,

    /// Range of the mean time between packets of a flow [default: 10ms..10s]
    #[arg(long, value_name = "LEAST..MOST", value_parser = parse_times, conflicts_with = "lifetimes")]
    gaps: Option<[u64; 2]>,

    /// Range of the lifetimes of flows of two packets or more, whatever the number of their packets
    /// [default: as the gaps have it]
    #[arg(long, value_name = "LEAST..MOST", value_parser = parse_times)]
    lifetimes: Option<[u64; 2]>,
}

/// Parses `LEAST..MOST`; one time stands for both.
fn parse_times(text: &str) -> Result<[u64; 2], UnitError> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    Ok([parse_duration_nanos(least)?, parse_duration_nanos(most)?])
}

impl PaperArgs {
    fn traffic(&self) -> PaperTraffic {
        let default = PaperTraffic::default();
        let pace = match (self.gaps, self.lifetimes) {
            (Some([least, most]), _) => Pace::Gaps { least, most },
            (None, Some([least, most])) => Pace::Lifetimes { least, most },
            (None, None) => default.pace,
        };
        PaperTraffic {
            syn_only_share: self.syn_only_share,
            opening_share: self.opening_share,
            fin_share: self.fin_share,
            rst_share: self.rst_share,
            pace,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  acsm generate -o day.pcap                                a million packets, 100,000 flows
  acsm generate -o big.pcap --packets 10M --flows 1M       as large as you like, in seconds
  acsm generate -o paper.pcap --profile paper              the kBF papers' 908,522 flows
  acsm generate -o seconds.pcap --profile paper --lifetimes 1s..10m --opening-share 50%
  acsm generate -o bad.pcap --attacks syn_flood,port_scan  with labelled attacks; `all` has twelve
  acsm generate -o flood.pcap --packets 6M --flows 100k --duration 15m --long-lived 2k \\
    --attacks blind_ack_flood:1M@100k                      what must survive a million attackers
  acsm generate -o old.pcap --silent-share 20%             connections that never close
  acsm generate -o good.pcap --well-behaved                for rules that must stay silent
  acsm generate -o - --packets 50k | acsm inspect -        without a file
Then compare: acsm inspect day.pcap --json, beside day.truth.json";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
    Realistic,
    Paper,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LinkName {
    Raw,
    Ethernet,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PrecisionName {
    Us,
    Ns,
}

/// One word of `--attacks`: attacks, and their size.
#[derive(Debug, Clone)]
struct Attacks {
    kinds: Vec<AttackKind>,
    probes: Option<u64>,
    per_second: Option<u64>,
}

/// Parses `NAME`, `NAME:PROBES`, `NAME:PROBES@RATE` or `NAME@RATE`.
fn parse_attacks(word: &str) -> anyhow::Result<Attacks> {
    let (word, per_second) = split_count(word, '@')?;
    let (name, probes) = split_count(word, ':')?;
    let kinds = match name {
        "all" => AttackKind::ALL.to_vec(),
        "every" => AttackKind::every().collect(),
        _ => vec![name.parse()?],
    };
    Ok(Attacks { kinds, probes, per_second })
}

/// What is before the separator, and the count after it if there is one.
fn split_count(word: &str, separator: char) -> Result<(&str, Option<u64>), UnitError> {
    match word.split_once(separator) {
        Some((before, count)) => Ok((before, Some(parse_count(count)?))),
        None => Ok((word, None)),
    }
}

/// Writes the trace and its ground truth.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let trace = Trace::new(args.spec()).map_err(spec_error)?;
    let to_stdout = args.output == Path::new("-");
    let truth_path = truth_path(&args)?;
    let truth = match to_stdout {
        true if io::stdout().is_terminal() => {
            bail!("will not write a capture to a terminal; name a file, or pipe it somewhere")
        }
        true => write(trace, io::stdout().lock(), "standard output")?,
        false => {
            let name = args.output.display().to_string();
            let file = File::create(&args.output)
                .with_context(|| format!("cannot create {name} for the trace"))?;
            write(trace, file, &name)?
        }
    };
    if let Some(path) = &truth_path {
        let document = serde_json::to_string_pretty(&truth)? + "\n";
        std::fs::write(path, document)
            .with_context(|| format!("cannot write the ground truth to {}", path.display()))?;
    }
    let name = if to_stdout { "standard output".into() } else { args.output.display().to_string() };
    report(&truth, &name, truth_path.as_deref());
    Ok(ExitCode::SUCCESS)
}

/// Why a trace cannot be generated, and which options help.
fn spec_error(error: TraceError) -> anyhow::Error {
    let advice = match error {
        TraceError::TooFewPackets { .. } => "; raise --packets or lower --flows",
        TraceError::TooManyProbes { .. } => "; lower the number after its name in --attacks",
        TraceError::TooManyPackets => "; lower --packets",
        TraceError::TooLong => "; lower --duration",
        TraceError::WellBehavedPaper | TraceError::OneWayPaper => "; use --profile realistic",
        TraceError::PaperOnly => "; use --profile paper",
        _ => "",
    };
    match error.is_wrong_usage() {
        true => Usage::new(anyhow::anyhow!("{error}{advice}")).into(),
        false => error.into(),
    }
}

fn write(trace: Trace, out: impl Write, name: &str) -> anyhow::Result<Truth> {
    trace.write(out).map_err(|error| match error {
        TraceError::Io(cause) => {
            anyhow::Error::new(cause).context(format!("cannot write the trace to {name}"))
        }
        other => other.into(),
    })
}

/// The path of the ground truth, if it is written; never that of the trace.
fn truth_path(args: &Args) -> anyhow::Result<Option<PathBuf>> {
    let to_stdout = args.output == Path::new("-");
    let absolute = |path: &Path| path::absolute(path).ok();
    let is_trace =
        |truth: &Path| absolute(truth).is_some() && absolute(truth) == absolute(&args.output);
    let wrong = match &args.truth {
        Some(truth) if truth == Path::new("-") => "--truth is a file of its own: name it",
        Some(truth) if is_trace(truth) => "--truth would overwrite the trace: name another file",
        truth => {
            return Ok(truth
                .clone()
                .or_else(|| (!to_stdout).then(|| default_truth_path(&args.output))));
        }
    };
    Err(Usage::new(anyhow::anyhow!(wrong)).into())
}

/// `x.pcap` → `x.truth.json`; other extensions are kept: `x.bin` → `x.bin.truth.json`.
fn default_truth_path(output: &Path) -> PathBuf {
    let is_capture = output.extension().is_some_and(|ext| ext == "pcap" || ext == "cap");
    let mut name = if is_capture { output.with_extension("") } else { output.to_owned() };
    name.as_mut_os_string().push(".truth.json");
    name
}

fn report(truth: &Truth, name: &str, truth_path: Option<&Path>) {
    let megabytes = truth.file_bytes as f64 / 1e6;
    let (packets, flows) = (truth.packets, truth.counts.flows);
    let beside = match truth_path {
        Some(path) => format!("; ground truth in {}", path.display()),
        None => String::new(),
    };
    stderr::message(format_args!(
        "wrote {packets} packets, {flows} flows, {megabytes:.1} MB to {name}{beside}"
    ));
    if truth.tcp_packets < packets {
        let cut = packets - truth.tcp_packets;
        let snaplen = truth.snaplen;
        stderr::message(format_args!(
            "note: --snaplen {snaplen} cuts the TCP flags off {cut} packets"
        ));
    }
}

impl Args {
    fn spec(&self) -> TraceSpec {
        let profile = match self.profile {
            ProfileName::Realistic => Profile::Realistic,
            ProfileName::Paper => Profile::Paper,
        };
        let link = match self.link {
            LinkName::Raw => Link::Raw,
            LinkName::Ethernet => Link::Ethernet,
        };
        let precision = match self.precision {
            PrecisionName::Us => Precision::Micros,
            PrecisionName::Ns => Precision::Nanos,
        };
        let snaplen = self.snaplen.unwrap_or(TraceSpec::IP_SNAPLEN + link.header_bytes() as u32);
        let mut spec = TraceSpec {
            seed: self.seed,
            ipv6_share: self.ipv6_share,
            well_behaved: self.well_behaved,
            silent_share: self.silent_share,
            long_lived: self.long_lived,
            paper: self.paper.traffic(),
            attacks: self.attack_specs(),
            format: Format { link, snaplen, precision },
            ..TraceSpec::new(profile)
        };
        spec.duration_nanos = self.duration.unwrap_or(spec.duration_nanos);
        (spec.packets, spec.flows) = match (self.packets, self.flows) {
            (Some(packets), Some(flows)) => (packets, flows),
            (Some(packets), None) => (packets, self.flows_for(packets, spec.flows)),
            (None, Some(flows)) => (flows.saturating_mul(10), flows),
            (None, None) => (spec.packets, spec.flows),
        };
        spec
    }

    fn flows_for(&self, packets: u64, default_flows: u64) -> u64 {
        match self.profile {
            ProfileName::Paper => default_flows,
            ProfileName::Realistic => (packets / 20 * 2).clamp(2, TraceSpec::MAX_FLOWS),
        }
    }

    /// Each attack once, in the order of the words; of several sizes the last counts.
    fn attack_specs(&self) -> Vec<AttackSpec> {
        let mut specs: Vec<AttackSpec> = Vec::new();
        for Attacks { kinds, probes, per_second } in &self.attacks {
            for &kind in kinds {
                let new = AttackSpec { kind, probes: *probes, per_second: *per_second };
                match specs.iter_mut().find(|spec| spec.kind == kind) {
                    None => specs.push(new),
                    Some(spec) if new != kind.into() => *spec = new,
                    Some(_) => {}
                }
            }
        }
        specs
    }
}
