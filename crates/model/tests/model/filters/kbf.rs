//! kbf: sums of codes, by every decoding.

use acsm_model::counts::FlowCells;
use acsm_model::joint::JointDecoding;
use acsm_model::kbf::Decoding;
use acsm_model::{StateMix, kbf};

use super::simulated::{Answer, Resident, spread};

/// Algorithm 1 for six states.
const CODES: [usize; 6] = [1, 2, 4, 8, 15, 16];

/// The states that can be in a sum of `count` flows, by trying all.
fn candidates(sum: usize, count: usize) -> Vec<usize> {
    let mut found = [false; 6];
    for tuple in 0..6usize.pow(count as u32) {
        let states: Vec<usize> = (0..count as u32).map(|i| tuple / 6usize.pow(i) % 6).collect();
        if states.iter().fold(0, |sum, state| sum ^ CODES[*state]) == sum {
            states.iter().for_each(|state| found[*state] = true);
        }
    }
    (0..6).filter(|state| found[*state]).collect()
}

/// A kBF's decoding by lists of candidates.
pub fn kbf_judge(decode: Decoding) -> impl Fn(&[(&[Resident], usize)]) -> Answer {
    let tables: Vec<Vec<Vec<usize>>> =
        (0..4).map(|count| (0..32).map(|sum| candidates(sum, count)).collect()).collect();
    let common = move |of: &[(usize, usize)]| -> Vec<usize> {
        (0..6).filter(|s| of.iter().all(|(count, sum)| tables[*count][*sum].contains(s))).collect()
    };
    let only = |states: Vec<usize>| match states[..] {
        [state] => Answer::Known(state),
        _ => Answer::DontKnow,
    };
    move |cells| {
        let parts: Vec<(usize, usize)> = cells
            .iter()
            .map(|(r, _)| (r.len(), r.iter().fold(0, |sum, (state, _)| sum ^ CODES[*state])))
            .collect();
        if parts.iter().any(|(count, _)| *count == 0) {
            return Answer::Absent;
        }
        if let Some((_, code)) = parts.iter().find(|(count, _)| *count == 1) {
            return Answer::Known(CODES.iter().position(|c| c == code).unwrap());
        }
        let of = |wanted: usize| parts.iter().filter(move |(count, _)| *count == wanted).copied();
        let telling: Vec<_> = of(2).filter(|(_, sum)| *sum != 0).collect();
        let threes: Vec<_> = of(3).collect();
        match decode {
            Decoding::ThreeWay => only(common(&of(2).chain(of(3)).collect::<Vec<_>>())),
            Decoding::AllPairs if telling.is_empty() => Answer::DontKnow,
            Decoding::AllPairs => match common(&telling) {
                two if two.len() == 2 => only(common(&[telling, threes].concat())),
                other => only(other),
            },
            // Equal sums are one.
            Decoding::Literal => {
                let different = telling.iter().find(|(_, sum)| *sum != telling[0].1);
                match (telling.first(), different, threes.first()) {
                    (Some(first), Some(second), _) => only(common(&[*first, *second])),
                    (Some(two), None, Some(three)) => only(common(&[*two, *three])),
                    _ => Answer::DontKnow,
                }
            }
        }
    }
}

#[test]
fn kbf_by_every_decoding() {
    for decode in [Decoding::AllPairs, Decoding::Literal, Decoding::ThreeWay] {
        for (mix, hashes, load) in [
            (StateMix::even(6), 3, 1.2),
            (StateMix::new(&[80.0, 10.0, 4.0, 3.0, 2.0, 1.0]), 3, 0.7),
            (StateMix::new(&[50.0, 20.0, 10.0, 10.0, 5.0, 5.0]), 6, 1.6),
        ] {
            let name = format!("kbf, {decode:?}, k {hashes}");
            let case = spread(&name, hashes, load, mix);
            let model = kbf::errors(&case.cells(), &case.mix, decode);
            case.check(model, &kbf_judge(decode));
        }
    }
}

