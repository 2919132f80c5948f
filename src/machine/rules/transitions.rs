//! `[[transition]]` rows: read in order, the first that matches decides.

use std::ops::Range;

use toml::Spanned;

use super::error::{RulesError, SourceText, alternatives};
use super::source::{Names, OtherwiseTable, ResumeTable, TransitionTable};
use super::states::{Declared, NEXT, Positions, States};
use super::values::{FlagCondition, flags};
use crate::flow::Direction;
use crate::machine::rule::{RuleKind, RuleList};
use crate::machine::table::{Input, Next, Resumption};
use crate::machine::table::{RuleId, RuleSet};
use acsm_filters::State;

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    pub positions: Positions,
    pub from: Option<Sender>,
    pub flags: FlagCondition,
    action: Action,
    pub alerts: RuleSet,
    pub span: Range<usize>,
}

/// Which end must have sent a packet, relative to the end that the state remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    End,
    Other,
}

#[derive(Debug)]
enum Action {
    Keep,
    Delete,
    /// By index in the list of declared states.
    Go(usize, TargetEnd),
    GoNext(TargetEnd),
}

/// Which end the new state remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetEnd {
    Kept,
    Sender,
    Receiver,
}

impl Row {
    pub fn matches(
        &self,
        states: &States,
        position: Option<State>,
        way: Direction,
        input: Input,
    ) -> bool {
        let sent_by_end = || end_of(states, position) == Some(way);
        self.positions.contains(position)
            && self.flags.matches(input)
            && match self.from {
                None => true,
                Some(Sender::End) => sent_by_end(),
                Some(Sender::Other) => !sent_by_end(),
            }
    }

    pub fn next(&self, states: &States, position: Option<State>, way: Direction) -> Next {
        let (target, target_end) = match self.action {
            Action::Keep => return Next::Keep,
            Action::Delete => return Next::Delete,
            Action::Go(target, end) => (target, end),
            Action::GoNext(end) => (after(states, position), end),
        };
        let end = match target_end {
            TargetEnd::Sender => way,
            TargetEnd::Receiver => opposite(way),
            TargetEnd::Kept => end_of(states, position).unwrap_or(way),
        };
        let state = states.declared.get(target).and_then(|declared| declared.state(end));
        state.map_or(Next::Keep, Next::Go)
    }
}

fn end_of(states: &States, position: Option<State>) -> Option<Direction> {
    states.infos.get(position?.index())?.end
}

/// The state declared after the one at `position`; the last one stays.
fn after(states: &States, position: Option<State>) -> usize {
    let next = position.and_then(|state| states.declared(state)).map_or(0, |(at, _)| at + 1);
    next.min(states.declared.len().saturating_sub(1))
}

const fn opposite(way: Direction) -> Direction {
    match way {
        Direction::Forward => Direction::Backward,
        Direction::Backward => Direction::Forward,
    }
}

