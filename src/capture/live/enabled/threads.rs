//! Several capture threads, and merging their frames in time order.
//!
//! ```text
//! capture thread: InterfaceSet → FrameBatch → BatchSender ┐
//! capture thread: InterfaceSet → FrameBatch → BatchSender ┴→ Merger → LiveSource
//! ```

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::interface_set::{CapturedFrame, InterfaceSet};
use crate::capture::{Frame, LinkType, LiveError};
use crate::time::Timestamp;

/// Several capture threads. They are started by the first [`wait`](Self::wait): before that, the
/// process can still drop its privileges, so that no thread keeps them.
pub(super) struct CaptureThreads {
    /// `None` once dropping has begun.
    merger: Option<Merger>,
    not_started: Vec<(InterfaceSet, BatchSender)>,
    running: Vec<JoinHandle<Result<(), LiveError>>>,
}

impl CaptureThreads {
    /// One thread for each of `sets`.
    pub fn new(sets: Vec<InterfaceSet>) -> CaptureThreads {
        let (merger, senders) = batch_queues(sets.len());
        let not_started = sets.into_iter().zip(senders).collect();
        CaptureThreads { merger: Some(merger), not_started, running: Vec::new() }
    }

    /// Whether the next frame is known.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.merger.as_ref().is_some_and(Merger::is_ready)
    }

    /// The next frame, if it is known.
    #[inline]
    pub fn next(&mut self) -> Option<CapturedFrame<'_>> {
        self.merger.as_mut()?.next()
    }

    /// Waits for the next frame, about one tick at most. If none came, returns the time up to which
    /// there is none.
    pub fn wait(&mut self, tick: Duration) -> Result<Option<Timestamp>, LiveError> {
        for (set, sender) in self.not_started.drain(..) {
            let named = thread::Builder::new().name("capture".to_owned());
            let started = named.spawn(move || capture(set, &sender));
            self.running.push(started.map_err(|error| LiveError::Thread(error.to_string()))?);
        }
        let idle_until = self.merger.as_mut().and_then(|merger| merger.wait(tick));
        if idle_until.is_some() {
            self.check()?;
        }
        Ok(idle_until)
    }

    /// The error of a thread that has ended: threads run as long as their frames are read.
    fn check(&mut self) -> Result<(), LiveError> {
        let Some(at) = self.running.iter().position(JoinHandle::is_finished) else { return Ok(()) };
        let panicked = |_| Err(LiveError::Thread("it panicked".to_owned()));
        self.running.swap_remove(at).join().unwrap_or_else(panicked)
    }
}

impl Drop for CaptureThreads {
    fn drop(&mut self) {
        // Threads end when their batches have no receiver.
        self.merger = None;
        for thread in self.running.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The loop of a capture thread: sends batches until they have no receiver.
fn capture(mut set: InterfaceSet, sender: &BatchSender) -> Result<(), LiveError> {
    while let Some(mut batch) = sender.empty_batch() {
        fill(&mut batch, &mut set)?;
        if !sender.send(batch) {
            break;
        }
    }
    Ok(())
}

/// Reads the frames that are there. If there are none, waits, and returns an empty batch after a tick.
fn fill(batch: &mut FrameBatch, set: &mut InterfaceSet) -> Result<(), LiveError> {
    loop {
        while !batch.is_full()
            && let Some(captured) = set.next()
        {
            batch.push(&captured);
        }
        if !batch.is_empty() {
            return Ok(());
        }
        if let Some(idle_until) = set.wait()? {
            batch.complete_until = batch.complete_until.max(idle_until);
            return Ok(());
        }
    }
}

/// A batch is full with this many frames, or this many bytes.
const BATCH_FRAMES: usize = 1024;
const BATCH_BYTES: usize = 256 << 10;

/// Copies of frames in time order. An empty batch tells how long the link has been idle.
#[derive(Debug, Default)]
struct FrameBatch {
    frames: Vec<FrameInBatch>,
    bytes: Vec<u8>,
    /// Later batches of the same thread have no frames from before this time.
    complete_until: Timestamp,
}

#[derive(Debug)]
struct FrameInBatch {
    time: Timestamp,
    link_type: LinkType,
    wire_bytes: u32,
    interface: usize,
    /// The end of its bytes in those of the batch.
    end: usize,
}

impl FrameBatch {
    /// An empty batch with its memory allocated.
    fn allocate() -> FrameBatch {
        let (frames, bytes) = (Vec::with_capacity(BATCH_FRAMES), Vec::with_capacity(BATCH_BYTES));
        FrameBatch { frames, bytes, complete_until: Timestamp::default() }
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
    }

    fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn is_full(&self) -> bool {
        self.frames.len() >= BATCH_FRAMES || self.bytes.len() >= BATCH_BYTES
    }

    #[inline]
    fn push(&mut self, captured: &CapturedFrame<'_>) {
        let Frame { time, link_type, wire_bytes, bytes } = captured.frame;
        self.bytes.extend_from_slice(bytes);
        let (interface, end) = (captured.interface, self.bytes.len());
        self.frames.push(FrameInBatch { time, link_type, wire_bytes, interface, end });
        self.complete_until = self.complete_until.max(time);
    }

    /// The time of frame number `at`, if there is one.
    #[inline]
    fn time(&self, at: usize) -> Option<Timestamp> {
        self.frames.get(at).map(|frame| frame.time)
    }

    /// Frame number `at`, if there is one.
    #[inline]
    fn get(&self, at: usize) -> Option<CapturedFrame<'_>> {
        let FrameInBatch { time, link_type, wire_bytes, interface, end } = *self.frames.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.frames.get(before));
        let start = before.map_or(0, |frame| frame.end);
        let bytes = self.bytes.get(start..end)?;
        Some(CapturedFrame { interface, frame: Frame { time, link_type, wire_bytes, bytes } })
    }
}

