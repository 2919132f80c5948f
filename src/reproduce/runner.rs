//! Many experiments on a few threads.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::experiment::{Context, Experiment, Failure, Scale, Work};
use super::outcome::Outcome;
use super::table::find;
use crate::seed::Seed;

/// What is run, and how.
pub struct RunPlan<'a> {
    /// The experiments; each once.
    pub experiments: Vec<&'static Experiment>,
    /// How large.
    pub scale: Scale,
    /// All randomness comes from here: each experiment gets the same whatever else is run.
    pub seed: Seed,
    /// How many run at a time. Those that measure time run alone, after the others.
    pub threads: usize,
    /// Nanoseconds since some moment.
    pub stopwatch: fn() -> u64,
    /// Set to end early.
    pub stop: &'a AtomicBool,
}

/// An experiment that has ended.
pub struct Finished {
    /// Which.
    pub experiment: &'static Experiment,
    /// What it gave.
    pub result: Result<Outcome, Failure>,
    /// How long it took; 0 for one that is the same as another.
    pub nanos: u64,
}

/// Is told what happens, from several threads.
pub trait Observer: Sync {
    /// Part of the work of an experiment is done.
    fn progress(&self, experiment: &'static Experiment, part: f64);
    /// An experiment has ended. One that is the same as another ends with it.
    fn finished(&self, finished: Finished);
}

/// The work of one function, and the experiments that take its outcome.
struct Job {
    by: &'static Experiment,
    run: fn(&Context<'_>) -> Result<Outcome, Failure>,
    timed: bool,
    wanted: Vec<&'static Experiment>,
}

/// Runs the experiments of a plan. Ends early, between two steps of an experiment, if told to stop.
pub fn run(plan: &RunPlan<'_>, observer: &dyn Observer) {
    let mut jobs = jobs(&plan.experiments);
    // The longest first, so that the threads end at about the same time.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.by.seconds));
    let (timed, others): (VecDeque<Job>, VecDeque<Job>) =
        jobs.into_iter().partition(|job| job.timed);
    for (queue, threads) in [(others, plan.threads.max(1)), (timed, 1)] {
        let queue = Mutex::new(queue);
        // A thread that panicked leaves the queue as it is.
        let next = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(job) = next() {
                        if plan.stop.load(Ordering::Relaxed) {
                            return;
                        }
                        do_job(plan, &job, observer);
                    }
                });
            }
        });
    }
}

fn jobs(experiments: &[&'static Experiment]) -> Vec<Job> {
    let mut jobs: Vec<Job> = vec![];
    for &experiment in experiments {
        let Some((by, run, timed)) = worker_of(experiment) else { continue };
        match jobs.iter_mut().find(|job| job.by.id == by.id) {
            Some(job) => job.wanted.push(experiment),
            None => jobs.push(Job { by, run, timed, wanted: vec![experiment] }),
        }
    }
    jobs
}

type Function = fn(&Context<'_>) -> Result<Outcome, Failure>;

/// The experiment whose function does the work of this one.
fn worker_of(experiment: &'static Experiment) -> Option<(&'static Experiment, Function, bool)> {
    match experiment.work {
        Work::Run(run) => Some((experiment, run, false)),
        Work::Timed(run) => Some((experiment, run, true)),
        // The other does its work itself: a test of the table says so.
        Work::SameAs(other) => find(other).first().copied().and_then(worker_of),
    }
}

fn do_job(plan: &RunPlan<'_>, job: &Job, observer: &dyn Observer) {
    let by = job.wanted.first().copied().unwrap_or(job.by);
    let progress = |part| observer.progress(by, part);
    let context = Context {
        scale: plan.scale,
        seed: plan.seed,
        stopwatch: plan.stopwatch,
        stop: plan.stop,
        progress: &progress,
    };
    let start = (plan.stopwatch)();
    let result = (job.run)(&context);
    let nanos = (plan.stopwatch)().saturating_sub(start);
    if let Ok(outcome) = &result {
        for &experiment in job.wanted.iter().skip(1) {
            observer.finished(Finished { experiment, result: Ok(outcome.clone()), nanos: 0 });
        }
    }
    observer.finished(Finished { experiment: by, result, nanos });
}
