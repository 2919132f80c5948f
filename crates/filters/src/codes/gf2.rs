//! The fields GF(2^r), r = 2 to 30: arithmetic on polynomials over two elements.
//!
//! An element is a number whose bits are the coefficients of a polynomial of degree below r; a sum is
//! XOR. Products are reduced by a primitive polynomial, so that the element 2 (the polynomial X)
//! generates all others: 2^i runs through every element but 0. Small fields multiply by logarithms,
//! larger ones by shifts.

/// The largest degree with tables of logarithms: up to 2^14 entries of two bytes, and of four.
const LOGS_DEGREE_MAX: u32 = 14;

/// Primitive polynomials without their leading term, from degree 2 on. Low terms only, so that two or
/// three reductions suffice.
const PRIMITIVE: [u32; 29] = [
    0x3, 0x3, 0x3, 0x5, 0x3, 0x3, 0x1d, 0x11, 0x9, 0x5, 0x53, 0x1b, 0x443, 0x3, 0x100b, 0x9, 0x81,
    0x27, 0x9, 0x5, 0x3, 0x21, 0x87, 0x9, 0x47, 0x27, 0x9, 0x5, 0x53,
];

/// The field with 2^r elements.
#[derive(Debug, Clone)]
pub(super) struct Field {
    degree: u32,
    /// The primitive polynomial without its leading term.
    polynomial: u32,
    logs: Option<Logs>,
    /// For each byte of c, its part of a solution of t² + t = c.
    roots: Box<[[u32; 256]; 4]>,
    /// t² + t = c can be solved if c has an even number of these bits: those of trace 1.
    trace: u32,
}

/// Logarithms to the base 2.
#[derive(Debug, Clone)]
struct Logs {
    /// By element; that of 0 is not used.
    log: Vec<u16>,
    /// 2^i, for i up to twice the order.
    power: Vec<u16>,
    /// By the logarithm of u, those of both solutions of t² + t = 1 + u; [`NO_ROOT`] if there are none, or
    /// if one of them is 0.
    roots: Vec<[u16; 2]>,
    /// The same for u = 0.
    roots_of_zero: [u16; 2],
}

/// Above the sum of any two logarithms, also after the order is subtracted.
const NO_ROOT: u16 = u16::MAX;
const _: () = assert!(NO_ROOT as u32 > 3 << LOGS_DEGREE_MAX);

impl Field {
    /// The field with 2^`degree` elements; `degree` is from 2 to 30.
    pub(super) fn new(degree: u32) -> Field {
        let polynomial = PRIMITIVE[degree as usize - 2];
        let roots = Box::new([[0; 256]; 4]);
        let mut field = Field { degree, polynomial, logs: None, roots, trace: 0 };
        field.find_roots();
        if degree <= LOGS_DEGREE_MAX {
            field.logs = Some(Logs::new(&field));
        }
        field
    }

    pub(super) const fn degree(&self) -> u32 {
        self.degree
    }

    /// How many elements are not 0.
    pub(super) const fn order(&self) -> u32 {
        (1 << self.degree) - 1
    }

    /// Twice the element: the next power of 2.
    #[inline]
    pub(super) const fn double(&self, a: u32) -> u32 {
        let carry = (a >> (self.degree - 1)) & 1;
        ((a << 1) & self.order()) ^ (self.polynomial * carry)
    }

    #[inline]
    pub(super) fn product(&self, a: u32, b: u32) -> u32 {
        match &self.logs {
            Some(logs) => logs.product(a, b),
            None => self.reduced(carryless(a, b)),
        }
    }

    #[inline]
    pub(super) fn cube(&self, a: u32) -> u32 {
        self.product(self.product(a, a), a)
    }

    /// The x and y with x + y = a and x³ + y³ = b, if there are such, neither of them 0; a is not 0.
    /// xy = a² + b/a, and with x = a t this is t² + t = 1 + b/a³.
    #[inline(never)] // long
    pub(super) fn summands(&self, a: u32, b: u32) -> Option<[u32; 2]> {
        let c = 1 ^ self.product(b, self.inverse(self.cube(a)));
        let t = self.root(c).filter(|_| c != 0)?;
        let x = self.product(a, t);
        Some([x, x ^ a])
    }

    /// The logarithms of the same, in a field that has a table of them; some number above all
    /// logarithms if there are no x and y.
    #[inline(always)]
    pub(super) fn summand_logs(&self, a: u32, b: u32) -> Option<[u32; 2]> {
        self.logs.as_ref().map(|logs| logs.summands(a, b, self.order()))
    }