/// Batches per thread: being filled, queued, or being read.
const BATCHES_PER_THREAD: usize = 8;

/// Merges the frames of several capture threads in time order.
///
/// The earliest frame comes next as soon as every other thread has a later one or is known to be idle
/// until then. Batches that were read go back to their threads. A thread without empty batches waits;
/// then the buffer of the kernel fills, and the kernel counts what it drops.
struct Merger {
    queues: Vec<BatchQueue>,
    full: Receiver<(usize, FrameBatch)>,
    next: Option<NextFrames>,
    /// The idle time that was returned last.
    idle_until: Timestamp,
}

/// The thread whose frames come next, and up to which time that is certain.
#[derive(Debug, Clone, Copy)]
struct NextFrames {
    thread: usize,
    until: Timestamp,
}

/// The batches of one thread.
struct BatchQueue {
    /// The batch being read, and the number of its next frame.
    current: FrameBatch,
    at: usize,
    queued: VecDeque<FrameBatch>,
    empty: Sender<FrameBatch>,
    /// No frame from before this time will follow those queued.
    complete_until: Timestamp,
}

/// Sends the batches of one thread to the [`Merger`].
struct BatchSender {
    thread: usize,
    empty: Receiver<FrameBatch>,
    full: Sender<(usize, FrameBatch)>,
}

/// A merger for `threads` threads, and their senders.
fn batch_queues(threads: usize) -> (Merger, Vec<BatchSender>) {
    // The channel has room for every batch: a thread waits only for its own empty batches.
    let (full_sender, full) = bounded(threads * BATCHES_PER_THREAD);
    let (mut queues, mut senders) = (Vec::new(), Vec::new());
    for thread in 0..threads {
        let (empty, empty_receiver) = bounded(BATCHES_PER_THREAD);
        for _ in 0..BATCHES_PER_THREAD {
            // the channel has room for exactly these
            let _ = empty.try_send(FrameBatch::allocate());
        }
        senders.push(BatchSender { thread, empty: empty_receiver, full: full_sender.clone() });
        queues.push(BatchQueue {
            current: FrameBatch::default(),
            at: 0,
            queued: VecDeque::with_capacity(BATCHES_PER_THREAD),
            empty,
            complete_until: Timestamp::default(),
        });
    }
    (Merger { queues, full, next: None, idle_until: Timestamp::default() }, senders)
}

impl BatchSender {
    /// An empty batch, as soon as there is one; `None` when the merger is gone.
    fn empty_batch(&self) -> Option<FrameBatch> {
        let mut batch = self.empty.recv().ok()?;
        batch.clear();
        Some(batch)
    }

    /// Sends a batch; false when the merger is gone.
    fn send(&self, batch: FrameBatch) -> bool {
        self.full.send((self.thread, batch)).is_ok()
    }
}

