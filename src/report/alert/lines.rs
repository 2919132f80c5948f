//! Whole lines or nothing: an output that a full disk cannot leave half-written.

use std::fs::File;
use std::io::{self, Write};

/// So many bytes are gathered before they are written unasked.
const GATHER_BYTES: usize = 64 * 1024;

/// Where lines go.
#[derive(Debug)]
enum Target {
    File(File),
    Stdout(io::Stdout),
}

/// Gathers lines and writes them whole. If the disk fills up in the middle of one, a file is cut
/// back to the last whole line: what was written stays valid.
#[derive(Debug)]
pub struct LineOutput {
    target: Target,
    pending: Vec<u8>,
    written_bytes: u64,
}

impl LineOutput {
    /// Lines to a new file.
    pub fn file(file: File) -> Self {
        Self::new(Target::File(file))
    }

    /// Lines to the end of a file that may hold some already.
    pub fn append(file: File) -> io::Result<Self> {
        let written_bytes = file.metadata()?.len();
        Ok(LineOutput { written_bytes, ..Self::new(Target::File(file)) })
    }

    /// Lines to standard output.
    pub fn stdout() -> Self {
        Self::new(Target::Stdout(io::stdout()))
    }

    fn new(target: Target) -> Self {
        LineOutput { target, pending: Vec::with_capacity(GATHER_BYTES), written_bytes: 0 }
    }

    /// Takes what `line` appends: whole lines only.
    pub fn line(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        line(&mut self.pending);
        if self.pending.len() >= GATHER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all that was gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = self.pending.get(done..).filter(|rest| !rest.is_empty()) {
            let written = match &mut self.target {
                Target::File(file) => file.write(rest),
                Target::Stdout(stdout) => stdout.write(rest),
            };
            match written {
                Ok(0) => return self.give_up(done, io::ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.give_up(done, error),
            }
        }
        self.written_bytes += done as u64;
        self.pending.clear();
        match &mut self.target {
            Target::File(file) => file.flush(),
            Target::Stdout(stdout) => stdout.flush(),
        }
    }

    /// After a failure: cuts the file back to its last whole line and forgets the rest.
    fn give_up(&mut self, done: usize, error: io::Error) -> io::Result<()> {
        let whole = self.pending[..done].iter().rposition(|&byte| byte == b'\n');
        self.written_bytes += whole.map_or(0, |last| last as u64 + 1);
        self.pending.clear();
        if let Target::File(file) = &self.target {
            // A pipe or a device has no length to cut; the first error says enough.
            let _ = file.set_len(self.written_bytes);
        }
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_in_order_once_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alerts");
        let mut output = LineOutput::file(File::create(&path).unwrap());
        for n in 0..10_000 {
            output.line(|out| out.extend(format!("line {n}\n").bytes())).unwrap();
        }
        output.flush().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.lines().enumerate().all(|(n, line)| line == format!("line {n}")));
        assert_eq!(text.lines().count(), 10_000);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut output = LineOutput::file(full);
        output.line(|out| out.extend(b"a line\n")).unwrap();
        assert_eq!(output.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
