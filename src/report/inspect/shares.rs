//! The flows of a trace in shares, by their digests: each share has a thread, if there are several.
//!
//! Threads share nothing but queues of batches. Which share a flow is in makes no difference to sums over
//! all flows.

use std::mem;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::flows::{Flows, Segment};
use acsm_filters::digest::HashKey;

/// Packets of a batch. A thread that waits for one is woken: with a quarter of these that costs a tenth of
/// the run.
const BATCH: usize = 4096;

/// Batches that wait for a thread.
const QUEUE: usize = 4;

/// The flows of both versions of IP.
#[derive(Debug)]
pub struct Share {
    pub ipv4: Flows<1>,
    pub ipv6: Flows<4>,
}

/// Packets of one share.
#[derive(Debug, Default)]
pub struct Batch {
    pub ipv4: Vec<Segment<1>>,
    pub ipv6: Vec<Segment<4>>,
}

impl Share {
    fn new(hash_key: HashKey) -> Share {
        Share { ipv4: Flows::new(hash_key), ipv6: Flows::new(hash_key) }
    }

    /// Counts the packets of a batch, and empties it.
    fn add(&mut self, batch: &mut Batch) {
        self.ipv4.add(&batch.ipv4);
        self.ipv6.add(&batch.ipv6);
        batch.ipv4.clear();
        batch.ipv6.clear();
    }
}

/// All shares.
#[derive(Debug)]
pub struct Shares {
    /// The batch that is being filled for each.
    batches: Vec<Batch>,
    counters: Counters,
}

#[derive(Debug)]
enum Counters {
    /// The caller's thread counts.
    Here(Box<Share>),
    Threads(Vec<Counter>),
}

/// The thread of a share.
#[derive(Debug)]
struct Counter {
    full: Sender<Batch>,
    empty: Receiver<Batch>,
    thread: JoinHandle<Share>,
}

impl Counter {
    fn start(hash_key: HashKey) -> std::io::Result<Counter> {
        let (full, batches) = bounded::<Batch>(QUEUE);
        // Room for all there are: those in the queue, and one in each hand.
        let (counted, empty) = bounded(QUEUE + 2);
        let thread = thread::Builder::new().name("flows".to_owned()).spawn(move || {
            let mut share = Share::new(hash_key);
            for mut batch in batches {
                share.add(&mut batch);
                // After the last batch nobody takes it.
                let _ = counted.try_send(batch);
            }
            share
        })?;
        Ok(Counter { full, empty, thread })
    }
}

impl Shares {
    /// One share per thread; with a single one, or if threads cannot be started, the caller's thread
    /// counts.
    pub fn new(threads: usize, hash_key: HashKey) -> Shares {
        let start = || (0..threads).map(|_| Counter::start(hash_key)).collect();
        let counters = match if threads > 1 { start() } else { Ok(vec![]) } {
            Ok(threads) if !threads.is_empty() => Counters::Threads(threads),
            _ => Counters::Here(Box::new(Share::new(hash_key))),
        };
        let shares = match &counters {
            Counters::Here(_) => 1,
            Counters::Threads(threads) => threads.len(),
        };
        Shares { batches: (0..shares).map(|_| Batch::default()).collect(), counters }
    }

    /// The batch of the share to which flows with this hash belong.
    #[inline]
    pub fn batch(&mut self, hash: u64) -> Option<&mut Batch> {
        // The low bits: the table takes the high ones.
        let share = (u64::from(hash as u16) * self.batches.len() as u64) >> 16;
        self.batches.get_mut(share as usize)
    }

    /// Passes on the batches that are full.
    #[inline]
    pub fn pass_full(&mut self) {
        for share in 0..self.batches.len() {
            let is_full = |batch: &Batch| batch.ipv4.len() + batch.ipv6.len() >= BATCH;
            if self.batches.get(share).is_some_and(is_full) {
                self.pass(share);
            }
        }
    }

    fn pass(&mut self, share: usize) {
        let Some(batch) = self.batches.get_mut(share) else { return };
        match &mut self.counters {
            Counters::Here(share) => share.add(batch),
            Counters::Threads(threads) => {
                let Some(Counter { full, empty, .. }) = threads.get(share) else { return };
                let next = empty.try_recv().unwrap_or_default();
                // It fails if the thread has panicked: `finish` says so.
                let _ = full.send(mem::replace(batch, next));
            }
        }
    }

    /// Counts what is left; returns all shares.
    pub fn finish(mut self) -> Vec<Share> {
        (0..self.batches.len()).for_each(|share| self.pass(share));
        match self.counters {
            Counters::Here(share) => vec![*share],
            Counters::Threads(threads) => threads
                .into_iter()
                .map(|Counter { full, thread, .. }| {
                    drop(full);
                    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
                })
                .collect(),
        }
    }
}
