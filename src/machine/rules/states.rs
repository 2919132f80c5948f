//! The states of a machine and the words that stand for some of them.

use std::collections::BTreeMap;

use crate::flow::Direction;
use crate::machine::StateInfo;
use acsm_filters::State;

use super::RulesError;
use super::error::alternatives;
use super::place::Text;
use super::syntax::{self, Names};

/// Words that are no state's name.
const RESERVED: [&str; 4] = [ABSENT, "present", "any", NEXT];
const ABSENT: &str = "absent";
/// `go = "next"`: the state declared after the one a flow is in.
pub(super) const NEXT: &str = "next";

/// A set of places a flow can be in: one bit for each state, and one for "absent".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Places(u32);

impl Places {
    const ABSENT: Places = Places(1 << State::LIMIT);

    pub fn contains(self, place: Option<State>) -> bool {
        self.0 & Self::of(place).0 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Option<State>> {
        let states = (0..State::LIMIT).filter_map(State::new).map(Some);
        states.chain([None]).filter(move |&place| self.contains(place))
    }

    fn of(place: Option<State>) -> Places {
        match place {
            Some(state) => Places(1 << state.index()),
            None => Self::ABSENT,
        }
    }

    fn with(self, other: Places) -> Places {
        Places(self.0 | other.0)
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

    pub fn places(&self) -> Places {
        let both = [Direction::Forward, Direction::Backward].map(|end| self.state(end));
        both.into_iter()
            .flatten()
            .fold(Places::default(), |all, one| all.with(Places::of(Some(one))))
    }
}

/// All states of a file, and its groups.
#[derive(Debug)]
pub(super) struct States {
    pub declared: Vec<Declared>,
    pub infos: Vec<StateInfo>,
    groups: BTreeMap<String, Places>,
}

impl States {
    pub fn read(text: &Text, file: &syntax::File) -> Result<States, RulesError> {
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
            let places = states.places(text, members)?;
            states.groups.insert(name.clone(), places);
        }
        Ok(states)
    }

    fn declare(
        &mut self,
        text: &Text,
        table: &toml::Spanned<syntax::StateTable>,
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

    /// The declared state that a state belongs to, and its place in the list.
    pub fn declared(&self, state: State) -> Option<(usize, &Declared)> {
        let mut states = self.declared.iter().enumerate();
        states.rfind(|(_, declared)| declared.first <= state.index())
    }

    /// The states that a list of names stands for.
    pub fn places(&self, text: &Text, names: &Names) -> Result<Places, RulesError> {
        let present = || self.declared.iter().map(Declared::places).fold(Places(0), Places::with);
        names.iter().try_fold(Places::default(), |all, name| {
            let places = match name.get_ref().as_str() {
                ABSENT => Some(Places::ABSENT),
                "present" => Some(present()),
                "any" => Some(present().with(Places::ABSENT)),
                other => {
                    let group = self.groups.get(other).copied();
                    group.or_else(|| self.find(other).map(Declared::places))
                }
            };
            match places {
                Some(places) => Ok(all.with(places)),
                None => Err(text.wrong_at(name, self.unknown(name.get_ref(), &RESERVED[..3]))),
            }
        })
    }

    /// That there is no such state, and which there are.
    pub fn unknown(&self, name: &str, words: &[&str]) -> String {
        let groups = self.groups.keys().map(String::as_str);
        let states = self.declared.iter().map(|state| state.name.as_str());
        // a target is one state: groups are no help there
        let groups = groups.filter(|_| words.contains(&ABSENT));
        let known = alternatives(states.chain(groups).chain(words.iter().copied()));
        format!("unknown state `{name}`, expected {known}")
    }
}