/// Joint decoding of eight states: a state is possible if on every cell the rest of the sum can be
/// made of as many codes as there are other flows.
fn joint_judge(codes: [usize; 8], salted: bool) -> impl Fn(&[(&[Resident], usize)]) -> Answer {
    let states = codes.len();
    let mut rests: Vec<Vec<usize>> = vec![vec![0]];
    for others in 1..3 {
        let with_one_more =
            rests[others - 1].iter().flat_map(|rest| codes.iter().map(move |code| rest ^ code));
        rests.push(with_one_more.collect());
    }
    move |cells| {
        let code_of =
            |state: usize, turned: usize| codes[if salted { turned % states } else { state }];
        let is_possible = |state: &usize| {
            cells.iter().all(|(residents, salt)| {
                let codes = residents.iter().map(|&(state, turned)| code_of(state, turned));
                let sum = codes.fold(0, |sum, code| sum ^ code);
                match residents.len() {
                    0 => false,
                    count @ 1..=3 => {
                        rests[count - 1].contains(&(sum ^ code_of(*state, state + salt)))
                    }
                    _ => true,
                }
            })
        };
        match (0..states).filter(is_possible).collect::<Vec<_>>()[..] {
            [] => Answer::Absent,
            [state] => Answer::Known(state),
            _ => Answer::DontKnow,
        }
    }
}

/// Eight states: salts of 16 are uniform.
#[test]
fn kbf_in_joint_decoding() {
    // Algorithm 1, and the same with sums of three that are all different.
    let narrow = [1, 2, 4, 8, 15, 16, 32, 51];
    let wide = [1, 2, 4, 8, 16, 32, 63, 64];
    for (codes, code_bits) in [(narrow, 6), (wide, 13)] {
        for (mix, hashes, load) in [
            (StateMix::even(8), 3, 1.2),
            (StateMix::new(&[80.0, 10.0, 4.0, 2.0, 1.0, 1.0, 1.0, 1.0]), 3, 1.5),
            (StateMix::new(&[50.0, 20.0, 10.0, 10.0, 5.0, 5.0, 0.0, 0.0]), 4, 2.2),
        ] {
            for salted in [false, true] {
                let name = format!("kbf, joint, salted {salted}, {code_bits} bits, k {hashes}");
                let case = spread(&name, hashes, load, mix.clone());
                let model = match salted {
                    true => JointDecoding::salted(8, code_bits),
                    false => JointDecoding::new(&mix, code_bits),
                };
                case.check(model.errors(&case.cells()), &joint_judge(codes, salted));
            }
        }
    }
}

/// One state is always known: to absent flows too, if no cell is empty.
#[test]
fn kbf_of_one_state_in_joint_decoding() {
    let cells = FlowCells::at_load(5, 1.0);
    let all = cells.all(|counts| counts.at_least(1));
    for model in [JointDecoding::new(&StateMix::even(1), 1), JointDecoding::salted(1, 1)] {
        let errors = model.errors(&cells);
        assert_eq!((errors.dont_know, errors.dont_know_absent), (0.0, 0.0));
        assert!((errors.false_positive - all).abs() < 1e-12, "{errors:?}");
    }
}

#[test]
fn kbf_of_one_state_or_twelve() {
    let cells = FlowCells::at_load(5, 1.0);
    for decode in [Decoding::AllPairs, Decoding::Literal, Decoding::ThreeWay] {
        let all = cells.all(|counts| counts.at_least(1));
        let one = kbf::errors(&cells, &StateMix::even(1), decode);
        // Sums of equals cancel: only an unshared cell gives the state. Three-way
        // decoding also decodes cells of two or three flows.
        let lost = match decode {
            Decoding::ThreeWay => cells.all(|counts| counts.at_least(3)),
            _ => all,
        };
        assert!((one.dont_know - lost).abs() < 1e-12, "{decode:?} {one:?}");
        let many = kbf::errors(&cells, &StateMix::even(12), decode);
        assert!((many.of_absent() - all).abs() < 1e-12);
        assert!(many.dont_know > 0.0 && many.dont_know < 0.2 * all, "{decode:?} {many:?}");
    }
    // Decoding more sums loses less.
    let [pairs, letter, three] = [Decoding::AllPairs, Decoding::Literal, Decoding::ThreeWay]
        .map(|decode| kbf::errors(&cells, &StateMix::even(8), decode).dont_know);
    assert!(three < pairs && pairs < letter, "{three} {pairs} {letter}");
}
