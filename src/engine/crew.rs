//! The workers of a run: one in the thread that reads, the others in threads of their own.
//!
//! Packets travel in rounds. Each worker gets its part of every round, in order, and gives the
//! buffer back with what it found; so a round is complete when each worker has given one back, and
//! no message needs a number. Bounded queues are the only thing that flows back.
//!
//! Reading takes about as long as working, so the thread that reads owns only what keeps it as busy
//! as the others ([`Duties`]): alone all of the shards, of two threads few, of many none. The last
//! worker counts packets against thresholds besides.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use super::counting::Firings;
use super::event::Round;
use super::finding::Findings;
use super::observer::NewRules;
use super::tally::Tally;
use super::thresholds::Losses;
use super::worker::{Worker, WorkerReport};
use crate::flow::FlowId;
use crate::machine::Rules;
use acsm_filters::{Epoch, Store, StoreStats};

/// Rounds on their way at once: one being filled, one being worked on, one waiting for each side.
const IN_FLIGHT: usize = 4;

/// A round on its way to one worker, and back with what it found.
struct Batch {
    round: Arc<Round>,
    findings: Findings,
}

enum Order<'plan> {
    Work(Batch),
    /// Other rules than these from here on.
    Follow(&'plan Rules, &'plan NewRules),
    Report(Sender<WorkerReport>),
    Finish(Epoch),
}

/// Workers that take events and give findings back, round by round.
pub struct Crew<'scope, 'plan, S: Store> {
    /// The worker in the thread that reads…
    reader: Box<Worker<'plan, S>>,
    /// …and what it found in rounds that are with the others.
    found: VecDeque<Findings>,
    hands: Vec<Hand<'scope, 'plan>>,
    /// Nobody else holds it while it is being filled.
    filling: Arc<Round>,
    /// Rounds that are done: room that is used again.
    spare: Vec<Arc<Round>>,
    /// Buffers for findings, likewise.
    spare_findings: Vec<Findings>,
}

/// How all workers together stand.
#[derive(Debug, Default)]
pub struct CrewReport {
    /// What they counted.
    pub tally: Tally,
    /// What the store holds.
    pub stats: StoreStats,
    /// What the thresholds' bounded memory left out…
    pub losses: Losses,
    /// …and what they told at the end.
    pub firings: Firings,
}

struct Hand<'scope, 'plan> {
    orders: Sender<Order<'plan>>,
    results: Receiver<Batch>,
    thread: ScopedJoinHandle<'scope, WorkerReport>,
}

/// Who does what. Worker 0 is the one in the thread that reads, the last one counts packets.
#[derive(Debug, Clone, Copy)]
pub struct Duties {
    workers: usize,
    owners: [u8; FlowId::SHARDS],
}

/// How long the parts of the work on a packet take, in any unit.
#[derive(Debug, Clone, Copy)]
pub struct PacketCost {
    /// To read it and to make its event.
    pub reading: f64,
    /// To count it against thresholds.
    pub counting: f64,
    /// To look its flow up, and what follows.
    pub working: f64,
}

impl Duties {
    /// Shares the work out among so many workers: each shard goes to who has least to do.
    pub fn new(workers: usize, cost: PacketCost) -> Duties {
        let workers = workers.clamp(1, FlowId::SHARDS);
        let mut busy = [0.0; FlowId::SHARDS];
        busy[0] += cost.reading;
        busy[workers - 1] += cost.counting;
        let owners = std::array::from_fn(|_| {
            let by_work = |(_, a): &(usize, &f64), (_, b): &(usize, &f64)| a.total_cmp(b);
            let least = busy.iter().take(workers).enumerate().min_by(by_work);
            let owner = least.map_or(0, |(worker, _)| worker);
            busy[owner] += cost.working / FlowId::SHARDS as f64;
            owner as u8
        });
        Duties { workers, owners }
    }

    /// How many workers there are; the first may have no shards.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The worker that owns a shard.
    #[inline]
    pub fn owner(&self, shard: usize) -> usize {
        self.owners[shard % FlowId::SHARDS].into()
    }

    /// The worker that counts packets.
    pub fn counter(&self) -> usize {
        self.workers - 1
    }
}

/// A worker thread ended before its time: it panicked.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a worker thread ended unexpectedly")]
pub struct WorkerLost;

impl<'scope, 'plan: 'scope, S: Store + 'scope> Crew<'scope, 'plan, S> {
    /// Sets workers to work: `reader` in this thread, the others each in its own.
    pub fn new(
        reader: Worker<'plan, S>,
        others: impl IntoIterator<Item = Worker<'plan, S>>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Crew<'scope, 'plan, S> {
        Crew {
            reader: Box::new(reader),
            found: VecDeque::with_capacity(IN_FLIGHT),
            hands: others.into_iter().map(|worker| start(worker, scope)).collect(),
            filling: Arc::default(),
            spare: Vec::new(),
            spare_findings: Vec::new(),
        }
    }

    /// The round being filled.
    pub fn filling(&mut self) -> &mut Round {
        // A spare round is nobody else's: nothing is ever cloned here.
        Arc::make_mut(&mut self.filling)
    }