impl BatchQueue {
    /// The time of its next frame, if that is queued.
    #[inline]
    fn head(&self) -> Option<Timestamp> {
        self.current.time(self.at).or_else(|| self.queued.front()?.time(0))
    }

    /// No frame of this thread from before this time will come.
    #[inline]
    fn bound(&self) -> Timestamp {
        self.head().unwrap_or(self.complete_until)
    }

    /// Queues a batch.
    fn add(&mut self, batch: FrameBatch) {
        self.complete_until = self.complete_until.max(batch.complete_until);
        if batch.is_empty() {
            self.return_batch(batch);
        } else {
            self.queued.push_back(batch);
        }
    }

    fn return_batch(&self, batch: FrameBatch) {
        let _ = self.empty.try_send(batch); // the thread may have ended
    }

    /// Moves to the next frame, which is `current.get(at - 1)` afterwards.
    #[inline]
    fn advance(&mut self) {
        if self.current.time(self.at).is_none()
            && let Some(next) = self.queued.pop_front()
        {
            let read = std::mem::replace(&mut self.current, next);
            self.at = 0;
            if !read.is_empty() {
                self.return_batch(read);
            }
        }
        self.at += 1;
    }
}

impl Merger {
    /// Whether the next frame is known.
    #[inline]
    fn is_ready(&self) -> bool {
        self.next.is_some()
    }

