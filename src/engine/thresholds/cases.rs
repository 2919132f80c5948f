//! Cases: what is known of a key from the moment its count was reached until nothing more is counted.
//!
//! A fixed number of cases is open at once; a hit beyond it is reported without being followed. Distinct
//! sources and targets are estimated by HyperLogLog (Flajolet and others 2007) with 512 registers: a
//! standard error of 1.04 / sqrt(512) = 4.6 %. Ports are counted exactly. The sources with the most events
//! are Misra and Gries's: a source with more than a fifth of them is among the four.

use std::net::IpAddr;

use super::hit::{Evidence, HitStage, ThresholdHit};
use super::tuples::{TupleHasher, prefix};
use crate::flow::Packet;
use crate::time::{NANOS_PER_SEC, Timestamp};

/// The most cases open at once.
const CASES: usize = 256;
/// How often a case that does not grow is reported.
const UPDATE_NANOS: u64 = 600 * NANOS_PER_SEC;
/// Registers of a HyperLogLog.
const REGISTERS: usize = 512;
/// Words of a set of ports.
const PORT_WORDS: usize = 1024;
/// Events of a case that have to be looked at before they tell of its sources.
const TELLING_EVENTS: u64 = 32;
/// Fewer sources than this are never called spoofed.
const SPOOFED_SOURCES_MIN: u64 = 50;
/// The shortest time without an event after which a case is over.
const IDLE_NANOS: u64 = 10 * NANOS_PER_SEC;

/// An open case, or none. It says whether the case is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CaseId(u32);

impl CaseId {
    /// No case.
    pub const NONE: CaseId = CaseId(0);
}

/// One case.
#[derive(Debug)]
struct Case {
    id: CaseId,
    hit: ThresholdHit,
    idle_nanos: u64,
    /// Events before and since it was opened, and those that were looked at.
    total: u64,
    seen: u64,
    /// A part of an event, in parts of 1000.
    permille: u64,
    reported_total: u64,
    reported_nanos: u64,
    second: u64,
    in_second: u64,
    peak: u64,
    sources: HyperLogLog,
    targets: HyperLogLog,
    ports: [u64; PORT_WORDS],
    top: Heavy,
    /// Of sources.
    prefixes: Heavy,
}

/// The most frequent addresses, each with a count that is never too high.
type Heavy = [Option<(IpAddr, u64)>; 4];

/// The open cases.
#[derive(Debug)]
pub(super) struct Cases {
    slots: Vec<Case>,
    hasher: TupleHasher,
    opened: u64,
    open: usize,
    /// When the next case may be over.
    next_check_nanos: u64,
}

impl Cases {
    pub fn new(hasher: TupleHasher) -> Cases {
        let slots = Vec::with_capacity(CASES);
        Cases { slots, hasher, opened: 0, open: 0, next_check_nanos: u64::MAX }
    }

    /// When [`Cases::check`] is due next.
    #[inline]
    pub fn next_check_nanos(&self) -> u64 {
        self.next_check_nanos
    }

    /// Whether this case is open.
    #[inline]
    pub fn is_open(&self, id: CaseId) -> bool {
        id != CaseId::NONE && self.find(id).is_some()
    }

