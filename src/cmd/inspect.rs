//! `acsm inspect`: exact facts about a trace.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

use clap::Args;

use super::input_args::InputArgs;
use super::progress::Progress;
use super::{output, signals, stderr};
use crate::report::inspect::{Facts, Summary, text};
use crate::report::trace::TraceReport;

const EXAMPLES: &str = "\
Examples:
  acsm inspect traffic.pcap                    what is in a capture
  acsm inspect --json day/*.pcapng.gz | jq .flows
  ssh tap tcpdump -w - tcp | acsm inspect -    from a pipe
  acsm inspect --from 2024-01-01T12:00:00Z --to 2024-01-01T13:00:00Z big.pcap

Counts are exact; memory grows with the number of flows. A damaged capture is read up to
the damage, which is reported. Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Number of packets between updates of the progress bar.
const TICK_PACKETS: u64 = 4096;

/// The thread that reads keeps no more than these busy.
const THREADS_MAX: usize = 2;

/// Show exact facts about a trace: packets, flows, flags, what was skipped and why
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct InspectArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// No progress bar, no warnings
    #[arg(short, long)]
    quiet: bool,
}

/// Reads all captures, then prints the facts.
pub fn run(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let mut source = args.input.open()?;
    let parser = args.input.parser();
    let stop = source.progress().stop_flag();
    signals::stop_on_signals(&stop)?;
    let progress = Progress::new(source.progress(), args.quiet);
    let mut facts = Facts::new(available_parallelism().map_or(1, usize::from).min(THREADS_MAX));
    let mut shown = 0;
    while facts.read(&mut source, &parser)? {
        if facts.frames.packets >= shown + TICK_PACKETS {
            shown = facts.frames.packets;
            progress.tick(shown);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    drop(progress);
    if !args.quiet {
        stderr::warn_of_damage(source.damages());
        signals::warn_of_interruption(&stop);
    }
    let (frames, totals) = facts.finish();
    let trace = TraceReport::new(&frames, &source.link_types(), source.damages());
    match args.json {
        true => output::json_to_stdout(&Summary::new(&totals, trace)),
        false => output::to_stdout(|out| text::write(out, &frames, &totals, &trace)),
    }
}
