//! Every store against a slow one written from its rules (`slow/`): the same operations give the
//! same answers and counts, whenever sweeps run and however time jumps; on lines that the store
//! owns and on borrowed bytes.

mod pair;
mod slow_store;
mod steps;

use acsm_filters::{
    Backend, Budget, Expire, KbfDecode, LayoutKind, RecycleAt, SbfRules, StoreSpec,
};
use proptest::prelude::{Just, prop_oneof};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use pair::Conform;
use steps::steps;

use crate::support::{Memory, with_store};

/// Filters so small that every cell is shared by many flows, by a few, by hardly any.
fn sizes(spec: &StoreSpec) -> [StoreSpec; 3] {
    [(3, 30), (4, 300), (7, 3000)].map(|(hashes, flows)| StoreSpec {
        hashes: Some(hashes),
        flows,
        budget: Budget::FpRate(0.3),
        ..spec.clone()
    })
}

fn conforms(spec: &StoreSpec) {
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let cases = (steps(), prop_oneof![Just(0u32), 1..10u32, Just(1 << 31)]);
    TestRunner::new_with_rng(config, rng)
        .run(&cases, |(steps, start)| {
            let conform = || Conform { spec, steps: &steps, start };
            with_store(spec, Memory::Owned, conform())?;
            with_store(spec, Memory::Borrowed, conform())
        })
        .unwrap_or_else(|failure| panic!("{spec:?}\n{failure}"));
}

fn filter_conforms(spec: StoreSpec) {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None] {
        sizes(&StoreSpec { expire, ..spec.clone() }).iter().for_each(conforms);
    }
}

#[test]
fn blocked_layouts_follow_their_rules() {
    for layout in [1, 2, 3].map(LayoutKind::Blocked) {
        for backend in [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Dbf] {
            for expire in [Expire::Timer, Expire::Stamps] {
                // The smaller sizes: in larger ones flows rarely share cells.
                let sizes = sizes(&StoreSpec { layout, expire, ..StoreSpec::new(backend, 6) });
                sizes.iter().take(2).for_each(conforms);
            }
        }
        let wide = StoreSpec { layout, cell_bits: Some(16), ..StoreSpec::new(Backend::Kbf, 11) };
        // So many cells that one word of hash bits does not do.
        conforms(&StoreSpec { hashes: Some(21), flows: 100, expire: Expire::None, ..wide });
    }
}

#[test]
fn kbf_follows_its_rules() {
    let of_papers = [KbfDecode::AllPairs, KbfDecode::Literal, KbfDecode::ThreeWay];
    for decode in of_papers.into_iter().chain([KbfDecode::Joint, KbfDecode::Salt]) {
        filter_conforms(StoreSpec { decode: Some(decode), ..StoreSpec::new(Backend::Kbf, 6) });
    }
}

#[test]
fn kbf_decodes_by_default_with_salt_in_two_halves_and_else_as_the_papers() {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None, Expire::Recycle, Expire::TwoPhase] {
        let spec = StoreSpec { expire, ..StoreSpec::new(Backend::Kbf, 6) };
        let expected = if expire == Expire::Timer { KbfDecode::Salt } else { KbfDecode::AllPairs };
        assert_eq!(spec.kbf_decode(), expected, "{expire:?}");
        let joint = StoreSpec { decode: Some(KbfDecode::Joint), ..spec };
        assert_eq!(joint.kbf_decode(), KbfDecode::Joint, "{expire:?}");
    }
}

/// Codes that tell three flows, in blocked layouts too, and in stores that recycle.
#[test]
fn kbf_follows_its_rules_in_joint_decoding() {
    for decode in [KbfDecode::Joint, KbfDecode::Salt].map(Some) {
        filter_conforms(StoreSpec { decode, ..StoreSpec::new(Backend::Kbf, 9) });
        for expire in [Expire::Stamps, Expire::Recycle, Expire::TwoPhase] {
            let layout = LayoutKind::Blocked(2);
            let of = StoreSpec { decode, layout, expire, ..StoreSpec::new(Backend::Kbf, 6) };
            sizes(&of).iter().take(2).for_each(conforms);
        }
    }
}

