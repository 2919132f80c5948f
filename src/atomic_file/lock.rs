//! Locks on files, so that one process at a time reads, changes and replaces a file.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// The right to replace a file. It ends when this is dropped, or with the process.
///
/// Only those who ask for the right heed it: others can read the file, and replace it. Where the system or
/// the file system has no locks, everybody gets it at once.
#[derive(Debug)]
pub struct WriteLock {
    _file: File,
}

impl WriteLock {
    /// Waits until no other process has the right, and takes it; `None` if there is no such file. If it
    /// has to wait, it calls `on_wait` first.
    pub fn acquire(path: &Path, on_wait: impl FnOnce()) -> io::Result<Option<WriteLock>> {
        let mut on_wait = Some(on_wait);
        loop {
            let file = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened?,
            };
            if !try_lock(&file)? {
                if let Some(on_wait) = on_wait.take() {
                    on_wait();
                }
                wait_for_lock(&file)?;
            }
            // Whoever had the lock may have replaced the file: then this one has lost its name.
            if has_name(&file, path) {
                return Ok(Some(WriteLock { _file: file }));
            }
        }
    }
}

/// Whether a name still leads to an open file.
pub(super) fn has_name(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => is_same(&open, &named),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Without locks nobody waits for one, and nothing is replaced meanwhile.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Takes the lock of a file if nobody has it; returns whether that is so.
#[cfg(unix)]
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
}

/// Takes the lock of a file as soon as nobody else has it.
#[cfg(unix)]
pub(super) fn wait_for_lock(file: &File) -> io::Result<()> {
    flock(file, rustix::fs::FlockOperation::LockExclusive).map(drop)
}

#[cfg(unix)]
fn flock(file: &File, operation: rustix::fs::FlockOperation) -> io::Result<bool> {
    use rustix::io::Errno;
    loop {
        return match rustix::fs::flock(file, operation) {
            Ok(()) => Ok(true),
            Err(Errno::INTR) => continue,
            Err(Errno::WOULDBLOCK) => Ok(false),
            // No locks on this file system.
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(true),
            Err(error) => Err(error.into()),
        };
    }
}

#[cfg(not(unix))]
pub(super) fn try_lock(_: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(not(unix))]
pub(super) fn wait_for_lock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn the_right_is_had_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(WriteLock::acquire(&path, || panic!("no file")).unwrap().is_none());
        fs::write(&path, "0").unwrap();
        let add_one = || {
            let _lock = WriteLock::acquire(&path, || {}).unwrap().unwrap();
            let count: u32 = fs::read_to_string(&path).unwrap().parse().unwrap();
            thread::yield_now();
            crate::atomic_file::replace(&path, |out| write!(out, "{}", count + 1)).unwrap();
        };
        thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| (0..25).for_each(|_| add_one()))));
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "100");
    }

    #[test]
    fn who_waits_says_so_and_gets_the_file_that_has_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let first = WriteLock::acquire(&path, || panic!("nobody has it")).unwrap().unwrap();
        let (waits, waiting) = mpsc::channel();
        thread::scope(|scope| {
            let second =
                scope.spawn(|| WriteLock::acquire(&path, || waits.send(()).unwrap()).unwrap());
            waiting.recv().unwrap();
            crate::atomic_file::replace(&path, |out| write!(out, "new")).unwrap();
            drop(first);
            let second = second.join().unwrap().unwrap();
            assert!(has_name(&second._file, &path));
        });
    }
}
