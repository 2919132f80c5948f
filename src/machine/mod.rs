//! What a packet means for its flow, and which rules it fires: pure tables without flow state.
//!
//! A rules file ([`Rules::load`]) becomes a [`Machine`], one table that is read once per packet
//! ([`Machine::step`]), and a [`RuleList`] with names and severities of the rules. Rules about many
//! packets are [`ThresholdRule`]s: plain data here, counted by the engine.
//!
//! ```
//! use acsm::flow::{Direction, TcpFlags};
//! use acsm::machine::{Next, Rules};
//! use acsm_filters::Lookup;
//!
//! let rules = Rules::load("tcp-flags")?;
//! let outcome = rules.machine.step(Lookup::Absent, Direction::Forward, TcpFlags::FIN, false);
//! let Next::Go(state) = outcome.next else { panic!("a first packet makes a flow") };
//! assert_eq!(rules.machine.state_name(state), "fin");
//! # Ok::<(), acsm::machine::RulesError>(())
//! ```

mod alert_settings;
mod confirmation;
mod home;
mod rule;
mod rules;
mod suppression;
mod table;

pub use alert_settings::{AlertSettings, Network, NetworkError};
pub use confirmation::{Confirmation, Evidence, EvidenceSet};
pub use home::HomeNets;
pub use rule::{
    Category, Conditions, Counted, Counterparts, DecidedRule, GENERATOR_ID, Level, PortRanges,
    Preset, Rule, RuleKind, RuleList, ThresholdKey, ThresholdRule, Verdict,
};
pub use rules::{Rules, RulesError, SHIPPED, Setting, Warning};
pub use suppression::{SuppressionError, Suppressions};
pub use table::{Input, Machine, Next, OddFlags, Outcome, Resumption, RuleId, RuleSet, StateInfo};
