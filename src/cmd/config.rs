//! Options from a file (`--config`): each key is the name of an option; the command line has precedence.
//!
//! ```toml
//! preset = "operator"
//! idle-timeout = "30s"
//! verify = true
//! ```
//!
//! Without `--config`, `live` looks for `acsm/live.toml` in `$XDG_CONFIG_HOME` (or `~/.config`), then in
//! `/etc`.
//!
//! The file is converted to arguments that are inserted before the user's own. So a file can contain
//! every option, errors are the same, and options are defined in one place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::{Usage, stderr};

/// Options that a file cannot set.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "version"];

/// Options that exclude each other: one on the command line overrides the other in a file.
/// An interface on the command line also overrides those in a file.
const EXCLUSIVE: [[&[&str]; 2]; 3] = [
    [&["--fp-rate"], &["--memory"]],
    [&["--quiet", "-q"], &["--verbose", "-v"]],
    [&["--interface", "-i"], &["--interface", "-i"]],
];

/// `arguments` with the options of the `--config` file, if there is one, inserted after the command.
pub fn expand(arguments: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    expand_from(arguments, &default_paths())
}

/// The same, with the `defaults` to try if the user names no file.
fn expand_from(arguments: Vec<OsString>, defaults: &[PathBuf]) -> anyhow::Result<Vec<OsString>> {
    let Some(path) = config_path(&arguments).or_else(|| default_path(&arguments, defaults)) else {
        return Ok(arguments);
    };
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read --config {}", path.display()))?;
    let options = options(&text)
        .with_context(|| format!("--config {}", path.display()))
        .map_err(Usage::new)?;
    // The program, the command, the options of the file, then those of the user.
    let (head, tail) = arguments.split_at(arguments.len().min(2));
    let options = options.into_iter().filter(|option| !is_overridden(option, tail));
    Ok(head.iter().cloned().chain(options).chain(tail.iter().cloned()).collect())
}

/// Names the file before an error of clap, which does not distinguish options of a file from those
/// of the command line.
pub fn point_at_file(arguments: &[OsString], error: &clap::Error) {
    let path = config_path(arguments).or_else(|| default_path(arguments, &default_paths()));
    if let Some(path) = path
        && error.use_stderr()
    {
        stderr::message(format_args!("acsm: with the options of --config {}:", path.display()));
    }
}

/// Whether an option on the command line excludes this one of the file.
fn is_overridden(option: &OsString, typed: &[OsString]) -> bool {
    let excludes = |typed_names: &[&str], names: &[&str]| {
        is_one_of(option, names) && typed.iter().any(|argument| is_one_of(argument, typed_names))
    };
    EXCLUSIVE.iter().any(|[one, other]| excludes(one, other) || excludes(other, one))
}

/// Whether `argument` is one of these options, with or without `=` and a value.
fn is_one_of(argument: &OsString, names: &[&str]) -> bool {
    let text = argument.to_string_lossy();
    names.contains(&text.split_once('=').map_or(&*text, |(name, _)| name))
}

/// The value of `--config` before any `--`.
fn config_path(arguments: &[OsString]) -> Option<PathBuf> {
    let mut options = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = options.next() {
        if argument == "--config" {
            return options.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(Path::new(path).to_owned());
        }
    }
    None
}

/// The default paths of the file for `live`.
fn default_paths() -> Vec<PathBuf> {
    let of_user = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let of_home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let folders = of_user.or_else(of_home).into_iter().chain([PathBuf::from("/etc")]);
    folders.map(|folder| folder.join("acsm/live.toml")).collect()
}

/// The first of `defaults` that exists, for `live` only: other commands give the same result on any
/// machine.
fn default_path(arguments: &[OsString], defaults: &[PathBuf]) -> Option<PathBuf> {
    let is_live = arguments.get(1).is_some_and(|command| command == "live");
    defaults.iter().find(|path| is_live && path.is_file()).cloned()
}

