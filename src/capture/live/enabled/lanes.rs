//! What several capture threads hand over, merged in time order.
//!
//! A lane is what one thread hands over: batches of frames, and, when it has none, how far its silence
//! reaches. The earliest frame comes next as soon as every other lane has a later one or is known to
//! be silent until then. Batches go back to their threads when they were read: a thread whose batches
//! are all with us waits, and the kernel, whose buffer then fills, counts what it drops.

use std::collections::VecDeque;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::batch::Batch;
use super::taps::Captured;
use crate::time::Timestamp;

/// Batches of a lane: some being filled or read, the others on their way.
const BATCHES: usize = 8;

/// The lanes of all threads.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    full: Receiver<(usize, Batch)>,
    turn: Option<Turn>,
    /// The silence told last.
    told: Timestamp,
}

/// Whose frames come next, and up to which time that is certain.
#[derive(Debug, Clone, Copy)]
struct Turn {
    lane: usize,
    until: Timestamp,
}

struct Lane {
    /// The batch being read, and which of its frames comes next.
    current: Batch,
    at: usize,
    waiting: VecDeque<Batch>,
    empty: Sender<Batch>,
    /// No frame from before will come after those that are here.
    up_to: Timestamp,
}

/// A thread's end of its lane.
pub(super) struct LaneEnd {
    lane: usize,
    empty: Receiver<Batch>,
    full: Sender<(usize, Batch)>,
}

/// So many lanes, and their threads' ends of them.
pub(super) fn lanes(count: usize) -> (Lanes, Vec<LaneEnd>) {
    // Room for every batch there is: only a lack of empty ones makes a thread wait, and only for
    // its own.
    let (full_sender, full) = bounded(count * BATCHES);
    let (mut lanes, mut ends) = (Vec::new(), Vec::new());
    for lane in 0..count {
        let (empty, empty_receiver) = bounded(BATCHES);
        for _ in 0..BATCHES {
            // It has just this much room.
            let _ = empty.try_send(Batch::with_room());
        }
        ends.push(LaneEnd { lane, empty: empty_receiver, full: full_sender.clone() });
        lanes.push(Lane {
            current: Batch::default(),
            at: 0,
            waiting: VecDeque::with_capacity(BATCHES),
            empty,
            up_to: Timestamp::default(),
        });
    }
    (Lanes { lanes, full, turn: None, told: Timestamp::default() }, ends)
}

impl LaneEnd {
    /// An empty batch, as soon as there is one; `None` when nobody reads any more.
    pub fn empty_batch(&self) -> Option<Batch> {
        let mut batch = self.empty.recv().ok()?;
        batch.clear();
        Some(batch)
    }

    /// Hands a batch over; says whether anybody takes it.
    pub fn hand_over(&self, batch: Batch) -> bool {
        self.full.send((self.lane, batch)).is_ok()
    }
}

impl Lane {
    /// The time of its next frame, if that is here.
    #[inline]
    fn head(&self) -> Option<Timestamp> {
        self.current.time(self.at).or_else(|| self.waiting.front()?.time(0))
    }

    /// Nothing of it that comes later is from before this.
    #[inline]
    fn bound(&self) -> Timestamp {
        self.head().unwrap_or(self.up_to)
    }

    /// Takes a batch in.
    fn add(&mut self, batch: Batch) {
        self.up_to = self.up_to.max(batch.up_to);
        if batch.is_empty() {
            self.give_back(batch);
        } else {
            self.waiting.push_back(batch);
        }
    }

    fn give_back(&self, batch: Batch) {
        // Its thread may have ended.
        let _ = self.empty.try_send(batch);
    }

    /// Goes on to the next frame: `current.get(at - 1)` is it, until this is called again.
    #[inline]
    fn advance(&mut self) {
        if self.current.time(self.at).is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            let read = std::mem::replace(&mut self.current, next);
            self.at = 0;
            if !read.is_empty() {
                self.give_back(read);
            }
        }
        self.at += 1;
    }
}

