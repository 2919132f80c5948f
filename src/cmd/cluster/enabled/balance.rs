//! `acsm cluster balance`: slabs moved and exchanged until servers have the same load.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::access_args::AccessArgs;
use super::refused;
use crate::cluster::loads::{self, ServerLoad};
use crate::cluster::migrate::move_slot;
use crate::cluster::store::ClusterStore;
use crate::cluster::topology::Address;
use crate::cmd::{Usage, output, stderr};
use crate::report::format::{HEADING, grouped};
use acsm_filters::balance::{self, EXCHANGES_DEFAULT, Method, imbalance, spread};

const EXAMPLES: &str = "\
Examples:
  acsm cluster balance --dry-run                       what would be done
  acsm cluster balance                                 three exchanges by pairs
  acsm cluster balance --by queries                    by processor time, where servers count it
  acsm cluster balance --by queries --keys asked.txt   by keys that were asked, one per line
  acsm cluster balance --drain 10.0.0.3:6379           all slabs away from a server

Clients go on while slabs move. First each server gets the same number of slabs, which concerns
servers that were added (`redis-cli --cluster add-node`) or are drained. Then the fullest and
the emptiest server exchange two slabs, again and again: best-pair takes the two that even them
out best, algorithm-8 the fullest and the emptiest, as the paper does. From random loads three
exchanges by best-pair lower the imbalance by 89 %, algorithm-8 by 61 %.";

/// Even out the load of the servers by moving slabs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct BalanceArgs {
    #[command(flatten)]
    access: AccessArgs,

    /// What the load of a slab is
    #[arg(long, value_enum, default_value_t = By::Pairs)]
    by: By,

    /// Keys that were asked, one per line: the load of a slab is the number of its keys
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,

    /// How the slabs of an exchange are chosen
    #[arg(long, value_enum, default_value_t = MethodName::BestPair)]
    method: MethodName,

    /// The most exchanges
    #[arg(long, value_name = "N", default_value_t = EXCHANGES_DEFAULT)]
    exchanges: usize,

    /// Take all slabs away from this server, so that it can be removed
    #[arg(long, value_name = "HOST:PORT")]
    drain: Vec<String>,

    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// No messages
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum By {
    /// Pairs
    #[value(alias = "items")]
    Pairs,
    /// Queries: processor time of the slab's slot, or --keys
    Queries,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum MethodName {
    /// The two slabs whose exchange leaves the least imbalance
    BestPair,
    /// The fullest slab and the emptiest: Algorithm 8 of the paper
    #[value(name = "algorithm-8")]
    Algorithm8,
}

/// One slab from one server to another.
#[derive(Debug, Clone, Serialize)]
struct Step {
    slab: u32,
    slot: u16,
    from: String,
    to: String,
}

/// The document of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    by: &'static str,
    done: bool,
    /// To even out the numbers of slabs.
    moves: Vec<Step>,
    /// Each is two steps.
    exchanges: Vec<[Step; 2]>,
    imbalance_before: f64,
    /// After the moves, and after each exchange.
    imbalance: Vec<f64>,
    servers: Vec<ServerReport>,
}

#[derive(Debug, Serialize)]
struct ServerReport {
    address: String,
    slabs: usize,
    load_before: u64,
    load: u64,
}

/// Plans, tells, and moves.
pub fn run(args: &BalanceArgs) -> anyhow::Result<ExitCode> {
    let mut store = args.access.open()?;
    let slab_loads = args.loads(&mut store)?;
    let before = loads::by_server(&store, &slab_loads);
    let leaving = args.leaving(&before)?;
    let mut report = plan(&store, &before, &leaving, args);
    let steps: Vec<Step> =
        report.moves.iter().chain(report.exchanges.iter().flatten()).cloned().collect();
    if !args.dry_run {
        for (number, step) in steps.iter().enumerate() {
            if !args.quiet {
                stderr::message(format_args!(
                    "moving slab {} from {} to {} ({} of {})",
                    step.slab,
                    step.from,
                    step.to,
                    number + 1,
                    steps.len()
                ));
            }
            // A failover in between changes which servers are primaries.
            let servers = &store.router.topology().servers;
            let to = servers.iter().position(|server| server.address.to_string() == step.to);
            let to = to.with_context(|| format!("{} is no primary any more", step.to))?;
            move_slot(&mut store.router, step.slot, to).map_err(refused)?;
        }
        report.done = true;
    }
    match args.json {
        true => output::json_to_stdout(&report),
        false => output::to_stdout(|out| write(out, &report)),
    }
}

impl BalanceArgs {
    /// The load of each slab.
    fn loads(&self, store: &mut ClusterStore) -> anyhow::Result<Vec<u64>> {
        match (self.by, &self.keys) {
            (By::Pairs, None) => loads::items(store).map_err(refused),
            (By::Pairs, Some(_)) => Err(Usage::new(anyhow!("--keys is for --by queries")).into()),
            (By::Queries, Some(path)) => {
                let mut counts = vec![0; store.layout().slabs() as usize];
                let file = File::open(path)
                    .with_context(|| format!("cannot open {} with the keys", path.display()))?;
                for key in BufReader::new(file).split(b'\n') {
                    let key = key.with_context(|| path.display().to_string())?;
                    if !key.is_empty() {
                        counts[store.layout().slab_of(&key) as usize] += 1;
                    }
                }
                Ok(counts)
            }
            (By::Queries, None) => match loads::processor_time(store).map_err(refused)? {
                Some(loads) => Ok(loads),
                None => bail!(
                    "the servers do not count by slot: that takes Valkey 8 or Redis 8.2 with \
                     cluster-slot-stats-enabled yes; or give --keys with keys that were asked"
                ),
            },
        }
    }

