//! The options for what to capture and what to record.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use crate::capture::live::{Change, LiveOptions, LiveSource};
use crate::capture::parse::{ParseOptions, Parser};
use crate::capture::record::{FrameSelection, Recorder};
use crate::capture::{LiveError, MissedTraffic, PcapRing, RingOptions, missed_traffic};
use crate::cmd::input_args::wrong_filter;
use crate::cmd::{Usage, stderr};
use crate::flow::Keyer;
use crate::time::Timestamp;
use crate::units::parse_bytes;

const WRITE: &str = "Recording";

/// What to capture.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    /// Interface to watch, or `any`; may be given several times (see `acsm interfaces`)
    #[arg(short, long = "interface", value_name = "IFACE")]
    pub interfaces: Vec<String>,

    /// Only packets that match this filter expression (syntax of tcpdump); the kernel applies it
    #[arg(long, value_name = "BPF")]
    pub filter: Option<String>,

    /// Bytes captured of each packet: headers are enough for state
    #[arg(long, value_name = "SIZE", default_value = "256", value_parser = parse_snaplen)]
    pub snaplen: u32,

    /// Size of the kernel's buffer per interface and capture thread: it holds packets while acsm is busy
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = parse_buffer)]
    pub buffer: u32,

    /// Number of capture threads, 1 to 16: the kernel distributes flows of every interface among them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub capture_threads: u8,

    /// Only packets to and from this machine: no promiscuous mode
    #[arg(long)]
    pub no_promiscuous: bool,

    /// Become this user once interfaces are open; files are opened as them (Linux, started as root)
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Do not look into tunnels: only TCP directly in the outermost IP header counts
    #[arg(long)]
    pub no_tunnels: bool,

    /// Write packets to this pcap file; `acsm replay` of it gives the same result
    #[arg(long, help_heading = WRITE, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// Start a new file at this size: FILE-00001.pcap, FILE-00002.pcap and so on
    #[arg(long, help_heading = WRITE, value_name = "SIZE", requires = "write", value_parser = parse_bytes)]
    pub write_size: Option<u64>,

    /// Number of files to keep, the latest ones [default: all]
    #[arg(long, help_heading = WRITE, value_name = "N", requires = "write_size", value_parser = clap::value_parser!(u32).range(1..))]
    pub write_files: Option<u32>,

    /// Write only some packets
    #[arg(long, help_heading = WRITE, value_enum, requires = "write")]
    pub write_only: Option<WriteOnly>,
}

/// Which packets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WriteOnly {
    /// Packets of flows that raised an alert, from up to a minute before it
    Alerts,
}

fn parse_snaplen(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    let fits = u32::try_from(bytes).ok().filter(|bytes| (64..=262_144).contains(bytes));
    fits.ok_or_else(|| format!("{text} is not between 64 and 262144 bytes"))
}

fn parse_buffer(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    let fits = u32::try_from(bytes).ok().filter(|bytes| (1 << 16..=1 << 30).contains(bytes));
    fits.ok_or_else(|| format!("{text} is not between 64KiB and 1GiB"))
}

impl CaptureArgs {
    /// Opens all interfaces.
    pub fn open(&self, quiet: bool) -> anyhow::Result<LiveSource> {
        if let (false, Some(expression)) = (quiet, &self.filter) {
            missed_traffic(expression).into_iter().for_each(|missed| warn(expression, missed));
        }
        let options = LiveOptions {
            interfaces: self.interfaces.clone(),
            promiscuous: !self.no_promiscuous,
            snaplen_bytes: self.snaplen,
            buffer_bytes: self.buffer,
            capture_threads: self.capture_threads.into(),
            filter: self.filter.clone(),
            clock: now,
            on_change: if quiet { |_| {} } else { report_change },
        };
        LiveSource::open(options).map_err(open_error)
    }

    /// The parser for these options.
    pub fn parser(&self) -> Parser {
        Parser::new(ParseOptions { no_tunnels: self.no_tunnels })
    }

