//! The workers of a run, in threads of their own or, alone, in the caller's.
//!
//! Packets travel in rounds. Each worker gets its part of every round, in order, and gives the
//! buffer back with what it found; so a round is complete when each worker has given one back, and
//! no message needs a number. Bounded queues are the only thing that flows back.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use super::event::Round;
use super::finding::Findings;
use super::observer::NewRules;
use super::tally::Tally;
use super::worker::Worker;
use crate::flow::FlowId;
use crate::machine::Rules;
use crate::store::{Epoch, Store, StoreStats};

/// Rounds on their way at once: one being filled, one being worked on, one waiting for each side.
const IN_FLIGHT: usize = 4;

/// What a worker says at its end: its counts, and what each of its shards holds.
type WorkerReport = (Tally, Vec<(usize, StoreStats)>);

/// A round on its way to one worker, and back with what it found.
struct Batch {
    round: Arc<Round>,
    findings: Findings,
}

enum Order<'plan> {
    Work(Batch),
    /// Nothing was alive for a whole epoch, up to this one.
    PassSilence(Epoch),
    /// Other rules than these from here on.
    Follow(&'plan Rules, &'plan NewRules),
    Report(Sender<WorkerReport>),
    Finish(Epoch),
}

/// Workers that take events and give findings back, round by round.
pub struct Crew<'scope, 'plan, S: Store> {
    hands: Hands<'scope, 'plan, S>,
    /// Nobody else holds it while it is being filled.
    filling: Arc<Round>,
    /// Rounds that are done: room that is used again.
    spare: Vec<Arc<Round>>,
    /// Buffers for findings, likewise.
    spare_findings: Vec<Findings>,
    in_flight: usize,
}

enum Hands<'scope, 'plan, S: Store> {
    Inline(Box<Worker<'plan, S>>),
    Threads(Vec<Hand<'scope, 'plan>>),
}

struct Hand<'scope, 'plan> {
    orders: Sender<Order<'plan>>,
    results: Receiver<Batch>,
    thread: ScopedJoinHandle<'scope, WorkerReport>,
}

/// A worker thread ended before its time: it panicked.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a worker thread ended unexpectedly")]
pub struct WorkerLost;

/// Which worker of `workers` owns a shard.
pub const fn owner(shard: usize, workers: usize) -> usize {
    shard % workers
}

impl<'scope, 'plan: 'scope, S: Store + 'scope> Crew<'scope, 'plan, S> {
    /// Sets `workers` to work: one alone in this thread, several each in its own.
    pub fn new(
        mut workers: Vec<Worker<'plan, S>>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Crew<'scope, 'plan, S> {
        let count = workers.len().clamp(1, FlowId::SHARDS);
        let hands = match workers.pop() {
            Some(worker) if workers.is_empty() => Hands::Inline(Box::new(worker)),
            last => {
                workers.extend(last);
                let start = |(number, worker)| start(number, worker, scope);
                Hands::Threads(workers.into_iter().enumerate().map(start).collect())
            }
        };
        let (spare, spare_findings) = (Vec::new(), Vec::new());
        let filling = Arc::new(Round::new(count));
        Crew { hands, filling, spare, spare_findings, in_flight: 0 }
    }

    /// The round being filled.
    pub fn filling(&mut self) -> &mut Round {
        // A spare round is nobody else's: nothing is ever cloned here.
        Arc::make_mut(&mut self.filling)
    }

    /// Sends the round off. With `findings` come back those of a round that is done, if enough
    /// are on their way; says whether one came.
    pub fn send(&mut self, findings: &mut Findings) -> Result<bool, WorkerLost> {
        match &mut self.hands {
            Hands::Inline(worker) => {
                for events in &self.filling.events {
                    worker.process(&self.filling.packets, events, findings);
                }
                self.filling().give_back(findings);
                return Ok(true);
            }
            Hands::Threads(hands) => {
                let next = self.spare.pop().unwrap_or_else(|| Arc::new(Round::new(hands.len())));
                let round = std::mem::replace(&mut self.filling, next);
                for hand in hands.iter() {
                    let findings = self.spare_findings.pop().unwrap_or_default();
                    let batch = Batch { round: Arc::clone(&round), findings };
                    hand.orders.send(Order::Work(batch)).map_err(|_| WorkerLost)?;
                }
            }
        }
        self.in_flight += 1;
        if self.in_flight == IN_FLIGHT { self.receive(findings) } else { Ok(false) }
    }

