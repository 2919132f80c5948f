//! `acsm cluster status`: slabs, pairs and load per server, and the errors that theory expects.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::access_args::AccessArgs;
use super::refused;
use crate::cluster::description::Description;
use crate::cluster::loads;
use crate::cluster::store::ClusterStore;
use crate::cmd::kv::structure::{Predicted, combined, predicted_kbf};
use crate::cmd::output;
use crate::report::format::{HEADING, bytes, grouped, percent, scientific};
use acsm_filters::balance::imbalance;

const EXAMPLES: &str = "\
Examples:
  acsm cluster status
  acsm cluster status --json | jq '.servers[] | {address, pairs}'

The imbalance is the standard deviation of the servers' pairs divided by their mean; `acsm
cluster balance` lowers it.";

/// Show what servers hold, their load, and the errors to be expected
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct StatusArgs {
    #[command(flatten)]
    access: AccessArgs,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// The document of `acsm cluster status --json`.
#[derive(Debug, Serialize)]
pub struct Status {
    pub slabs: u32,
    /// Filters: slabs that have grown have several.
    pub filters: usize,
    pub pairs: u64,
    pub capacity: u64,
    /// Pairs in multiples of the capacity.
    pub rho: f64,
    pub values: u32,
    pub values_max: u32,
    pub fp_rate: f64,
    /// Of each filter.
    pub cells: u64,
    pub hashes: u32,
    pub cell_bits: u32,
    pub bytes: u64,
    pub saturations: u64,
    /// ρ of the servers' pairs.
    pub imbalance: f64,
    pub predicted: Predicted,
    pub servers: Vec<ServerStatus>,
}

/// One server.
#[derive(Debug, Serialize)]
pub struct ServerStatus {
    pub address: String,
    pub replicas: Vec<String>,
    /// Hash slots, with and without slabs.
    pub slots: usize,
    pub slabs: usize,
    pub pairs: u64,
    pub bytes: u64,
}

/// Prints the status.
pub fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let status = Status::read(&mut args.access.open()?)?;
    match args.json {
        true => output::json_to_stdout(&status),
        false => output::to_stdout(|out| write(out, &status)),
    }
}

impl Status {
    /// Asks all servers.
    pub fn read(store: &mut ClusterStore) -> anyhow::Result<Status> {
        let infos = store.info().map_err(refused)?;
        let Description { slabs, parameters, values_max, .. } = store.description().clone();
        // Of each slab: bytes, and the pairs of each filter.
        let mut by_slab: BTreeMap<u32, (u64, Vec<u64>)> = BTreeMap::new();
        for (id, info) in &infos {
            let (bytes, pairs) = by_slab.entry(id.slab).or_default();
            *bytes += info.bytes;
            pairs.push(info.items);
        }
        let slab_pairs: Vec<u64> = by_slab.values().map(|(_, pairs)| pairs.iter().sum()).collect();
        let topology = store.router.topology();
        let servers: Vec<ServerStatus> = loads::by_server(store, &slab_pairs)
            .into_iter()
            .enumerate()
            .map(|(at, load)| ServerStatus {
                address: load.server.address.to_string(),
                replicas: load.server.replicas.iter().map(ToString::to_string).collect(),
                slots: topology.slots_of(at),
                slabs: load.slabs.len(),
                pairs: load.total(),
                bytes: load.slabs.iter().map(|(slab, _)| by_slab[slab].0).sum(),
            })
            .collect();
        let pairs = slab_pairs.iter().sum();
        let capacity = parameters.capacity * infos.len() as u64;
        let totals: Vec<f64> = servers.iter().map(|server| server.pairs as f64).collect();
        let assigned = store.values().count();
        // An absent key is in any slab, a key that is there in one with many rather.
        let of_slab = |pairs: &Vec<u64>| {
            let filter =
                |&pairs: &u64| (pairs as f64, predicted_kbf(&parameters, pairs, assigned as usize));
            combined(&pairs.iter().map(filter).collect::<Vec<_>>())
        };
        let (mut false_positives, mut undecided) = (0.0, 0.0);
        for (_, filters) in by_slab.values() {
            let errors = of_slab(filters);
            false_positives += errors.false_positive_rate;
            undecided += errors.undecided_rate * filters.iter().sum::<u64>() as f64;
        }
        Ok(Status {
            slabs,
            filters: infos.len(),
            pairs,
            capacity,
            rho: pairs as f64 / capacity.max(1) as f64,
            values: assigned,
            values_max,
            fp_rate: parameters.rate,
            cells: parameters.cells() as u64,
            hashes: parameters.hashes,
            cell_bits: parameters.cell_bits,
            bytes: infos.iter().map(|(_, info)| info.bytes).sum(),
            saturations: infos.iter().map(|(_, info)| info.saturations).sum(),
            imbalance: imbalance(&totals),
            predicted: Predicted {
                false_positive_rate: false_positives / f64::from(slabs),
                undecided_rate: undecided / (pairs as f64).max(1.0),
            },
            servers,
        })
    }
}

fn write(out: &mut impl Write, status: &Status) -> io::Result<()> {
    let Status { hashes, cell_bits, .. } = status;
    let cells = grouped(status.cells);
    writeln!(out, "{HEADING}Store{HEADING:#}")?;
    writeln!(
        out,
        "  kbf          {} slabs, {} filters of {cells} cells of {cell_bits} bits, {hashes} per key",
        grouped(status.slabs.into()),
        grouped(status.filters as u64)
    )?;
    writeln!(
        out,
        "  pairs        {} of {} at an error rate of {} (rho {:.3})",
        grouped(status.pairs),
        grouped(status.capacity),
        scientific(status.fp_rate),
        status.rho
    )?;
    let [values, values_max] = [status.values, status.values_max].map(|n| grouped(n.into()));
    writeln!(out, "  values       {values} of at most {values_max}")?;
    let bits = 8.0 * status.bytes as f64 / status.pairs.max(1) as f64;
    writeln!(out, "  memory       {}, {bits:.1} bits per pair", bytes(status.bytes))?;
    if status.saturations > 0 {
        writeln!(out, "  saturated    {} counters", grouped(status.saturations))?;
    }
    writeln!(out, "\n{HEADING}Errors           predicted{HEADING:#}")?;
    let Predicted { false_positive_rate, undecided_rate } = status.predicted;
    writeln!(out, "  false positive {:>9}", scientific(false_positive_rate))?;
    writeln!(out, "  undecided      {:>9}", scientific(undecided_rate))?;
    servers(out, status)
}

fn servers(out: &mut impl Write, status: &Status) -> io::Result<()> {
    let width = status.servers.iter().map(|server| server.address.len()).max().unwrap_or(0).max(7);
    writeln!(
        out,
        "\n{HEADING}{:<width$}  {:>5}  {:>13}  {:>6}  {:>9}  replicas{HEADING:#}",
        "Servers", "slabs", "pairs", "share", "memory"
    )?;
    for server in &status.servers {
        writeln!(
            out,
            "{:<width$}  {:>5}  {:>13}  {:>6}  {:>9}  {}",
            server.address,
            server.slabs,
            grouped(server.pairs),
            percent(server.pairs, status.pairs),
            bytes(server.bytes),
            server.replicas.join(" ")
        )?;
    }
    writeln!(out, "imbalance {:.4}", status.imbalance)
}
