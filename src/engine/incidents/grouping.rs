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
    let of_kind = |other: &&Open| {
        other.is_announced && other.is_by_victim() == by_victim && other.rule.name == this.rule.name
    };
    for group in Group::of_victim(address) {
        let most = match group {
            Group::Victim(_) => FEW,
            _ if by_victim => FEW,
            _ => MANY,
        };
        let members: Vec<u64> = open
            .iter()
            .filter(|(_, other)| of_kind(other) && other.is_within(group))
            .map(|(number, _)| *number)
            .collect();
        // A flood of a prefix has those of its hosts in it.
        if members.len() > most || group == this.group && members.len() > 1 {
            return Some((group, members));
        }
    }
    None
}
