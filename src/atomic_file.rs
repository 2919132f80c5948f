//! Files that are replaced as a whole: after any failure, the old file is there as it was.

mod lock;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use thiserror::Error;

pub use lock::WriteLock;
use lock::{has_name, try_lock, wait_for_lock};

/// A file that could not be replaced.
#[derive(Debug, Error)]
#[error("cannot {action} {}", path.display())]
pub struct ReplaceError {
    /// What failed: `create`, `write`, `rename` …
    pub action: &'static str,
    /// On which file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Replaces a file, or creates it, with what `write` writes.
///
/// The bytes go to a temporary file beside it, which is synced and then renamed, so that the name leads
/// to the old content or to the new one, complete, at any time and after a power failure. If anything
/// fails, the temporary file is removed; one that a killed process left is removed by the next that
/// replaces the file. (If nothing but syncing the folder fails, the new content has its name already, and
/// may lose it in a power failure.) Of several processes that replace a file at once, the last one wins:
/// whoever reads a file to change it takes a [`WriteLock`] first. A symbolic link stays, and what it leads to is
/// replaced; permissions of the old file are kept. Devices and pipes are refused: a name for them is not
/// to be taken away.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("flows.snapshot");
/// use acsm_filters::snapshot::{SectionKind, SnapshotReader, SnapshotWriter};
///
/// acsm::atomic_file::replace(&path, |file| {
///     let mut out = SnapshotWriter::new(file)?;
///     out.section(SectionKind(*b"TEXT"), b"hello")?;
///     out.finish().map(drop)
/// })?;
/// let mut input = SnapshotReader::new(std::fs::File::open(&path)?)?;
/// assert_eq!(input.section(SectionKind(*b"TEXT"))?.content, b"hello");
/// input.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(ReplaceError { action: "replace", path: target, source });
    }
    remove_leftovers(&target);
    let (temporary, file) = create_beside(&target)?;
    // Its lock is held until it has its name.
    let result = fill(&temporary, &file, write, old.map(|old| old.permissions()))
        .and_then(|()| fs::rename(&temporary, &target).map_err(failed("rename", &temporary)));
    if result.is_err() {
        // The disk may be full of it. If this fails too, the first error is the one to show.
        let _ = fs::remove_file(&temporary);
    }
    result.and_then(|()| sync_folder(folder_of(&target)))
}

/// The most temporary files of this process, for one name, that cannot be used.
const ATTEMPTS_MAX: u32 = 100;

/// What the names of temporary files end with.
const UNFINISHED: &str = ".unfinished";

/// What the names of temporary files for `target` begin with.
fn beginning(target: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".");
    name
}

/// A new, hidden file in the same folder. Its name tells whose it is, and its lock that it is in use.
fn create_beside(target: &Path) -> Result<(PathBuf, File), ReplaceError> {
    let mut number = 0;
    loop {
        let mut name = beginning(target);
        name.push(format!("{}-{number}{UNFINISHED}", process::id()));
        let path = target.with_file_name(name);
        number += 1;
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => {
                wait_for_lock(&file).map_err(failed("lock", &path))?;
                // Another process may have taken it for a leftover before it was locked.
                if has_name(&file, &path) || number > ATTEMPTS_MAX {
                    return Ok((path, file));
                }
            }
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && number <= ATTEMPTS_MAX => {}
            Err(error) => return Err(failed("create", &path)(error)),
        }
    }
}

