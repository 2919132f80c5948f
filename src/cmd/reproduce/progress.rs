//! The progress bar of `acsm reproduce`: experiments weighted with the time they take.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::reproduce::Experiment;

/// Ticks of the bar per second of work at the default scale.
const TICKS: f64 = 100.0;
const TEMPLATE: &str = "{bar:30} {percent} %, {elapsed}, {msg}";

/// The bar; hidden unless standard error is a terminal.
pub struct Bar {
    bar: ProgressBar,
    /// The experiments that run, with the part that is done.
    running: Mutex<Vec<(&'static Experiment, f64)>>,
    /// Seconds of those that have ended.
    done: Mutex<f64>,
}

impl Bar {
    /// A bar for these experiments.
    pub fn new(experiments: &[&'static Experiment], quiet: bool) -> Bar {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(10),
        };
        let seconds: f64 = experiments.iter().map(|experiment| weight(experiment)).sum();
        let bar = ProgressBar::with_draw_target(Some((seconds * TICKS) as u64), target);
        // a constant template; if it did not parse, the default style would do
        bar.set_style(
            ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Bar { bar, running: Mutex::default(), done: Mutex::default() }
    }

    /// Part of an experiment is done.
    pub fn progress(&self, experiment: &'static Experiment, part: f64) {
        // Whoever panicked while it held the lock left the list as it was.
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match running.iter_mut().find(|(other, _)| other.id == experiment.id) {
            Some(entry) => entry.1 = part,
            None => running.push((experiment, part)),
        }
        self.show(&running);
    }

    /// An experiment has ended.
    pub fn finished(&self, experiment: &'static Experiment) {
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        running.retain(|(other, _)| other.id != experiment.id);
        *self.done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += weight(experiment);
        self.show(&running);
    }

    fn show(&self, running: &[(&'static Experiment, f64)]) {
        let done = *self.done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let parts: f64 = running.iter().map(|(experiment, part)| weight(experiment) * part).sum();
        let names: Vec<&str> = running.iter().map(|(experiment, _)| experiment.id).collect();
        self.bar.set_message(names.join(", "));
        self.bar.set_position(((done + parts) * TICKS) as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn weight(experiment: &Experiment) -> f64 {
    f64::from(experiment.seconds.max(1))
}