    /// The logarithm of an element that is not 0, in a field that has a table of them.
    #[inline]
    pub(super) fn log(&self, a: u32) -> Option<u32> {
        self.logs.as_ref().map(|logs| logs.log[a as usize].into())
    }

    /// One of the two solutions of t² + t = c, which differ by 1, if there are any. The solution is a
    /// linear map of c, so one table look-up per byte gives it.
    #[inline]
    pub(super) fn root(&self, c: u32) -> Option<u32> {
        let [a, b, d, e] = c.to_le_bytes().map(usize::from);
        let roots = &self.roots;
        let root = roots[0][a] ^ roots[1][b] ^ roots[2][d] ^ roots[3][e];
        (c & self.trace).count_ones().is_multiple_of(2).then_some(root)
    }

    /// a^(2^r − 2), by repeated squaring: 2^r − 2 = 2 + 4 + … + 2^(r−1).
    fn inverse(&self, a: u32) -> u32 {
        // a^(2^n − 1) for n = 1, 2, 3, … by the bits of r − 1: a^(2^2n − 1) = x · x^(2^n).
        let bits = self.degree - 1;
        let (mut power, mut n) = (a, 1);
        for bit in (0..bits.ilog2()).rev() {
            power = self.product(power, self.squared(power, n));
            n *= 2;
            if bits >> bit & 1 == 1 {
                power = self.product(self.squared(power, 1), a);
                n += 1;
            }
        }
        self.squared(power, 1)
    }

    /// `a` squared the given number of times.
    fn squared(&self, a: u32, times: u32) -> u32 {
        (0..times).fold(a, |a, _| self.reduced(interleaved(a)))
    }

    /// Reduces a polynomial of degree below 2r.
    #[inline]
    const fn reduced(&self, mut product: u64) -> u32 {
        while product > self.order() as u64 {
            let high = product >> self.degree;
            product &= self.order() as u64;
            let mut terms = self.polynomial;
            while terms != 0 {
                product ^= high << terms.trailing_zeros();
                terms &= terms - 1;
            }
        }
        product as u32
    }

    /// Solves t² + t = c for each c of one bit by elimination, and fills the tables. One of the bits is
    /// left over: the image has half of the elements.
    fn find_roots(&mut self) {
        let mut pivots: Vec<[u32; 2]> = vec![]; // an element of the image and its solution
        let reduce = |pivots: &[[u32; 2]], mut pair: [u32; 2]| {
            for [image, root] in pivots {
                if pair[0] >> image.ilog2() & 1 == 1 {
                    pair = [pair[0] ^ image, pair[1] ^ root];
                }
            }
            pair
        };
        for bit in 1..self.degree {
            let root = 1 << bit;
            let [image, root] = reduce(&pivots, [self.squared(root, 1) ^ root, root]);
            if image != 0 {
                pivots.push([image, root]);
            }
        }
        for bit in 0..self.degree {
            let [left, root] = reduce(&pivots, [1 << bit, 0]);
            self.trace |= u32::from(left != 0) << bit;
            let table = &mut self.roots[bit as usize / 8];
            for (byte, entry) in table.iter_mut().enumerate() {
                *entry ^= if byte >> (bit % 8) & 1 == 1 { root } else { 0 };
            }
        }
    }
}

impl Logs {
    fn new(field: &Field) -> Logs {
        let order = field.order() as usize;
        let (mut log, mut power) = (vec![0; order + 1], vec![0; 2 * order]);
        let mut element = 1;
        for exponent in 0..order {
            log[element as usize] = exponent as u16;
            power[exponent] = element as u16;
            power[exponent + order] = element as u16;
            element = field.double(element);
        }
        let roots_of = |u: u32| match field.root(1 ^ u) {
            Some(t) if t > 1 => [t, t ^ 1].map(|root| log[root as usize]),
            _ => [NO_ROOT; 2],
        };
        let roots = power[..order].iter().map(|&u| roots_of(u.into())).collect();
        let roots_of_zero = roots_of(0);
        Logs { log, power, roots, roots_of_zero }
    }

    #[inline]
    fn product(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        let [a, b] = [a, b].map(|element| usize::from(self.log[element as usize]));
        self.power[a + b].into()
    }

