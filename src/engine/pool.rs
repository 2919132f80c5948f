//! A pool of threads that pass batches through a fixed list of stages.
//!
//! A stage is one shard of flow state, the thresholds, or one store of a comparison: it must see
//! every batch, in order, and one thread at a time. A thread *visits* a batch: it takes each stage
//! that nobody holds and that has not seen the batch yet, and finally waits for those that others
//! hold. So after a visit by any thread the batch is complete, whoever did the work, and work goes
//! to the thread that has time for it. The thread that reads visits a batch only when its results
//! are due; until then the others do.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::{Scope, ScopedJoinHandle};

use super::stats::Durations;

/// Batches under way at once: one being filled by the reader, the others being worked on.
const IN_FLIGHT: usize = 4;

/// How often a thread looks whether a stage is free before it sleeps.
const SPINS: u32 = 10_000;

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
    workers: Vec<WorkerHandle<'scope, S::Batch>>,
    /// Batches sent whose results were not taken yet, the oldest first.
    in_flight: VecDeque<Numbered<S::Batch>>,
    sent: u64,
    /// Batches to fill again, once no worker holds them.
    spare: Vec<Arc<S::Batch>>,
}

/// A thread of the pool.
struct WorkerHandle<'scope, B> {
    batches: Sender<Numbered<B>>,
    thread: ScopedJoinHandle<'scope, ()>,
}

/// A batch with its place in the sequence.
struct Numbered<B> {
    number: u64,
    batch: Arc<B>,
}

impl<B> Clone for Numbered<B> {
    fn clone(&self) -> Self {
        Numbered { number: self.number, batch: Arc::clone(&self.batch) }
    }
}

/// Who visits a batch.
#[derive(Clone, Copy)]
enum Visitor {
    /// A worker, which begins with this stage.
    Worker { first: usize },
    /// The thread that reads.
    Reader,
}

struct Stages<S: Stage> {
    slots: Vec<Mutex<Slot<S>>>,
    stopwatch: fn() -> u64,
    durations: Mutex<Durations>,
}

struct Slot<S: Stage> {
    stage: S,
    /// The number of the next batch that it has to see.
    next: u64,
    /// What it found, batch by batch.
    outputs: VecDeque<S::Output>,
    spare: Vec<S::Output>,
}

impl<S: Stage> Slot<S> {
    fn process(&mut self, batch: &Numbered<S::Batch>) -> bool {
        if self.next != batch.number {
            return false;
        }
        let mut output = self.spare.pop().unwrap_or_default();
        self.stage.process(&batch.batch, &mut output);
        self.outputs.push_back(output);
        self.next += 1;
        true
    }
}

impl<S: Stage> Stages<S> {
    /// Makes sure that every stage has seen the batch. Workers begin each with a stage of their
    /// own and go upwards, the reader goes downwards from the last: so a stage mostly stays with
    /// one thread, and its memory in that core's cache.
    fn visit(&self, batch: &Numbered<S::Batch>, visitor: Visitor) -> Result<(), WorkerLost> {
        let start = (self.stopwatch)();
        let mut worked = false;
        let count = self.slots.len();
        for n in 0..count {
            let slot = match visitor {
                Visitor::Worker { first } => &self.slots[(first + n) % count],
                Visitor::Reader => &self.slots[count - 1 - n],
            };
            match slot.try_lock() {
                Ok(mut slot) => worked |= slot.process(batch),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(_)) => return Err(WorkerLost),
            }
        }
        for slot in &self.slots {
            worked |= wait_for(slot)?.process(batch);
        }
        if worked {
            let nanos = (self.stopwatch)().saturating_sub(start);
            self.durations.lock().map_err(|_| WorkerLost)?.record(nanos);
        }
        Ok(())
    }
}

/// Locks a stage that another thread may hold for some tens of microseconds: less than it takes to
/// sleep and wake up.
fn wait_for<S: Stage>(slot: &Mutex<Slot<S>>) -> Result<MutexGuard<'_, Slot<S>>, WorkerLost> {
    for _ in 0..SPINS {
        match slot.try_lock() {
            Ok(slot) => return Ok(slot),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            Err(TryLockError::Poisoned(_)) => return Err(WorkerLost),
        }
    }
    slot.lock().map_err(|_| WorkerLost)
}

