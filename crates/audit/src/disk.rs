//! The few things the journal does to a disk, behind a trait so that tests can fail each of them. No policy is here.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// What the journal needs of a folder. Every call blocks.
pub trait Disk: Send {
    /// Names of the files in the folder, in any order.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn list(&mut self) -> io::Result<Vec<String>>;

    /// The whole file, or `None` where there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Makes an empty file for appending; both it and its entry in the folder are synced before this returns.
    ///
    /// # Errors
    /// It exists, or the disk failed.
    fn create(&mut self, name: &str) -> io::Result<()>;

    /// Appends to the file; nothing is synced.
    ///
    /// # Errors
    /// The disk failed; some of the bytes may have been written.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything appended to the file durable.
    ///
    /// # Errors
    /// The disk failed; what was not synced may be lost whatever a later sync says.
    fn sync(&mut self, name: &str) -> io::Result<()>;

    /// Cuts the file to `length` bytes and syncs it.
    ///
    /// # Errors
    /// The disk failed.
    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()>;

    /// Removes a file that only holds space.
    ///
    /// # Errors
    /// The disk failed.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Bytes that this process may still write.
    ///
    /// # Errors
    /// The file system does not say.
    fn free(&mut self) -> io::Result<u64>;
}

/// A folder of the real file system. Keeps the segment it appends to open.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
    open: Option<(String, File)>,
}

impl FolderDisk {
    /// The folder at `path`, made with mode 0700 where it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Ok(Self { folder: path.to_owned(), open: None })
    }

    fn file(&mut self, name: &str) -> io::Result<&mut File> {
        let file = match self.open.take() {
            Some((open, file)) if open == name => file,
            _ => OpenOptions::new().append(true).open(self.folder.join(name))?,
        };
        Ok(&mut self.open.insert((name.to_owned(), file)).1)
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

impl Disk for FolderDisk {
    fn list(&mut self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.folder)?
            .map(|entry| {
                entry?.file_name().into_string().map_err(|name| {
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("a file named {name:?} lies in the log"),
                    )
                })
            })
            .collect()
    }

    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        let file =
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(self.folder.join(name))?;
        file.sync_all()?;
        self.sync_folder()?;
        self.open = Some((name.to_owned(), file));
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.file(name)?.write_all(bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.file(name)?.sync_data()
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        let file = self.file(name)?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn free(&mut self) -> io::Result<u64> {
        let space = rustix::fs::statvfs(&self.folder)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }
}