    /// The next frame, if it is known.
    #[inline]
    fn next(&mut self) -> Option<CapturedFrame<'_>> {
        let NextFrames { thread, until } = self.next?;
        let queue = self.queues.get_mut(thread)?;
        queue.advance();
        // Most often the same thread has the frame after it, too.
        if queue.head().is_none_or(|head| head > until) {
            self.receive();
        }
        let queue = self.queues.get(thread)?;
        queue.current.get(queue.at.checked_sub(1)?)
    }

    /// Waits for the next frame, at most one `tick` for each batch. If none came, returns the time up
    /// to which there is none.
    fn wait(&mut self, tick: Duration) -> Option<Timestamp> {
        let tick_nanos = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX);
        // Bounded, so that threads which send empty batches, or frames that are held back, keep us
        // here no longer than threads that send nothing.
        for _ in 0..self.queues.len() * BATCHES_PER_THREAD {
            self.receive();
            if self.next.is_some() {
                return None;
            }
            if self.complete_until().since(self.idle_until) >= tick_nanos {
                break;
            }
            let Ok((thread, batch)) = self.full.recv_timeout(tick) else { break };
            self.add(thread, batch);
        }
        self.idle_until = self.idle_until.max(self.complete_until());
        Some(self.idle_until)
    }

    /// Receives all batches that were sent, and chooses the next frames.
    fn receive(&mut self) {
        while let Ok((thread, batch)) = self.full.try_recv() {
            self.add(thread, batch);
        }
        self.next = self.choose_next();
    }

    fn add(&mut self, thread: usize, batch: FrameBatch) {
        if let Some(queue) = self.queues.get_mut(thread) {
            queue.add(batch);
        }
    }

    /// The thread with the earliest frame, unless another one may still send an earlier frame.
    fn choose_next(&self) -> Option<NextFrames> {
        let heads = self.queues.iter().enumerate();
        let heads = heads.filter_map(|(thread, queue)| queue.head().map(|head| (head, thread)));
        let (head, thread) = heads.min()?;
        let others = self.queues.iter().enumerate().filter(|(other, _)| *other != thread);
        let until = others.map(|(_, other)| other.bound()).min().unwrap_or(Timestamp::MAX);
        (head <= until).then_some(NextFrames { thread, until })
    }

    /// All frames from before this time have been read.
    fn complete_until(&self) -> Timestamp {
        self.queues.iter().map(BatchQueue::bound).min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEFLY: Duration = Duration::from_millis(1);

    fn send(sender: &BatchSender, times: &[u64], complete_until: u64) {
        let mut batch = sender.empty_batch().unwrap();
        for &nanos in times {
            let bytes = &nanos.to_le_bytes();
            let time = Timestamp::from_nanos(nanos);
            let frame = Frame { time, link_type: LinkType::ETHERNET, wire_bytes: 60, bytes };
            batch.push(&CapturedFrame { interface: sender.thread, frame });
        }
        let complete_until = Timestamp::from_nanos(complete_until);
        batch.complete_until = batch.complete_until.max(complete_until);
        assert!(sender.send(batch));
    }

    /// The times of all frames that are ready, each with its thread.
    fn read(merger: &mut Merger) -> Vec<(u64, usize)> {
        merger.receive();
        let mut seen = vec![];
        while merger.is_ready() {
            let CapturedFrame { interface, frame } = merger.next().unwrap();
            assert_eq!(frame.bytes, frame.time.as_nanos().to_le_bytes());
            seen.push((frame.time.as_nanos(), interface));
        }
        seen
    }

    #[test]
    fn frames_are_merged_by_time() {
        let (mut merger, senders) = batch_queues(3);
        send(&senders[0], &[1, 4, 5], 0);
        send(&senders[0], &[9], 0);
        send(&senders[1], &[2, 3, 10], 0);
        assert_eq!(read(&mut merger), [], "the third may have an earlier one");
        send(&senders[2], &[3], 0);
        assert_eq!(read(&mut merger), [(1, 0), (2, 1), (3, 1), (3, 2)]);
        send(&senders[2], &[], 7);
        assert_eq!(read(&mut merger), [(4, 0), (5, 0)]);
        send(&senders[2], &[], 20);
        assert_eq!(read(&mut merger), [(9, 0)], "the first may have one before 10");
        send(&senders[0], &[], 20);
        assert_eq!(read(&mut merger), [(10, 1)]);
    }

    #[test]
    fn idle_time_is_that_of_all_threads() {
        let (mut merger, senders) = batch_queues(2);
        send(&senders[0], &[], 500);
        assert_eq!(merger.wait(BRIEFLY), Some(Timestamp::default()));
        send(&senders[1], &[400], 0);
        send(&senders[1], &[], 700);
        assert_eq!(merger.wait(BRIEFLY), None);
        assert_eq!(read(&mut merger), [(400, 1)]);
        assert_eq!(merger.wait(BRIEFLY), Some(Timestamp::from_nanos(500)));
        send(&senders[1], &[800], 0);
        assert_eq!(merger.wait(BRIEFLY), Some(Timestamp::from_nanos(500)));
    }

    #[test]
    fn batches_are_returned_and_threads_end_with_the_merger() {
        let (mut merger, senders) = batch_queues(1);
        for round in 0..3 {
            let free = senders[0].empty.len() as u64;
            for batch in 0..free {
                send(&senders[0], &[round * 100 + batch, round * 100 + 50], 0);
            }
            assert!(senders[0].empty.is_empty(), "the thread would wait now");
            assert_eq!(read(&mut merger).len() as u64, 2 * free);
            // The frame read last is still borrowed from its batch.
            assert_eq!(senders[0].empty.len(), BATCHES_PER_THREAD - 1);
            send(&senders[0], &[], 0);
            assert_eq!(read(&mut merger), []);
            assert_eq!(
                senders[0].empty.len(),
                BATCHES_PER_THREAD - 1,
                "an empty batch goes back at once"
            );
        }
        drop(merger);
        while senders[0].empty_batch().is_some() {}
    }

    #[test]
    fn a_batch_returns_the_frames_put_in() {
        let frames = [(7, &b"one"[..]), (9, b""), (8, b"three")];
        let mut batch = FrameBatch::allocate();
        for round in 1..3 {
            batch.clear();
            assert!(batch.is_empty() && batch.get(0).is_none());
            for (nanos, bytes) in frames {
                let time = Timestamp::from_nanos(nanos * round);
                let frame = Frame { time, link_type: LinkType::ETHERNET, wire_bytes: 99, bytes };
                batch.push(&CapturedFrame { interface: 3, frame });
            }
            for (at, (nanos, bytes)) in frames.into_iter().enumerate() {
                let CapturedFrame { interface, frame } = batch.get(at).unwrap();
                assert_eq!((interface, frame.bytes, frame.wire_bytes), (3, bytes, 99));
                assert_eq!(batch.time(at), Some(Timestamp::from_nanos(nanos * round)));
            }
            assert!(batch.get(3).is_none() && !batch.is_full());
            assert_eq!(batch.complete_until, Timestamp::from_nanos(9 * round));
        }
    }
}