    /// Opens a case with this hit, after `total` events, of which those of `before` are known. A hit
    /// beyond the number of cases is only reported.
    pub fn open<'p>(
        &mut self,
        mut hit: ThresholdHit,
        total: u64,
        window_nanos: u64,
        before: impl Iterator<Item = &'p Packet>,
        fired: &mut impl FnMut(ThresholdHit),
    ) -> CaseId {
        let Some(slot) = self.free_slot(&hit) else {
            hit.evidence.total = total;
            fired(hit);
            return CaseId::NONE;
        };
        self.opened += 1;
        self.open += 1;
        let (number, hasher) = (self.opened, self.hasher);
        let now = hit.time.as_nanos();
        self.next_check_nanos = self.next_check_nanos.min(now.saturating_add(NANOS_PER_SEC));
        let Some(case) = self.slots.get_mut(slot) else { return CaseId::NONE };
        case.id = CaseId((number as u32) << 8 | slot as u32);
        if case.id == CaseId::NONE {
            case.id = CaseId(1 << 8 | slot as u32);
        }
        hit.evidence = Evidence {
            case: number,
            first: hit.packet.time,
            last: hit.packet.time,
            ..hit.evidence
        };
        *case = Case {
            hit,
            total,
            idle_nanos: window_nanos.max(IDLE_NANOS),
            ..Case::new(case.id, hit)
        };
        case.second = now / NANOS_PER_SEC;
        case.in_second = 1;
        for packet in before {
            case.note(&hasher, packet);
            case.in_second += u64::from(packet.time.as_nanos() / NANOS_PER_SEC == case.second);
            case.hit.evidence.first = case.hit.evidence.first.min(packet.time);
        }
        case.peak = case.in_second;
        let packet = case.hit.packet;
        case.note(&hasher, &packet);
        case.report(HitStage::Start, now, fired);
        case.id
    }

    /// Counts `amount` more events, one of which is this packet.
    pub fn add(
        &mut self,
        id: CaseId,
        packet: &Packet,
        amount: u64,
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let hasher = self.hasher;
        let Some(case) = self.find_mut(id) else { return };
        case.note(&hasher, packet);
        case.total += amount;
        // What is decided by what follows is counted later than it came.
        case.hit.evidence.last = packet.time.max(case.hit.evidence.last);
        let second = at_nanos / NANOS_PER_SEC;
        if second != case.second {
            (case.second, case.in_second) = (second, 0);
        }
        case.in_second += amount;
        case.peak = case.peak.max(case.in_second);
        if case.total >= 2 * case.reported_total {
            case.report(HitStage::Update, at_nanos, fired);
        }
    }

    /// Counts one more attempt, of which the share that fails is an event.
    pub fn add_attempt(
        &mut self,
        id: CaseId,
        packet: &Packet,
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let Some(case) = self.find_mut(id) else { return };
        case.permille += u64::from(case.hit.evidence.failed_permille);
        let events = case.permille / 1000;
        case.permille %= 1000;
        self.add(id, packet, events, at_nanos, fired);
    }

    /// Sets the share of events that failed, in parts of 1000.
    pub fn set_failed(&mut self, id: CaseId, permille: u16) {
        if let Some(case) = self.find_mut(id) {
            case.hit.evidence.failed_permille = permille;
        }
    }

    /// Notes the present count in the window and its severity; reports it if that is graver than before.
    pub fn grade(
        &mut self,
        id: CaseId,
        (count, severity): (u64, u8),
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let Some(case) = self.find_mut(id) else { return };
        case.hit.count = case.hit.count.max(count);
        if severity < case.hit.severity {
            case.hit.severity = severity;
            case.report(HitStage::Rise, at_nanos, fired);
        }
    }

    /// Reports an open case once more as an alert, after a cool-down.
    pub fn again(
        &mut self,
        id: CaseId,
        (count, suppressed): (u64, u64),
        packet: &Packet,
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let Some(case) = self.find_mut(id) else { return };
        (case.hit.count, case.hit.suppressed, case.hit.packet) = (count, suppressed, *packet);
        case.report(HitStage::Start, at_nanos, fired);
        case.hit.suppressed = 0;
    }

    /// Ends cases without events, and reports those that have not been reported for long.
    #[cold]
    pub fn check(&mut self, now_nanos: u64, fired: &mut impl FnMut(ThresholdHit)) {
        for case in &mut self.slots {
            if case.id == CaseId::NONE {
                continue;
            }
            let last_nanos = case.hit.evidence.last.as_nanos();
            if now_nanos.saturating_sub(last_nanos) >= case.idle_nanos {
                case.report(HitStage::End, last_nanos.saturating_add(case.idle_nanos), fired);
                case.id = CaseId::NONE;
                self.open -= 1;
            } else if now_nanos.saturating_sub(case.reported_nanos) >= UPDATE_NANOS {
                case.report(HitStage::Update, now_nanos, fired);
            }
        }
        let next = now_nanos.saturating_add(NANOS_PER_SEC);
        self.next_check_nanos = if self.open == 0 { u64::MAX } else { next };
    }

    /// Ends all cases: no more packets come.
    pub fn finish(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        for case in self.slots.iter_mut().filter(|case| case.id != CaseId::NONE) {
            case.report(HitStage::End, case.hit.evidence.last.as_nanos(), fired);
            case.id = CaseId::NONE;
        }
        (self.open, self.next_check_nanos) = (0, u64::MAX);
    }

    pub fn memory_bytes(&self) -> usize {
        CASES * size_of::<Case>()
    }

    fn free_slot(&mut self, hit: &ThresholdHit) -> Option<usize> {
        if self.open < self.slots.len() {
            return self.slots.iter().position(|case| case.id == CaseId::NONE);
        }
        if self.slots.len() == CASES {
            return None;
        }
        self.slots.push(Case::new(CaseId::NONE, *hit)); // within the capacity
        Some(self.slots.len() - 1)
    }

    fn find(&self, id: CaseId) -> Option<&Case> {
        self.slots.get(id.0 as usize % CASES).filter(|case| case.id == id)
    }

    fn find_mut(&mut self, id: CaseId) -> Option<&mut Case> {
        self.slots.get_mut(id.0 as usize % CASES).filter(|case| id != CaseId::NONE && case.id == id)
    }
}

