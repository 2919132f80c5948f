//! A pool of threads that pass batches through a fixed list of stages.
//!
//! A stage is one shard of flow state, the thresholds, or one store of a comparison: it must see
//! every batch, in order, and one thread at a time. Each stage has an owner, one of the threads;
//! the thread that reads owns stages too. Each thread takes the batches in order and passes each
//! through its own stages, so nobody waits for a stage. Owners change now and then, by how long the
//! stages [took](super::stage_owners), while no batch is under way.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{Scope, ScopedJoinHandle};

use super::stage_owners::better_owners;
use super::stats::Durations;

/// Batches under way at once: one being filled by the reader, the others being worked on.
const IN_FLIGHT: usize = 4;

/// Owners are chosen after this many batches for the first time…
const BALANCED_FOR_FIRST: u64 = 4;
/// …then after twice as many each time, up to this many.
const BALANCED_FOR_MAX: u64 = 256;

/// The thread that reads.
const READER: usize = 0;

/// What sees every batch, in order.
pub trait Stage: Send {
    /// What it is given.
    type Batch: Send + Sync;
    /// What it finds in one batch.
    type Output: Default + Send;

    /// Works on one batch, and adds what it finds to an empty output.
    fn process(&mut self, batch: &Self::Batch, output: &mut Self::Output);
}

/// A stage of a pool or a thread of it ended before its time: it panicked.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a worker thread ended unexpectedly")]
pub struct WorkerLost;

/// Stages, and the threads that pass batches through them.
pub struct WorkerPool<'scope, S: Stage> {
    stages: Arc<Stages<S>>,
    workers: Vec<Worker<'scope, S::Batch>>,
    /// Batches sent whose results were not taken yet, the oldest first.
    in_flight: VecDeque<Arc<S::Batch>>,
    /// Batches to fill again.
    spare: Vec<Arc<S::Batch>>,
    balance: Balance,
}

/// A thread of the pool.
struct Worker<'scope, B> {
    batches: Sender<Arc<B>>,
    /// Comes once for each batch that all its stages have seen.
    done: Receiver<()>,
    thread: ScopedJoinHandle<'scope, ()>,
}

/// When owners are chosen again.
struct Balance {
    /// Batches since owners were last chosen, and after how many they are chosen again.
    batches: u64,
    next_after: u64,
    /// How long the reader was busy outside of stages since then.
    reader_nanos: u64,
    /// When it began to be.
    reader_since: u64,
}

struct Stages<S: Stage> {
    slots: Vec<Slot<S>>,
    stopwatch: fn() -> u64,
    durations: Mutex<Durations>,
}

struct Slot<S: Stage> {
    /// The thread that works on it. It changes only while no batch is under way.
    owner: AtomicUsize,
    /// Locked by the owner alone while a batch is under way.
    timed: Mutex<TimedStage<S>>,
    /// Locked for moments, by the owner and by the reader.
    outputs: Mutex<Outputs<S::Output>>,
}

struct TimedStage<S> {
    stage: S,
    /// How long it took since owners were last chosen.
    nanos: u64,
}

/// What a stage found.
#[derive(Default)]
struct Outputs<O> {
    /// Batch by batch, the oldest first.
    found: VecDeque<O>,
    /// To be filled again.
    spare: Vec<O>,
}

impl<S: Stage> Stages<S> {
    /// Passes a batch through the stages that a thread owns.
    fn process(&self, batch: &S::Batch, thread: usize) -> Result<(), WorkerLost> {
        let first_start = (self.stopwatch)();
        let mut start = first_start;
        for slot in &self.slots {
            if slot.owner.load(Ordering::Relaxed) != thread {
                continue;
            }
            let mut timed = lock(&slot.timed)?;
            let mut output = lock(&slot.outputs)?.spare.pop().unwrap_or_default();
            timed.stage.process(batch, &mut output);
            lock(&slot.outputs)?.found.push_back(output);
            let end = (self.stopwatch)();
            timed.nanos += end.saturating_sub(start);
            start = end;
        }
        let nanos = start.saturating_sub(first_start);
        lock(&self.durations)?.record(nanos);
        Ok(())
    }
}

/// Fails if a thread panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, WorkerLost> {
    mutex.lock().map_err(|_| WorkerLost)
}

