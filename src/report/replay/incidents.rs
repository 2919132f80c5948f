//! Incidents for people: a table, and one of them in full.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::engine::{Incident, Incidents};
use crate::machine::{HomeNets, Network, RuleKind};
use crate::report::alert::{network_text, severity_style, technique};
use crate::report::format::{FAINT, HEADING, grouped};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Incidents that the table lists.
const ROWS_MAX: usize = 50;
/// Ports that answered, and sources, that are named.
const NAMED_MAX: usize = 12;
const LABELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A row of the table, as text.
struct Row {
    number: usize,
    severity: u8,
    kind: String,
    start: String,
    lasted: String,
    from: String,
    to: String,
    what: String,
}

/// Writes the table of incidents up to `min_severity`; `low_events` are alerts that belong to none.
pub fn table(
    out: &mut impl Write,
    incidents: &Incidents,
    home: &HomeNets,
    min_severity: u8,
    low_events: u64,
) -> io::Result<()> {
    let total = incidents.list.len() as u64 + incidents.unlisted;
    write!(out, "{HEADING}INCIDENTS  {}{HEADING:#}    ", grouped(total))?;
    let mut by_severity = String::new();
    for severity in 1..=4 {
        let count = incidents.list.iter().filter(|one| one.severity == severity).count();
        if count > 0 {
            let before = if by_severity.is_empty() { "severity " } else { "   " };
            let _ = write!(by_severity, "{before}{severity}: {count}");
        }
    }
    writeln!(out, "{by_severity}{}", low_text(low_events))?;
    let mut rows: Vec<Row> = incidents
        .list
        .iter()
        .zip(1..)
        .filter(|(incident, _)| incident.severity <= min_severity)
        .map(|(incident, number)| row(incident, number, home))
        .collect();
    if rows.len() > ROWS_MAX {
        rows.sort_by_key(|row| (row.severity, row.number));
        rows.truncate(ROWS_MAX);
        rows.sort_by_key(|row| row.number);
    }
    write_rows(out, &rows)?;
    let omitted = total - rows.len() as u64;
    if omitted > 0 {
        writeln!(out, "    and {} of lower severity; --json lists them", grouped(omitted))?;
    }
    Ok(())
}

/// How many alerts are not in the table.
pub fn low_text(low_events: u64) -> String {
    match low_events {
        0 => String::new(),
        1 => "      1 low event, shown with --all".to_owned(),
        n => format!("      {} low events, shown with --all", grouped(n)),
    }
}

fn write_rows(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let width = |cell: fn(&Row) -> &str, heading: &str| {
        let cells = rows.iter().map(|row| cell(row).chars().count());
        cells.chain([heading.len()]).max().unwrap_or(0)
    };
    let kind = width(|row| &row.kind, "kind");
    let start = width(|row| &row.start, "start");
    let lasted = width(|row| &row.lasted, "lasted");
    let (from, to) = (width(|row| &row.from, "from"), width(|row| &row.to, "to"));
    writeln!(
        out,
        "{FAINT}  # sev {:<kind$}  {:<start$}  {:>lasted$}  {:<from$}  {:<to$}  what{FAINT:#}",
        "kind", "start", "lasted", "from", "to"
    )?;
    for row in rows {
        let style = severity_style(row.severity);
        writeln!(
            out,
            "{:>3}  {style}{}  {:<kind$}{style:#}  {:<start$}  {:>lasted$}  {:<from$}  {:<to$}  {}",
            row.number, row.severity, row.kind, row.start, row.lasted, row.from, row.to, row.what
        )?;
    }
    Ok(())
}

fn row(incident: &Incident, number: usize, home: &HomeNets) -> Row {
    Row {
        number,
        severity: incident.severity,
        kind: incident.rule.name.clone(),
        start: clock(incident.first_seen),
        lasted: lasted(incident.last_seen.since(incident.first_seen)),
        from: from_text(incident, home),
        to: to_text(incident, home),
        what: what_text(incident),
    }
}

/// Who sends it.
fn from_text(incident: &Incident, home: &HomeNets) -> String {
    let sources = incident.sources_estimated;
    match (incident.attacker(), incident.spoofed) {
        (Some(attacker), _) if home.contain(attacker) => format!("{attacker} (inside)"),
        (Some(attacker), _) => attacker.to_string(),
        (None, true) => format!("~{} sources, spoofed", grouped(sources)),
        (None, false) if sources <= 8 => format!("{} hosts", grouped(sources)),
        (None, false) => format!("~{} hosts", grouped(sources)),
    }
}

/// Whom it is about.
fn to_text(incident: &Incident, home: &HomeNets) -> String {
    let hosts = match incident.victims[..] {
        [victim] => network_text(&victim),
        _ => format!("{} hosts", grouped(incident.victims_estimated)),
    };
    let is_single = incident.victim().is_some();
    let ports = match (incident.ports_total, incident.ports.first()) {
        (1, Some(port)) if is_single && hosts.contains(':') => format!(" port {port}"),
        (1, Some(port)) if is_single => format!(":{port}"),
        (1, Some(port)) => format!(", port {port}"),
        (0, _) => String::new(),
        (ports, _) => format!(", {} ports", grouped(ports)),
    };
    let inside = incident.victim().is_some_and(|victim| home.contain(victim));
    format!("{hosts}{ports}{}", if inside { " (inside)" } else { "" })
}

/// How many packets, and how many in the busiest second.
fn count_text(incident: &Incident) -> String {
    let (count, peak) = (grouped(incident.count), grouped(incident.peak_rate));
    let what = if incident.are_syns { "SYNs" } else { "packets" };
    match incident.peak_rate {
        0 => format!("{count} {what}"),
        _ => format!("{count} {what}, peak {peak}/s"),
    }
}

