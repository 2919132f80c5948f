//! Errors in rules files, and the text they are located in.

use std::io;
use std::ops::Range;

use toml::Spanned;

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

/// A rules file's name and text.
#[derive(Debug, Clone)]
pub(super) struct SourceText {
    pub file: String,
    pub text: String,
}

impl SourceText {
    /// The line of a byte, from 1.
    pub fn line(&self, byte: usize) -> usize {
        let before = self.text.as_bytes().get(..byte).unwrap_or(self.text.as_bytes());
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// An error at a position in the text.
    pub fn wrong(&self, span: Range<usize>, what: impl Into<String>) -> RulesError {
        RulesError::At { file: self.file.clone(), line: self.line(span.start), what: what.into() }
    }

    /// An error in a value.
    pub fn wrong_at<T>(&self, value: &Spanned<T>, what: impl Into<String>) -> RulesError {
        self.wrong(value.span(), what)
    }

    /// An error that concerns the whole file.
    pub fn wrong_whole(&self, what: impl Into<String>) -> RulesError {
        RulesError::Whole { file: self.file.clone(), what: what.into() }
    }
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