impl Case {
    fn new(id: CaseId, hit: ThresholdHit) -> Case {
        Case {
            id,
            hit,
            idle_nanos: 0,
            total: 0,
            seen: 0,
            permille: 0,
            reported_total: 0,
            reported_nanos: 0,
            second: 0,
            in_second: 0,
            peak: 0,
            sources: HyperLogLog::EMPTY,
            targets: HyperLogLog::EMPTY,
            ports: [0; PORT_WORDS],
            top: [None; 4],
            prefixes: [None; 4],
        }
    }

    /// Notes who sends where.
    fn note(&mut self, hasher: &TupleHasher, packet: &Packet) {
        self.seen += 1;
        self.sources.add(hasher.address(packet.src, 0));
        self.targets.add(hasher.address(packet.dst, 0));
        let port = usize::from(packet.dst_port);
        if let Some(word) = self.ports.get_mut(port / 64) {
            *word |= 1 << (port % 64);
        }
        note_heavy(&mut self.top, packet.src);
        note_heavy(&mut self.prefixes, prefix(packet.src, [24, 48]));
    }

    fn report(&mut self, stage: HitStage, at_nanos: u64, fired: &mut impl FnMut(ThresholdHit)) {
        (self.reported_total, self.reported_nanos) = (self.total, at_nanos);
        let mut top = self.top;
        top.sort_unstable_by_key(|place| {
            std::cmp::Reverse(place.map(|(source, count)| (count, source)))
        });
        let is_main = |&(_, count): &(IpAddr, u64)| 5 * count >= 4 * self.seen;
        let is_telling = self.seen >= TELLING_EVENTS.min(self.total);
        let main = top[0].filter(is_main).filter(|_| is_telling);
        let mut lowest_ports = [0; 8];
        lowest_ports.iter_mut().zip(self.ports()).for_each(|(place, port)| *place = port);
        self.hit.evidence = Evidence {
            total: self.total,
            peak_per_second: self.peak.max(1),
            sources: self.source_estimate(),
            main_source: main.map(|(source, _)| source),
            is_spoofed: self.is_spoofed(),
            targets: self.targets.estimate(),
            ports: self.ports.iter().map(|word| word.count_ones()).sum(),
            lowest_ports,
            top_sources: top,
            ..self.hit.evidence
        };
        let time = Timestamp::from_nanos(at_nanos);
        fired(ThresholdHit { stage, time, ..self.hit });
    }

    /// Events before the case was opened had sources too: where nearly every event has a source of its
    /// own, in proportion.
    fn source_estimate(&self) -> u64 {
        let known = self.sources.estimate();
        let is_telling = self.seen >= TELLING_EVENTS;
        if is_telling && self.seen < self.total && 2 * known > self.seen {
            return (known as u128 * u128::from(self.total) / u128::from(self.seen.max(1))) as u64;
        }
        known
    }

