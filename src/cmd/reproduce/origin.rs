//! Where results come from: program, commit, machine and date.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use acsm_filters::HashKey;
use anyhow::Context as _;

use crate::report::reproduce::{Machine, Origin};
use crate::reproduce::Scale;
use crate::seed::Seed;
use crate::time::Timestamp;

/// The origin of results of this run.
pub fn origin(scale: Scale, seed: Seed) -> anyhow::Result<Origin> {
    Ok(Origin {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit().unwrap_or_else(|| "unknown".to_owned()),
        program: program().context("cannot read the program's own file")?,
        scale,
        seed: seed.to_string(),
        date: date(),
        machine: machine(),
    })
}

/// The commit of the work tree, with `-modified` if files differ from it. `None` outside of one, or where
/// git is not installed.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { commit + "-modified" })
}

/// A digest of the program: results of another build are not taken for its own.
fn program() -> anyhow::Result<String> {
    let bytes = fs::read(std::env::current_exe()?)?;
    Ok(format!("{:032x}", HashKey::from_bits(0).digest_bytes(&bytes)))
}

/// Now, to the second.
fn date() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text = Timestamp::new(now, 0).to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

fn machine() -> Machine {
    let line = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let found =
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix(':'))?;
        Some(found.trim().to_owned())
    };
    let kibibytes = line("/proc/meminfo", "MemTotal")
        .and_then(|text| text.strip_suffix(" kB")?.trim().parse::<u64>().ok());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    Machine {
        processor: line("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: kibibytes.unwrap_or(0) << 10,
        system: format!("{system} {} {architecture}", kernel.trim()).replace("  ", " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_the_date_are_known() {
        let origin = origin(Scale::Tiny, Seed::Number(7)).unwrap();
        assert_eq!((origin.program.len(), origin.seed.as_str()), (32, "7"));
        assert!(origin.date.ends_with('Z') && origin.date.len() == 20, "{}", origin.date);
        assert!(origin.machine.cores > 0);
    }
}
