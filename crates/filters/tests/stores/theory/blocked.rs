//! Cells in few lines per flow: `blocked:G`.

use acsm_filters::{
    Backend, Budget, Expire, FlowId, HALVES, Kbf, KbfDecode, KbfRule, LayoutKind, Sbf, SbfRule,
    SbfRules, Sizing, StoreSpec,
};
use acsm_model::kbf::Decoding;
use acsm_model::{FlowCells, StateMix, bloom, kbf, sbf};

use super::{assert_errors, cells, errors_of};

/// `blocked:G`: at equal cells and the k that sizing takes for it, stores err as the model says.
#[test]
fn blocked_stores_err_as_their_models_say() {
    let flows_in = 50_000;
    let mix = StateMix::new(&[80.0, 10.0, 4.0, 3.0, 2.0, 1.0]);
    for layout in [1, 2, 3].map(LayoutKind::Blocked) {
        let LayoutKind::Blocked(lines) = layout else { unreachable!() };
        for (cell_bits, fp_rate) in [(8, 0.1), (8, 0.01), (16, 0.01)] {
            let spec = |backend: Backend| {
                let (flows, budget) = ((flows_in * FlowId::SHARDS) as u64, Budget::FpRate(fp_rate));
                let cell_bits = Some(cell_bits);
                let spec =
                    StoreSpec { flows, budget, layout, cell_bits, ..StoreSpec::new(backend, 6) };
                spec.sizing().unwrap()
            };
            let flow_cells = |sizing: &Sizing| {
                let load = bloom::load(cells(sizing), sizing.hashes, flows_in as f64);
                FlowCells::blocked(sizing.hashes, load, lines, sizing.cells_per_line)
            };
            let (sizing, rule) = (spec(Backend::Kbf), KbfRule::new(6, KbfDecode::AllPairs));
            let measured = match cell_bits {
                8 => {
                    let mut store = Kbf::<8, HALVES>::new(rule, &sizing).unwrap();
                    errors_of(&mut store, &mix, flows_in, 21)
                }
                _ => {
                    let mut store = Kbf::<16, HALVES>::new(rule, &sizing).unwrap();
                    errors_of(&mut store, &mix, flows_in, 21)
                }
            };
            let model = kbf::errors(&flow_cells(&sizing), &mix, Decoding::AllPairs);
            let of = format!("{}, k = {}, {cell_bits} bits", layout.name(), sizing.hashes);
            assert_errors(&format!("kbf {of}"), &measured, &model, flows_in);

            if cell_bits == 8 {
                let sizing = spec(Backend::Sbf);
                let rule = SbfRule::new(SbfRules::Stateful);
                let mut store = Sbf::<8, HALVES>::new(rule, &sizing).unwrap();
                let measured = errors_of(&mut store, &mix, flows_in, 22);
                let model = sbf::errors(&flow_cells(&sizing), &mix);
                assert_errors(&format!("sbf {of}"), &measured, &model, flows_in);
            }
        }
    }
}

/// The number of cells per flow that sizing takes for a blocked layout is the model's best, and at
/// 16-bit cells and p ≥ 1e-3 two lines cost less than four times the error of spread cells.
#[test]
fn blocked_stores_have_the_best_number_of_hashes() {
    let of_lines = [
        (Expire::Timer, 8, 30),
        (Expire::Timer, 16, 15),
        (Expire::Stamps, 8, 48),
        (Expire::Stamps, 16, 26),
        (Expire::Stamps, 32, 14),
    ];
    for (expire, cell_bits, per_line) in of_lines {
        for fp_rate in [0.1, 0.01, 1e-3, 1e-4] {
            for lines in 1..=3 {
                let layout = LayoutKind::Blocked(lines);
                let budget = Budget::FpRate(fp_rate);
                let store = StoreSpec { layout, budget, expire, ..StoreSpec::new(Backend::Sbf, 6) };
                let spec = StoreSpec { cell_bits: Some(cell_bits), ..store };
                let sizing = spec.sizing().unwrap();
                assert_eq!(sizing.cells_per_line, per_line);
                let rate = |hashes: usize| {
                    let load = bloom::load(sizing.cells as f64, hashes, spec.flows as f64);
                    let cells = FlowCells::blocked(hashes, load, lines, per_line);
                    cells.all(|counts| counts.at_least(1))
                };
                let best = (1..=20).map(rate).fold(f64::MAX, f64::min);
                let taken = rate(sizing.hashes);
                let loss = taken / fp_rate;
                println!(
                    "{expire:?}, {cell_bits} bits, {fp_rate}: {}, k = {}, {taken:.2e}, {loss:.2} times",
                    layout.name(),
                    sizing.hashes
                );
                assert!(taken <= best * 1.0001, "k = {}, {taken:e} for {best:e}", sizing.hashes);
                assert!(loss < 4.0 || lines == 1 || fp_rate < 1e-3 || per_line < 20);
            }
        }
    }
}
