//! Verdicts for a terminal, and the list of experiments.

use std::io::{self, Write};

use super::record::Record;
use crate::report::format::{FAINT, HEADING};
use crate::reproduce::{Answer, Experiment};

/// Writes each verdict with its reasons, then how many there are of each.
pub fn write(records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    for record in records {
        let verdict = &record.verdict;
        let answer = verdict.answer.name();
        writeln!(out, "{HEADING}{}  {answer}{HEADING:#}  {}", record.id, record.title)?;
        for (name, text) in
            [("paper", &verdict.paper), ("measured", &verdict.measured), ("why", &verdict.why)]
        {
            if !text.is_empty() {
                writeln!(out, "  {FAINT}{name:<8}{FAINT:#}  {text}")?;
            }
        }
    }
    writeln!(out, "\n{}", sentence(records))
}

/// `12 reproduced, 3 differ, 1 undecided`.
pub fn sentence(records: &[Record]) -> String {
    let count = |answer| records.iter().filter(|record| record.verdict.answer == answer).count();
    format!(
        "{} reproduced, {} differ, {} undecided",
        count(Answer::Reproduced),
        count(Answer::Differs),
        count(Answer::Undecided)
    )
}

/// Writes the table of experiments.
pub fn list(experiments: &[&Experiment], out: &mut dyn Write) -> io::Result<()> {
    let wide = experiments.iter().map(|experiment| experiment.id.len()).max().unwrap_or(0);
    for experiment in experiments {
        let Experiment { id, title, seconds, .. } = experiment;
        writeln!(out, "{id:wide$}  {seconds:>4} s  {title}")?;
    }
    let seconds: u32 = experiments.iter().map(|experiment| experiment.seconds).sum();
    writeln!(
        out,
        "{FAINT}{} experiments; about {} min of one core at the default scale{FAINT:#}",
        experiments.len(),
        seconds.div_ceil(60)
    )
}