#[test]
fn kbf_follows_its_rules_with_sixteen_states() {
    filter_conforms(StoreSpec::new(Backend::Kbf, 16));
}

#[test]
fn kbf_follows_its_rules_in_cells_of_32_bits() {
    filter_conforms(StoreSpec { cell_bits: Some(32), ..StoreSpec::new(Backend::Kbf, 11) });
}

#[test]
fn sbf_follows_its_rules() {
    for cell_bits in [None, Some(16), Some(32)] {
        filter_conforms(StoreSpec { cell_bits, ..StoreSpec::new(Backend::Sbf, 6) });
    }
}

#[test]
fn sbf_as_the_kbf_papers_have_it_follows_its_rules() {
    filter_conforms(StoreSpec { sbf: SbfRules::PaperKbf, ..StoreSpec::new(Backend::Sbf, 6) });
}

#[test]
fn sbf_without_counters_follows_its_rules() {
    filter_conforms(StoreSpec { sbf: SbfRules::NoCounters, ..StoreSpec::new(Backend::Sbf, 6) });
}

#[test]
fn bhbf_follows_its_rules() {
    filter_conforms(StoreSpec::new(Backend::Bhbf, 6));
    // More cells than one word has salts for.
    let long = StoreSpec { hashes: Some(20), flows: 100, ..StoreSpec::new(Backend::Bhbf, 16) };
    conforms(&long);
}

#[test]
fn dbf_follows_its_rules() {
    filter_conforms(StoreSpec::new(Backend::Dbf, 6));
    let bare = StoreSpec { dbf_counters: false, ..StoreSpec::new(Backend::Dbf, 6) };
    for expire in [Expire::Timer, Expire::Stamps] {
        sizes(&StoreSpec { expire, ..bare.clone() }).iter().for_each(conforms);
    }
}

/// From a line or two, which the flows overfill, to more than they need.
#[test]
fn fcf_follows_its_rules() {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None] {
        for (states, fp_rate, flows) in
            [(6, 2e-9, 30), (16, 2e-9, 300), (11, 0.001, 30), (6, 0.3, 3000), (1, 0.02, 300)]
        {
            let budget = Budget::FpRate(fp_rate);
            conforms(&StoreSpec { expire, flows, budget, ..StoreSpec::new(Backend::Fcf, states) });
        }
    }
}

#[test]
fn recycling_stores_follow_their_rules() {
    // From "every insertion fails" to "rarely full".
    let thresholds = [None, Some(RecycleAt::Fill(0.02)), Some(RecycleAt::Flows(80))];
    for (expire, retain) in
        [(Expire::Recycle, true), (Expire::Recycle, false), (Expire::TwoPhase, true)]
    {
        for recycle_at in thresholds {
            for backend in [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Dbf] {
                let layout = if retain { LayoutKind::Spread } else { LayoutKind::Blocked(2) };
                let spec =
                    StoreSpec { expire, retain, recycle_at, layout, ..StoreSpec::new(backend, 6) };
                sizes(&spec).iter().skip(1).take(1).for_each(conforms);
            }
        }
    }
    let bare = StoreSpec {
        dbf_counters: false,
        expire: Expire::TwoPhase,
        ..StoreSpec::new(Backend::Dbf, 6)
    };
    sizes(&bare).iter().take(1).for_each(conforms);
}

#[test]
fn exact_follows_its_rules() {
    let exact = |expire, budget| StoreSpec {
        expire,
        budget,
        flows: 1,
        ..StoreSpec::new(Backend::Exact, 6)
    };
    for expire in [Expire::Timer, Expire::None] {
        conforms(&exact(expire, Budget::FpRate(0.01)));
        for flows in [2, 5, 9] {
            conforms(&exact(expire, Budget::MemoryBytes(flows * 16 * 72)));
        }
    }
}
