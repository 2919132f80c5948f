//! Runs that alternate (A, B, C, A, B, C, …), so that other load on the machine affects all of them
//! equally. Times are compared within a round; the median of the rounds counts.

use std::time::Instant;

/// Rounds that count; one more before them warms the page cache.
pub const ROUNDS: usize = 5;

/// Something to measure.
pub struct Contestant<'a> {
    /// What the table calls it.
    pub name: String,
    run: Box<dyn FnMut() -> u64 + 'a>,
}

/// The seconds that one contestant took in each round.
pub struct Seconds(Vec<f64>);

impl<'a> Contestant<'a> {
    /// `run` returns how many packets it went through.
    pub fn new(name: impl Into<String>, run: impl FnMut() -> u64 + 'a) -> Self {
        Contestant { name: name.into(), run: Box::new(run) }
    }
}

/// Runs all contestants in turn, each over all `packets`.
pub fn take_turns(contestants: &mut [Contestant<'_>], packets: u64) -> Vec<Seconds> {
    warn_if_busy();
    let mut seconds: Vec<Seconds> = contestants.iter().map(|_| Seconds(Vec::new())).collect();
    for round in 0..=ROUNDS {
        for (contestant, seconds) in contestants.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            let seen = (contestant.run)();
            let elapsed = start.elapsed().as_secs_f64();
            assert_eq!(seen, packets, "{} goes through the whole trace", contestant.name);
            if round > 0 {
                seconds.0.push(elapsed);
            }
        }
    }
    seconds
}

/// With other load on the cores even ratios mislead: a run with more threads waits longer.
fn warn_if_busy() {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|last_minute| last_minute.parse().ok());
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    if let Some(load) = load.filter(|load: &f64| *load > cores + 1.0) {
        eprintln!("warning: load {load} on {cores} cores; the machine has other things to do");
    }
}

impl Seconds {
    /// The median round.
    pub fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// The median of `self / other`, each within its round.
    pub fn ratio_to(&self, other: &Seconds) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs).collect())
    }
}

/// The value in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
