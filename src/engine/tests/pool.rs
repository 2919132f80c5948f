//! The pool: every stage sees every batch once and in order, whatever the number of threads; a
//! stage that panics ends the run and no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::super::pool::{Stage, WorkerLost, WorkerPool};

const STAGES: usize = 17;
const BATCHES: u64 = 300;
const THREADS: [usize; 4] = [1, 2, 3, 16];

#[derive(Debug, Default)]
struct Batch {
    number: u64,
}

/// Notes what it sees. Takes a little longer for some batches, so that threads meet.
struct Recorder {
    number: usize,
    seen: Vec<u64>,
    /// How many outputs were new ones.
    new_outputs: usize,
    panics: Option<Panics>,
}

/// When a stage panics.
#[derive(Clone)]
struct Panics {
    at_batch: u64,
    /// Only in threads other than this one, if given.
    not_in: Option<ThreadId>,
    happened: Arc<AtomicBool>,
}

impl Stage for Recorder {
    type Batch = Batch;
    type Output = Vec<(u64, usize)>;

    fn process(&mut self, batch: &Batch, output: &mut Vec<(u64, usize)>) {
        if let Some(panics) = &self.panics
            && batch.number == panics.at_batch
            && panics.not_in != Some(thread::current().id())
        {
            panics.happened.store(true, Ordering::SeqCst);
            panic!("a test of stages that panic");
        }
        assert!(output.is_empty(), "outputs come empty");
        self.new_outputs += usize::from(output.capacity() == 0);
        if (batch.number as usize + self.number).is_multiple_of(5) {
            std::hint::black_box((0..500).sum::<usize>());
        }
        self.seen.push(batch.number);
        output.push((batch.number, self.number));
    }
}

fn stages(panicking: Option<(usize, Panics)>) -> Vec<Recorder> {
    let panics_of = |number| panicking.clone().filter(|(n, _)| *n == number).map(|(_, p)| p);
    let stage =
        |number| Recorder { number, seen: vec![], new_outputs: 0, panics: panics_of(number) };
    (0..STAGES).map(stage).collect()
}

/// Sends and takes batches as a run does.
struct Reader<'scope> {
    pool: WorkerPool<'scope, Recorder>,
    received: u64,
    new_batches: usize,
}

impl Reader<'_> {
    fn send(&mut self, number: u64) -> Result<(), WorkerLost> {
        let mut batch = self.pool.reusable_batch().unwrap_or_else(|| {
            self.new_batches += 1;
            Arc::default()
        });
        Arc::get_mut(&mut batch).expect("nobody else holds it").number = number;
        self.pool.send(batch)
    }

    /// Takes the results of the oldest batch; returns whether there was one.
    fn receive(&mut self) -> Result<bool, WorkerLost> {
        let mut outputs = vec![];
        let Some(batch) = self.pool.receive(|output| outputs.append(output))? else {
            return Ok(false);
        };
        assert_eq!(batch.number, self.received, "in the order in which they were sent");
        let expected: Vec<(u64, usize)> = (0..STAGES).map(|stage| (batch.number, stage)).collect();
        assert_eq!(outputs, expected, "one for each stage, in their order");
        self.received += 1;
        self.pool.recycle(batch);
        Ok(true)
    }
}

fn with_pool<T>(threads: usize, stages: Vec<Recorder>, f: impl FnOnce(&mut Reader<'_>) -> T) -> T {
    thread::scope(|scope| {
        let pool = WorkerPool::new(stages, threads, || 0, scope);
        f(&mut Reader { pool, received: 0, new_batches: 0 })
    })
}

#[test]
fn every_stage_sees_every_batch_once_and_in_order() {
    for threads in THREADS {
        with_pool(threads, stages(None), |reader| {
            for number in 0..BATCHES {
                reader.send(number).unwrap();
                while reader.pool.is_due() && reader.receive().unwrap() {}
                // As for a snapshot: nothing is under way.
                if number % 50 == 7 {
                    while reader.receive().unwrap() {}
                    assert_eq!(reader.received, number + 1);
                }
            }
            while reader.receive().unwrap() {}
            assert_eq!(reader.received, BATCHES);
            // As many as are in flight, however slow a worker is.
            assert!(reader.new_batches <= 4, "{threads}: {} batches", reader.new_batches);
            let mut count = 0;
            let check = |stage: &mut Recorder| {
                assert_eq!(stage.number, count);
                assert!(stage.seen.iter().copied().eq(0..BATCHES), "{threads}: stage {count}");
                assert!(stage.new_outputs <= 4, "{threads}: {} outputs", stage.new_outputs);
                count += 1;
            };
            reader.pool.each_stage(check).unwrap();
            assert_eq!(count, STAGES);
            assert_eq!(reader.pool.durations().count(), threads.min(STAGES + 1) as u64 * BATCHES);
        });
    }
}

#[test]
fn a_pool_that_is_dropped_early_ends_its_threads() {
    for threads in THREADS {
        with_pool(threads, stages(None), |reader| {
            for number in 0..3 {
                reader.send(number).unwrap();
            }
        });
    }
}

#[test]
fn a_stage_that_panics_in_a_worker_is_reported() {
    for threads in [2, 3, 16] {
        // None of them is the reader's with any of these numbers of threads.
        for stage in [0, 6, 16] {
            let happened = Arc::new(AtomicBool::new(false));
            let not_in = Some(thread::current().id());
            let panics = Panics { at_batch: 5, not_in, happened: Arc::clone(&happened) };
            with_pool(threads, stages(Some((stage, panics))), |reader| {
                for number in 0..5 {
                    reader.send(number).unwrap();
                    while reader.pool.is_due() && reader.receive().unwrap() {}
                }
                let _ = reader.send(5);
                while !happened.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
                let mut later = 6..40;
                let is_lost =
                    later.any(|number| reader.send(number).is_err() || reader.receive().is_err());
                assert!(is_lost, "{threads} threads, stage {stage}");
                assert!(reader.received <= 5, "no results of the batch that was lost");
                assert!(reader.pool.each_stage(|_| {}).is_err());
            });
        }
    }
}

/// The thread that reads takes stages too: a panic there is an error like any other.
#[test]
fn a_stage_that_panics_in_the_reader_is_a_worker_lost() {
    for threads in THREADS {
        let panics = Panics { at_batch: 3, not_in: None, happened: Arc::default() };
        let outcome = with_pool(threads, stages(Some((1, panics))), |reader| {
            (0..40).try_for_each(|number| {
                reader.send(number)?;
                reader.receive().map(|_| ())
            })
        });
        assert!(outcome.is_err(), "{threads} threads");
    }
}
