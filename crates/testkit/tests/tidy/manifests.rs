//! Rules about manifests: which crate may name which, what the trusted ones may link, and what stands in the tree.

use std::collections::BTreeSet;
use toml::{Table, Value};

use crate::tree::{files_ending, read, root};

/// Every crate of the design with the crates of ours that it may use, those of later parts among them, and what it
/// is, so that a stranger knows where a line belongs. Arrows point down only.
const LAYERS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("policy", &["proto"]),
    ("proof", &["proto", "policy"]),
    ("audit", &["proto"]),
    ("model", &["proto"]),
    ("client", &["proto"]),
    ("store", &["proto"]),
    ("review", &["proto", "policy", "proof", "model", "client"]),
    ("executor", &["proto", "policy", "proof", "client"]),
    ("hub", &["proto", "policy", "proof", "store"]),
    ("brokerd", &["proto", "policy", "proof", "audit", "review", "client"]),
    ("loopd", &["proto", "model"]),
    (
        "sealward",
        &[
            "proto", "policy", "proof", "audit", "model", "client", "store", "review", "executor", "hub",
            "brokerd", "loopd",
        ],
    ),
    ("testkit", &["proto"]),
];

/// Programs: the command may start them, and links none.
const PROGRAMS: &[&str] = &["brokerd", "loopd"];

/// What a crate's own code must never link, not even by way of another crate of ours.
const NEVER: &[(&str, &[&str], &str)] = &[
    ("proto", NETWORK, "proto is data: no IO"),
    ("policy", NETWORK, "policy is a pure function"),
    ("proof", NETWORK, "proof is what must be trusted: no network, no async, no configuration format"),
    ("proof", &["toml", "clap", "sqlx", "tracing"], "proof keeps the smallest tree"),
    ("executor", &["axum", "sqlx", "hyper"], "an executor serves nobody and keeps no database"),
    ("loopd", &["brokerd", "policy", "proof"], "the loop can do nothing by itself"),
    ("hub", &["client", "executor", "review"], "the hub carries nothing out and reviews nothing"),
];
const NETWORK: &[&str] =
    &["tokio", "axum", "hyper", "ureq", "reqwest", "rustls", "tower", "async-trait", "futures-util"];

/// The largest part of the code that one crate may be, in percent.
const SHARE_MAX: usize = 30;

struct Manifest {
    name: String,
    table: Table,
}

impl Manifest {
    fn names_in(&self, section: &str) -> BTreeSet<String> {
        let table = self.table.get(section).and_then(Value::as_table);
        table.into_iter().flat_map(|table| table.keys().cloned()).collect()
    }

    /// Everything under `dependencies` and `build-dependencies`, of every target.
    fn dependencies(&self) -> BTreeSet<String> {
        let mut names = self.names_in("dependencies");
        names.extend(self.names_in("build-dependencies"));
        let targets = self.table.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flat_map(Table::values) {
            let table = target.get("dependencies").and_then(Value::as_table);
            names.extend(table.into_iter().flat_map(|table| table.keys().cloned()));
        }
        names
    }
}