impl Lanes {
    /// Whether the next frame is here.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.turn.is_some()
    }

    /// The next frame, if it is here.
    #[inline]
    pub fn next(&mut self) -> Option<Captured<'_>> {
        let turn = self.turn?;
        let lane = self.lanes.get_mut(turn.lane)?;
        lane.advance();
        // Most often the same thread has the next one too.
        if lane.head().is_none_or(|head| head > turn.until) {
            self.take_in();
        }
        let lane = self.lanes.get(turn.lane)?;
        lane.current.get(lane.at.checked_sub(1)?)
    }

    /// Waits for the next frame, `tick` at the most for each thread's word. If none came, says up to
    /// which time there is none.
    pub fn wait(&mut self, tick: Duration) -> Option<Timestamp> {
        let tick_nanos = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX);
        // Threads that all tell of silence, or of frames that are held back, keep us here no longer
        // than one that says nothing.
        for _ in 0..self.lanes.len() * BATCHES {
            self.take_in();
            if self.turn.is_some() {
                return None;
            }
            if self.silence().since(self.told) >= tick_nanos {
                break;
            }
            let Ok((lane, batch)) = self.full.recv_timeout(tick) else { break };
            self.add(lane, batch);
        }
        self.told = self.told.max(self.silence());
        Some(self.told)
    }

    /// Takes in whatever has been handed over, and decides who comes next.
    fn take_in(&mut self) {
        while let Ok((lane, batch)) = self.full.try_recv() {
            self.add(lane, batch);
        }
        self.turn = self.next_turn();
    }

    fn add(&mut self, lane: usize, batch: Batch) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.add(batch);
        }
    }

    /// The lane with the earliest frame, unless another that has none here may have an earlier one.
    fn next_turn(&self) -> Option<Turn> {
        let heads = self.lanes.iter().enumerate();
        let heads = heads.filter_map(|(lane, it)| it.head().map(|head| (head, lane)));
        let (head, lane) = heads.min()?;
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != lane);
        let until = others.map(|(_, other)| other.bound()).min().unwrap_or(Timestamp::MAX);
        (head <= until).then_some(Turn { lane, until })
    }

    /// There is no frame from before this that was not handed out.
    fn silence(&self) -> Timestamp {
        self.lanes.iter().map(Lane::bound).min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Frame, LinkType};

    const BRIEFLY: Duration = Duration::from_millis(1);

    fn hand_over(end: &LaneEnd, times: &[u64], up_to: u64) {
        let mut batch = end.empty_batch().unwrap();
        for &nanos in times {
            let bytes = &nanos.to_le_bytes();
            let time = Timestamp::from_nanos(nanos);
            let frame = Frame { time, link_type: LinkType::ETHERNET, wire_bytes: 60, bytes };
            batch.push(&Captured { interface: end.lane, frame });
        }
        batch.up_to = batch.up_to.max(Timestamp::from_nanos(up_to));
        assert!(end.hand_over(batch));
    }

    /// The times of all frames that are ready, each with its lane.
    fn read(lanes: &mut Lanes) -> Vec<(u64, usize)> {
        lanes.take_in();
        let mut seen = vec![];
        while lanes.is_ready() {
            let Captured { interface, frame } = lanes.next().unwrap();
            assert_eq!(frame.bytes, frame.time.as_nanos().to_le_bytes());
            seen.push((frame.time.as_nanos(), interface));
        }
        seen
    }

    #[test]
    fn frames_are_merged_by_time() {
        let (mut lanes, ends) = lanes(3);
        hand_over(&ends[0], &[1, 4, 5], 0);
        hand_over(&ends[0], &[9], 0);
        hand_over(&ends[1], &[2, 3, 10], 0);
        assert_eq!(read(&mut lanes), [], "the third may have an earlier one");
        hand_over(&ends[2], &[3], 0);
        assert_eq!(read(&mut lanes), [(1, 0), (2, 1), (3, 1), (3, 2)]);
        hand_over(&ends[2], &[], 7);
        assert_eq!(read(&mut lanes), [(4, 0), (5, 0)]);
        hand_over(&ends[2], &[], 20);
        assert_eq!(read(&mut lanes), [(9, 0)], "the first may have one before 10");
        hand_over(&ends[0], &[], 20);
        assert_eq!(read(&mut lanes), [(10, 1)]);
    }

    #[test]
    fn silence_reaches_as_far_as_all_are_silent() {
        let (mut lanes, ends) = lanes(2);
        hand_over(&ends[0], &[], 500);
        assert_eq!(lanes.wait(BRIEFLY), Some(Timestamp::default()));
        hand_over(&ends[1], &[400], 0);
        hand_over(&ends[1], &[], 700);
        assert_eq!(lanes.wait(BRIEFLY), None);
        assert_eq!(read(&mut lanes), [(400, 1)]);
        assert_eq!(lanes.wait(BRIEFLY), Some(Timestamp::from_nanos(500)));
        hand_over(&ends[1], &[800], 0);
        assert_eq!(lanes.wait(BRIEFLY), Some(Timestamp::from_nanos(500)));
    }

    #[test]
    fn batches_go_back_and_a_reader_that_stops_stops_its_threads() {
        let (mut lanes, ends) = lanes(1);
        for round in 0..3 {
            let free = ends[0].empty.len() as u64;
            for batch in 0..free {
                hand_over(&ends[0], &[round * 100 + batch, round * 100 + 50], 0);
            }
            assert!(ends[0].empty.is_empty(), "the thread would wait now");
            assert_eq!(read(&mut lanes).len() as u64, 2 * free);
            // The frame read last may still be looked at.
            assert_eq!(ends[0].empty.len(), BATCHES - 1);
            hand_over(&ends[0], &[], 0);
            assert_eq!(read(&mut lanes), []);
            assert_eq!(ends[0].empty.len(), BATCHES - 1, "silence goes back at once");
        }
        drop(lanes);
        while ends[0].empty_batch().is_some() {}
    }
}