    /// log x = log a + log t, with the t for u = b/a³.
    #[inline(always)]
    fn summands(&self, a: u32, b: u32, order: u32) -> [u32; 2] {
        let [log_a, log_b] = [a, b].map(|element| u32::from(self.log[element as usize]));
        // Without a branch, which could not be predicted: a difference below 0 wraps to a large number.
        let below = |sum: u32, bound: u32| sum.min(sum.wrapping_sub(bound));
        let log_u = below(below(log_b + 3 * (order - log_a), 2 * order), order);
        let roots = match b {
            0 => self.roots_of_zero,
            _ => self.roots[below(log_u, order) as usize],
        };
        roots.map(|log_t| below(log_a + u32::from(log_t), order))
    }
}

/// The product of two polynomials, four bits at a time.
#[inline]
const fn carryless(a: u32, b: u32) -> u64 {
    let mut multiples = [0; 16];
    let mut n = 1;
    while n < 16 {
        multiples[n] = (multiples[n / 2] << 1) ^ (if n % 2 == 1 { a as u64 } else { 0 });
        n += 1;
    }
    let (mut product, mut shift) = (0, 32);
    while shift > 0 {
        shift -= 4;
        product = (product << 4) ^ multiples[(b >> shift & 15) as usize];
    }
    product
}

/// The square of a polynomial: its bits with a 0 between any two.
#[inline]
const fn interleaved(a: u32) -> u64 {
    let a = a as u64;
    let a = (a | a << 16) & 0x0000_ffff_0000_ffff;
    let a = (a | a << 8) & 0x00ff_00ff_00ff_00ff;
    let a = (a | a << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let a = (a | a << 2) & 0x3333_3333_3333_3333;
    (a | a << 1) & 0x5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    fn power_of_two(field: &Field, exponent: u32) -> u32 {
        let mut power = 1;
        for bit in (0..32).rev() {
            power = slow_product(field, power, power);
            if exponent >> bit & 1 == 1 {
                power = slow_product(field, power, 2);
            }
        }
        power
    }

    /// Bit by bit.
    fn slow_product(field: &Field, a: u32, b: u32) -> u32 {
        (0..field.degree()).rev().fold(0, |sum, bit| {
            let doubled = field.double(sum);
            if b >> bit & 1 == 1 { doubled ^ a } else { doubled }
        })
    }

    /// 2^order = 1, and for no prime p is 2^(order / p) = 1.
    #[test]
    fn every_polynomial_is_primitive() {
        for degree in 2..=30 {
            let field = Field::new(degree);
            assert_eq!(power_of_two(&field, field.order()), 1, "degree {degree}");
            let (mut rest, mut prime) = (field.order(), 2);
            while rest > 1 {
                if prime * prime > rest {
                    prime = rest;
                }
                if rest.is_multiple_of(prime) {
                    let power = power_of_two(&field, field.order() / prime);
                    assert_ne!(power, 1, "degree {degree}, prime {prime}");
                    while rest.is_multiple_of(prime) {
                        rest /= prime;
                    }
                }
                prime += 1;
            }
        }
    }

    #[test]
    fn arithmetic_is_that_of_a_field() {
        let mut random = Random::new(1);
        for degree in 2..=30 {
            let field = Field::new(degree);
            for _ in 0..300 {
                let [a, b] = [0; 2].map(|_| random.below(1 << degree) as u32);
                let product = slow_product(&field, a, b);
                assert_eq!(field.product(a, b), product, "degree {degree}");
                assert_eq!(field.reduced(carryless(a, b)), product, "degree {degree}");
                if a != 0 {
                    assert_eq!(slow_product(&field, a, field.inverse(a)), 1, "degree {degree}");
                    if let Some([x, y]) = field.summands(a, b) {
                        let cubes = field.cube(x) ^ field.cube(y);
                        assert!((x ^ y, cubes) == (a, b) && x != 0 && y != 0, "degree {degree}");
                        let logs = field.summand_logs(a, b).map(|logs| {
                            let mut found = logs.map(|log| power_of_two(&field, log));
                            found.sort_unstable();
                            found
                        });
                        assert!(logs.is_none_or(|logs| logs == [x.min(y), x.max(y)]));
                    } else if let Some(logs) = field.summand_logs(a, b) {
                        assert!(logs.into_iter().all(|log| log > field.order()));
                    }
                }
                let c = field.product(a, a) ^ a;
                let root = field.root(c).expect("a is one");
                assert!(root == a || root == a ^ 1, "degree {degree}");
                assert_eq!(field.root(b).is_some(), has_root(&field, b), "degree {degree}");
            }
        }
    }

    /// By the definition of the trace: c + c² + c⁴ + … = 0.
    fn has_root(field: &Field, c: u32) -> bool {
        (0..field.degree()).fold(0, |trace, times| trace ^ field.squared(c, times)) == 0
    }
}
