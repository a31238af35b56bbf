//! Hostile paths: where they really lead, and why they are not opened.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::*;

fn home() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(home.path()).unwrap().into_os_string().into_string().unwrap();
    (home, real)
}

fn text(held: &Held) -> Result<String, PathProblem> {
    let mut text = String::new();
    held.read()?.read_to_string(&mut text).unwrap();
    Ok(text)
}

#[test]
fn links_and_dots_are_followed_before_anything_is_decided() {
    let (_home, root) = home();
    fs::create_dir(format!("{root}/in")).unwrap();
    fs::write(format!("{root}/secret"), "s").unwrap();
    symlink(format!("{root}/secret"), format!("{root}/in/link")).unwrap();
    symlink(&root, format!("{root}/in/up")).unwrap();
    for path in ["in/link", "in/../secret", "in/up/secret", "./in//..///secret"] {
        assert_eq!(Held::open(&format!("{root}/{path}")).unwrap().real(), format!("{root}/secret"), "{path}");
    }
    assert_eq!(Held::open("secret").unwrap_err(), PathProblem::Relative);
    assert_eq!(Held::open("../secret").unwrap_err(), PathProblem::Relative);
}

#[test]
fn links_that_the_system_makes_up_are_refused() {
    for path in ["/proc/self/root/etc/hostname", "/proc/self/cwd/x", "/proc/self/fd/0"] {
        assert_eq!(Held::open(path).unwrap_err(), PathProblem::MagicLink, "{path}");
    }
}

#[test]
fn what_is_no_regular_file_with_one_name_is_not_read_and_nothing_hangs() {
    let (_home, root) = home();
    fs::write(format!("{root}/a"), "a").unwrap();
    fs::hard_link(format!("{root}/a"), format!("{root}/b")).unwrap();
    rustix::fs::mknodat(CWD, format!("{root}/fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let read = |path: &str| Held::open(path).unwrap().read().unwrap_err();
    assert_eq!(read(&format!("{root}/b")), PathProblem::HardLink);
    assert_eq!(read(&format!("{root}/fifo")), PathProblem::Special);
    assert_eq!(read("/dev/zero"), PathProblem::Special);
    assert_eq!(read(&root), PathProblem::Folder);
    assert_eq!(read(&format!("{root}/none")), PathProblem::Missing);
    assert_eq!(Held::open(&format!("{root}/none/none")).unwrap_err(), PathProblem::NoFolder);
    symlink("/nowhere", format!("{root}/dangling")).unwrap();
    assert_eq!(Held::open(&format!("{root}/dangling")).unwrap_err(), PathProblem::Missing);
}

#[test]
fn a_link_swapped_after_the_check_changes_nothing() {
    let (_home, root) = home();
    fs::create_dir(format!("{root}/good")).unwrap();
    fs::create_dir(format!("{root}/evil")).unwrap();
    fs::write(format!("{root}/good/f"), "good").unwrap();
    fs::write(format!("{root}/evil/f"), "evil").unwrap();
    symlink(format!("{root}/good"), format!("{root}/now")).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for target in ["evil", "good"] {
                    symlink(format!("{root}/{target}"), format!("{root}/next")).unwrap();
                    fs::rename(format!("{root}/next"), format!("{root}/now")).unwrap();
                }
            }
        });
        for _ in 0..2000 {
            let held = Held::open(&format!("{root}/now/f")).unwrap();
            let said = held.real().to_owned();
            assert_eq!(said, format!("{root}/{}/f", text(&held).unwrap()));
        }
        stop.store(true, Ordering::Relaxed);
    });
}
