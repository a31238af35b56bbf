//! What a home may look like, and what it may not.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;

const SETTINGS: &str = "hub = \"http://127.0.0.1:8787\"\ntoken_file = \"token\"\nguard = \"user\"\n[identity]\nhook = \"hook@laptop\"\n";

fn laid_out(settings: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, mode) in [("executor.toml", settings, 0o644), ("token", "abc123\n", 0o600)] {
        fs::write(dir.path().join(name), text).unwrap();
        fs::set_permissions(dir.path().join(name), Permissions::from_mode(mode)).unwrap();
    }
    dir
}

fn chmod(dir: &tempfile::TempDir, name: &str, mode: u32) {
    fs::set_permissions(dir.path().join(name), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_home_says_its_hub_its_name_and_its_token() {
    let dir = laid_out(SETTINGS);
    let home = Home::open(dir.path()).unwrap();
    assert_eq!(home.hub().base(), "http://127.0.0.1:8787");
    assert_eq!(home.identity().hook.as_deref(), Some("hook@laptop"));
    assert_eq!(home.token_file(), dir.path().join("token"));
    home.token().unwrap();
}

#[test]
fn files_that_others_can_change_are_refused() {
    for (name, mode) in [("", 0o770), ("executor.toml", 0o664)] {
        let dir = laid_out(SETTINGS);
        chmod(&dir, name, mode);
        assert!(matches!(Home::open(dir.path()), Err(HomeError::Open { .. })), "{name}");
    }
}

#[test]
fn a_token_that_others_can_read_is_refused() {
    let dir = laid_out(SETTINGS);
    let home = Home::open(dir.path()).unwrap();
    chmod(&dir, "token", 0o640);
    assert!(matches!(home.token(), Err(HomeError::Open { .. })));
    chmod(&dir, "token", 0o600);
    fs::write(dir.path().join("token"), "\n").unwrap();
    assert!(matches!(home.token(), Err(HomeError::NoToken(_))));
}

#[test]
fn settings_with_an_unknown_member_or_a_clear_far_hub_are_refused() {
    for settings in [
        &SETTINGS.replace("token_file", "tokn_file"),
        &SETTINGS.replace("hook =", "hok ="),
        &SETTINGS.replace("127.0.0.1", "192.0.2.7"),
        "",
    ] {
        let dir = laid_out(settings);
        assert!(matches!(Home::open(dir.path()), Err(HomeError::Settings { .. })), "{settings}");
    }
}

#[test]
fn a_relative_home_is_refused() {
    assert!(matches!(Home::open(Path::new("home")), Err(HomeError::Relative(_))));
}

#[test]
fn a_missing_home_says_what_to_do() {
    let error = Home::open(Path::new("/nonexistent/sealward")).unwrap_err();
    assert!(error.to_string().contains("sealward up"), "{error}");
}
