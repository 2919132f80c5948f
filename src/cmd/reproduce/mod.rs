//! `acsm reproduce`: the experiments of the papers, run again.
//!
//! `origin` says where results come from, `progress` shows how far the run is.

mod origin;
mod progress;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};

use super::progress::stopwatch_nanos;
use super::{Usage, output, signals, stderr};
use crate::atomic_file;
use crate::report::reproduce::{ListEntry, Origin, Record, Result as Line, html, text, write_all};
use crate::reproduce::{
    Experiment, Failure, Finished, Observer, RunPlan, Scale, experiments, find, run as run_all,
};
use crate::seed::Seed;
use progress::Bar;

const EXAMPLES: &str = "\
Examples:
  acsm reproduce --list                        all experiments, with the time they take
  acsm reproduce --scale tiny                  all of them, small: a minute
  acsm reproduce kbf-j/fig7                    one figure
  acsm reproduce kbf-j recycling --out results all of two papers
  acsm reproduce --scale full kbf-j/fig13      with as many pairs as the paper
  acsm reproduce --redraw --out results        figures and page again, from the CSV files

Each experiment writes PAPER/ITEM.csv, .svg and .json into the folder; all together make
index.html, results.csv and results.json, and those of a paper PAPER/index.html. An experiment whose files are there, from the
same program, commit, scale and seed, is not run again: a run that was stopped goes on
where it was. A verdict that differs is a result and not a failure.
Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Run the papers' experiments again: CSV, figures and a verdict for each
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct ReproduceArgs {
    /// An experiment such as kbf-j/fig7, or a paper such as kbf-j; by default all
    #[arg(value_name = "EXPERIMENT")]
    wanted: Vec<String>,

    /// List the experiments and run none
    #[arg(long)]
    list: bool,

    /// How large: tiny takes a minute for all, default a quarter of an hour on two cores, full
    /// has the papers' own sizes
    #[arg(long, value_enum, default_value_t = ScaleArg::Default, hide_possible_values = false)]
    scale: ScaleArg,

    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,

    /// Draw figures and page again from the files in the folder; run nothing
    #[arg(long, conflicts_with = "list")]
    redraw: bool,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value = "1")]
    seed: Seed,

    /// How many experiments run at a time; each may take 2 GiB
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// No progress bar
    #[arg(short, long)]
    quiet: bool,
}

/// [`Scale`] as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScaleArg {
    Tiny,
    Default,
    Full,
}

impl ScaleArg {
    fn scale(self) -> Scale {
        match self {
            ScaleArg::Tiny => Scale::Tiny,
            ScaleArg::Default => Scale::Default,
            ScaleArg::Full => Scale::Full,
        }
    }
}

/// Runs what is wanted and not done yet, then writes the page.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    let wanted = wanted(&args.wanted).map_err(Usage::new)?;
    if args.list {
        return list(args, &wanted);
    }
    let records = match args.redraw {
        true => redrawn(args, &wanted)?,
        false => measured(args, &wanted)?,
    };
    write_together(&args.out, &records)?;
    if !args.quiet {
        stderr::message(format_args!("acsm: {}", args.out.join("index.html").display()));
    }
    match args.json {
        true => output::json_to_stdout(&lines(&records)),
        false => output::to_stdout(|out| text::write(&records, out)),
    }
}

/// The experiments that are named, each once, in the order of the table.
fn wanted(names: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    if let Some(unknown) = names.iter().find(|name| find(name).is_empty()) {
        bail!("there is no experiment or paper `{unknown}`; `acsm reproduce --list` lists them");
    }
    let is_wanted = |experiment: &&Experiment| {
        let named = |name: &String| *name == experiment.id || *name == experiment.paper();
        names.is_empty() || names.iter().any(named)
    };
    Ok(experiments().filter(is_wanted).collect())
}

fn list(args: &ReproduceArgs, wanted: &[&'static Experiment]) -> anyhow::Result<ExitCode> {
    let entries = || wanted.iter().map(|&experiment| ListEntry::from(experiment));
    match args.json {
        true => output::json_to_stdout(&entries().collect::<Vec<_>>()),
        false => output::to_stdout(|out| text::list(wanted, out)),
    }
}

fn lines(records: &[Record]) -> Vec<Line<'_>> {
    records.iter().map(|record| Line { id: &record.id, verdict: &record.verdict }).collect()
}