    /// Which servers are to have no slabs.
    fn leaving(&self, servers: &[ServerLoad]) -> anyhow::Result<Vec<bool>> {
        let mut leaving = vec![false; servers.len()];
        for text in &self.drain {
            let address = Address::parse(text);
            let at = servers.iter().position(|load| Some(&load.server.address) == address.as_ref());
            match at {
                Some(at) => leaving[at] = true,
                None => {
                    let known = servers.iter().map(|load| load.server.address.to_string());
                    let known = known.collect::<Vec<_>>().join(", ");
                    let wrong =
                        anyhow!("{text} is not a primary of the cluster; these are: {known}");
                    return Err(Usage::new(wrong).into());
                }
            }
        }
        match leaving.iter().all(|leaves| *leaves) {
            true => Err(Usage::new(anyhow!("no server would be left")).into()),
            false => Ok(leaving),
        }
    }
}

/// Moves, then exchanges, between servers with these slabs.
fn plan(
    store: &ClusterStore,
    before: &[ServerLoad],
    leaving: &[bool],
    args: &BalanceArgs,
) -> Report {
    let step = |slab: u32, from: usize, to: usize| Step {
        slab,
        slot: store.layout().slot(slab),
        from: before[from].server.address.to_string(),
        to: before[to].server.address.to_string(),
    };
    let loads = |servers: &[Vec<(u32, u64)>]| -> Vec<Vec<u64>> {
        servers.iter().map(|slabs| slabs.iter().map(|(_, load)| *load).collect()).collect()
    };
    let total = |slabs: &Vec<(u32, u64)>| slabs.iter().map(|(_, load)| *load).sum::<u64>();
    let mut servers: Vec<Vec<(u32, u64)>> = before.iter().map(|load| load.slabs.clone()).collect();
    let totals: Vec<f64> = servers.iter().map(|slabs| total(slabs) as f64).collect();
    let mut moves = vec![];
    for moved in spread(&loads(&servers), leaving) {
        let (from, at) = moved.slab;
        let slab = before[from].slabs[at];
        servers[from].retain(|(number, _)| *number != slab.0);
        servers[moved.to].push(slab);
        moves.push(step(slab.0, from, moved.to));
    }
    // Servers that are leaving take no part in exchanges.
    let staying: Vec<usize> = (0..servers.len()).filter(|at| !leaving[*at]).collect();
    let of_staying: Vec<Vec<(u32, u64)>> = staying.iter().map(|at| servers[*at].clone()).collect();
    let method = match args.method {
        MethodName::BestPair => Method::BestPair,
        MethodName::Algorithm8 => Method::Algorithm8,
    };
    let planned = balance::balance(&loads(&of_staying), method, args.exchanges);
    let mut exchanges = vec![];
    for exchange in &planned.exchanges {
        let ((a, i), (b, j)) = (exchange.fullest, exchange.emptiest);
        let (a, b) = (staying[a], staying[b]);
        let (given, taken) = (servers[a][i], servers[b][j]);
        (servers[a][i], servers[b][j]) = (taken, given);
        exchanges.push([step(given.0, a, b), step(taken.0, b, a)]);
    }
    let report = |(at, load): (usize, &ServerLoad)| ServerReport {
        address: load.server.address.to_string(),
        slabs: servers[at].len(),
        load_before: load.total(),
        load: total(&servers[at]),
    };
    Report {
        by: if args.by == By::Pairs { "pairs" } else { "queries" },
        done: false,
        moves,
        exchanges,
        imbalance_before: imbalance(&totals),
        imbalance: planned.imbalance,
        servers: before.iter().enumerate().map(report).collect(),
    }
}

fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let is = if report.done { "was" } else { "would be" };
    let line = |step: &Step| format!("slab {} {} → {}", step.slab, step.from, step.to);
    writeln!(out, "imbalance {:.4}, by {}", report.imbalance_before, report.by)?;
    for step in &report.moves {
        let word = if report.done { "moved" } else { "move" };
        writeln!(out, "{word:<12} {}", line(step))?;
    }
    if let (false, Some(after)) = (report.moves.is_empty(), report.imbalance.first()) {
        writeln!(out, "imbalance {after:.4} after {} moves", report.moves.len())?;
    }
    let after = report.imbalance.iter().skip(1);
    for (number, ([one, other], after)) in report.exchanges.iter().zip(after).enumerate() {
        writeln!(out, "exchange {:<3} {}, {}", number + 1, line(one), line(other))?;
        writeln!(out, "imbalance {after:.4} after {} exchanges", number + 1)?;
    }
    if report.moves.is_empty() && report.exchanges.is_empty() {
        writeln!(out, "nothing {is} moved: no exchange lowers it")?;
    } else if !report.done {
        writeln!(out, "nothing was moved: a dry run")?;
    }
    let width = report.servers.iter().map(|server| server.address.len()).max().unwrap_or(0).max(7);
    writeln!(
        out,
        "\n{HEADING}{:<width$}  {:>5}  {:>15}  {:>15}{HEADING:#}",
        "Servers", "slabs", "load before", "load after"
    )?;
    for server in &report.servers {
        let [before, after] = [server.load_before, server.load].map(grouped);
        writeln!(
            out,
            "{:<width$}  {:>5}  {before:>15}  {after:>15}",
            server.address, server.slabs
        )?;
    }
    Ok(())
}
