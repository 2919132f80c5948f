//! The plan in words: why a store is recommended, and how to run it.

use super::Origin;
use crate::engine::plan::{Plan, PlanOption, Requirements, ResolvedRequirements, Target};
use crate::machine::Preset;
use crate::report::format::{bytes, grouped};
use acsm_filters::pending::PendingTable;
use acsm_filters::{Backend, LayoutKind, MEMORY_LIMIT_BYTES};
use acsm_model::bound::bits_per_flow;

/// Why this store is recommended, or which comes closest, in one sentence.
pub fn reason(plan: &Plan, requirements: &Requirements) -> String {
    let Some(best) = plan.recommended.and_then(|index| plan.options.get(index)) else {
        return "no store can be sized for this".to_owned();
    };
    let name = name(best);
    if !best.meets {
        return format!(
            "no store {}; nearest: {name}, {}",
            required(&plan.resolved),
            rate(plan.resolved.measure(&best.errors, requirements.traffic.absent))
        );
    }
    let why = match (plan.resolved.flows, plan.resolved.target) {
        (None, _) => format!("takes the most flows, {}", grouped(best.flows)),
        (_, None) => format!("errs least in this memory, {} of lookups", rate(best.total_rate)),
        _ => {
            format!("takes the least memory that will do, {:.1} bits per flow", best.bits_per_flow)
        }
    };
    let (accesses, first) = (best.memory_accesses, plan.options.first());
    let lines = match first {
        Some(first) if first.memory_accesses >= 2 * accesses && first.shape != best.shape => {
            format!(
                " or little more, for {accesses} cache lines per packet instead of {}",
                first.memory_accesses
            )
        }
        _ => format!(", and {accesses} cache lines per packet"),
    };
    let limit = match best.buildable {
        true => String::new(),
        false => format!("; more than a run can build ({})", bytes(MEMORY_LIMIT_BYTES)),
    };
    format!("{name} {why}{lines}{limit}")
}

/// Store, and layout if it is a special one, and expiry.
pub fn name(option: &PlanOption) -> String {
    let (store, expire) = (option.shape.backend.name(), option.shape.expire.name());
    match option.shape.layout {
        LayoutKind::Spread => format!("{store} ({expire})"),
        layout => format!("{store} {} ({expire})", layout.name()),
    }
}

/// "reaches 1e-9 in 1.0 MiB for 2,000,000 flows".
fn required(resolved: &ResolvedRequirements) -> String {
    let target = match resolved.target {
        Some(Target::FpRate(p)) => format!("keeps the false-positive rate at {}", rate(p)),
        Some(Target::Error(e)) => format!("reaches {}", rate(e)),
        None => "fits".to_owned(),
    };
    let memory =
        resolved.memory_bytes.map(|size| format!(" in {}", bytes(size))).unwrap_or_default();
    let flows = resolved.flows.map(|n| format!(" for {} flows", grouped(n))).unwrap_or_default();
    format!("{target}{memory}{flows}")
}

/// A rate in three characters or so: `0`, `3.1e-2`.
pub fn rate(rate: f64) -> String {
    if rate < 1e-99 { "0".to_owned() } else { format!("{rate:.1e}") }
}

/// The lower bound of information theory, in bits per flow, at the option's own rate of errors for
/// absent flows; `None` if that is 0.
pub fn bound(option: &PlanOption, requirements: &Requirements) -> Option<f64> {
    let error = option.errors.of_absent();
    (error > 0.0).then(|| bits_per_flow(error, &requirements.traffic.mix))
}

/// The arguments of `acsm replay` that make this store. There, the memory is also for the pending
/// table.
pub fn arguments(option: &PlanOption, origin: &Origin) -> String {
    let (shape, memory) = (option.shape, (option.footprint.bits / 8.0) as u64);
    let preset = match origin.preset {
        Preset::Operator => String::new(),
        preset => format!("--preset {} ", preset.name()),
    };
    let options = &origin.options;
    let mut arguments = format!("{preset}{options}--backend {}", shape.backend.name());
    if shape.has_cells() {
        arguments +=
            &format!(" --layout {} --hashes {}", shape.layout.name(), option.footprint.hashes);
    }
    if let (Backend::Kbf, Some(decode)) = (shape.backend, &origin.decode) {
        arguments += &format!(" --decode {decode}");
    }
    arguments += &format!(" --expire {} --flows {}", shape.expire.name(), option.flows);
    if !shape.backend.is_approximate() && option.errors.false_negative == 0.0 {
        return arguments;
    }
    if !origin.has_pending_table {
        return arguments + &format!(" --memory {memory}B");
    }
    let slots = PendingTable::default_slots(option.flows);
    let memory = memory.saturating_add(PendingTable::bits(slots) / 8);
    arguments + &format!(" --pending {slots} --memory {memory}B")
}
