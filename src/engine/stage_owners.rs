//! Which thread owns which stage, from how long each stage took.
//!
//! Results do not depend on it, only speed does: so owners are chosen from measured times, and no
//! figure of a machine is built in.

/// Other owners of the stages, if they shorten the longest load of a thread by more than a
/// sixteenth: a stage that changes its thread leaves its memory in another core's cache.
///
/// `owners` names each stage's thread, `nanos` how long each stage took, `besides` what each thread
/// has to do beside its stages.
pub fn better_owners(owners: &[usize], nanos: &[u64], besides: &[u64]) -> Option<Vec<usize>> {
    let mut loads = besides.to_vec();
    for (&owner, &nanos) in owners.iter().zip(nanos) {
        loads[owner] += nanos;
    }
    let longest = loads.iter().copied().max()?;
    let mut better = owners.to_vec();
    // Each move shortens the longer of two loads, so one move per stage is plenty.
    for _ in 0..owners.len() {
        let busiest = (0..loads.len()).max_by_key(|&thread| loads[thread])?;
        let idlest = (0..loads.len()).min_by_key(|&thread| loads[thread])?;
        let difference = loads[busiest] - loads[idlest];
        // The stage that brings the two loads closest together.
        let gain = |&stage: &usize| nanos[stage].min(difference.saturating_sub(nanos[stage]));
        let owned = (0..better.len()).filter(|&stage| better[stage] == busiest);
        let Some(stage) = owned.max_by_key(gain).filter(|stage| gain(stage) > 0) else { break };
        better[stage] = idlest;
        loads[busiest] -= nanos[stage];
        loads[idlest] += nanos[stage];
    }
    let shortened = longest - loads.iter().copied().max()?;
    (shortened > longest / 16).then_some(better)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 16 equal shards each thread gets beside the thresholds, which are stage 0.
    fn shares(threads: usize, reading: u64, thresholds: u64, shard: u64) -> Vec<usize> {
        let owners: Vec<usize> = (0..17).map(|stage| (stage + 1) % threads).collect();
        let mut nanos = [shard; 17];
        nanos[0] = thresholds;
        let mut besides = vec![0; threads];
        besides[0] = reading;
        let owners = better_owners(&owners, &nanos, &besides).unwrap_or(owners);
        let owned_by = |thread: usize| owners[1..].iter().filter(|&&owner| owner == thread).count();
        (0..threads).map(owned_by).collect()
    }

    #[test]
    fn the_thread_that_reads_takes_what_it_has_time_for() {
        assert_eq!(shares(1, 370, 180, 28), [16]);
        assert_eq!(shares(2, 370, 180, 28)[0], 5, "370 + 5 * 28 = 510 of 998");
        assert_eq!(shares(3, 370, 180, 28)[0], 0, "reading is more than a third");
        assert_eq!(shares(2, 0, 0, 28), [8, 8]);
        assert_eq!(shares(16, 0, 28, 28).iter().max(), Some(&1));
    }

    #[test]
    fn small_differences_move_nothing() {
        assert_eq!(better_owners(&[0, 0, 1, 1], &[105, 100, 100, 99], &[0, 0]), None);
        assert_eq!(better_owners(&[0, 0, 1, 1], &[0; 4], &[0, 0]), None, "nothing measured");
        assert_eq!(better_owners(&[], &[], &[7, 0]), None);
    }

    #[test]
    fn what_takes_longest_is_left_alone() {
        let owners = better_owners(&[0; 4], &[1000, 100, 100, 100], &[0, 0]).unwrap();
        let beside_the_long_one = owners[1..].iter().filter(|&&owner| owner == owners[0]).count();
        assert_eq!(beside_the_long_one, 0, "{owners:?}");
    }
}