/// Draws the figures of the records that are there.
fn redrawn(args: &ReproduceArgs, wanted: &[&'static Experiment]) -> anyhow::Result<Vec<Record>> {
    let mut records = vec![];
    for experiment in wanted {
        if let Some(record) = Record::read(&args.out, experiment.id)? {
            record.draw(&args.out)?;
            records.push(record);
        }
    }
    match records.is_empty() {
        true => bail!("{} has no results of these experiments", args.out.display()),
        false => Ok(records),
    }
}

/// Runs what is not done yet; the records of all that is wanted.
fn measured(args: &ReproduceArgs, wanted: &[&'static Experiment]) -> anyhow::Result<Vec<Record>> {
    let scale = args.scale.scale();
    let origin = origin::origin(scale, args.seed)?;
    let is_done = |experiment: &&&'static Experiment| {
        let record = Record::read(&args.out, experiment.id).ok().flatten();
        record.is_some_and(|record| record.origin.agrees_with(&origin))
    };
    let (done, missing): (Vec<_>, Vec<_>) = wanted.iter().partition(is_done);
    if !done.is_empty() && !args.quiet {
        let count = done.len();
        stderr::message(format_args!("acsm: {count} experiments are done; their files are kept"));
    }
    run_missing(args, missing, &origin)?;
    let records = wanted.iter().map(|experiment| {
        Record::read(&args.out, experiment.id)?.ok_or_else(|| anyhow!("{} is gone", experiment.id))
    });
    records.collect()
}

fn run_missing(
    args: &ReproduceArgs,
    missing: Vec<&'static Experiment>,
    origin: &Origin,
) -> anyhow::Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on_signals(&stop)?;
    let writer = Writer {
        folder: &args.out,
        origin,
        bar: Bar::new(&missing, args.quiet),
        failure: Mutex::new(None),
        stop: &stop,
    };
    let plan = RunPlan {
        experiments: missing,
        scale: origin.scale,
        seed: args.seed,
        threads: args.workers.into(),
        stopwatch: stopwatch_nanos,
        stop: &stop,
    };
    run_all(&plan, &writer);
    // A thread that panicked would have ended the run.
    match writer.failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        Some(failure) => Err(failure),
        None if stop.load(Ordering::Relaxed) => {
            bail!("interrupted; what is done is kept, and the same command goes on from there")
        }
        None => Ok(()),
    }
}

/// Writes the files of each experiment as soon as it has ended. The first failure ends the run.
struct Writer<'a> {
    folder: &'a Path,
    origin: &'a Origin,
    bar: Bar,
    failure: Mutex<Option<anyhow::Error>>,
    stop: &'a AtomicBool,
}

impl Observer for Writer<'_> {
    fn progress(&self, experiment: &'static Experiment, part: f64) {
        self.bar.progress(experiment, part);
    }

    fn finished(&self, Finished { experiment, result, nanos }: Finished) {
        self.bar.finished(experiment);
        let written = match result {
            Ok(outcome) => {
                let seconds = nanos as f64 / 1e9;
                Record::new(experiment, outcome, self.origin.clone(), seconds)
                    .write(self.folder)
                    .map_err(anyhow::Error::from)
            }
            Err(Failure::Stopped) => return,
            Err(failure) => Err(failure.into()),
        };
        if let Err(error) = written {
            self.stop.store(true, Ordering::Relaxed);
            let mut first = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            first.get_or_insert(error.context(experiment.id));
        }
    }
}

/// The page and the tables of all records.
fn write_together(folder: &Path, records: &[Record]) -> anyhow::Result<()> {
    let replace = |name: &str, write: &dyn Fn(&mut dyn std::io::Write) -> std::io::Result<()>| {
        atomic_file::replace(&folder.join(name), |out| write(out)).context("results of all")
    };
    replace("results.csv", &|out| write_all(out, records))?;
    replace("results.json", &|out| {
        serde_json::to_writer_pretty(&mut *out, &lines(records))?;
        writeln!(out)
    })?;
    // A page of each paper, which is smaller than that of all.
    for paper in records.chunk_by(|a, b| a.paper_and_item().0 == b.paper_and_item().0) {
        let Some(first) = paper.first() else { continue };
        let name = format!("{}/index.html", first.paper_and_item().0);
        replace(&name, &|out| html::write(paper, out))?;
    }
    replace("index.html", &|out| html::write(records, out))
}