    /// Waits for the oldest round on its way; says whether there was one.
    pub fn receive(&mut self, findings: &mut Findings) -> Result<bool, WorkerLost> {
        let Hands::Threads(hands) = &self.hands else { return Ok(false) };
        if self.in_flight == 0 {
            return Ok(false);
        }
        let mut done = None;
        for hand in hands {
            let mut batch = hand.results.recv().map_err(|_| WorkerLost)?;
            findings.append(&mut batch.findings);
            self.spare_findings.push(batch.findings);
            done = Some(batch.round);
        }
        if let Some(mut done) = done
            && let Some(round) = Arc::get_mut(&mut done)
        {
            round.give_back(findings);
            self.spare.push(done);
        }
        self.in_flight -= 1;
        Ok(true)
    }

    /// Tells every worker that nothing was alive for a whole epoch, up to this one.
    pub fn pass_silence(&mut self, now: Epoch) -> Result<(), WorkerLost> {
        match &mut self.hands {
            Hands::Inline(worker) => worker.pass_silence(now),
            Hands::Threads(hands) => tell(hands, || Order::PassSilence(now))?,
        }
        Ok(())
    }

    /// Lets every worker go on under `new` rules in place of `old` ones.
    pub fn follow(&mut self, old: &'plan Rules, new: &'plan NewRules) -> Result<(), WorkerLost> {
        match &mut self.hands {
            Hands::Inline(worker) => worker.follow(old, new),
            Hands::Threads(hands) => tell(hands, || Order::Follow(old, new))?,
        }
        Ok(())
    }

    /// What all workers counted so far, and what the store holds.
    pub fn report(&self) -> Result<(Tally, StoreStats), WorkerLost> {
        let reports = match &self.hands {
            Hands::Inline(worker) => vec![worker.counts()],
            Hands::Threads(hands) => {
                let (reply, reports) = bounded(hands.len());
                tell(hands, || Order::Report(reply.clone()))?;
                drop(reply);
                reports.iter().collect()
            }
        };
        Ok(added_up(reports))
    }

    /// Lets every worker finish, and adds up what they counted.
    pub fn finish(self, now: Epoch) -> Result<(Tally, StoreStats), WorkerLost> {
        let reports = match self.hands {
            Hands::Inline(worker) => vec![worker.finish(now)],
            Hands::Threads(hands) => {
                tell(&hands, || Order::Finish(now))?;
                let ended = hands.into_iter().map(|hand| hand.thread.join());
                ended.collect::<Result<_, _>>().map_err(|_| WorkerLost)?
            }
        };
        Ok(added_up(reports))
    }
}

fn tell<'plan>(
    hands: &[Hand<'_, 'plan>],
    order: impl Fn() -> Order<'plan>,
) -> Result<(), WorkerLost> {
    let send = |hand: &Hand<'_, 'plan>| hand.orders.send(order()).map_err(|_| WorkerLost);
    hands.iter().try_for_each(send)
}

/// Shards are added in their own order: sums of fractions must not depend on who owned which.
fn added_up(reports: Vec<WorkerReport>) -> (Tally, StoreStats) {
    let mut tally = Tally::default();
    let mut shards = Vec::new();
    for (worker_tally, worker_shards) in reports {
        tally.merge(worker_tally);
        shards.extend(worker_shards);
    }
    shards.sort_unstable_by_key(|(number, _)| *number);
    let mut stats = StoreStats::default();
    shards.into_iter().for_each(|(_, shard)| stats += shard);
    (tally, stats)
}

fn start<'scope, 'plan: 'scope, S: Store + 'scope>(
    number: usize,
    worker: Worker<'plan, S>,
    scope: &'scope Scope<'scope, '_>,
) -> Hand<'scope, 'plan> {
    let (orders, orders_in) = bounded(IN_FLIGHT);
    let (results_out, results) = bounded(IN_FLIGHT);
    let thread = scope.spawn(move || serve(number, worker, &orders_in, &results_out));
    Hand { orders, results, thread }
}

/// A worker thread's life. It ends with its orders: also when the sending side gave up.
fn serve<'plan, S: Store>(
    number: usize,
    mut worker: Worker<'plan, S>,
    orders: &Receiver<Order<'plan>>,
    results: &Sender<Batch>,
) -> WorkerReport {
    let mut last = Epoch::default();
    for order in orders {
        match order {
            Order::Work(mut batch) => {
                let Batch { round, findings } = &mut batch;
                if let Some(events) = round.events.get(number) {
                    worker.process(&round.packets, events, findings);
                }
                if results.send(batch).is_err() {
                    break;
                }
            }
            Order::PassSilence(now) => worker.pass_silence(now),
            Order::Follow(old, new) => worker.follow(old, new),
            // Whoever asked and is gone does not want to know.
            Order::Report(reply) => drop(reply.send(worker.counts())),
            Order::Finish(now) => {
                last = now;
                break;
            }
        }
    }
    worker.finish(last)
}
