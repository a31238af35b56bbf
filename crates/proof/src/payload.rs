//! Payloads: one struct a verb, read strictly, and the rules on their times.
//!
//! Parsed only after every signature over the bytes has verified. Not here: what a verb does.

use std::collections::BTreeSet;

use policy::delegation::Risk;
use proto::api::PinEntry;
use proto::{Channel, Digest, Kind, Refusal, Timestamp, b64, limits};

use crate::json::{self, BadJson, Object};
use crate::keys::PublicKey;
use crate::pins::{check_entry, parse_entry};

/// What a payload does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each verb is documented at its struct")]
pub enum Verb {
    Approve,
    Deny,
    Rule,
    Delegate,
    Vouch,
    Pin,
    Revoke,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 7] =
        [Self::Approve, Self::Deny, Self::Rule, Self::Delegate, Self::Vouch, Self::Pin, Self::Revoke];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Rule => "rule",
            Self::Delegate => "delegate",
            Self::Vouch => "vouch",
            Self::Pin => "pin",
            Self::Revoke => "revoke",
        }
    }
}

/// What all payloads have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    /// 22 base64url characters, 16 random bytes.
    pub nonce: String,
    /// When it was signed, by the signer's clock.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
}

/// A person's yes to listed items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approve {
    /// 1 to 256 item hashes, no duplicates.
    pub items: Vec<Digest>,
    /// End of the undo window.
    pub not_before: Timestamp,
}

/// A person's no to listed items, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deny {
    /// 1 to 256 item hashes, no duplicates.
    pub items: Vec<Digest>,
    /// Who is to hear it, and how urgently.
    pub channel: Channel,
    /// Why; may be empty.
    pub reason: String,
}

/// A signed, expiring auto-approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, by which it is revoked.
    pub id: String,
    /// The kind of items it is for.
    pub kind: Kind,
    /// The tool, for asks and calls.
    pub tool: String,
    /// What matches; the matcher's language.
    pub pattern: String,
    /// Where; the matcher's language.
    pub scope: String,
    /// One executor's identity, or `*`.
    pub executor: String,
    /// Version of the matching rules.
    pub matcher: i64,
    /// How often, per executor; 0 = no limit.
    pub uses: u64,
}

impl Rule {
    /// Whether it is for that executor.
    #[must_use]
    pub fn is_for(&self, executor: &str) -> bool {
        self.executor == "*" || self.executor == executor
    }
}

/// A signed, scoped, expiring power of an automatic reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegate {
    /// Its id, by which it is revoked.
    pub id: String,
    /// The reviewer's Ed25519 key, 64 lower-case hex digits.
    pub reviewer: String,
    /// The kinds it may vouch for; at least one.
    pub kinds: BTreeSet<Kind>,
    /// Where; the matcher's language.
    pub scope: String,
    /// The highest risk it may vouch for.
    pub max_risk: Risk,
    /// One executor's identity, or `*`.
    pub executor: String,
}

/// A reviewer's signed yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouch {
    /// The item's hash.
    pub item: Digest,
    /// Id of the delegation it relies on.
    pub delegation: String,
    /// The risk the reviewer saw.
    pub risk: Risk,
}

/// A further key for one executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The key; it has passed [`check_entry`].
    pub key: PinEntry,
    /// The executor's identity.
    pub executor: String,
}

/// What is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are the nouns of the design")]
pub enum What {
    Rule,
    Delegation,
    Key,
    /// A denial pinned on channel `security`; its id is the nonce.
    Warning,
}

impl What {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Rule, Self::Delegation, Self::Key, Self::Warning];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Delegation => "delegation",
            Self::Key => "key",
            Self::Warning => "warning",
        }
    }
}

/// The end of something signed before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoke {
    /// What it is.
    pub what: What,
    /// Its id.
    pub id: String,
}

/// What one verb says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each verb is documented at its struct")]
pub enum Body {
    Approve(Approve),
    Deny(Deny),
    Rule(Rule),
    Delegate(Delegate),
    Vouch(Vouch),
    Pin(Box<Pin>),
    Revoke(Revoke),
}

/// A payload, parsed. That it was signed, and that its times are in order, is said by who hands it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Nonce and times.
    pub common: Common,
    /// The verb's own members.
    pub body: Body,
}

/// The payload is not what its verb demands; the text says why, for logs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad payload: {0}")]
pub struct BadPayload(String);

impl From<BadJson> for BadPayload {
    fn from(bad: BadJson) -> Self {
        Self(bad.to_string())
    }
}