    /// The recorder, if packets are to be recorded.
    pub fn recorder(
        &self,
        source: &LiveSource,
        keyer: Keyer,
    ) -> anyhow::Result<Option<RefCell<Recorder>>> {
        let Some(path) = &self.write else { return Ok(None) };
        let link_types = source.link_types();
        let [link_type] = link_types[..] else {
            let names: Vec<String> = link_types.iter().map(ToString::to_string).collect();
            let mixed = anyhow::anyhow!(
                "--write: these interfaces have different link types ({}), and a pcap file has one; \
                 watch them with an acsm each, or with -i any",
                names.join(", ")
            );
            return Err(Usage::new(mixed).into());
        };
        let ring = PcapRing::create(RingOptions {
            path: path.clone(),
            link_type,
            snaplen_bytes: self.snaplen,
            file_bytes: self.write_size,
            files: self.write_files.unwrap_or(0) as usize,
        });
        let ring = ring.with_context(|| format!("--write {}", path.display()))?;
        let selection = match self.write_only {
            None => FrameSelection::All,
            Some(WriteOnly::Alerts) => FrameSelection::Alerts { keyer, parser: self.parser() },
        };
        Ok(Some(RefCell::new(Recorder::new(ring, selection))))
    }
}

/// Why the interfaces cannot be opened, and which options help.
fn open_error(error: LiveError) -> anyhow::Error {
    let is_wrong_usage = error.is_wrong_usage();
    let message = match error {
        LiveError::Filter(error) => return wrong_filter(error),
        LiveError::NotPermitted { .. } => {
            let program = std::env::current_exe().map(|path| path.display().to_string());
            let program = program.unwrap_or_else(|_| "$(command -v acsm)".to_owned());
            format!(
                "{error}. Run as root, or grant it once:\n  sudo setcap cap_net_raw+ep {program}\n\
                 or run it as a service that has nothing else: dist/acsm.service (docs/live.md)"
            )
        }
        LiveError::NoInterface { known } => format!(
            "which interface? Say -i with one of: {known}; `acsm interfaces` tells more of them"
        ),
        LiveError::Twice { interface } => {
            format!("-i {interface} is there twice: each of its packets would count as two")
        }
        LiveError::NotShared { .. } => format!(
            "{error}; it takes Linux 4.14 or newer (PACKET_FANOUT). Leave --capture-threads out: \
             one thread sees everything too"
        ),
        other => return other.into(),
    };
    match is_wrong_usage {
        true => Usage::new(anyhow::anyhow!(message)).into(),
        false => anyhow::anyhow!(message),
    }
}

/// The wall clock, which measures how long a link has been idle.
fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX))
}

fn report_change(change: Change<'_>) {
    match change {
        Change::Gone { interface, why } => {
            stderr::message(format_args!("acsm: {interface} is gone ({why}); waiting for it"));
        }
        Change::Back { interface } => stderr::message(format_args!("acsm: {interface} is back")),
        Change::Merging { interface, offloads } => stderr::message(format_args!(
            "acsm: warning: {interface} is set to merge packets before we see them. Flow state is \
             right, packet counts may be low; to see each:\n  ethtool -K {interface} {} off",
            offloads.join(" off ")
        )),
        Change::Merged { interface } => stderr::message(format_args!(
            "acsm: warning: {interface} shows packets larger than its MTU: the system merges them \
             before we see them. Flow state is right, packet counts are low; to see each:\n  \
             ethtool -K {interface} gro off lro off tso off gso off"
        )),
    }
}

fn warn(expression: &str, missed: MissedTraffic) {
    let (what, instead) = match missed {
        MissedTraffic::Vlan => ("packets with a VLAN tag", "EXPR or (vlan and EXPR)"),
        MissedTraffic::Ipv6Extensions => ("TCP behind IPv6 extension headers", "ip6 or EXPR"),
    };
    stderr::message(format_args!(
        "acsm: warning: --filter `{expression}` may miss {what}; to see them too: {instead}"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_permission_comes_with_its_remedy() {
        let interface = "eth7".to_owned();
        let denied = open_error(LiveError::NotPermitted { interface }).to_string();
        assert!(denied.contains("setcap cap_net_raw+ep /"), "{denied}");
        assert!(denied.contains("dist/acsm.service"), "{denied}");
    }
}
