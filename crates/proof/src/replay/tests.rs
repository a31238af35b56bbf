//! Tests of the store itself: what it keeps, what it forgets, and every way in which it can be broken.

use std::fs;

use testkit::{Temp, now_ms};

use super::*;

const HOUR: i64 = 3_600_000;
const SKEW: i64 = limits::SKEW_MS;

struct Scene {
    _home: Temp,
    store: ReplayStore,
    now: Timestamp,
}

fn scene() -> Scene {
    let home = Temp::new();
    let now = Timestamp::from_millis(now_ms());
    let store = ReplayStore::create(&home.join("replay"), now).unwrap();
    Scene { _home: home, store, now }
}

fn item(n: u8) -> Digest {
    Digest::from_bytes([n; 32])
}

impl Scene {
    /// Claims an item with a proof that was issued at `now` and lives an hour.
    fn claim(&self, n: u8, now: Timestamp) -> Result<(), Refusal> {
        self.claim_until(n, now, now.plus(HOUR))
    }

    fn claim_until(&self, n: u8, now: Timestamp, expires: Timestamp) -> Result<(), Refusal> {
        self.store.claim(&ClaimKey::Item(item(n)), None, Some(now), expires, now)
    }

    fn file(&self, n: u8) -> PathBuf {
        self.store.path().join(ClaimKey::Item(item(n)).name())
    }

    fn claims(&self) -> usize {
        let names = fs::read_dir(self.store.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| ClaimKey::is_claim(name.as_encoded_bytes())).count()
    }
}

#[test]
fn an_item_is_claimed_once_and_its_file_holds_the_proofs_end() {
    let scene = scene();
    assert!(!scene.store.is_used(item(1)).unwrap());
    assert_eq!(scene.claim(1, scene.now), Ok(()));
    assert_eq!(scene.claim(1, scene.now), Err(Refusal::AlreadyUsed));
    assert!(scene.store.is_used(item(1)).unwrap());
    assert_eq!(scene.claim(2, scene.now), Ok(()));
    let text = fs::read_to_string(scene.file(1)).unwrap();
    assert_eq!(text, format!("{}\n", scene.now.plus(HOUR).as_millis()));
}

#[test]
fn a_half_written_claim_counts_as_used_for_ever() {
    let scene = scene();
    for (n, half) in [(1, ""), (2, "18000"), (3, "x\n")] {
        fs::write(scene.file(n), half).unwrap();
        assert_eq!(scene.claim(n, scene.now), Err(Refusal::AlreadyUsed));
    }
    // Even a folder or a dangling link of that name is a claim.
    fs::create_dir(scene.file(4)).unwrap();
    std::os::unix::fs::symlink("nowhere", scene.file(5)).unwrap();
    for n in [4, 5] {
        assert_eq!(scene.claim(n, scene.now), Err(Refusal::AlreadyUsed));
    }
    let late = scene.now.plus(400 * 24 * HOUR);
    assert_eq!(scene.store.prune(late).unwrap(), 0);
    assert_eq!(scene.claim(1, late), Err(Refusal::AlreadyUsed));
}

