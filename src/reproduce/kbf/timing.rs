//! Figure 15: time to insert, query and delete pairs: the kBF, a Memcached and stores in process.

use std::collections::HashMap;
use std::io::ErrorKind;

use acsm_filters::StaticMap;
use acsm_filters::kv::{
    CodeChoice, Decoding, FcfMap, KbfParameters, KvSpec, KvStore, Maplet, Write,
};

use super::filter::{STATIC_MAP, Sizing, VALUES};
use super::memcached::Memcached;
use super::sizes::Sizes;
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Verdict};

/// p of the filters.
const RATE: f64 = 1e-3;
/// Keys of one request.
const MULTI_GET: usize = 100;
/// The paper's kBF is almost ten times faster: taken for shown within a factor of two.
const FACTORS: std::ops::Range<f64> = 5.0..20.0;
/// "Almost linearly": the part of the variance that a line explains.
const LINEAR: f64 = 0.98;

/// Nanoseconds for all pairs.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    insert: f64,
    query: f64,
    delete: f64,
}

/// Pairs, as all structures get them.
struct Workload {
    keys: Vec<Vec<u8>>,
    value_of: Vec<u32>,
    values: Vec<Vec<u8>>,
}

impl Workload {
    fn new(context: &Context<'_>, pairs: u64) -> Workload {
        let sizes = Sizes::new(context);
        Workload {
            keys: (0..pairs).map(|n| sizes.key(n)).collect(),
            value_of: (0..pairs).map(|n| sizes.value_of(n)).collect(),
            values: (0..VALUES).map(|value| sizes.value(value)).collect(),
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let value = |value: &u32| self.values[*value as usize].as_slice();
        self.keys.iter().map(Vec::as_slice).zip(self.value_of.iter().map(value))
    }
}

/// Figure 15.
pub fn beside_memcached(context: &Context<'_>) -> Result<Outcome, Failure> {
    let counts: &[u64] = context.pick(
        &[2000, 4000, 8000],
        &[50_000, 100_000, 200_000, 400_000],
        &[250_000, 500_000, 1_000_000, 2_000_000],
    );
    let axes = || (Axis::linear("pairs"), Axis::log("seconds"));
    let mut panels = ["Insert", "Query", "Delete"].map(|title| {
        let (x, y) = axes();
        Panel::new(title, x, y)
    });
    let mut last = vec![];
    for (at, &pairs) in counts.iter().enumerate() {
        context.done(at as f64 / counts.len() as f64)?;
        let workload = Workload::new(context, pairs);
        last = measure(context, &workload)?;
        for (name, times) in &last {
            let all = [times.insert, times.query, times.delete];
            for (panel, nanos) in panels.iter_mut().zip(all) {
                if nanos > 0.0 {
                    panel.measured(*name, pairs as f64, nanos / 1e9, 1);
                }
            }
        }
    }
    let pairs = counts.last().copied().unwrap_or(1) as f64;
    let verdict = verdict(&panels, &last, pairs);
    let notes = notes(&last, pairs);
    Ok(Outcome { panels: panels.into(), notes, verdict })
}

const KBF: &str = "kBF as in the paper";
const ONE_BY_ONE: &str = "Memcached, one by one";
const NOTHING: &str = "Memcached, requests that do nothing";

fn measure(
    context: &Context<'_>,
    workload: &Workload,
) -> Result<Vec<(&'static str, Times)>, Failure> {
    let pairs = workload.keys.len() as u64;
    let key = context.hash_key(0);
    let joint = KvSpec { rate: RATE, hash_key: key, ..KvSpec::new(pairs, VALUES as usize) };
    let paper =
        KvSpec { decoding: Decoding::Option2, codes: CodeChoice::Greedy, salted: false, ..joint };
    let sizing = Sizing { pairs, rate: RATE, part_of_m: 1.0 };
    let cells = KbfParameters::with_cells(&paper, sizing.cells().ceil() as u64, sizing.hashes())?;
    let mut found = vec![
        (KBF, of_store(context, KvStore::with_parameters(cells)?, workload)?),
        ("kBF, all cells jointly, salt", of_store(context, KvStore::new(&joint)?, workload)?),
        ("cuckoo maplet (fcf)", of_store::<FcfMap>(context, KvStore::new_fcf(&joint)?, workload)?),
        ("static maplet (binary fuse)", of_static_map(context, workload)?),
        ("HashMap", of_hash_map(context, workload)?),
    ];
    let bytes: usize = workload.pairs().map(|(key, value)| key.len() + value.len() + 100).sum();
    match Memcached::start(64 + 2 * (bytes as u64 >> 20)) {
        Ok(mut server) => found.extend(of_memcached(context, &mut server, workload)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    Ok(found)
}

/// The time of some work, in nanoseconds.
fn timed(
    context: &Context<'_>,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<f64, Failure> {
    context.check()?;
    let start = (context.stopwatch)();
    work()?;
    Ok((context.stopwatch)().saturating_sub(start) as f64)
}

fn of_store<M: Maplet>(
    context: &Context<'_>,
    mut store: KvStore<M>,
    workload: &Workload,
) -> Result<Times, Failure> {
    let insert = timed(context, || {
        workload.pairs().try_for_each(|(key, value)| Ok(store.insert(key, value)?))
    })?;
    let mut found = 0;
    let query = timed(context, || {
        for key in &workload.keys {
            found += u64::from(store.query(key).found().is_some());
        }
        Ok(())
    })?;
    if found * 100 < workload.keys.len() as u64 * 99 {
        return Err(Failure::Other(format!("a store found {found} of its keys only")));
    }
    let delete = timed(context, || {
        for key in &workload.keys {
            let _: Write = store.delete(key)?;
        }
        Ok(())
    })?;
    Ok(Times { insert, query, delete })
}

/// Keys, and numbers of values: as little work as a table in process can have.
fn of_hash_map(context: &Context<'_>, workload: &Workload) -> Result<Times, Failure> {
    let mut map: HashMap<Box<[u8]>, u32> = HashMap::new();
    let insert = timed(context, || {
        for (key, value) in workload.keys.iter().zip(&workload.value_of) {
            map.insert(key.as_slice().into(), *value);
        }
        Ok(())
    })?;
    let mut found = 0;
    let query = timed(context, || {
        for key in &workload.keys {
            let value = map.get(key.as_slice()).and_then(|at| workload.values.get(*at as usize));
            found += u64::from(value.is_some());
        }
        Ok(())
    })?;
    if found != workload.keys.len() as u64 {
        return Err(Failure::Other("a key of the HashMap is gone".to_owned()));
    }
    let delete = timed(context, || {
        for key in &workload.keys {
            map.remove(key.as_slice());
        }
        Ok(())
    })?;
    Ok(Times { insert, query, delete })
}

/// A map that is made of all pairs at once, and never changes.
fn of_static_map(context: &Context<'_>, workload: &Workload) -> Result<Times, Failure> {
    let hash_key = context.hash_key(0);
    let digest = |key: &[u8]| hash_key.digest_bytes(key) as u64;
    let mut map = None;
    let insert = timed(context, || {
        let keys = workload.keys.iter().map(|key| digest(key));
        let pairs: Vec<(u64, u32)> = keys.zip(workload.value_of.iter().copied()).collect();
        map = StaticMap::new(&pairs, STATIC_MAP)?;
        Ok(())
    })?;
    let Some(map) = map else {
        return Err(Failure::Other("the static map has two keys of one digest".to_owned()));
    };
    let mut found = 0;
    let query = timed(context, || {
        for key in &workload.keys {
            let value = map.get(digest(key)).and_then(|at| workload.values.get(at as usize));
            found += u64::from(value.is_some());
        }
        Ok(())
    })?;
    if found != workload.keys.len() as u64 {
        return Err(Failure::Other("a key of the static map is gone".to_owned()));
    }
    Ok(Times { insert, query, delete: 0.0 })
}

fn of_memcached(
    context: &Context<'_>,
    server: &mut Memcached,
    workload: &Workload,
) -> Result<Vec<(&'static str, Times)>, Failure> {
    let insert = timed(context, || {
        workload.pairs().try_for_each(|(key, value)| Ok(server.set_one(key, value)?))
    })?;
    let query = timed(context, || {
        for key in &workload.keys {
            server.get(std::slice::from_ref(key))?;
        }
        Ok(())
    })?;
    let many = timed(context, || {
        for keys in workload.keys.chunks(MULTI_GET) {
            server.get(keys)?;
        }
        Ok(())
    })?;
    let nothing = timed(context, || {
        for _ in &workload.keys {
            server.round_trip()?;
        }
        Ok(())
    })?;
    let delete = timed(context, || {
        for key in &workload.keys {
            server.delete(key)?;
        }
        Ok(())
    })?;
    Ok(vec![
        (ONE_BY_ONE, Times { insert, query, delete }),
        ("Memcached, 100 keys per request", Times { query: many, ..Times::default() }),
        (NOTHING, Times { insert: nothing, query: nothing, delete: nothing }),
    ])
}

fn of<'a>(times: &'a [(&'static str, Times)], name: &str) -> Option<&'a Times> {
    times.iter().find(|(other, _)| *other == name).map(|(_, times)| times)
}

fn verdict(panels: &[Panel; 3], last: &[(&'static str, Times)], pairs: f64) -> Verdict {
    let paper = "time grows almost linearly; the kBF is almost 10 times faster than Memcached";
    let (Some(kbf), Some(server)) = (of(last, KBF), of(last, ONE_BY_ONE)) else {
        return Verdict::undecided(paper, "memcached is not installed");
    };
    let fits = panels.iter().flat_map(|panel| [KBF, ONE_BY_ONE].map(|name| linearity(panel, name)));
    let worst = fits.fold(1.0, f64::min);
    let ratios = [server.insert / kbf.insert, server.query / kbf.query, server.delete / kbf.delete];
    let checks = [
        Check::new(
            format!("a line explains at least {:.0} % of the variance of each", 100.0 * LINEAR),
            worst >= LINEAR,
            format!("R² at least {worst:.3}"),
        ),
        Check::new(
            format!("the kBF is {} to {} times faster", FACTORS.start, FACTORS.end),
            ratios.iter().all(|ratio| FACTORS.contains(ratio)),
            format!(
                "{:.0}, {:.0} and {:.0} times for insert, query and delete; {:.0} ns per query",
                ratios[0],
                ratios[1],
                ratios[2],
                kbf.query / pairs
            ),
        ),
    ];
    let mut verdict = Verdict::of_checks(paper, &checks);
    if let Some(nothing) = of(last, NOTHING) {
        verdict.why += &format!(
            "; {:.0} % of Memcached's time per query is the socket: a request that does nothing takes that \
             long",
            (100.0 * nothing.query / server.query).min(100.0)
        );
    }
    verdict
}

fn notes(last: &[(&'static str, Times)], pairs: f64) -> Vec<String> {
    let per = |nanos: f64| nanos / pairs;
    let shown = last.iter().map(|(name, times)| format!("{name} {:.0} ns", per(times.query)));
    let mut notes = vec![format!("Per query: {}.", shown.collect::<Vec<_>>().join(", "))];
    notes.push(
        "Memcached is asked over loopback TCP, the other structures are in the process: the ratio compares a \
         socket with a function call more than two structures. The HashMap keeps keys and numbers of values; the \
         static maplet is made of all pairs at once and cannot delete."
            .to_owned(),
    );
    notes
}

/// R² of a line through the points of a series.
fn linearity(panel: &Panel, series: &str) -> f64 {
    let points: Vec<(f64, f64)> = panel.rows_of(series).map(|row| (row.x, row.y)).collect();
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(x - mx, y - my)).sum()
    };
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    if points.len() < 3 || xx * yy <= 0.0 { 0.0 } else { xy * xy / (xx * yy) }
}
