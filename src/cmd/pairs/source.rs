//! Where pairs come from: a file, which can be read several times, or a stream, which cannot.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::format::{FormatArgs, Pair, PairReader};
use crate::capture::file::{CountedInput, ReadProgress};
use crate::cmd::progress::Progress;
use crate::seed::Seed;

/// Pairs between updates of the progress bar.
const TICK_PAIRS: u64 = 4096;

/// An input of pairs.
pub struct PairSource<'a> {
    path: PathBuf,
    format: &'a FormatArgs,
    /// Bytes, if it is a file.
    bytes: Option<u64>,
}

/// An input that is open, and the seed that follows from its first bytes.
pub struct OpenPairs {
    name: String,
    reader: PairReader<Box<dyn Read>>,
    pub seed: Seed,
}

/// The progress of reading one input, once or more often.
pub struct Reading {
    read: Arc<ReadProgress>,
    bar: Progress,
    pairs: u64,
}

impl<'a> PairSource<'a> {
    /// A path, or `-` for standard input.
    pub fn new(path: &Path, format: &'a FormatArgs) -> anyhow::Result<PairSource<'a>> {
        let mut source = PairSource { path: path.to_owned(), format, bytes: None };
        if !source.is_stdin() {
            let about = std::fs::metadata(path)
                .with_context(|| format!("cannot open {} with the pairs", path.display()))?;
            if about.is_dir() {
                bail!("{} is a folder; pairs are in a file", path.display());
            }
            source.bytes = about.is_file().then_some(about.len());
        }
        Ok(source)
    }

    fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Whether it can be read more than once.
    pub fn is_file(&self) -> bool {
        self.bytes.is_some()
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self.is_stdin() {
            true => "standard input".to_owned(),
            false => self.path.display().to_string(),
        }
    }

    /// The progress of reading it this number of times.
    pub fn reading(&self, times: u64, is_quiet: bool) -> Reading {
        let read = Arc::new(ReadProgress::new(self.bytes.map(|bytes| bytes * times)));
        let bar = Progress::of_items("pairs", Arc::clone(&read), is_quiet);
        Reading { read, bar, pairs: 0 }
    }

    /// Opens it at its beginning.
    pub fn open(&self, reading: &Reading) -> anyhow::Result<OpenPairs> {
        let cannot_open = || format!("cannot open {} with the pairs", self.path.display());
        let input: Box<dyn Read> = match self.is_stdin() {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(&self.path).with_context(cannot_open)?),
        };
        let mut input = CountedInput::new(input, Arc::clone(&reading.read));
        let mut first = vec![];
        let cannot_read = || format!("cannot read {}", self.name());
        let mut begin = input.by_ref().take(Seed::INPUT_BYTES as u64);
        begin.read_to_end(&mut first).with_context(cannot_read)?;
        let seed = Seed::of_input(&first);
        let input: Box<dyn Read> = Box::new(Cursor::new(first).chain(input));
        Ok(OpenPairs { name: self.name(), reader: self.format.reader(&self.path, input), seed })
    }
}

impl OpenPairs {
    /// Calls `each` with every pair. Errors say the line.
    pub fn for_each(
        mut self,
        reading: &mut Reading,
        mut each: impl FnMut(&Pair) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut pair = Pair::default();
        while self.reader.next(&mut pair).with_context(|| self.name.clone())? {
            each(&pair).with_context(|| format!("{}: line {}", self.name, pair.line))?;
            reading.pairs += 1;
            if reading.pairs.is_multiple_of(TICK_PAIRS) {
                reading.bar.tick(reading.pairs);
            }
        }
        Ok(())
    }
}
