//! The threads that the runs are spread over. Each gets every batch, and drives its own runs.

use std::cmp::Reverse;
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::batch::Batch;
use super::plan::{ComparePlan, StoreRun};
use super::runner::{Found, Runner, runner};
use crate::engine::crew::WorkerLost;
use acsm_filters::{Epoch, StoreError};

/// Batches on their way at once.
const IN_FLIGHT: usize = 4;

enum Order {
    Work(Arc<Batch>),
    Finish(Epoch),
}

/// A run, or what it found, with its place in the plan.
type Placed<T> = (usize, T);

/// The runs of one thread.
type Part<'a> = Vec<Placed<Box<dyn Runner + 'a>>>;

/// Threads that take batches and give their buffers back.
pub struct Crew<'scope> {
    hands: Vec<Hand<'scope>>,
    spare: Vec<Arc<Batch>>,
    seeds: usize,
    in_flight: usize,
}

struct Hand<'scope> {
    orders: Sender<Order>,
    done: Receiver<Arc<Batch>>,
    thread: ScopedJoinHandle<'scope, Vec<Placed<Found>>>,
}

/// Makes the runs and spreads them over threads, the costliest first, each to where the least is
/// to be done. A packet costs a run about as many memory accesses as a flow has cells.
pub fn parts(plan: &ComparePlan) -> Result<Vec<Part<'_>>, StoreError> {
    let cost = |(n, run): (usize, &StoreRun)| Ok((2 + run.store.sizing()?.hashes, n));
    let costs = plan.runs.iter().enumerate().map(cost);
    let mut order = costs.collect::<Result<Vec<_>, StoreError>>()?;
    order.sort_unstable_by_key(|&(cost, n)| (Reverse(cost), n));
    let threads = plan.threads.max(1).min(plan.runs.len());
    let mut parts: Vec<Part<'_>> = (0..threads).map(|_| Vec::new()).collect();
    let mut loads = vec![0; threads];
    for (cost, n) in order {
        let least = loads.iter_mut().zip(&mut parts).min_by_key(|(load, _)| **load);
        if let (Some((load, part)), Some(run)) = (least, plan.runs.get(n)) {
            *load += cost;
            part.push((n, runner(plan, run)?));
        }
    }
    Ok(parts)
}

impl<'scope> Crew<'scope> {
    /// Starts a thread for each of `parts`.
    pub fn new<'plan: 'scope>(
        parts: Vec<Part<'plan>>,
        seeds: usize,
        scope: &'scope Scope<'scope, '_>,
    ) -> Crew<'scope> {
        let start = |runs| {
            let (orders, orders_in) = bounded(IN_FLIGHT);
            let (done_out, done) = bounded(IN_FLIGHT);
            let thread = scope.spawn(move || serve(runs, &orders_in, &done_out));
            Hand { orders, done, thread }
        };
        let hands = parts.into_iter().map(start).collect();
        Crew { hands, spare: Vec::new(), seeds, in_flight: 0 }
    }

    /// An empty batch that nobody else has, used before if possible.
    pub fn empty_batch(&mut self) -> Arc<Batch> {
        self.spare.pop().unwrap_or_else(|| Arc::new(Batch::new(self.seeds)))
    }

    /// Hands a batch to all runs; waits for an old one if too many are on their way.
    pub fn send(&mut self, batch: Arc<Batch>) -> Result<(), WorkerLost> {
        for hand in &self.hands {
            hand.orders.send(Order::Work(Arc::clone(&batch))).map_err(|_| WorkerLost)?;
        }
        if self.hands.is_empty() {
            self.keep(batch);
            return Ok(());
        }
        drop(batch);
        self.in_flight += 1;
        if self.in_flight == IN_FLIGHT { self.receive() } else { Ok(()) }
    }

    /// Waits until every thread is done with the oldest batch on its way.
    fn receive(&mut self) -> Result<(), WorkerLost> {
        let mut last = None;
        for hand in &self.hands {
            last = Some(hand.done.recv().map_err(|_| WorkerLost)?);
        }
        self.in_flight -= 1;
        if let Some(batch) = last {
            self.keep(batch);
        }
        Ok(())
    }

    /// Nobody else has it any more: what the others had was dropped when it came back.
    fn keep(&mut self, mut batch: Arc<Batch>) {
        if let Some(unshared) = Arc::get_mut(&mut batch) {
            unshared.clear();
            self.spare.push(batch);
        }
    }

    /// Ends all runs; what they found, in the order of the plan.
    pub fn finish(self, last: Epoch) -> Result<Vec<Found>, WorkerLost> {
        for hand in &self.hands {
            hand.orders.send(Order::Finish(last)).map_err(|_| WorkerLost)?;
        }
        let mut found = Vec::new();
        for hand in self.hands {
            found.extend(hand.thread.join().map_err(|_| WorkerLost)?);
        }
        found.sort_unstable_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, found)| found).collect())
    }
}

/// A thread's life. It ends with its orders: also when the sending side gave up.
fn serve(
    mut runs: Part<'_>,
    orders: &Receiver<Order>,
    done: &Sender<Arc<Batch>>,
) -> Vec<Placed<Found>> {
    let mut last = Epoch::default();
    for order in orders {
        match order {
            Order::Work(batch) => {
                for (_, run) in &mut runs {
                    run.process(&batch);
                }
                if done.send(batch).is_err() {
                    break;
                }
            }
            Order::Finish(now) => {
                last = now;
                break;
            }
        }
    }
    runs.into_iter().map(|(place, run)| (place, run.finish(last))).collect()
}