impl Payload {
    /// Reads payload bytes by their own verb. Times are not looked at.
    ///
    /// # Errors
    /// [`BadPayload`] for anything but exactly the members of the verb, each of its form.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadPayload> {
        Ok(parse(bytes)?)
    }

    /// Its verb.
    #[must_use]
    pub fn verb(&self) -> Verb {
        match &self.body {
            Body::Approve(_) => Verb::Approve,
            Body::Deny(_) => Verb::Deny,
            Body::Rule(_) => Verb::Rule,
            Body::Delegate(_) => Verb::Delegate,
            Body::Vouch(_) => Verb::Vouch,
            Body::Pin(_) => Verb::Pin,
            Body::Revoke(_) => Verb::Revoke,
        }
    }

    /// The items it lists: none for verbs that list none.
    #[must_use]
    pub fn items(&self) -> &[Digest] {
        match &self.body {
            Body::Approve(approve) => &approve.items,
            Body::Deny(deny) => &deny.items,
            Body::Vouch(vouch) => std::slice::from_ref(&vouch.item),
            Body::Rule(_) | Body::Delegate(_) | Body::Pin(_) | Body::Revoke(_) => &[],
        }
    }

    /// End of the undo window; `issued` for verbs without one.
    #[must_use]
    pub fn not_before(&self) -> Timestamp {
        match &self.body {
            Body::Approve(approve) => approve.not_before,
            Body::Deny(_)
            | Body::Rule(_)
            | Body::Delegate(_)
            | Body::Vouch(_)
            | Body::Pin(_)
            | Body::Revoke(_) => self.common.issued,
        }
    }

    fn life_max(&self) -> i64 {
        match &self.body {
            Body::Approve(_) => limits::APPROVE_LIFE_MS,
            Body::Deny(deny) if deny.channel.pinned() => limits::SECURITY_LIFE_MS,
            Body::Deny(_) => limits::APPROVE_LIFE_MS,
            Body::Rule(_) | Body::Revoke(_) => limits::RULE_LIFE_MS,
            Body::Delegate(_) => limits::DELEGATE_LIFE_MS,
            Body::Vouch(_) => limits::VOUCH_LIFE_MS,
            Body::Pin(_) => limits::PIN_LIFE_MS,
        }
    }

    /// The last part of step 6: order and length of its times, then `not_yet`, then `expired`. `early` is how far ahead
    /// `not_before` may lie: 0 where executors check.
    pub(crate) fn check_times(&self, now: Timestamp, early: i64) -> Result<(), Refusal> {
        let Common { nonce: _, issued, expires } = &self.common;
        let ordered = *issued <= self.not_before() && self.not_before() <= *expires;
        if !ordered || expires.since(*issued) > self.life_max() {
            return Err(Refusal::BadPayload);
        }
        let from_hub_or_clock = match &self.body {
            Body::Approve(approve) => approve.not_before > now.plus(early),
            Body::Deny(_)
            | Body::Rule(_)
            | Body::Delegate(_)
            | Body::Vouch(_)
            | Body::Pin(_)
            | Body::Revoke(_) => false,
        };
        if *issued > now.plus(limits::SKEW_MS) || from_hub_or_clock {
            return Err(Refusal::NotYet);
        }
        let late = match &self.body {
            Body::Rule(_) | Body::Delegate(_) => 0,
            Body::Approve(_) | Body::Deny(_) | Body::Vouch(_) | Body::Pin(_) | Body::Revoke(_) => {
                limits::SKEW_MS
            }
        };
        if now > expires.plus(late) { Err(Refusal::Expired) } else { Ok(()) }
    }
}

