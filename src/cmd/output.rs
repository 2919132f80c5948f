//! Standard output and standard error: data here, talk there.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Context as _;

pub use super::talk::say;
use crate::capture::Damage;

/// Runs `write` on a buffered standard output that drops colours where nobody sees them.
///
/// A reader that closed the pipe (`acsm … | head`) has what it wanted: that is a quiet end.
pub fn to_stdout(
    write: impl FnOnce(&mut BufWriter<anstream::AutoStream<io::Stdout>>) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(anstream::stdout());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result.context("cannot write to standard output")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one JSON document on standard output.
pub fn json_to_stdout(document: &impl serde::Serialize) -> anyhow::Result<ExitCode> {
    to_stdout(|out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        writeln!(out)
    })
}

/// Tells on standard error which captures were damaged, and that the rest was read.
pub fn warn_of_damage(damages: &[Damage]) {
    for damage in damages {
        say(format_args!("acsm: warning: {damage}; all packets before it are counted"));
    }
}
