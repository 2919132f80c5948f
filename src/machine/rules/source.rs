//! Where rules files come from: shipped in the program, or read from a path; and what they
//! include.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::alternatives;
use super::place::Text;
use super::{RulesError, syntax};

/// The files that come with acsm: they can be named without a path.
pub const SHIPPED: [(&str, &str); 5] = [
    ("tcp-flags", include_str!("../../../rules/tcp-flags.toml")),
    ("tcp-connection", include_str!("../../../rules/tcp-connection.toml")),
    ("marks", include_str!("../../../rules/marks.toml")),
    ("suspicious-flags", include_str!("../../../rules/suspicious-flags.toml")),
    ("thresholds", include_str!("../../../rules/thresholds.toml")),
];

/// No rules file is longer: a mistaken path should not fill the memory.
const FILE_LIMIT_BYTES: u64 = 1 << 20;
/// No more files are read for one `--rules`.
const FILE_LIMIT: usize = 16;

/// A file taken apart, and its text for complaints.
pub(super) struct Parsed {
    pub text: Text,
    pub file: syntax::File,
}

/// The file that `name` stands for, then everything it includes, each once, in the order named.
///
/// A name without `/` and `.toml` is a shipped file; any other is a path, in an `include` relative
/// to the file that includes.
pub(super) fn read_all(name: &str) -> Result<Vec<Parsed>, RulesError> {
    let mut files = vec![parse(read(name, Path::new(""))?)?];
    let mut next = 0;
    while let Some(including) = files.get(next) {
        let folder = Path::new(&including.text.file).parent().unwrap_or(Path::new("")).to_owned();
        let mut included = Vec::new();
        for name in including.file.include.iter().flatten() {
            let text = read(name.get_ref(), &folder).map_err(|error| match error {
                RulesError::NotShipped { .. } => including.text.wrong_at(name, error.to_string()),
                other => other,
            })?;
            let known = files.iter().chain(&included).any(|seen| seen.text.file == text.file);
            if known {
                continue;
            }
            if files.len() + included.len() >= FILE_LIMIT {
                let what = format!("more than {FILE_LIMIT} files are included");
                return Err(including.text.wrong_at(name, what));
            }
            let parsed = parse(text)?;
            refuse_machine_parts(&parsed)?;
            included.push(parsed);
        }
        files.extend(included);
        next += 1;
    }
    Ok(files)
}

/// Whether a name stands for a shipped file.
fn is_plain_name(name: &str) -> bool {
    !name.contains(['/', '\\']) && !name.ends_with(".toml")
}

fn read(name: &str, folder: &Path) -> Result<Text, RulesError> {
    if is_plain_name(name) {
        let shipped = SHIPPED.iter().find(|(known, _)| *known == name);
        return match shipped {
            Some((name, text)) => Ok(Text { file: format!("<{name}>"), text: (*text).to_owned() }),
            None => Err(RulesError::NotShipped {
                name: name.to_owned(),
                shipped: alternatives(SHIPPED.map(|(known, _)| known)),
            }),
        };
    }
    read_path(&folder.join(name))
}

fn read_path(path: &PathBuf) -> Result<Text, RulesError> {
    let file = path.display().to_string();
    let unreadable = |source| RulesError::Unreadable { file: file.clone(), source };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|open| open.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    let whole = |what: &str| RulesError::Whole { file: file.clone(), what: what.to_owned() };
    if bytes.len() as u64 > FILE_LIMIT_BYTES {
        return Err(whole("longer than 1 MiB, so hardly a rules file"));
    }
    let text = String::from_utf8(bytes).map_err(|_| whole("not UTF-8 text, so no rules file"))?;
    Ok(Text { file, text })
}

fn parse(text: Text) -> Result<Parsed, RulesError> {
    if text.text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        return Err(text.wrong_whole("empty: a rules file has states, transitions and rules"));
    }
    match toml::from_str(&text.text) {
        Ok(file) => Ok(Parsed { text, file }),
        Err(error) => {
            // serde's words, in those of people who write the file
            let what = error
                .message()
                .replace("unknown field", "unknown key")
                .replace("missing field", "missing key")
                .replace("unknown variant", "unknown word")
                .replace("expected a sequence", "expected a list");
            Err(text.wrong(error.span().unwrap_or(0..0), what))
        }
    }
}

/// An included file holds rules; the machine is the including file's own.
fn refuse_machine_parts(parsed: &Parsed) -> Result<(), RulesError> {
    let Parsed { text, file } = parsed;
    let place = file.state.first().map(|state| state.span());
    let place = place.or(file.transition.first().map(|transition| transition.span()));
    let place = place.or(file.otherwise.as_ref().map(|otherwise| otherwise.span()));
    match place {
        Some(span) => Err(text.wrong(
            span,
            "an included file holds rules; states and transitions belong in the file that includes it",
        )),
        None => Ok(()),
    }
}
