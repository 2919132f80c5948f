//! Where in which file something stands, so that every complaint can say so.

use std::ops::Range;

use toml::Spanned;

use super::RulesError;

/// A rules file's name and text.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub file: String,
    pub text: String,
}

impl Text {
    /// The line of a byte, from 1.
    pub fn line(&self, byte: usize) -> usize {
        let before = self.text.as_bytes().get(..byte).unwrap_or(self.text.as_bytes());
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// Something wrong at a place in the text.
    pub fn wrong(&self, span: Range<usize>, what: impl Into<String>) -> RulesError {
        RulesError::At { file: self.file.clone(), line: self.line(span.start), what: what.into() }
    }

    /// Something wrong with a value.
    pub fn wrong_at<T>(&self, value: &Spanned<T>, what: impl Into<String>) -> RulesError {
        self.wrong(value.span(), what)
    }

    /// Something wrong with the whole file.
    pub fn wrong_whole(&self, what: impl Into<String>) -> RulesError {
        RulesError::Whole { file: self.file.clone(), what: what.into() }
    }
}
