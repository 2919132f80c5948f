//! Evidence that both ends of a flow take part in it: what a flood of forged packets cannot bring.
//!
//! A *plain segment* has ACK, and neither SYN nor RST. One end's plain segments prove nothing: they
//! can be forged, and a server also answers forged packets with plain segments (challenge ACKs). But
//! the two ends of a connection know each other's numbers. The sum of the sequence and the
//! acknowledgement number is the same in both directions except for data in flight, and an attacker
//! who does not see the server's answers has to guess it. So a flow is admitted once each end has
//! sent a plain segment and the two sums agree.
//!
//! # Rules
//!
//! | packet | evidence afterwards |
//! |---|---|
//! | plain segment whose sum agrees with the last one | its end is noted too |
//! | plain segment whose sum disagrees | only its end is noted |
//! | SYN+ACK whose sum disagrees | nobody is noted |
//! | SYN | nobody is noted |
//! | any other | unchanged |
//!
//! All packets with ACK but RSTs leave their sum. Once both ends are noted, plain segments change
//! nothing: a flow that the store refuses for lack of room has proved itself all the same.
//!
//! # Why not otherwise
//!
//! * A wrong guess takes the other end's note with it, so that each answer of the server serves for
//!   two guesses at most: the one before it and the one after it. With a sum for each end, one answer
//!   would serve for any number.
//! * A SYN+ACK is as easy to forge as any other packet. If it replaced the sum and kept the notes, a
//!   forged SYN+ACK and a plain segment that matches it would complete the server's note.
//! * A forged segment can delay the admission of a real flow whose addresses and ports are known, by
//!   one exchange of the two ends. To prevent it, one would have to forge a segment for each exchange.
//!   The flow stays in the pending table, in the right state.

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that sends the packets in the direction of the flow's key.
    Forward,
    /// The other end.
    Backward,
}

/// The upper bits of the sum of a segment's sequence and acknowledgement number, modulo 2^32.
///
/// The unit is 2^20 bytes. Two sums agree if they differ by at most 2 units, modulo 2^12. With up to
/// 2 MiB in flight the ends' sums always agree, with more than 3 MiB never: then a flow that is taken
/// up in mid-stream is admitted at its first pause. (A window may have 2^30 bytes, which is 1024 units,
/// but systems rarely allow one connection more than a few MiB.) A guess agrees with a probability of
/// 5/4096. Being a sum of all 32 bits it is not disturbed when numbers wrap around, nor by a keep-alive
/// segment, whose sequence number is one too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u16);

/// What a packet contributes to the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// SYN without ACK: a connection begins.
    Syn,
    /// SYN and ACK: any server's automatic answer.
    SynAck(Sum),
    /// ACK, neither SYN nor RST, from this end.
    Plain(End, Sum),
    /// RST, or none of SYN, RST and ACK.
    Other,
}

/// Which ends have sent a plain segment, and the sum of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// One bit per end.
    ends: u8,
    sum: Sum,
}

const FORWARD: u8 = 1;
const BACKWARD: u8 = 2;
const BOTH: u8 = FORWARD | BACKWARD;
const ENDS_BITS: u32 = 2;

impl End {
    const fn bit(self) -> u8 {
        match self {
            End::Forward => FORWARD,
            End::Backward => BACKWARD,
        }
    }
}

impl Sum {
    /// Its width.
    pub const BITS: u32 = 12;
    /// How many units the sums of two ends may differ by.
    pub const TOLERANCE: u16 = 2;

    const MASK: u16 = (1 << Self::BITS) - 1;

    /// The sum of a segment with these numbers.
    #[inline]
    pub const fn of(sequence: u32, acknowledgement: u32) -> Sum {
        Sum((sequence.wrapping_add(acknowledgement) >> (u32::BITS - Self::BITS)) as u16)
    }

    /// Whether the two can be of one connection.
    #[inline]
    pub const fn agrees(self, other: Sum) -> bool {
        // From −2 ..= 2 to 0 ..= 4.
        self.0.wrapping_sub(other.0).wrapping_add(Self::TOLERANCE) & Self::MASK
            <= 2 * Self::TOLERANCE
    }
}

impl Segment {
    /// Whether it is a plain segment.
    #[inline]
    pub const fn is_plain(self) -> bool {
        matches!(self, Segment::Plain(..))
    }
}

impl Evidence {
    /// Nobody is noted.
    pub const NONE: Evidence = Evidence { ends: 0, sum: Sum(0) };

    /// Both ends are noted: the flow has proved itself some other way.
    pub const COMPLETE: Evidence = Evidence { ends: BOTH, sum: Sum(0) };

    /// The width of evidence in a slot.
    pub(super) const BITS: u32 = ENDS_BITS + Sum::BITS;

    /// The evidence after a further packet.
    #[inline]
    #[must_use]
    pub const fn after(self, segment: Segment) -> Evidence {
        match segment {
            Segment::Syn => Evidence::NONE,
            Segment::SynAck(sum) => {
                Evidence { ends: if sum.agrees(self.sum) { self.ends } else { 0 }, sum }
            }
            Segment::Plain(..) if self.is_complete() => self,
            Segment::Plain(end, sum) => {
                let others = if sum.agrees(self.sum) { self.ends } else { 0 };
                Evidence { ends: others | end.bit(), sum }
            }
            Segment::Other => self,
        }
    }

    /// Whether both ends are noted, with sums that agree: the flow can be admitted.
    #[inline]
    pub const fn is_complete(self) -> bool {
        self.ends == BOTH
    }

    /// Whether this end is noted.
    #[inline]
    pub const fn has(self, end: End) -> bool {
        self.ends & end.bit() != 0
    }

    /// Whether this is a plain segment of an end that is noted already.
    #[inline]
    pub const fn has_heard(self, segment: Segment) -> bool {
        matches!(segment, Segment::Plain(end, _) if self.has(end))
    }

    /// The same from the other end's point of view.
    #[inline]
    #[must_use]
    pub const fn reversed(self) -> Evidence {
        let ends = (self.ends & FORWARD) << 1 | (self.ends & BACKWARD) >> 1;
        Evidence { ends, sum: self.sum }
    }

    #[inline]
    pub(super) const fn to_bits(self) -> u64 {
        (self.ends as u64) << Sum::BITS | self.sum.0 as u64
    }

    /// From the lowest [`BITS`](Self::BITS) of a word.
    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Evidence {
        let ends = (bits >> Sum::BITS) as u8 & BOTH;
        Evidence { ends, sum: Sum(bits as u16 & Sum::MASK) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_evidence_survives_packing_and_reversing() {
        for bits in 0..1 << Evidence::BITS {
            let evidence = Evidence::from_bits(bits | u64::MAX << Evidence::BITS);
            assert_eq!(evidence.to_bits(), bits);
            assert_eq!(evidence.reversed().reversed(), evidence);
            assert_eq!(evidence.has(End::Forward), evidence.reversed().has(End::Backward));
            assert_eq!(evidence.is_complete(), evidence.reversed().is_complete());
        }
    }

    #[test]
    fn five_of_all_sums_agree_with_each() {
        for one in 0..=Sum::MASK {
            let agree = (0..=Sum::MASK).filter(|&other| Sum(one).agrees(Sum(other)));
            assert_eq!(agree.count(), usize::from(2 * Sum::TOLERANCE + 1));
        }
    }
}