fn manifests() -> Vec<Manifest> {
    let mut found: Vec<Manifest> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let table = read(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
            Manifest { name, table }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn workspace() -> Table {
    read("Cargo.toml").parse().unwrap()
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(layer, _)| *layer == name).map(|(_, may)| *may)
}

#[test]
fn the_layers_point_down_only() {
    for (at, (name, may)) in LAYERS.iter().enumerate() {
        for used in *may {
            let below = LAYERS.iter().position(|(layer, _)| layer == used);
            assert!(
                below.is_some_and(|below| below < at),
                "`{name}` uses `{used}`, which does not stand above it"
            );
        }
    }
}

#[test]
fn every_crate_stands_in_the_layers_and_uses_only_what_it_may() {
    let mut faults = Vec::new();
    for manifest in manifests() {
        let name = &manifest.name;
        let Some(may) = allowed(name) else {
            faults.push(format!("`{name}` does not stand in the design's table of crates"));
            continue;
        };
        for used in manifest.dependencies().iter().filter(|used| allowed(used).is_some()) {
            if !may.contains(&used.as_str()) || PROGRAMS.contains(&used.as_str()) {
                faults.push(format!("`{name}` may not use `{used}`"));
            }
        }
        for used in manifest.names_in("dev-dependencies").iter().filter(|used| allowed(used).is_some()) {
            if used != "testkit" && used != name && !may.contains(&used.as_str()) {
                faults.push(format!("the tests of `{name}` may not use `{used}`"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn what_must_be_trusted_links_nothing_that_it_must_not() {
    let manifests = manifests();
    let find = |name: &str| manifests.iter().find(|manifest| manifest.name == name);
    let mut faults = Vec::new();
    for (name, never, why) in NEVER {
        let mut open: Vec<String> = vec![(*name).to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            let Some(manifest) = find(&next).filter(|_| seen.insert(next.clone())) else { continue };
            for used in manifest.dependencies() {
                let own = next == *name;
                let inherited = allowed(&used).is_some() || NETWORK.contains(&used.as_str());
                if never.contains(&used.as_str()) && (own || inherited) {
                    faults.push(format!("`{name}` links `{used}` by `{next}`: {why}"));
                }
                open.push(used);
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_manifest_takes_the_workspace_as_it_is() {
    let mut faults = Vec::new();
    for manifest in manifests() {
        let name = &manifest.name;
        let inherits = |path: [&str; 2]| {
            let value = manifest.table.get(path[0]).and_then(|table| table.get(path[1]));
            value.is_some_and(|value| value.as_bool() == Some(true) || value.get("workspace").is_some())
        };
        let package = manifest.table["package"]["name"].as_str();
        if package != Some(name) {
            faults.push(format!("crates/{name} is called {package:?}: folder and crate share one name"));
        }
        if !inherits(["lints", "workspace"]) {
            faults.push(format!("`{name}`: write `[lints] workspace = true`"));
        }
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            if !inherits(["package", key]) {
                faults.push(format!("`{name}`: write `{key}.workspace = true`"));
            }
        }
        if manifest.table.contains_key("features") {
            faults.push(format!("`{name}`: no features of our own; a build is a build"));
        }
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let table = manifest.table.get(section).and_then(Value::as_table);
            for (used, value) in table.into_iter().flatten() {
                if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                    faults.push(format!("`{name}`: `{used}` takes its version from the workspace"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_dependency_comes_from_the_registry_without_default_features() {
    let workspace = workspace();
    let mut faults = Vec::new();
    for (name, value) in workspace["workspace"]["dependencies"].as_table().unwrap() {
        let ours = value.get("path").and_then(Value::as_str);
        match ours {
            Some(path) if path == format!("crates/{name}") => {}
            Some(path) => faults.push(format!("`{name}` lies at `{path}`")),
            None if value.get("default-features").and_then(Value::as_bool) != Some(false) => {
                faults.push(format!("`{name}`: name the features it needs, with `default-features = false`"));
            }
            None => {}
        }
        if value.get("git").is_some() || workspace.contains_key("patch") {
            faults.push(format!("`{name}`: no git dependencies, no patches, no forks"));
        }
    }
    let lock: Table = read("Cargo.lock").parse().unwrap();
    for package in lock["package"].as_array().unwrap() {
        let git =
            package.get("source").and_then(Value::as_str).is_some_and(|source| source.starts_with("git"));
        if git {
            faults.push(format!("Cargo.lock: {} comes from git", package["name"]));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_dependency_has_its_sentence_and_none_is_listed_in_vain() {
    let workspace = workspace();
    let external: BTreeSet<String> = workspace["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.clone())
        .collect();
    let used: BTreeSet<String> = manifests()
        .iter()
        .flat_map(|manifest| {
            let mut names = manifest.dependencies();
            names.extend(manifest.names_in("dev-dependencies"));
            names
        })
        .collect();
    let unused: Vec<&String> = external.difference(&used).collect();
    assert!(unused.is_empty(), "no crate uses these, take them out of Cargo.toml: {unused:?}");

    let document = read("docs/dependencies.md");
    let mut sentences = BTreeSet::new();
    for line in document.lines() {
        let Some((name, sentence)) = line.strip_prefix("| `").and_then(|rest| rest.split_once("` | ")) else {
            continue;
        };
        assert!(
            sentence.trim_end_matches(['|', ' ']).len() > 20,
            "docs/dependencies.md: `{name}` has no sentence"
        );
        assert!(sentences.insert(name.to_owned()), "docs/dependencies.md: `{name}` stands there twice");
    }
    let silent: Vec<&String> = external.difference(&sentences).collect();
    assert!(silent.is_empty(), "docs/dependencies.md has no sentence on {silent:?}");
    let vain: Vec<&String> = sentences
        .difference(&external)
        .filter(|name| !outside_the_workspace().contains(name.as_str()))
        .collect();
    assert!(vain.is_empty(), "docs/dependencies.md still speaks of {vain:?}");
}

/// Dependencies of the folders that are no part of the workspace: the browser tests, the page's type check and the
/// fuzz targets.
fn outside_the_workspace() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files_ending("package.json") {
        let json: serde_json::Value = serde_json::from_str(&file.text).unwrap();
        for section in ["dependencies", "devDependencies"] {
            names.extend(json[section].as_object().into_iter().flat_map(|table| table.keys().cloned()));
        }
    }
    for file in files_ending("fuzz/Cargo.toml") {
        let table: Table = file.text.parse().unwrap();
        names.extend(table["dependencies"].as_table().into_iter().flat_map(|table| table.keys().cloned()));
    }
    names
}

#[test]
fn no_crate_eats_the_rest() {
    let mut sizes: Vec<(String, usize)> =
        manifests().into_iter().map(|manifest| (manifest.name, 0)).collect();
    for file in files_ending(".rs") {
        let parts: Vec<&str> = file.path.split('/').collect();
        let ["crates", name, "src", rest @ ..] = parts.as_slice() else { continue };
        if rest.last() == Some(&"tests.rs") || rest.contains(&"tests") {
            continue;
        }
        let lines = file.text.lines().filter(|line| !line.trim().is_empty()).count();
        sizes.iter_mut().filter(|(crate_name, _)| crate_name == name).for_each(|(_, size)| *size += lines);
    }
    let whole: usize = sizes.iter().map(|(_, size)| size).sum();
    let shares: Vec<String> =
        sizes.iter().map(|(name, size)| format!("{name}: {size} lines, {} %", size * 100 / whole)).collect();
    let largest = sizes.iter().map(|(_, size)| size * 100 / whole).max().unwrap();
    assert!(largest <= SHARE_MAX, "{shares:#?}");
}