/// Removes temporary files of processes that were killed: nobody has their lock. They do no harm, but take
/// room, so that it is no failure if that is not possible.
fn remove_leftovers(target: &Path) {
    let beginning = beginning(target);
    let Ok(entries) = fs::read_dir(folder_of(target)) else { return };
    for entry in entries.flatten() {
        if !is_temporary(&entry.file_name(), &beginning) {
            continue;
        }
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && cfg!(unix)
            && matches!(try_lock(&file), Ok(true))
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether it is a name as [`create_beside`] makes them: two numbers between its beginning and its end.
fn is_temporary(name: &OsStr, beginning: &OsStr) -> bool {
    let numbers = name
        .as_encoded_bytes()
        .strip_prefix(beginning.as_encoded_bytes())
        .and_then(|rest| rest.strip_suffix(UNFINISHED.as_bytes()));
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    numbers.is_some_and(|numbers| {
        let mut parts = numbers.split(|byte| *byte == b'-');
        parts.by_ref().take(2).filter(|part| is_number(part)).count() == 2 && parts.next().is_none()
    })
}

fn fill(
    path: &Path,
    file: &File,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    permissions: Option<fs::Permissions>,
) -> Result<(), ReplaceError> {
    if let Some(permissions) = permissions {
        file.set_permissions(permissions).map_err(failed("set the permissions of", path))?;
    }
    let mut out = BufWriter::new(file);
    write(&mut out).and_then(|()| out.flush()).map_err(failed("write", path))?;
    out.get_ref().sync_all().map_err(failed("sync", path))
}

/// So that the new name survives a power failure. Only Unix can sync folders.
fn sync_folder(folder: &Path) -> Result<(), ReplaceError> {
    match cfg!(unix) {
        true => File::open(folder).and_then(|folder| folder.sync_all()),
        false => Ok(()),
    }
    .map_err(failed("sync the folder", folder))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != "").unwrap_or(Path::new("."))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ReplaceError {
    let path = path.to_owned();
    move |source| ReplaceError { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_text(text: &str) -> impl FnOnce(&mut dyn Write) -> io::Result<()> {
        move |out| out.write_all(text.as_bytes())
    }

    /// The names in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_created_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["first", "second, which is longer", "third"] {
            replace(&path, write_text(text)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(folder.path()), ["file"]);
        }
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        for bytes in [0, 1, 100_000] {
            let error = replace(&path, |out| {
                out.write_all(&vec![7; bytes])?;
                Err(io::ErrorKind::StorageFull.into())
            });
            let error = error.unwrap_err();
            assert_eq!((error.action, error.source.kind()), ("write", io::ErrorKind::StorageFull));
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            assert_eq!(names(folder.path()), ["file"]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let own = format!(".file.{}-0.unfinished", process::id());
        let others = [".file.7-0.unfinished", ".file.mine.unfinished", ".file.7-0-1.unfinished"];
        for name in [own.as_str(), ".file.8-3.unfinished"].into_iter().chain(others) {
            fs::write(folder.path().join(name), "of another").unwrap();
        }
        let in_use = File::open(folder.path().join(others[0])).unwrap();
        assert!(try_lock(&in_use).unwrap());
        replace(&path, write_text("new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let mut left = names(folder.path());
        left.sort();
        let [in_use, mine, three] = others;
        assert_eq!(left, [three, in_use, mine, "file"]);
    }

    /// Its name is in use, and its lock too.
    #[cfg(unix)]
    #[test]
    fn a_temporary_file_in_use_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let outer = replace(&path, |out| {
            replace(&path, write_text("inner")).unwrap();
            assert_eq!(names(folder.path()).len(), 2);
            out.write_all(b"outer")
        });
        outer.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "outer");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        replace(&link, write_text("new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [Path::new("/dev/null"), folder.path()] {
            let error = replace(path, write_text("text")).unwrap_err();
            assert_eq!(error.source.to_string(), "not a regular file");
        }
        let error = replace(Path::new("/nowhere/file"), write_text("text")).unwrap_err();
        assert_eq!((error.action, error.source.kind()), ("create", io::ErrorKind::NotFound));
    }

    /// Where the test below has mounted a small disk.
    #[cfg(target_os = "linux")]
    const SMALL_DISK: &str = "ACSM_TEST_SMALL_DISK";

    /// A disk of 64 KiB, in a namespace of its own: this test runs itself there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_leaves_the_old_file_and_no_other() {
        use acsm_filters::snapshot::{SectionKind, SnapshotWriter};
        let Some(folder) = std::env::var_os(SMALL_DISK) else { return run_on_small_disk() };
        let path = Path::new(&folder).join("snapshot");
        let save = |bytes: usize| {
            replace(&path, |file| {
                let mut out = SnapshotWriter::new(file)?;
                out.section(SectionKind(*b"TEST"), &vec![7; bytes])?;
                out.finish().map(drop)
            })
        };
        save(10_000).unwrap();
        let old = fs::read(&path).unwrap();
        for bytes in [60_000, 100_000] {
            let error = save(bytes).unwrap_err();
            assert_eq!(error.source.kind(), io::ErrorKind::StorageFull, "{error}");
            assert_eq!(fs::read(&path).unwrap(), old);
            assert_eq!(names(Path::new(&folder)), ["snapshot"]);
        }
        save(20_000).unwrap();
    }

    #[cfg(target_os = "linux")]
    fn run_on_small_disk() {
        const MOUNT_AND_RUN: &str =
            "mount -t tmpfs -o size=64k none \"$0\" || exit 77; exec \"$@\"";
        let folder = tempfile::tempdir().unwrap();
        let test = "atomic_file::tests::a_full_disk_leaves_the_old_file_and_no_other";
        let status = process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", MOUNT_AND_RUN])
            .arg(folder.path())
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(SMALL_DISK, folder.path())
            .status();
        match status {
            Ok(status) if status.success() => {}
            // 101: the test itself failed.
            Ok(status) if status.code() == Some(101) => panic!("on the small disk"),
            skipped => eprintln!("not tested: no disk can be mounted ({skipped:?})"),
        }
    }
}
