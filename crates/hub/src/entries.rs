//! From the entries a caller names to the items as they stand now: what is stale, what may be sealed together, what is hashed.

use std::collections::BTreeSet;

use proof::hub::Covered;
use proto::api::{Cover, Entry};
use proto::{Digest, Item, Kind, Refusal, Status, limits, sha256};
use store::StoredItem;

use crate::app::App;
use crate::human::Held;
use crate::problem::{Code, Problem};

/// The entries of one request with their items.
#[derive(Debug)]
pub(crate) struct Named {
    /// In the order of the entries.
    pub(crate) rows: Vec<NamedRow>,
    /// Ids that are not what the caller saw, or not waiting any more.
    pub(crate) stale: Vec<String>,
}

/// One entry with its item.
#[derive(Debug)]
pub(crate) struct NamedRow {
    pub(crate) entry: Entry,
    pub(crate) stored: StoredItem,
    pub(crate) hash: Digest,
    /// Why only a person may allow it; looked for only where it is to be approved.
    pub(crate) held: Held,
}

/// What a payload is to do with the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Approve,
    Deny,
}

impl Named {
    /// Reads the items behind `entries`. Refuses what is no list of entries; finds what is stale.
    pub(crate) async fn read(app: &App, entries: Vec<Entry>, to: Use) -> Result<Self, Problem> {
        let distinct: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        if entries.is_empty() || entries.len() > limits::PROOF_ITEMS || distinct.len() != entries.len() {
            return Err(malformed(format!("name 1 to {} entries, each once", limits::PROOF_ITEMS)));
        }
        let mut named = Self { rows: Vec::with_capacity(entries.len()), stale: Vec::new() };
        for entry in entries {
            let stored = app.store().item(&entry.id).await?;
            let Some(stored) = stored.filter(|stored| same(&entry, stored)) else {
                named.stale.push(entry.id);
                continue;
            };
            let open = match to {
                Use::Approve => stored.status == Status::Pending,
                Use::Deny => matches!(stored.status, Status::Pending | Status::Collecting),
            };
            if !open || (stored.status == Status::Pending && stored.expires <= app.now()) {
                named.stale.push(entry.id.clone());
            }
            let item = chosen(&stored.item, &entry.choice);
            let held = match to {
                Use::Approve => app.held(&stored.item).await,
                Use::Deny => None,
            };
            named.rows.push(NamedRow { hash: proof::item_hash(&item), entry, stored, held });
        }
        Ok(named)
    }

    /// The items of a batch that collects, as they stand: what its further signatures must cover.
    pub(crate) async fn of_batch(app: &App, entries: &[Entry]) -> Result<Self, Problem> {
        let mut named = Self { rows: Vec::with_capacity(entries.len()), stale: Vec::new() };
        for entry in entries {
            let stored = app.store().item(&entry.id).await?;
            let Some(stored) = stored.filter(|stored| same(entry, stored)) else {
                named.stale.push(entry.id.clone());
                continue;
            };
            // Its asker took one back: the batch goes on for the others, whose hashes the payload still lists.
            let item = chosen(&stored.item, &entry.choice);
            named.rows.push(NamedRow {
                hash: proof::item_hash(&item),
                entry: entry.clone(),
                stored,
                held: None,
            });
        }
        named.fresh()?;
        Ok(named)
    }

    /// 409 with the stale ids, if there are any.
    pub(crate) fn fresh(&self) -> Result<(), Problem> {
        if self.stale.is_empty() { Ok(()) } else { Err(Problem::stale(self.stale.clone())) }
    }

    /// What no payload may approve: a decision without a choice, an item for persons only among others.
    pub(crate) fn may_be_approved(&self) -> Result<(), Problem> {
        for row in &self.rows {
            if row.entry.kind == Kind::Decision && row.entry.choice.is_empty() {
                return Err(malformed("a decision needs a choice".to_owned()));
            }
        }
        let Some(first) = self.rows.first() else { return Ok(()) };
        let alone = self.rows.iter().all(|row| equal_but_for_id(&first.stored.item, &row.stored.item));
        match self.rows.iter().find_map(|row| row.held) {
            Some(held) if !alone => Err(Problem::refused_because(
                Refusal::HumanOnly,
                &format!("{}: sign this one by itself", held.sentence()),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// For the checker: what the hub believes the proof covers.
    pub(crate) fn covered(&self) -> Vec<Covered> {
        self.rows
            .iter()
            .map(|row| Covered { hash: row.hash, kind: row.stored.item.kind(), quorum: row.stored.quorum })
            .collect()
    }

    /// For the page: the hashes the hub would expect.
    pub(crate) fn covers(&self) -> Vec<Cover> {
        self.rows
            .iter()
            .map(|row| Cover { kind: row.entry.kind, id: row.entry.id.clone(), hash: row.hash })
            .collect()
    }
}

/// Whether the entry still means this item.
fn same(entry: &Entry, stored: &StoredItem) -> bool {
    let sha256 = match &stored.item {
        Item::Command(command) => sha256(command.command.as_bytes()).to_string(),
        Item::Ask(_) | Item::Call(_) | Item::Review(_) | Item::Decision(_) => String::new(),
    };
    let choice_fits = entry.kind == Kind::Decision || entry.choice.is_empty();
    entry.kind == stored.item.kind() && entry.sha256 == sha256 && choice_fits
}

/// The item as it is signed: a decision carries the chosen option.
fn chosen(item: &Item, choice: &str) -> Item {
    match item {
        Item::Decision(decision) => {
            let mut decision = decision.clone();
            choice.clone_into(&mut decision.choice);
            Item::Decision(decision)
        }
        Item::Ask(_) | Item::Call(_) | Item::Review(_) | Item::Command(_) => item.clone(),
    }
}

fn equal_but_for_id(one: &Item, other: &Item) -> bool {
    let fields = |item: &Item| -> Vec<(&'static str, String)> {
        let named = item.fields().into_iter().filter(|(name, _)| *name != "id");
        named.map(|(name, value)| (name, value.to_owned())).collect()
    };
    one.kind() == other.kind() && fields(one) == fields(other)
}

pub(crate) fn malformed(detail: String) -> Problem {
    Problem::new(Code::Malformed, detail)
}