fn what_text(incident: &Incident) -> String {
    let mut what = count_text(incident);
    what.push_str(&answers_text(incident));
    for hint in &incident.hints {
        let _ = write!(what, "; {hint}");
    }
    what
}

/// What answered an attacker; with a comma before it.
fn answers_text(incident: &Incident) -> String {
    let mut what = String::new();
    if incident.attacker().is_some() && incident.are_syns {
        match &incident.ports_open[..] {
            [] => what.push_str(", none answered"),
            open if incident.victim().is_some() => {
                let _ = write!(what, ", open: {}", list(open));
            }
            _ => {
                let answered = incident.answered.min(incident.count);
                let failed = 100.0 * (1.0 - answered as f64 / incident.count.max(1) as f64);
                let _ = write!(what, ", {failed:.0} % failed");
            }
        }
    }
    what
}

/// At most [`NAMED_MAX`] of these, separated by blanks.
fn list<T: ToString>(items: &[T]) -> String {
    let named: Vec<String> = items.iter().take(NAMED_MAX).map(T::to_string).collect();
    let more = items.len() - named.len();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(" ") + &tail
}

/// The time of day.
fn clock(time: Timestamp) -> String {
    let civil = time.civil();
    format!("{:02}:{:02}:{:02}", civil.hour, civil.minute, civil.second)
}

/// A length of time in two units.
fn lasted(nanos: u64) -> String {
    match nanos / NANOS_PER_SEC {
        0 => "<1s".to_owned(),
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m {:02}s", s / 60, s % 60),
        s if s < 86_400 => format!("{}h {:02}m", s / 3600, s / 60 % 60),
        s => format!("{}d {:02}h", s / 86_400, s / 3600 % 24),
    }
}

/// Writes one incident in full, with the entry of a suppression file that silences it.
pub fn panel(
    out: &mut impl Write,
    incident: &Incident,
    number: usize,
    home: &HomeNets,
) -> io::Result<()> {
    let style = severity_style(incident.severity);
    let (kind, id) = (&incident.rule.name, incident.id);
    let state = if incident.is_over { "closed" } else { "open when the capture ends" };
    write!(
        out,
        "#{number} {style}{kind}  severity {}{style:#}  {state}   id {id}",
        incident.severity
    )?;
    if let Some(technique) = technique(&incident.rule) {
        write!(out, "   ATT&CK {technique}")?;
    }
    writeln!(out, "\nmeaning   {}", incident.rule.message)?;
    writeln!(out, "victims   {}", victims(incident, home))?;
    writeln!(out, "sources   {}", sources(incident, home))?;
    if !incident.hints.is_empty() {
        writeln!(out, "traits    {}", incident.hints.join(", "))?;
    }
    let bars = sparkline(&incident.timeline);
    let (first, last) = (incident.first_seen, incident.last_seen);
    let count = count_text(incident);
    writeln!(out, "rate      {} {bars} {}   {count}", clock(first), clock(last))?;
    let late = incident.alerted.since(first) as f64 / NANOS_PER_SEC as f64;
    writeln!(
        out,
        "events    {first} first packet, alert after {late:.1} s, {last} last packet; {} alert{}",
        grouped(incident.alerts),
        if incident.alerts == 1 { "" } else { "s" }
    )?;
    if incident.rule.kind == RuleKind::Threshold && incident.rules.contains(&incident.rule) {
        writeln!(
            out,
            "raise     with another count, such as --set {kind}.count=N (`acsm rules show thresholds`)"
        )?;
    }
    writeln!(out, "silence   with --suppress FILE, which holds:\n{}", suppression(incident))
}

fn victims(incident: &Incident, home: &HomeNets) -> String {
    let listed: Vec<String> = incident.victims.iter().map(network_text).collect();
    let to = match incident.victims[..] {
        [_] => to_text(incident, home),
        _ => format!("{}: {}", to_text(incident, home), list(&listed)),
    };
    to + &answers_text(incident)
}

fn sources(incident: &Incident, home: &HomeNets) -> String {
    let from = from_text(incident, home);
    let each = incident.count as f64 / incident.sources_estimated.max(1) as f64;
    match (incident.attacker(), incident.spoofed) {
        (Some(_), _) => from,
        (None, true) => format!("{from} (± 7 %), {each:.1} packets each: do not block by source"),
        (None, false) if incident.top_sources.is_empty() => {
            format!("{from} (± 7 %), {each:.1} packets each, none much busier than the others")
        }
        (None, false) => format!("{from} (± 7 %), busiest: {}", list(&incident.top_sources)),
    }
}

/// The timeline as a row of bars; none where alerts alone were counted.
fn sparkline(timeline: &[u32]) -> String {
    let most = u64::from(timeline.iter().copied().max().unwrap_or(0)).max(1);
    let bar = |&packets: &u32| match packets {
        0 => " ",
        packets => LABELS[(u64::from(packets) * 7 / most) as usize % LABELS.len()],
    };
    timeline.iter().map(bar).collect()
}

/// Entries of a suppression file that leave out alerts like those of the incident: one for each of its rules.
fn suppression(incident: &Incident) -> String {
    let quoted = |networks: &[Network]| {
        let texts: Vec<String> =
            networks.iter().map(|network| format!("\"{}\"", network_text(network))).collect();
        texts.join(", ")
    };
    let ends = match incident.attacker() {
        Some(attacker) => format!("source = [\"{attacker}\"]"),
        None => format!("destination = [{}]", quoted(&incident.victims)),
    };
    let entry = |name: &str| format!("[[suppress]]\nrule = \"{name}\"\n{ends}\nreason = \"\"");
    let entries: Vec<String> = incident.rules.iter().map(|rule| entry(&rule.name)).collect();
    entries.join("\n")
}
