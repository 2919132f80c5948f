//! The rules in force, shared by all threads of a run, and what replaces them.

use std::sync::Arc;

use crate::machine::{HomeNets, Preset, RuleSet, Rules, StateInfo, Suppressions};

/// The rules in force, and what is shown of them. A run may be given others on the way, with a
/// machine of the same states, for states are what stores hold.
#[derive(Debug, Clone)]
pub struct ActiveRules {
    /// The rules.
    pub rules: Arc<Rules>,
    /// The rules whose alerts are shown; the others are only counted.
    pub shown: RuleSet,
    /// What the user does not want to see, if there is such a list.
    pub suppressions: Option<Arc<Suppressions>>,
    /// The networks that are the user's own: what is inside and what outside.
    pub home: HomeNets,
}

impl ActiveRules {
    /// These rules with what the preset shows; nothing is suppressed.
    pub fn new(rules: Rules, preset: Preset) -> ActiveRules {
        let shown = rules.list.on_in(preset);
        ActiveRules { rules: Arc::new(rules), shown, suppressions: None, home: HomeNets::default() }
    }

    /// Whether a run under `old` rules can go on under these; if not, why.
    pub fn can_replace(&self, old: &Rules) -> Result<(), String> {
        let names = |rules: &Rules| -> Vec<String> {
            rules.machine.states().iter().map(described).collect()
        };
        let (old_states, new_states) = (names(old), names(&self.rules));
        if old_states == new_states {
            return Ok(());
        }
        Err(format!(
            "the states of the machine would change from {} to {}, and the store holds states by \
             number: start acsm anew",
            old_states.join(", "),
            new_states.join(", ")
        ))
    }

    /// Whether any rule that is shown counts packets, or is decided by those that follow.
    pub fn has_thresholds(&self) -> bool {
        let thresholds = self.rules.thresholds.iter().map(|threshold| threshold.rule);
        let decided = self.rules.decided.iter().map(|decided| decided.rule);
        thresholds.chain(decided).any(|rule| self.shown.contains(rule))
    }

    /// Those of the rules that are shown whose alerts the shards raise, with each packet. The others are
    /// decided by what follows.
    pub fn shown_by_shards(&self) -> RuleSet {
        let decided = self.rules.decided.iter().map(|decided| decided.rule).collect();
        self.shown.without(decided)
    }
}

/// What stores and their aging depend on.
fn described(state: &StateInfo) -> String {
    let end = state.end.map_or(String::new(), |end| format!(" ({end:?})"));
    let half_open = if state.half_open { " (half-open)" } else { "" };
    let over = if state.lingering { " (over)" } else { "" };
    format!("{}{end}{half_open}{over}", state.name)
}

/// Counts by rule, carried over to other rules by the rules' names. The count of a rule that is
/// gone is dropped.
pub(super) fn carried_over(
    counts: &[u64; RuleSet::LIMIT],
    old: &Rules,
    new: &Rules,
) -> [u64; RuleSet::LIMIT] {
    let mut carried = [0; RuleSet::LIMIT];
    for rule in old.list.iter() {
        let same = new.list.iter().find(|other| other.name == rule.name);
        let count = counts.get(usize::from(rule.id.0));
        if let (Some(same), Some(count)) = (same, count)
            && let Some(carried) = carried.get_mut(usize::from(same.id.0))
        {
            *carried = *count;
        }
    }
    carried
}
