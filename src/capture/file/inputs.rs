//! The list of inputs to read: files, the captures of directories, standard input.

use std::fs;
use std::path::{Path, PathBuf};

use super::open::{CaptureReader, Input};
use crate::capture::{CaptureError, Damage};

/// Inputs in the order in which they are read.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub list: Vec<Input>,
    /// Size of all inputs; unknown if a pipe is among them.
    pub total_bytes: Option<u64>,
    /// Files in directories that are compressed and cannot be decompressed.
    pub damages: Vec<Damage>,
}

impl Inputs {
    /// Lists `paths` in the order given, each directory as its captures in time order.
    ///
    /// Each file is opened, recognised and closed again: what cannot be read is known before work
    /// starts, and thousands of files need one file descriptor at a time. Pipes cannot be opened
    /// twice; whether they hold a capture shows when they are read.
    pub fn list(paths: &[PathBuf]) -> Result<Inputs, CaptureError> {
        let mut inputs = Inputs { total_bytes: Some(0), ..Inputs::default() };
        for path in paths {
            if path.as_os_str() == "-" {
                inputs.add_standard_input()?;
                continue;
            }
            let input = Input::File(path.clone());
            let metadata = fs::metadata(path).map_err(|error| input.unreadable(error))?;
            if metadata.is_dir() {
                inputs.add_directory(path)?;
            } else if metadata.is_file() {
                CaptureReader::first_look(&input)?;
                inputs.add(input, Some(metadata.len()));
            } else {
                inputs.add(input, None);
            }
        }
        Ok(inputs)
    }

    fn add(&mut self, input: Input, bytes: Option<u64>) {
        self.list.push(input);
        self.total_bytes =
            self.total_bytes.zip(bytes).map(|(total, bytes)| total.saturating_add(bytes));
    }

    fn add_standard_input(&mut self) -> Result<(), CaptureError> {
        if self.list.contains(&Input::StandardInput) {
            return Err(CaptureError::StandardInputTwice);
        }
        self.add(Input::StandardInput, None);
        Ok(())
    }

    /// Adds the captures in a directory (not in its subdirectories) by the time of their first packet,
    /// then by name; those without packets come first. Other files, and pipes, are skipped.
    fn add_directory(&mut self, directory: &Path) -> Result<(), CaptureError> {
        let unreadable = |source| CaptureError::Io { path: directory.to_owned(), source };
        let mut captures = Vec::new();
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            // a dangling link, or a file that was removed a moment ago, is no capture
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if !metadata.is_file() {
                continue;
            }
            let input = Input::File(path.clone());
            match CaptureReader::first_look(&input) {
                Ok(mut reader) => {
                    let first_time = reader.next_record().map(|record| record.time);
                    captures.push((first_time, path, metadata.len()));
                }
                Err(CaptureError::NotACapture { .. }) => {}
                Err(CaptureError::Undecodable { path, source }) => {
                    self.damages.push(Damage { path, offset: 0, what: source.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        if captures.is_empty() {
            return Err(CaptureError::EmptyDirectory { path: directory.to_owned() });
        }
        captures.sort();
        for (_, path, bytes) in captures {
            self.add(Input::File(path), Some(bytes));
        }
        Ok(())
    }
}