impl<'scope, S: Stage + 'scope> WorkerPool<'scope, S> {
    /// A pool of `threads` threads, the calling one among them.
    pub fn new(
        stages: Vec<S>,
        threads: usize,
        stopwatch: fn() -> u64,
        scope: &'scope Scope<'scope, '_>,
    ) -> WorkerPool<'scope, S> {
        let threads = threads.clamp(1, stages.len() + 1);
        let slot = |(number, stage)| {
            let timed = Mutex::new(TimedStage { stage, nanos: 0 });
            Slot {
                owner: AtomicUsize::new((number + 1) % threads),
                timed,
                outputs: Mutex::default(),
            }
        };
        let slots = stages.into_iter().enumerate().map(slot).collect();
        let stages = Arc::new(Stages { slots, stopwatch, durations: Mutex::default() });
        let start = |number| {
            let (batches, received) = bounded::<Arc<S::Batch>>(IN_FLIGHT);
            let (report, done) = bounded(IN_FLIGHT);
            let stages = Arc::clone(&stages);
            let thread = scope.spawn(move || serve(&stages, number, &received, &report));
            Worker { batches, done, thread }
        };
        let workers = (1..threads).map(start).collect();
        let reader_since = stopwatch();
        WorkerPool {
            stages,
            workers,
            in_flight: VecDeque::with_capacity(IN_FLIGHT),
            spare: Vec::new(),
            balance: Balance {
                batches: 0,
                next_after: BALANCED_FOR_FIRST,
                reader_nanos: 0,
                reader_since,
            },
        }
    }

    /// A batch to be filled that nobody else holds; `None` if there is none to reuse.
    pub fn reusable_batch(&mut self) -> Option<Arc<S::Batch>> {
        self.spare.pop()
    }

    /// Sends a batch to all stages, and works on those of this thread. Afterwards results are
    /// [taken](Self::receive) as long as they are [due](Self::is_due). An error is final.
    pub fn send(&mut self, batch: Arc<S::Batch>) -> Result<(), WorkerLost> {
        self.pause_reading();
        if self.in_flight.is_empty() && self.is_unbalanced() {
            self.choose_owners()?;
        }
        self.balance.batches += 1;
        for worker in &self.workers {
            worker.batches.send(Arc::clone(&batch)).map_err(|_| WorkerLost)?;
        }
        let process = || self.stages.process(&batch, READER);
        // A stage that panics here poisons its lock, as it does in a worker.
        panic::catch_unwind(AssertUnwindSafe(process)).map_err(|_| WorkerLost)??;
        self.in_flight.push_back(batch);
        self.resume_reading();
        Ok(())
    }

    /// Whether the results of the oldest batch should be taken before the next batch is sent.
    pub fn is_due(&self) -> bool {
        self.in_flight.len() >= IN_FLIGHT || self.workers.is_empty() || self.is_unbalanced()
    }

    /// Waits for the oldest batch under way, if there is one, and returns it. Hands `take` the
    /// output of each stage, in the order of stages; outputs are expected back empty.
    pub fn receive(
        &mut self,
        mut take: impl FnMut(&mut S::Output),
    ) -> Result<Option<Arc<S::Batch>>, WorkerLost> {
        let Some(oldest) = self.in_flight.pop_front() else { return Ok(None) };
        self.pause_reading();
        for worker in &self.workers {
            worker.done.recv().map_err(|_| WorkerLost)?;
        }
        self.resume_reading();
        for slot in &self.stages.slots {
            let mut outputs = lock(&slot.outputs)?;
            if let Some(mut output) = outputs.found.pop_front() {
                take(&mut output);
                outputs.spare.push(output);
            }
        }
        Ok(Some(oldest))
    }

    /// Takes a batch back to be filled again.
    pub fn recycle(&mut self, batch: Arc<S::Batch>) {
        self.spare.push(batch);
    }

    /// Calls `f` with each stage, in order, while no batch is under way.
    pub fn each_stage(&self, mut f: impl FnMut(&mut S)) -> Result<(), WorkerLost> {
        for slot in &self.stages.slots {
            f(&mut lock(&slot.timed)?.stage);
        }
        Ok(())
    }

    /// How long each thread took for a batch.
    pub fn durations(&self) -> Durations {
        self.stages.durations.lock().map(|durations| durations.clone()).unwrap_or_default()
    }

    fn is_unbalanced(&self) -> bool {
        !self.workers.is_empty() && self.balance.batches >= self.balance.next_after
    }

    /// Chooses the owners by what was measured since they were chosen last.
    fn choose_owners(&mut self) -> Result<(), WorkerLost> {
        let slots = &self.stages.slots;
        let owners: Vec<usize> = slots.iter().map(|s| s.owner.load(Ordering::Relaxed)).collect();
        let take_nanos = |slot: &Slot<S>| Ok(std::mem::take(&mut lock(&slot.timed)?.nanos));
        let nanos = slots.iter().map(take_nanos).collect::<Result<Vec<u64>, _>>()?;
        let mut besides = vec![0; self.workers.len() + 1];
        besides[READER] = std::mem::take(&mut self.balance.reader_nanos);
        if let Some(owners) = better_owners(&owners, &nanos, &besides) {
            for (slot, owner) in slots.iter().zip(owners) {
                slot.owner.store(owner, Ordering::Relaxed);
            }
        }
        self.balance.batches = 0;
        self.balance.next_after = (2 * self.balance.next_after).min(BALANCED_FOR_MAX);
        Ok(())
    }

    fn pause_reading(&mut self) {
        let now = (self.stages.stopwatch)();
        self.balance.reader_nanos += now.saturating_sub(self.balance.reader_since);
    }

    fn resume_reading(&mut self) {
        self.balance.reader_since = (self.stages.stopwatch)();
    }
}

impl<S: Stage> Drop for WorkerPool<'_, S> {
    fn drop(&mut self) {
        for Worker { batches, done, thread } in self.workers.drain(..) {
            drop((batches, done));
            // A worker that panicked was reported as lost.
            let _ = thread.join();
        }
    }
}

/// The life of a worker thread. It ends when the pool is dropped.
fn serve<S: Stage>(
    stages: &Stages<S>,
    thread: usize,
    batches: &Receiver<Arc<S::Batch>>,
    done: &Sender<()>,
) {
    for batch in batches {
        let outcome = stages.process(&batch, thread);
        // The reader fills the batch again once it is told.
        drop(batch);
        if outcome.is_err() || done.send(()).is_err() {
            break;
        }
    }
}