    /// Sends the round off. With `findings` come back those of a round that is done, if enough
    /// are on their way; says whether one came.
    pub fn send(&mut self, findings: &mut Findings) -> Result<bool, WorkerLost> {
        if self.hands.is_empty() {
            self.reader.process(&self.filling, findings);
            self.filling().give_back(findings);
            return Ok(true);
        }
        let next = self.spare.pop().unwrap_or_default();
        let round = std::mem::replace(&mut self.filling, next);
        for hand in &self.hands {
            let findings = self.spare_findings.pop().unwrap_or_default();
            let batch = Batch { round: Arc::clone(&round), findings };
            hand.orders.send(Order::Work(batch)).map_err(|_| WorkerLost)?;
        }
        let mut found = self.spare_findings.pop().unwrap_or_default();
        self.reader.process(&round, &mut found);
        self.found.push_back(found);
        drop(round);
        if self.found.len() == IN_FLIGHT { self.receive(findings) } else { Ok(false) }
    }

    /// Waits for the oldest round on its way; says whether there was one.
    pub fn receive(&mut self, findings: &mut Findings) -> Result<bool, WorkerLost> {
        let Some(mut found) = self.found.pop_front() else { return Ok(false) };
        findings.append(&mut found);
        self.spare_findings.push(found);
        let mut done = None;
        for hand in &self.hands {
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
        Ok(true)
    }

    /// Lets every worker go on under `new` rules in place of `old` ones.
    pub fn follow(&mut self, old: &'plan Rules, new: &'plan NewRules) -> Result<(), WorkerLost> {
        self.reader.follow(old, new);
        tell(&self.hands, || Order::Follow(old, new))
    }

    /// How all workers stand.
    pub fn report(&self) -> Result<CrewReport, WorkerLost> {
        let (reply, reports) = bounded(self.hands.len());
        tell(&self.hands, || Order::Report(reply.clone()))?;
        drop(reply);
        Ok(added_up([self.reader.report()].into_iter().chain(reports)))
    }

    /// Lets every worker finish, and adds up what they say.
    pub fn finish(self, now: Epoch) -> Result<CrewReport, WorkerLost> {
        tell(&self.hands, || Order::Finish(now))?;
        let mut reports = vec![self.reader.finish(now)];
        for hand in self.hands {
            reports.push(hand.thread.join().map_err(|_| WorkerLost)?);
        }
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
fn added_up(reports: impl IntoIterator<Item = WorkerReport>) -> CrewReport {
    let mut all = CrewReport::default();
    let mut shards = Vec::new();
    for report in reports {
        all.tally.merge(report.tally);
        all.losses += report.losses;
        all.firings.extend(report.firings);
        shards.extend(report.shards);
    }
    shards.sort_unstable_by_key(|(number, _)| *number);
    shards.into_iter().for_each(|(_, shard)| all.stats += shard);
    all
}

fn start<'scope, 'plan: 'scope, S: Store + 'scope>(
    worker: Worker<'plan, S>,
    scope: &'scope Scope<'scope, '_>,
) -> Hand<'scope, 'plan> {
    let (orders, orders_in) = bounded(IN_FLIGHT);
    let (results_out, results) = bounded(IN_FLIGHT);
    let thread = scope.spawn(move || serve(worker, &orders_in, &results_out));
    Hand { orders, results, thread }
}

/// A worker thread's life. It ends with its orders: also when the sending side gave up.
fn serve<'plan, S: Store>(
    mut worker: Worker<'plan, S>,
    orders: &Receiver<Order<'plan>>,
    results: &Sender<Batch>,
) -> WorkerReport {
    let mut last = Epoch::default();
    for order in orders {
        match order {
            Order::Work(mut batch) => {
                worker.process(&batch.round, &mut batch.findings);
                if results.send(batch).is_err() {
                    break;
                }
            }
            Order::Follow(old, new) => worker.follow(old, new),
            // Whoever asked and is gone does not want to know.
            Order::Report(reply) => drop(reply.send(worker.report())),
            Order::Finish(now) => {
                last = now;
                break;
            }
        }
    }
    worker.finish(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(workers: usize, cost: PacketCost) -> Vec<usize> {
        let duties = Duties::new(workers, cost);
        let of = |worker| (0..FlowId::SHARDS).filter(|&s| duties.owner(s) == worker).count();
        (0..duties.workers()).map(of).collect()
    }

    #[test]
    fn who_reads_or_counts_works_as_far_as_there_is_time() {
        let cost = PacketCost { reading: 37.0, counting: 18.0, working: 45.0 };
        assert_eq!(shares(1, cost), [16]);
        assert_eq!(shares(2, cost), [5, 11], "51 and 49 of 100");
        assert_eq!(shares(3, cost), [0, 11, 5], "37, 31 and 32");
        assert_eq!(shares(16, cost), [&[0, 2, 2], &[1; 12][..], &[0]].concat());
        assert_eq!(shares(99, cost).len(), 16);
        let verified = PacketCost { working: 150.0, ..cost };
        assert_eq!(shares(2, verified), [7, 9]);
        assert_eq!(shares(2, PacketCost { counting: 0.0, ..cost }), [1, 15]);
    }
}