/// Reads one row.
pub(super) fn read_row(
    text: &SourceText,
    states: &States,
    list: &RuleList,
    table: &Spanned<TransitionTable>,
) -> Result<Row, RulesError> {
    let span = table.span();
    let table = table.get_ref();
    let positions = states.positions(text, &table.r#in)?;
    if positions == Positions::default() {
        return Err(text.wrong(span, "`in` names no state, so the row never matches"));
    }
    Ok(Row {
        positions,
        from: table.from.as_ref().map(|from| sender(text, states, positions, from)).transpose()?,
        flags: flags(text, [&table.set, &table.clear, &table.exact])?,
        action: action(text, states, positions, table)?,
        alerts: table
            .alert
            .as_ref()
            .map_or(Ok(RuleSet::EMPTY), |names| rules(text, list, names))?,
        span,
    })
}

/// `from`: the word that the states use for the end they remember, or `other`.
fn sender(
    text: &SourceText,
    states: &States,
    positions: Positions,
    from: &Spanned<String>,
) -> Result<Sender, RulesError> {
    let word = from.get_ref();
    for position in positions.iter() {
        let declared =
            position.and_then(|state| states.declared(state)).map(|(_, declared)| declared);
        let Some((name, end)) = declared.and_then(|d| Some((&d.name, d.end.as_ref()?))) else {
            let state = declared.map_or("absent", |declared| &declared.name);
            let what = format!("`from` needs states with an `end`, and `{state}` has none");
            return Err(text.wrong_at(from, what));
        };
        if word != "other" && word != end {
            let what = format!(
                "`{word}` is no end of state `{name}`, expected {}",
                alternatives([end.as_str(), "other"])
            );
            return Err(text.wrong_at(from, what));
        }
    }
    Ok(if word == "other" { Sender::Other } else { Sender::End })
}

fn action(
    text: &SourceText,
    states: &States,
    positions: Positions,
    table: &TransitionTable,
) -> Result<Action, RulesError> {
    let target = match (&table.go, table.delete) {
        (None, delete) => {
            if let Some(end) = &table.end {
                return Err(
                    text.wrong_at(end, "`end` says which end `go` remembers; there is none")
                );
            }
            return Ok(if delete { Action::Delete } else { Action::Keep });
        }
        (Some(go), true) => return Err(text.wrong_at(go, "a row can `go` or `delete`, not both")),
        (Some(go), false) => go,
    };
    let end = match table.end.as_ref().map(|end| (end, end.get_ref().as_str())) {
        None => TargetEnd::Kept,
        Some((_, "sender")) => TargetEnd::Sender,
        Some((_, "receiver")) => TargetEnd::Receiver,
        Some((end, other)) => {
            let what = format!("unknown end `{other}`, expected `sender` or `receiver`");
            return Err(text.wrong_at(end, what));
        }
    };
    let go_next = target.get_ref() == NEXT;
    let found = states.declared.iter().position(|state| &state.name == target.get_ref());
    if found.is_none() && !go_next {
        return Err(text.wrong_at(target, states.unknown(target.get_ref(), &[NEXT])));
    }
    for position in positions.iter() {
        let to = states.declared.get(found.unwrap_or_else(|| after(states, position)));
        if let Some(what) = to.and_then(|to| end_mismatch(states, position, to, end)) {
            return Err(text.wrong_at(table.end.as_ref().unwrap_or(target), what));
        }
    }
    Ok(match found {
        Some(target) => Action::Go(target, end),
        None => Action::GoNext(end),
    })
}

/// Why a state cannot remember the end that `end` names, if so.
fn end_mismatch(
    states: &States,
    position: Option<State>,
    to: &Declared,
    end: TargetEnd,
) -> Option<String> {
    match (&to.end, end) {
        (Some(_), TargetEnd::Kept) if end_of(states, position).is_none() => Some(format!(
            "state `{}` remembers an end: say `end = \"sender\"` or `end = \"receiver\"`",
            to.name
        )),
        (None, TargetEnd::Sender | TargetEnd::Receiver) => {
            Some(format!("state `{}` remembers no end, so leave `end` out", to.name))
        }
        _ => None,
    }
}

/// `[otherwise]`: the rules that a packet fires if no row matches.
pub(super) fn otherwise(
    text: &SourceText,
    list: &RuleList,
    table: &Option<Spanned<OtherwiseTable>>,
) -> Result<RuleSet, RulesError> {
    match table {
        Some(table) => rules(text, list, &table.get_ref().alert),
        None => Ok(RuleSet::EMPTY),
    }
}

/// `[resume]`: what a flow was in all the time if both ends go on after its end.
pub(super) fn resumption(
    text: &SourceText,
    states: &States,
    list: &RuleList,
    table: &Option<Spanned<ResumeTable>>,
) -> Result<Option<Resumption>, RulesError> {
    let Some(table) = table else { return Ok(None) };
    let ResumeTable { r#in, go, alert } = table.get_ref();
    let to = match states.find(go.get_ref()) {
        Some(to) if to.end.is_none() => to.state(Direction::Forward),
        Some(to) => {
            let what = format!("state `{}` remembers an end, and both ends go on", to.name);
            return Err(text.wrong_at(go, what));
        }
        None => return Err(text.wrong_at(go, states.unknown(go.get_ref(), &[]))),
    };
    let positions = states.positions(text, r#in)?;
    let is_in = |index: usize| {
        let info = states.infos.get(index);
        let is_over = info.is_some_and(|state| state.lingering);
        is_over && State::new(index).is_some_and(|state| positions.contains(Some(state)))
    };
    let in_states = std::array::from_fn(is_in);
    let named = positions.iter().count();
    if named == 0 || in_states.iter().filter(|is_in| **is_in).count() < named {
        let what = "only a flow in a `lingering` state can be resumed";
        return Err(text.wrong(table.span(), what.to_owned()));
    }
    let alerts = match alert {
        Some(names) => rules(text, list, names)?,
        None => RuleSet::EMPTY,
    };
    Ok(to.map(|state| Resumption { states: in_states, state, alerts }))
}

fn rules(text: &SourceText, list: &RuleList, names: &Names) -> Result<RuleSet, RulesError> {
    names.iter().map(|name| rule(text, list, name)).collect()
}

fn rule(text: &SourceText, list: &RuleList, name: &Spanned<String>) -> Result<RuleId, RulesError> {
    match list.find(name.get_ref()) {
        Some(rule) if rule.kind == RuleKind::Threshold => {
            let what = format!("rule `{}` counts packets: no single one can raise it", rule.name);
            Err(text.wrong_at(name, what))
        }
        Some(rule) => Ok(rule.id),
        None => {
            let known = alternatives(list.iter().map(|rule| rule.name.as_str()));
            Err(text.wrong_at(name, format!("unknown rule `{}`, expected {known}", name.get_ref())))
        }
    }
}