fn options(text: &str) -> anyhow::Result<Vec<OsString>> {
    let table: toml::Table = toml::from_str(text).context("it is not TOML")?;
    let mut options = Vec::new();
    for (key, value) in table {
        if NOT_IN_FILES.contains(&key.as_str()) {
            bail!("`{key}` cannot be set in a file");
        }
        push(&mut options, &key, value)?;
    }
    Ok(options)
}

fn push(options: &mut Vec<OsString>, key: &str, value: toml::Value) -> anyhow::Result<()> {
    let text = match value {
        toml::Value::Boolean(true) => {
            options.push(format!("--{key}").into());
            return Ok(());
        }
        toml::Value::Boolean(false) => return Ok(()),
        toml::Value::String(text) => text,
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::Array(values) => {
            return values.into_iter().try_for_each(|value| push(options, key, value));
        }
        toml::Value::Table(_) => bail!("`[{key}]`: options are plain keys, without sections"),
    };
    options.push(format!("--{key}={text}").into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(file: &str, arguments: &[&str]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acsm.toml");
        std::fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        let fill = |text: &&str| OsString::from(text.replace("FILE", path));
        let result = expand(arguments.iter().map(fill).collect());
        let text = |argument: OsString| argument.into_string().unwrap().replace(path, "FILE");
        result
            .map(|arguments| arguments.into_iter().map(text).collect())
            .map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn options_of_the_file_come_before_the_users() {
        let file = "idle-timeout = '30s'\nflows = 5\nverify = true\njson = false\n";
        assert_eq!(
            expanded(file, &["acsm", "replay", "--config", "FILE", "x.pcap"]).unwrap(),
            [
                "acsm",
                "replay",
                "--flows=5",
                "--idle-timeout=30s",
                "--verify",
                "--config",
                "FILE",
                "x.pcap"
            ]
        );
        let plain = ["acsm", "replay", "--", "--config"];
        assert_eq!(expanded("", &plain).unwrap(), plain);
    }

    #[test]
    fn an_option_on_the_command_line_overrides_an_excluded_one() {
        let file = "memory = '1MiB'\nquiet = true\n";
        let typed = ["acsm", "replay", "--config=FILE", "--fp-rate", "0.1", "-v"];
        assert_eq!(expanded(file, &typed).unwrap(), typed);
        let typed = ["acsm", "replay", "--config=FILE", "--memory=2MiB"];
        assert_eq!(
            expanded(file, &typed).unwrap(),
            ["acsm", "replay", "--memory=1MiB", "--quiet", "--config=FILE", "--memory=2MiB"]
        );
    }

    #[test]
    fn live_finds_its_default_file() {
        let folder = tempfile::tempdir().unwrap();
        let [missing, there] = ["a.toml", "b.toml"].map(|name| folder.path().join(name));
        std::fs::write(&there, "interface = ['a', 'b']\nflows = 5").unwrap();
        let paths = [missing, there];
        let expanded = |words: &[&str]| -> Vec<String> {
            let arguments = words.iter().map(OsString::from).collect();
            let expanded = expand_from(arguments, &paths).unwrap();
            expanded.into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        let all = ["acsm", "live", "--interface=a", "--interface=b", "--flows=5"];
        let mut all = all.to_vec();
        all.sort_unstable();
        let mut found = expanded(&["acsm", "live"]);
        found.sort_unstable();
        assert_eq!(found, all);
        assert_eq!(
            expanded(&["acsm", "live", "-i", "c"]),
            ["acsm", "live", "--flows=5", "-i", "c"]
        );
        assert_eq!(expanded(&["acsm", "replay"]), ["acsm", "replay"], "only live looks");
    }

    #[test]
    fn errors_name_the_file() {
        for (file, says) in
            [("a = ", "TOML"), ("[store]\na = 1", "sections"), ("config = 'x'", "cannot be set")]
        {
            let error = expanded(file, &["acsm", "replay", "--config=FILE"]).unwrap_err();
            assert!(error.contains(says) && error.contains("acsm.toml"), "{error}");
        }
    }
}
