//! The two families of XOR codes, behind one interface.

use super::algebraic::AlgebraicCodes;
use super::greedy::{GREEDY_CODES, GreedyCodes};
use crate::error::StoreError;

/// A family of codes: any sum (XOR) of one or two of its codes tells which they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeFamily {
    /// The codes of Algorithm 1 of the kBF papers: 4,213 of them, of 29 bits. A pair is decoded in
    /// time proportional to the number of codes.
    Greedy,
    /// (x, x³) over GF(2^`degree`): 2^`degree` − 1 codes of 2 · `degree` bits. A pair is decoded in
    /// constant time.
    Algebraic {
        /// r, from 2 to 30.
        degree: u32,
    },
}

impl CodeFamily {
    /// How many codes the family has.
    pub fn limit(self) -> usize {
        match self {
            CodeFamily::Greedy => GREEDY_CODES.len(),
            CodeFamily::Algebraic { degree } => (1 << degree) - 1,
        }
    }

    /// How many bits a code takes.
    pub fn bits(self) -> u32 {
        match self {
            CodeFamily::Greedy => GreedyCodes::bits(),
            CodeFamily::Algebraic { degree } => 2 * degree,
        }
    }

    /// Its name: `greedy` or `algebraic`.
    pub const fn name(self) -> &'static str {
        match self {
            CodeFamily::Greedy => "greedy",
            CodeFamily::Algebraic { .. } => "algebraic",
        }
    }
}

/// The first codes of a family.
#[derive(Debug, Clone)]
pub enum Codes {
    /// Of [`CodeFamily::Greedy`].
    Greedy(GreedyCodes),
    /// Of [`CodeFamily::Algebraic`].
    Algebraic(AlgebraicCodes),
}

impl Codes {
    /// The first `count` codes of `family`, or all there are.
    pub fn new(family: CodeFamily, count: usize) -> Result<Codes, StoreError> {
        Ok(match family {
            CodeFamily::Greedy => Codes::Greedy(GreedyCodes::new(count)),
            CodeFamily::Algebraic { degree } => {
                Codes::Algebraic(AlgebraicCodes::new(degree, count)?)
            }
        })
    }

    /// How many codes there are.
    pub fn count(&self) -> usize {
        match self {
            Codes::Greedy(codes) => codes.count(),
            Codes::Algebraic(codes) => codes.count(),
        }
    }

    /// The bytes of the tables that decoding takes.
    pub fn table_bytes(&self) -> usize {
        match self {
            Codes::Greedy(codes) => codes.table_bytes(),
            Codes::Algebraic(codes) => codes.table_bytes(),
        }
    }

    /// The code with this index, which is below [`count`](Self::count).
    #[inline]
    pub fn code(&self, index: u32) -> u64 {
        match self {
            Codes::Greedy(codes) => codes.code(index),
            Codes::Algebraic(codes) => codes.code(index),
        }
    }

    /// The index of a code.
    #[inline]
    pub fn index(&self, code: u64) -> Option<u32> {
        match self {
            Codes::Greedy(codes) => codes.index(code),
            Codes::Algebraic(codes) => codes.index(code),
        }
    }

    /// The two different indexes whose codes have this sum; `None` if no two have it.
    #[inline]
    pub fn pair(&self, sum: u64) -> Option<[u32; 2]> {
        match self {
            Codes::Greedy(codes) => codes.pair(sum),
            Codes::Algebraic(codes) => codes.pair(sum),
        }
    }

    /// The indexes whose codes can be in this sum of three, in ascending order: with each, the rest is the
    /// sum of two codes, or 0.
    pub fn in_sum_of_three(&self, sum: u64) -> Vec<u32> {
        match self {
            Codes::Greedy(codes) => codes.in_sum_of_three(sum),
            Codes::Algebraic(codes) => codes.in_sum_of_three(sum),
        }
    }
}
