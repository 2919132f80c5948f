//! Each kind of error: absent flows that are found or undecided, flows that are lost, undecided or wrong.

use acsm_filters::{
    Backend, Bhbf, BhbfRule, Budget, FlowId, HALVES, Kbf, KbfDecode, KbfRule, LayoutKind, Sbf,
    SbfRule, SbfRules, Sizing, StoreSpec,
};
use acsm_model::{FlowCells, StateMix, bhbf, bloom, sbf};

use super::{assert_errors, cells, errors_of, kbf_model};

#[test]
fn stores_err_as_their_models_say_by_kind() {
    let flows_in = 50_000;
    for mix in [StateMix::even(6), StateMix::new(&[80.0, 10.0, 4.0, 3.0, 2.0, 1.0])] {
        for (fp_rate, rho) in [(0.1, 1.0), (0.01, 1.0), (0.01, 1.5)] {
            let capacity = (flows_in as f64 / rho) as u64;
            let cells_at = |sizing: &Sizing| {
                let load = bloom::load(cells(sizing), sizing.hashes, flows_in as f64);
                FlowCells::at_load(sizing.hashes, load)
            };
            let spec = |backend: Backend| {
                let flows = capacity * FlowId::SHARDS as u64;
                let budget = Budget::FpRate(fp_rate);
                StoreSpec { flows, budget, ..StoreSpec::new(backend, 6) }.sizing().unwrap()
            };
            let sbf_sizing = spec(Backend::Sbf);
            let mut store = Sbf::<8, HALVES>::new(SbfRule::new(SbfRules::Stateful), &sbf_sizing);
            let measured = errors_of(store.as_mut().unwrap(), &mix, flows_in, 11);
            let name = format!("sbf at {rho} times its capacity for {fp_rate}");
            assert_errors(&name, &measured, &sbf::errors(&cells_at(&sbf_sizing), &mix), flows_in);

            for decode in [
                KbfDecode::AllPairs,
                KbfDecode::Literal,
                KbfDecode::ThreeWay,
                KbfDecode::Joint,
                KbfDecode::Salt,
            ] {
                let sizing = spec(Backend::Kbf);
                let mut store = Kbf::<8, HALVES>::new(KbfRule::new(6, decode), &sizing).unwrap();
                let measured = errors_of(&mut store, &mix, flows_in, 12);
                let name = format!("kbf, {decode:?}, {rho} times its capacity for {fp_rate}");
                let model = kbf_model(&cells_at(&sizing), &mix, decode, 5);
                assert_errors(&name, &measured, &model, flows_in);
            }
        }
    }
}

/// In cells of 16 bits joint decoding has codes that tell three flows.
#[test]
fn joint_decoding_in_wider_cells_errs_as_its_model_says() {
    let (flows_in, layout) = (50_000, LayoutKind::Spread);
    let mix = StateMix::new(&[80.0, 10.0, 3.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]);
    for (fp_rate, rho) in [(0.1, 1.5), (0.03, 2.5)] {
        for decode in [KbfDecode::Joint, KbfDecode::Salt] {
            let flows = (flows_in as f64 / rho) as u64 * FlowId::SHARDS as u64;
            let (budget, decode) = (Budget::FpRate(fp_rate), Some(decode));
            let of = StoreSpec::new(Backend::Kbf, mix.states());
            let spec = StoreSpec { flows, budget, layout, decode, ..of };
            let sizing = spec.sizing().unwrap();
            assert_eq!(sizing.cell_bits, 16);
            let rule = KbfRule::for_spec(&spec, 16);
            let mut store = Kbf::<16, HALVES>::new(rule, &sizing).unwrap();
            let measured = errors_of(&mut store, &mix, flows_in, 13);
            let load = bloom::load(cells(&sizing), sizing.hashes, flows_in as f64);
            let flow_cells = FlowCells::at_load(sizing.hashes, load);
            let model = kbf_model(&flow_cells, &mix, spec.kbf_decode(), 13);
            let name =
                format!("kbf, {decode:?}, 11 states, {rho} times its capacity for {fp_rate}");
            assert_errors(&name, &measured, &model, flows_in);
        }
    }
}

/// Where it errs often enough to see: with fewer cells than anyone would give it.
#[test]
fn bhbf_errs_as_its_model_says_by_kind() {
    let flows_in = 50_000;
    let masks = bhbf::Masks::new();
    let skewed = StateMix::new(&[80.0, 10.0, 4.0, 3.0, 2.0, 1.0]);
    for (mix, bytes_per_flow) in [
        (&skewed, 5),
        (&skewed, 7),
        (&skewed, 9),
        (&StateMix::even(6), 7),
        (&StateMix::even(16), 9),
    ] {
        let (states, flows) = (mix.states(), flows_in as u64 * FlowId::SHARDS as u64);
        let budget = Budget::MemoryBytes(bytes_per_flow * flows);
        let spec = StoreSpec { flows, budget, ..StoreSpec::new(Backend::Bhbf, states) };
        let sizing = spec.sizing().unwrap();
        let mut store = Bhbf::<HALVES>::new(BhbfRule::new(states), &sizing).unwrap();
        let measured = errors_of(&mut store, mix, flows_in, 13);
        let load = bloom::load(cells(&sizing), sizing.hashes, flows_in as f64);
        let model = masks.errors(&FlowCells::at_load(sizing.hashes, load), states);
        let name = format!("bhbf, {states} states, {bytes_per_flow} bytes, k {}", sizing.hashes);
        assert_errors(&name, &measured, &model, flows_in);
    }
}
