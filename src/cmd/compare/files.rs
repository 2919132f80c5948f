//! The files of a report. Each is whole or not there: it is written under another name, then
//! renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::report::compare::{CompareReport, csv, html};

type Writer = fn(&CompareReport, &mut dyn Write) -> io::Result<()>;

/// The files, and who writes them.
const FILES: &[(&str, Writer)] =
    &[("report.json", write_json), ("report.csv", csv::write), ("report.html", html::write)];

fn write_json(report: &CompareReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// Makes the directory, and finds out whether it can be written to before the work begins.
pub fn prepare(directory: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to --out {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    let trial = directory.join(unfinished("report.json"));
    File::create(&trial).and_then(|_| fs::remove_file(&trial)).with_context(cannot)
}

/// Writes all files, over those of an earlier report. Returns where they are.
pub fn write(directory: &Path, report: &CompareReport) -> anyhow::Result<Vec<PathBuf>> {
    let write_one = |&(name, writer): &(&str, Writer)| {
        let path = directory.join(name);
        let unfinished = directory.join(unfinished(name));
        let result = write_whole(&unfinished, report, writer)
            .and_then(|()| fs::rename(&unfinished, &path))
            .with_context(|| format!("cannot write {}", path.display()));
        if result.is_err() {
            // It may not be there; either way nothing half-written stays.
            let _ = fs::remove_file(&unfinished);
        }
        result.map(|()| path)
    };
    FILES.iter().map(write_one).collect()
}

fn write_whole(path: &Path, report: &CompareReport, writer: Writer) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writer(report, &mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

fn unfinished(name: &str) -> String {
    format!(".{name}.unfinished")
}
