//! The states of a machine, and the names that stand for sets of them.

use std::collections::BTreeMap;

use super::error::{RulesError, SourceText, alternatives};
use super::source::{File, Names, StateTable};
use crate::flow::Direction;
use crate::machine::table::StateInfo;
use acsm_filters::State;

/// Words that cannot name a state.
const RESERVED: [&str; 4] = [ABSENT, "present", "any", NEXT];
const ABSENT: &str = "absent";
/// `go = "next"`: the state declared after the current one of a flow.
pub(super) const NEXT: &str = "next";

/// A set of positions: one bit for each state, and one for "absent".
///
/// A position is what a flow can be in: `Some` state, or `None` if it is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Positions(u32);

impl Positions {
    const ABSENT: Positions = Positions(1 << State::LIMIT);

    pub fn contains(self, position: Option<State>) -> bool {
        self.0 & Self::of(position).0 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Option<State>> {
        let states = (0..State::LIMIT).filter_map(State::new).map(Some);
        states.chain([None]).filter(move |&position| self.contains(position))
    }

    fn of(position: Option<State>) -> Positions {
        match position {
            Some(state) => Positions(1 << state.index()),
            None => Self::ABSENT,
        }
    }

    fn with(self, other: Positions) -> Positions {
        Positions(self.0 | other.0)
    }
}

/// A `[[state]]`: one state, or two that differ in the end they remember.
#[derive(Debug)]
pub(super) struct Declared {
    pub name: String,
    /// What the file calls the end it remembers.
    pub end: Option<String>,
    /// Its states: the one, or those of the sender of forward and of backward packets.
    first: usize,
    pub span: std::ops::Range<usize>,
}

impl Declared {
    /// Its state that remembers this end; of a state that remembers none, the only one.
    pub fn state(&self, end: Direction) -> Option<State> {
        let second = self.end.is_some() && end == Direction::Backward;
        State::new(self.first + usize::from(second))
    }

    pub fn positions(&self) -> Positions {
        let both = [Direction::Forward, Direction::Backward].map(|end| self.state(end));
        both.into_iter()
            .flatten()
            .fold(Positions::default(), |all, one| all.with(Positions::of(Some(one))))
    }
}

/// All states of a file, and its groups.
#[derive(Debug)]
pub(super) struct States {
    pub declared: Vec<Declared>,
    pub infos: Vec<StateInfo>,
    groups: BTreeMap<String, Positions>,
}

impl States {
    pub fn read(text: &SourceText, file: &File) -> Result<States, RulesError> {
        let mut states =
            States { declared: Vec::new(), infos: Vec::new(), groups: BTreeMap::new() };
        for table in &file.state {
            states.declare(text, table)?;
        }
        if states.declared.is_empty() {
            return Err(text.wrong_whole("no states; a machine has at least one `[[state]]`"));
        }
        for (name, members) in &file.groups {
            if let (Some(member), true) = (members.first(), states.is_taken(name)) {
                let what = format!("group `{name}` has the name of a state or a reserved word");
                return Err(text.wrong_at(member, what));
            }
            let positions = states.positions(text, members)?;
            states.groups.insert(name.clone(), positions);
        }
        Ok(states)
    }

    fn declare(
        &mut self,
        text: &SourceText,
        table: &toml::Spanned<StateTable>,
    ) -> Result<(), RulesError> {
        let span = table.span();
        let table = table.get_ref();
        let name = table.name.get_ref();
        if name.is_empty() || self.is_taken(name) {
            let what = format!("state `{name}` has the name of another state or a reserved word");
            return Err(text.wrong_at(&table.name, what));
        }
        let ends: &[Option<Direction>] = match table.end {
            Some(_) => &[Some(Direction::Forward), Some(Direction::Backward)],
            None => &[None],
        };
        let first = self.infos.len();
        if first + ends.len() > State::LIMIT {
            let what = format!(
                "state `{name}` is one too many: a machine has at most {} states, and one with an `end` counts twice",
                State::LIMIT
            );
            return Err(text.wrong_at(&table.name, what));
        }
        self.infos.extend(ends.iter().map(|&end| StateInfo {
            name: name.clone(),
            doc: table.doc.clone(),
            half_open: table.half_open,
            lingering: table.lingering,
            one_way: table.one_way,
            end,
        }));
        let end = table.end.as_ref().map(|end| end.get_ref().clone());
        self.declared.push(Declared { name: name.clone(), end, first, span });
        Ok(())
    }

    fn is_taken(&self, name: &str) -> bool {
        RESERVED.contains(&name) || self.find(name).is_some() || self.groups.contains_key(name)
    }

    pub fn find(&self, name: &str) -> Option<&Declared> {
        self.declared.iter().find(|state| state.name == name)
    }

    /// The declared state that a state belongs to, and its index in the list.
    pub fn declared(&self, state: State) -> Option<(usize, &Declared)> {
        let mut states = self.declared.iter().enumerate();
        states.rfind(|(_, declared)| declared.first <= state.index())
    }

    /// The positions that a list of names stands for.
    pub fn positions(&self, text: &SourceText, names: &Names) -> Result<Positions, RulesError> {
        let present =
            || self.declared.iter().map(Declared::positions).fold(Positions(0), Positions::with);
        names.iter().try_fold(Positions::default(), |all, name| {
            let positions = match name.get_ref().as_str() {
                ABSENT => Some(Positions::ABSENT),
                "present" => Some(present()),
                "any" => Some(present().with(Positions::ABSENT)),
                other => {
                    let group = self.groups.get(other).copied();
                    group.or_else(|| self.find(other).map(Declared::positions))
                }
            };
            match positions {
                Some(positions) => Ok(all.with(positions)),
                None => Err(text.wrong_at(name, self.unknown(name.get_ref(), &RESERVED[..3]))),
            }
        })
    }

    /// The message that there is no such state, and which there are.
    pub fn unknown(&self, name: &str, words: &[&str]) -> String {
        let groups = self.groups.keys().map(String::as_str);
        let states = self.declared.iter().map(|state| state.name.as_str());
        // a target is one state: groups are no help there
        let groups = groups.filter(|_| words.contains(&ABSENT));
        let known = alternatives(states.chain(groups).chain(words.iter().copied()));
        format!("unknown state `{name}`, expected {known}")
    }
}
