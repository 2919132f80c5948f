//! What a packet means for its flow, and which rules it breaks: pure tables, no memory of flows.
//!
//! A rules file ([`Rules::load`]) becomes a [`Machine`], one table that is asked once per packet
//! ([`Machine::step`]), and a [`RuleBook`] that says what the fired rules are called. Rules about
//! many packets are [`ThresholdRule`]s: plain data here, counted by the engine.
//!
//! ```
//! use acsm::flow::{Direction, TcpFlags};
//! use acsm::machine::{Next, Rules};
//! use acsm_filters::Lookup;
//!
//! let rules = Rules::load("tcp-flags")?;
//! let outcome = rules.machine.step(Lookup::Absent, Direction::Forward, TcpFlags::FIN, false);
//! let Next::Go(state) = outcome.next else { panic!("a first packet makes a flow") };
//! assert_eq!(rules.machine.state(state).map(|state| state.name.as_str()), Some("fin"));
//! # Ok::<(), acsm::machine::RulesError>(())
//! ```

mod hygiene;
mod rule;
mod rule_set;
mod rules;
mod suppression;
mod table;
mod threshold;

pub use hygiene::{Hygiene, Network, NetworkError};
pub use rule::{Category, Counterparts, GENERATOR_ID, Preset, Rule, RuleBook, RuleKind};
pub use rule_set::RuleSet;
pub use rules::{Rules, RulesError, SHIPPED, Warning};
pub use suppression::{SuppressionError, Suppressions};
pub use table::{Input, Machine, Next, Outcome, StateInfo};
pub use threshold::{Counted, RuleId, ThresholdKey, ThresholdRule};
