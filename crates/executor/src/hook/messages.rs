//! Messages of people to all agents: fetched with the answer to a call, and passed on only if their signature holds.
//!
//! They decide nothing, so trouble with them never changes an answer; it is named on stderr.

use client::Hub;
use proof::{Approvers, ReplayStore};
use proto::Refusal;

use super::budget::Budget;
use super::words::{Denied, chain};
use crate::home::Home;
use crate::sync::Sync;

/// Words that ride along with one answer, bytes. Claude Code cuts a text at 10,000 characters; what does not fit
/// comes with the next answer. One message has 2,000 bytes of reason at most, so several fit.
const NOTES_BYTES: usize = 8_000;

/// The new messages, in words. Each is delivered once per executor, whatever the hub says.
pub(super) fn fetch(
    hub: &Hub,
    home: &Home,
    identity: &str,
    budget: Budget<'_>,
    log: &mut Vec<String>,
) -> Vec<String> {
    let mut seen = Sync::open(home.dir());
    let list = match hub.messages(seen.read.messages, budget.call()) {
        // The hub was set up anew and counts from the start.
        Ok(list) if list.next < seen.read.messages => hub.messages(0, budget.call()),
        other => other,
    };
    let list = match list {
        Ok(list) => list,
        Err(error) => {
            log.push(format!("no messages: {}", chain(&error)));
            return Vec::new();
        }
    };
    if list.messages.is_empty() && list.next == seen.read.messages {
        return Vec::new();
    }
    let opened = Approvers::read(&home.approvers()).map_err(|error| chain(&error)).and_then(|approvers| {
        ReplayStore::open(&home.replay()).map(|store| (approvers, store)).map_err(|error| chain(&error))
    });
    let (approvers, store) = match opened {
        Ok(opened) => opened,
        Err(what) => {
            log.push(format!("messages cannot be checked: {what}"));
            return Vec::new();
        }
    };
    let now = budget.clock.now();
    let (mut notes, mut size, mut next) = (Vec::new(), 0_usize, list.next);
    for message in &list.messages {
        if size > 0 && size.saturating_add(proto::limits::REASON_BYTES) > NOTES_BYTES {
            next = message.seq.saturating_sub(1);
            break;
        }
        let checked = proof::check_message(&approvers, Some(identity), message.proof.get().as_bytes(), now)
            .and_then(|message| message.claim(&store, identity, now));
        match checked {
            Ok(checked) => {
                let note = Denied::from(checked).as_message();
                size = size.saturating_add(note.len());
                notes.push(note);
            }
            // Delivered before, in this session or another of this executor.
            Err(Refusal::AlreadyUsed) => {}
            Err(refusal) => {
                log.push(format!(
                    "message {} was refused: {} ({})",
                    message.seq,
                    refusal.sentence(),
                    refusal.code()
                ));
            }
        }
    }
    seen.read.messages = next;
    if let Err(error) = seen.save() {
        log.push(format!("`sync.json` cannot be written, messages will be read again: {error}"));
    }
    notes
}
