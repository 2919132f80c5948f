//! What can be wrong with a rules file.

use std::io;

/// Why a rules file was refused. Each message names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file could not be read.
    #[error("cannot read rules file `{file}`")]
    Unreadable {
        /// Which file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// No shipped file has that name.
    #[error(
        "no rules file `{name}` comes with acsm, only {shipped}; for a file of your own write its path, as in `./{name}.toml`"
    )]
    NotShipped {
        /// The name asked for.
        name: String,
        /// The names there are.
        shipped: String,
    },
    /// Something in the file.
    #[error("{file}:{line}: {what}")]
    At {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        what: String,
    },
    /// Something about the file as a whole.
    #[error("{file}: {what}")]
    Whole {
        /// Which file.
        file: String,
        /// What is wrong, and what is allowed.
        what: String,
    },
}

/// `a`, `b` or `c`, for messages.
pub(super) fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
