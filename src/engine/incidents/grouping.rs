//! When several open incidents become one: of a victim that many attack, of a site or network of which many are victims.

use std::collections::BTreeMap;

use super::index::Group;
use super::open::Open;

/// More incidents than this on one victim are one; likewise on one site or network, of floods.
const FEW: usize = 5;
/// The same of a site or network, of incidents that have an attacker each: attackers who work side by side are told apart
/// as long as they can be, forged ones come in hundreds.
const MANY: usize = 64;

/// The smallest group that the incident `number` should be part of, with all of its members.
pub fn wider_group(open: &BTreeMap<u64, Open>, number: u64) -> Option<(Group, Vec<u64>)> {
    // Small scans from outside are told of together anyway.
    let this = open.get(&number).filter(|open| open.is_announced)?;
    let address = match this.group {
        Group::Attacker(_) => this.first_victim()?,
        group => group.network().0,
    };
    let by_victim = this.is_by_victim();
    let began = this.seen().0;
    let of_kind = |other: &&Open| {
        other.is_announced && other.is_by_victim() == by_victim && other.rule.name == this.rule.name
    };
    for group in Group::of_victim(address) {
        let most = match group {
            Group::Victim(_) => FEW,
            _ if by_victim => FEW,
            _ => MANY,
        };
        // Hosts that are flooded one after the other are not a flood of their prefix.
        let is_one_attack = |other: &Open| {
            let at_once = !by_victim || matches!(group, Group::Victim(_)) || other.is_live(began);
            at_once && other.is_within(group)
        };
        let of_group: Vec<(&u64, &Open)> =
            open.iter().filter(|(_, other)| of_kind(other)).collect();
        let count = of_group.iter().filter(|(_, other)| is_one_attack(other)).count();
        // A flood of a prefix has those of its hosts in it.
        if count > most || group == this.group && count > 1 {
            let is_member = |other: &Open| is_one_attack(other) || other.group == group;
            let members = of_group.into_iter().filter(|(_, other)| is_member(other));
            return Some((group, members.map(|(number, _)| *number).collect()));
        }
    }
    None
}