    /// The ports, in order.
    fn ports(&self) -> impl Iterator<Item = u16> {
        let used = (0u16..).zip(self.ports).filter(|&(_, word)| word != 0);
        used.flat_map(|(n, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * n + bit)
        })
    }

    fn is_spoofed(&self) -> bool {
        let known = self.sources.estimate();
        let heaviest = self.prefixes.iter().flatten().map(|(_, count)| *count).max();
        !self.hit.evidence.has_real_sources
            && known >= SPOOFED_SOURCES_MIN
            && self.seen < 3 * known
            && heaviest.unwrap_or(0) < self.seen / 4
    }
}

/// Counts one of these.
fn note_heavy(heavy: &mut Heavy, item: IpAddr) {
    let known = heavy.iter_mut().flatten().find(|(known, _)| *known == item);
    if let Some((_, count)) = known {
        *count += 1;
    } else if let Some(free) = heavy.iter_mut().find(|place| place.is_none()) {
        *free = Some((item, 1));
    } else {
        for place in heavy {
            *place = place.and_then(|(item, count)| Some((item, count.checked_sub(1)?)));
            *place = place.filter(|(_, count)| *count > 0);
        }
    }
}

/// A distinct count.
#[derive(Debug, Clone, Copy)]
struct HyperLogLog {
    registers: [u8; REGISTERS],
}

impl HyperLogLog {
    const EMPTY: HyperLogLog = HyperLogLog { registers: [0; REGISTERS] };

    #[inline]
    fn add(&mut self, hash: u64) {
        let rank = (hash >> 9 | 1 << 55).trailing_zeros() as u8 + 1;
        let register = &mut self.registers[hash as usize % REGISTERS];
        *register = rank.max(*register);
    }

    fn estimate(&self) -> u64 {
        let m = REGISTERS as f64;
        // 2^-rank, from its exponent alone.
        let share = |&rank: &u8| f64::from_bits((1023 - u64::from(rank)) << 52);
        let sum: f64 = self.registers.iter().map(share).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let zeros = self.registers.iter().filter(|&&rank| rank == 0).count();
        // Few items: linear counting.
        let estimate = match zeros {
            1.. if raw <= 2.5 * m => m * (m / zeros as f64).ln(),
            _ => raw,
        };
        estimate.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    /// Five standard errors, from a handful to millions.
    #[test]
    fn distinct_counts_are_as_good_as_theory_says() {
        for items in [1u64, 10, 100, 1000, 5000, 100_000, 2_000_000] {
            let mut random = Random::new(items);
            let mut sketch = HyperLogLog::EMPTY;
            for _ in 0..items {
                let hash = random.next_u64();
                sketch.add(hash);
                sketch.add(hash);
            }
            let error = (sketch.estimate() as f64 - items as f64).abs() / items as f64;
            assert!(error < 5.0 * 1.04 / (REGISTERS as f64).sqrt(), "{items}: {error}");
        }
    }

    #[test]
    fn ports_come_in_order() {
        let mut case = Case::new(CaseId(1), super::super::hit::tests::hit());
        let ports = [0, 1, 63, 64, 8080, u16::MAX];
        for port in ports.into_iter().rev() {
            let packet = Packet { dst_port: port, ..case.hit.packet };
            case.note(&TupleHasher::new(Default::default()), &packet);
        }
        assert!(case.ports().eq(ports));
    }

    #[test]
    fn a_source_with_more_than_a_fifth_of_the_events_is_among_the_top() {
        let hit = super::super::hit::tests::hit();
        let mut case = Case::new(CaseId(1), hit);
        let mut random = Random::new(1);
        for n in 0..10_000u32 {
            let other = IpAddr::from((random.next_u64() as u32).to_be_bytes());
            note_heavy(&mut case.top, if n % 4 == 0 { [10, 0, 0, 1].into() } else { other });
        }
        assert!(
            case.top.iter().flatten().any(|(source, _)| *source == IpAddr::from([10, 0, 0, 1]))
        );
    }
}
