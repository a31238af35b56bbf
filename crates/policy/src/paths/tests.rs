//! Tests of paths as text.

use super::{Scope, fits, fold, normalise, wildcard};

#[test]
fn normalising_takes_dots_out_and_stays_below_the_root() {
    for (path, expected) in [
        ("a", Some("/repo/a")),
        ("./a//b/", Some("/repo/a/b")),
        ("../a", Some("/a")),
        ("../../../a", Some("/a")),
        ("/x/./y/../z", Some("/x/z")),
        ("", Some("/repo")),
        ("~/a", None),
        ("~root/a", None),
        ("a\0b", None),
    ] {
        assert_eq!(normalise("/repo", path).as_deref(), expected, "{path:?}");
    }
    assert_eq!(normalise("", "a").as_deref(), Some("/a"));
    assert_eq!(normalise("repo", "a"), None);
}

#[track_caller]
fn covers(scope: &str, path: &str, expected: bool) {
    assert_eq!(Scope::parse(scope).unwrap().covers("/repo", path), expected, "{scope} {path}");
}

#[test]
fn a_scope_covers_by_component() {
    covers("./**", "/repo", true);
    covers("./**", "/repo/a/b", true);
    covers("./**", "/repository/a", false);
    covers("./**", "/", false);
    covers(".", "/repo", true);
    covers(".", "/repo/a", false);
    covers("./*", "/repo/a", true);
    covers("./*", "/repo/a/b", false);
    covers("/srv/**/log", "/srv/log", true);
    covers("/srv/**/log", "/srv/a/b/log", true);
    covers("/srv/**/log", "/srv/a/log/b", false);
    covers("/srv/app*", "/srv/app2", true);
    covers("/srv/app*", "/srv/app2/x", false);
    covers("/**", "/anything/at/all", true);
}

#[test]
fn a_scope_that_could_be_misread_is_refused() {
    for scope in ["repo", "", "~/x", "/a/../b", "./..", "/a/**b"] {
        assert!(Scope::parse(scope).is_err(), "{scope:?}");
    }
}

#[test]
fn a_path_of_many_components_needs_no_deep_stack() {
    let deep = "/a".repeat(200_000);
    covers("/**/b", &deep, false);
    covers("/a/**", &deep, true);
}

#[test]
fn a_star_stands_for_any_run() {
    for (pattern, text, expected) in [
        ("*", "", true),
        ("a*c", "abbc", true),
        ("a*c", "ac", true),
        ("a*c", "abcd", false),
        ("*a*b", "xaxxb", true),
        ("ab", "abc", false),
        ("", "", true),
        ("a*a", "a", false),
    ] {
        assert_eq!(wildcard(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn fitting_goes_back_to_the_last_star() {
    let fit = |pattern: &str, text: &str| {
        let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        fits(&pattern, &text, |c| *c == '*', |wanted, c| *wanted == '?' || wanted == c)
    };
    assert!(
        fit("*ab", "aab") && fit("*a?c*", "xabc") && fit("", "") && fit("**", "") && fit("a*b*c", "aXbYbZc")
    );
    assert!(!fit("a", "") && !fit("", "a") && !fit("*ab", "abx"));
}

#[test]
fn folding_compares_as_the_most_forgiving_file_system() {
    for same in [".SSH", ".ſsh", ".s\u{200d}sh", ".ssh.", ".ssh ", ".ssh::$DATA"] {
        assert_eq!(fold(same), ".ssh", "{same:?}");
    }
    assert_eq!(fold(".."), "..");
}