fn parse(bytes: &[u8]) -> Result<Payload, BadJson> {
    let mut object = Object::parse(bytes)?;
    if object.integer("v")? != 1 {
        return Err(BadJson::Value("v"));
    }
    let verb = object.text("verb")?;
    let verb = Verb::ALL.into_iter().find(|v| v.as_str() == verb).ok_or(BadJson::Value("verb"))?;
    let nonce = object.text("nonce")?;
    if b64::decode(&nonce).map(|bytes| bytes.len()) != Ok(NONCE_BYTES) {
        return Err(BadJson::Value("nonce"));
    }
    let common =
        Common { nonce, issued: time(&mut object, "issued")?, expires: time(&mut object, "expires")? };
    let body = match verb {
        Verb::Approve => Body::Approve(Approve {
            items: items(&mut object)?,
            not_before: time(&mut object, "not_before")?,
        }),
        Verb::Deny => Body::Deny(deny(&mut object)?),
        Verb::Rule => Body::Rule(rule(&mut object)?),
        Verb::Delegate => Body::Delegate(delegate(&mut object)?),
        Verb::Vouch => Body::Vouch(Vouch {
            item: digest(&object.text("item")?, "item")?,
            delegation: named(&mut object, "delegation")?,
            risk: risk(&mut object, "risk")?,
        }),
        Verb::Pin => {
            let key = parse_entry(object.object("key")?)?;
            check_entry(&key).map_err(|_| BadJson::Value("key"))?;
            Body::Pin(Box::new(Pin { key, executor: named(&mut object, "executor")? }))
        }
        Verb::Revoke => {
            let what = object.text("what")?;
            let what = What::ALL.into_iter().find(|w| w.as_str() == what).ok_or(BadJson::Value("what"))?;
            Body::Revoke(Revoke { what, id: named(&mut object, "id")? })
        }
    };
    object.finish()?;
    Ok(Payload { common, body })
}

const NONCE_BYTES: usize = 16;

fn time(object: &mut Object<'_>, name: &'static str) -> Result<Timestamp, BadJson> {
    object.integer(name).map(Timestamp::from_millis)
}

fn digest(text: &str, name: &'static str) -> Result<Digest, BadJson> {
    Digest::parse(text).map_err(|_| BadJson::Value(name))
}

fn named(object: &mut Object<'_>, name: &'static str) -> Result<String, BadJson> {
    let text = object.text(name)?;
    if text.is_empty() { Err(BadJson::Value(name)) } else { Ok(text) }
}

fn kind(text: &str, name: &'static str) -> Result<Kind, BadJson> {
    text.parse().map_err(|_| BadJson::Value(name))
}

fn risk(object: &mut Object<'_>, name: &'static str) -> Result<Risk, BadJson> {
    Risk::parse(&object.text(name)?).ok_or(BadJson::Value(name))
}

fn items(object: &mut Object<'_>) -> Result<Vec<Digest>, BadJson> {
    let listed = json::array(object.take("items")?, "items")?;
    if listed.is_empty() || listed.len() > limits::PROOF_ITEMS {
        return Err(BadJson::Value("items"));
    }
    let mut seen = BTreeSet::new();
    let mut items = Vec::with_capacity(listed.len());
    for raw in listed {
        let hash = digest(&json::text(raw, "items")?, "items")?;
        if !seen.insert(hash) {
            return Err(BadJson::Value("items"));
        }
        items.push(hash);
    }
    Ok(items)
}

fn deny(object: &mut Object<'_>) -> Result<Deny, BadJson> {
    let deny = Deny {
        items: items(object)?,
        channel: object.text("channel")?.parse().map_err(|_| BadJson::Value("channel"))?,
        reason: object.text("reason")?,
    };
    if deny.reason.len() > limits::REASON_BYTES { Err(BadJson::Value("reason")) } else { Ok(deny) }
}

fn rule(object: &mut Object<'_>) -> Result<Rule, BadJson> {
    Ok(Rule {
        id: named(object, "id")?,
        kind: kind(&object.text("kind")?, "kind")?,
        tool: object.text("tool")?,
        pattern: object.text("pattern")?,
        scope: object.text("scope")?,
        executor: named(object, "executor")?,
        matcher: object.integer("matcher")?,
        uses: u64::try_from(object.integer("uses")?).map_err(|_| BadJson::Value("uses"))?,
    })
}

fn delegate(object: &mut Object<'_>) -> Result<Delegate, BadJson> {
    let id = named(object, "id")?;
    let reviewer = object.text("reviewer")?;
    // A weak reviewer key would let anyone vouch, so it is as bad here as it is when pinned.
    let raw = digest(&reviewer, "reviewer")?;
    PublicKey::ed25519(raw.as_bytes()).map_err(|_| BadJson::Value("reviewer"))?;
    let names = object.texts("kinds")?;
    let kinds = names.iter().map(|name| kind(name, "kinds")).collect::<Result<BTreeSet<_>, _>>()?;
    if kinds.is_empty() || kinds.len() != names.len() {
        return Err(BadJson::Value("kinds"));
    }
    Ok(Delegate {
        id,
        reviewer,
        kinds,
        scope: object.text("scope")?,
        max_risk: risk(object, "max_risk")?,
        executor: named(object, "executor")?,
    })
}