impl<'scope, S: Stage + 'scope> WorkerPool<'scope, S> {
    /// A pool of `threads` threads, the calling one among them.
    pub fn new(
        stages: Vec<S>,
        threads: usize,
        stopwatch: fn() -> u64,
        scope: &'scope Scope<'scope, '_>,
    ) -> WorkerPool<'scope, S> {
        let slot = |stage| {
            let (outputs, spare) = (VecDeque::with_capacity(IN_FLIGHT), Vec::new());
            Mutex::new(Slot { stage, next: 0, outputs, spare })
        };
        let stages = Arc::new(Stages {
            slots: stages.into_iter().map(slot).collect(),
            stopwatch,
            durations: Mutex::default(),
        });
        let others = threads.saturating_sub(1).min(stages.slots.len());
        let start = |worker: usize| {
            let (batches, received) = bounded(IN_FLIGHT);
            let first = worker * stages.slots.len() / others;
            let (stages, visitor) = (Arc::clone(&stages), Visitor::Worker { first });
            let thread = scope.spawn(move || serve(&stages, &received, visitor));
            WorkerHandle { batches, thread }
        };
        let workers = (0..others).map(start).collect();
        let in_flight = VecDeque::with_capacity(IN_FLIGHT);
        WorkerPool { stages, workers, in_flight, sent: 0, spare: Vec::new() }
    }

    /// A batch to be filled that nobody else holds; `None` if there is none to reuse.
    pub fn reusable_batch(&mut self) -> Option<Arc<S::Batch>> {
        let free = |batch: &mut Arc<S::Batch>| Arc::get_mut(batch).is_some();
        let position = self.spare.iter_mut().position(free)?;
        Some(self.spare.swap_remove(position))
    }

    /// Sends a batch to all stages. Returns whether enough are under way that the results of the
    /// oldest should be [taken](Self::receive) before the next is sent.
    pub fn send(&mut self, batch: Arc<S::Batch>) -> Result<bool, WorkerLost> {
        let batch = Numbered { number: self.sent, batch };
        self.sent += 1;
        for worker in &self.workers {
            worker.batches.send(batch.clone()).map_err(|_| WorkerLost)?;
        }
        self.in_flight.push_back(batch);
        Ok(self.workers.is_empty() || self.in_flight.len() == IN_FLIGHT)
    }

    /// Completes the oldest batch under way, if there is one, and returns it. Hands `take` the
    /// output of each stage, in the order of stages; outputs are expected back empty.
    pub fn receive(
        &mut self,
        mut take: impl FnMut(&mut S::Output),
    ) -> Result<Option<Arc<S::Batch>>, WorkerLost> {
        let Some(oldest) = self.in_flight.pop_front() else { return Ok(None) };
        let visit = || self.stages.visit(&oldest, Visitor::Reader);
        // A stage that panics here poisons its lock, as it does in a worker.
        panic::catch_unwind(AssertUnwindSafe(visit)).map_err(|_| WorkerLost)??;
        for slot in &self.stages.slots {
            let mut slot = slot.lock().map_err(|_| WorkerLost)?;
            if let Some(mut output) = slot.outputs.pop_front() {
                take(&mut output);
                slot.spare.push(output);
            }
        }
        Ok(Some(oldest.batch))
    }

    /// Takes a batch back to be filled again.
    pub fn recycle(&mut self, batch: Arc<S::Batch>) {
        self.spare.push(batch);
    }

    /// Calls `f` with each stage, in order, while no batch is under way.
    pub fn each_stage(&self, mut f: impl FnMut(&mut S)) -> Result<(), WorkerLost> {
        for slot in &self.stages.slots {
            f(&mut slot.lock().map_err(|_| WorkerLost)?.stage);
        }
        Ok(())
    }

    /// How long visits to batches took.
    pub fn durations(&self) -> Durations {
        self.stages.durations.lock().map(|durations| durations.clone()).unwrap_or_default()
    }
}

impl<S: Stage> Drop for WorkerPool<'_, S> {
    fn drop(&mut self) {
        for WorkerHandle { batches, thread } in self.workers.drain(..) {
            drop(batches);
            // A worker that panicked was reported as lost.
            let _ = thread.join();
        }
    }
}

/// The life of a worker thread. It ends when the pool is dropped.
fn serve<S: Stage>(stages: &Stages<S>, batches: &Receiver<Numbered<S::Batch>>, visitor: Visitor) {
    for batch in batches {
        if stages.visit(&batch, visitor).is_err() {
            break;
        }
    }
}
