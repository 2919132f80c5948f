//! Standard output: for data only. Messages go to standard error (`stderr`).

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Context as _;

/// Runs `write` on a buffered standard output that drops colours unless it is a terminal.
///
/// If the reader closed the pipe (`acsm … | head`), that is a normal end.
pub fn to_stdout(
    write: impl FnOnce(&mut BufWriter<anstream::AutoStream<io::Stdout>>) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
    write_all(BufWriter::new(anstream::stdout()), write)
}

/// The same for data of any bytes, which are written as they are.
pub fn bytes_to_stdout(
    write: impl FnOnce(&mut BufWriter<io::Stdout>) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
    write_all(BufWriter::new(io::stdout()), write)
}

fn write_all<W: Write>(
    mut out: W,
    write: impl FnOnce(&mut W) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
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