#[test]
fn a_missing_or_damaged_store_is_never_started_anew_by_itself() {
    let damages: &[fn(&Path)] = &[
        |path| fs::remove_dir_all(path).unwrap(),
        |path| fs::remove_file(path.join("birth")).unwrap(),
        |path| fs::remove_file(path.join("highest")).unwrap(),
        |path| fs::write(path.join("birth"), "").unwrap(),
        |path| fs::write(path.join("birth"), "0000000179999").unwrap(),
        |path| fs::write(path.join("birth"), "179999\n").unwrap(),
        |path| fs::write(path.join("highest"), "0000000179999999999x\n").unwrap(),
        |path| fs::write(path.join("highest"), "00000001799999999999\n\n").unwrap(),
        |path| {
            fs::remove_file(path.join("highest")).unwrap();
            fs::create_dir(path.join("highest")).unwrap();
        },
        |path| {
            fs::remove_dir_all(path).unwrap();
            fs::write(path, "a file").unwrap();
        },
        |path| {
            fs::remove_dir_all(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for damage in damages {
        let scene = scene();
        assert_eq!(scene.claim(1, scene.now), Ok(()));
        damage(scene.store.path());
        assert_eq!(scene.claim(2, scene.now), Err(Refusal::StoreDamaged));
        assert!(ReplayStore::open(scene.store.path()).is_err());
    }
}

#[test]
fn a_store_is_made_anew_only_where_no_claims_are_left() {
    let scene = scene();
    assert_eq!(scene.claim(1, scene.now), Ok(()));
    let again = ReplayStore::create(scene.store.path(), scene.now.plus(HOUR)).unwrap();
    assert_eq!(again.marks().unwrap().birth, scene.now, "a whole store is left as it is");
    fs::remove_file(scene.store.path().join("birth")).unwrap();
    let refused = ReplayStore::create(scene.store.path(), scene.now);
    assert!(matches!(refused, Err(StoreError::Remains { .. })));
    fs::remove_file(scene.file(1)).unwrap();
    assert!(ReplayStore::create(scene.store.path(), scene.now).is_ok());
}

#[test]
fn a_clock_moved_back_by_more_than_the_skew_is_refused_and_burns_nothing() {
    let scene = scene();
    let later = scene.now.plus(HOUR);
    assert_eq!(scene.claim(1, later), Ok(()));
    assert_eq!(scene.store.marks().unwrap().highest, later);
    assert_eq!(scene.claim(2, later.plus(-SKEW - 1)), Err(Refusal::ClockBack));
    assert_eq!(scene.claim(2, later.plus(-SKEW)), Ok(()));
    assert_eq!(scene.store.marks().unwrap().highest, later, "the mark never goes down");
    // A refused claim was seen too.
    assert_eq!(scene.claim(1, later.plus(5000)), Err(Refusal::AlreadyUsed));
    assert_eq!(scene.claim(3, later.plus(5000 - SKEW - 1)), Err(Refusal::ClockBack));
}

#[test]
fn an_approval_older_than_the_store_is_refused_at_the_edge_of_the_skew() {
    let scene = scene();
    let claim = |n: u8, issued: Option<Timestamp>| {
        scene.store.claim(&ClaimKey::Item(item(n)), None, issued, scene.now.plus(HOUR), scene.now)
    };
    assert_eq!(claim(1, Some(scene.now.plus(-SKEW - 1))), Err(Refusal::StoreYoung));
    assert_eq!(claim(1, Some(scene.now.plus(-SKEW))), Ok(()));
    assert_eq!(claim(2, None), Ok(()));
}

#[test]
fn a_backdated_store_takes_every_approval_that_is_still_valid() {
    let home = Temp::new();
    let now = Timestamp::from_millis(now_ms());
    let store = ReplayStore::create_backdated(&home.join("replay"), now).unwrap();
    let birth = store.marks().unwrap().birth;
    assert_eq!(now.since(birth), limits::APPROVE_LIFE_MS);
    let claim = |issued: Timestamp| store.claim(&ClaimKey::Item(item(1)), None, Some(issued), now, now);
    assert_eq!(claim(birth.plus(-SKEW - 1)), Err(Refusal::StoreYoung));
    assert_eq!(claim(birth.plus(-SKEW)), Ok(()));
}

#[test]
fn claims_are_kept_until_the_later_of_their_end_and_two_days_and_the_skew() {
    let scene = scene();
    let two_days = limits::CLAIM_KEPT_MS;
    assert_eq!(scene.claim_until(1, scene.now, scene.now.plus(HOUR)), Ok(()));
    assert_eq!(scene.claim_until(2, scene.now, scene.now.plus(two_days + HOUR)), Ok(()));
    for (after, left) in [
        (HOUR + SKEW + 1, 2),
        (two_days + SKEW, 2),
        (two_days + SKEW + 1, 1),
        (two_days + HOUR + SKEW, 1),
        (two_days + HOUR + SKEW + 1, 0),
    ] {
        let _pruned = scene.store.prune(scene.now.plus(after)).unwrap();
        assert_eq!(scene.claims(), left, "{after} ms later");
    }
}

#[test]
fn a_claim_prunes_by_itself_when_the_hour_changes() {
    let scene = scene();
    assert_eq!(scene.claim(1, scene.now), Ok(()));
    let later = scene.now.plus(72 * HOUR);
    assert_eq!(scene.claim(2, later), Ok(()));
    assert_eq!(scene.claims(), 1);
    assert!(!scene.file(1).exists() && scene.file(2).exists());
}

#[test]
fn a_message_and_an_item_never_share_a_claim_and_names_are_not_run_together() {
    let scene = scene();
    let claim = |nonce: &str, executor: &str| {
        let key = ClaimKey::Message { nonce, executor };
        scene.store.claim(&key, None, None, scene.now.plus(HOUR), scene.now)
    };
    assert_eq!(claim("ab", "c"), Ok(()));
    assert_eq!(claim("a", "bc"), Ok(()));
    assert_eq!(claim("ab", "c"), Err(Refusal::AlreadyUsed));
    assert_eq!(claim("../../etc", "/"), Ok(()));
    assert_eq!(scene.claims(), 3, "all inside the folder");
}

#[test]
fn uses_of_a_rule_are_found_by_halving_and_survive_any_gap() {
    let scene = scene();
    let claim = |n: u8, limit: u64| {
        let uses = RuleUses { id: "rule-1", executor: "e", limit };
        scene.store.claim(&ClaimKey::Item(item(n)), Some(uses), None, scene.now.plus(HOUR), scene.now)
    };
    let got: Vec<_> = (0..40).map(|n| claim(n, 33)).collect();
    assert_eq!(got.iter().filter(|verdict| verdict.is_ok()).count(), 33);
    assert!(got[33..].iter().all(|verdict| *verdict == Err(Refusal::AlreadyUsed)));
    // A use given back is at most used again: never one more than signed.
    let uses = RuleUses { id: "rule-1", executor: "e", limit: 33 };
    for n in [1, 7, 16, 33] {
        fs::remove_file(scene.store.path().join(uses.slot(n))).unwrap();
    }
    let more = (100..120).filter(|n| claim(*n, 33).is_ok()).count();
    assert!(more <= 4, "{more}");
    assert_eq!(claim(200, u64::MAX), Ok(()), "no limit is too large to search");
}

#[test]
fn a_lost_race_gives_the_rules_use_back() {
    let scene = scene();
    let uses = || Some(RuleUses { id: "rule-1", executor: "e", limit: 1 });
    let folder = scene.store.folder().unwrap();
    let claim = Claim { folder: &folder, expires: scene.now.plus(HOUR), now: scene.now };
    // What two processes do at once, one step after the other: both saw the item unused.
    let slot = claim.take_use(&uses().unwrap()).unwrap();
    assert_eq!(claim.take_use(&uses().unwrap()), Err(Refusal::AlreadyUsed));
    rustix::fs::unlinkat(&folder, &slot, AtFlags::empty()).unwrap();
    let key = ClaimKey::Item(item(1));
    assert_eq!(scene.store.claim(&key, uses(), None, scene.now.plus(HOUR), scene.now), Ok(()));
}

#[test]
fn the_store_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene();
    assert_eq!(scene.claim(1, scene.now), Ok(()));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(scene.store.path()), 0o700);
    for name in ["birth", "highest"] {
        assert_eq!(mode(&scene.store.path().join(name)), 0o600);
    }
    assert_eq!(mode(&scene.file(1)), 0o600);
}

#[test]
fn makers_in_many_threads_make_one_store() {
    let home = Temp::new();
    let path = home.join("replay");
    let births: Vec<Timestamp> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|n| {
                let path = &path;
                scope.spawn(move || {
                    let now = Timestamp::from_millis(1_800_000_000_000 + n);
                    ReplayStore::create(path, now).unwrap().marks().unwrap().birth
                })
            })
            .collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert!(births.windows(2).all(|pair| pair[0] == pair[1]), "{births:?}");
}
