//! Every limit by name, with its arithmetic. Over a limit is refused loudly, never cut silently; who refuses is not here.

/// A proof on the wire, bytes: 256 hashes of 67 bytes are 17 KiB, as base64 23 KiB; ten signatures of 4 KiB fit beside them.
pub const PROOF_BYTES: usize = 64 * 1024;
/// Hashes in one payload.
pub const PROOF_ITEMS: usize = 256;
/// Signatures in one proof: far above any quorum people form.
pub const PROOF_SIGNATURES: usize = 16;
/// A credential id, bytes before encoding (WebAuthn's own limit).
pub const CREDENTIAL_ID_BYTES: usize = 1023;
/// clientDataJSON, bytes: about 200 in practice.
pub const CLIENT_DATA_BYTES: usize = 4 * 1024;
/// authenticatorData, bytes: 37, and room for extensions.
pub const AUTHENTICATOR_DATA_BYTES: usize = 1024;
/// An RSA key, bits: under this it is breakable, ...
pub const RSA_BITS_MIN: usize = 2048;
/// ... and over this a check takes too long to be done unasked.
pub const RSA_BITS_MAX: usize = 4096;
/// A pin file, bytes: a thousand keys of about 1 KiB (RSA ones) with their labels and origins.
pub const PIN_FILE_BYTES: usize = 1024 * 1024;
/// A signature, bytes: RSA-4096 has 512.
pub const SIGNATURE_BYTES: usize = 1024;
/// The reason of a denial, bytes.
pub const REASON_BYTES: usize = 2000;
/// Largest integer in a payload, 2^53 - 1, so that every JSON reader sees the same number.
pub const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// Clock skew allowed where the design allows it, ms.
pub const SKEW_MS: i64 = 60 * 1000;
/// An executor may wait this long for `not_before`, ms.
pub const NOT_YET_WAIT_MS: i64 = 60 * 1000;
/// `approve` and `deny` live at most, ms: 24 h.
pub const APPROVE_LIFE_MS: i64 = 24 * 60 * 60 * 1000;
/// `deny` on channel `security` lives at most, ms: 30 days.
pub const SECURITY_LIFE_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// `rule` and `revoke` live at most, ms: 366 days.
pub const RULE_LIFE_MS: i64 = 366 * 24 * 60 * 60 * 1000;
/// `delegate` lives at most, ms: 90 days.
pub const DELEGATE_LIFE_MS: i64 = 90 * 24 * 60 * 60 * 1000;
/// `vouch` lives at most, ms: 10 min.
pub const VOUCH_LIFE_MS: i64 = 10 * 60 * 1000;
/// `pin` lives at most, ms: 1 h.
pub const PIN_LIFE_MS: i64 = 60 * 60 * 1000;
/// A claim is kept at least this long, ms: 48 h.
pub const CLAIM_KEPT_MS: i64 = 48 * 60 * 60 * 1000;

/// A session's id, bytes.
pub const SESSION_ID_BYTES: usize = 64;
/// An executor's identity or an agent's name, bytes.
pub const NAME_BYTES: usize = 128;
/// A tool input or call arguments, bytes: 256 KiB must pass; a megabyte is shown by no page in one piece.
pub const INPUT_BYTES: usize = 512 * 1024;
/// Nesting of JSON in a tool input.
pub const INPUT_DEPTH: usize = 64;
/// A request's body, bytes: an input of 512 KiB escaped as a JSON string at worst doubles, and the other fields are small.
pub const BODY_BYTES: usize = 2 * INPUT_BYTES + 64 * 1024;
/// An answer of the hub that a machine reads, bytes: a page of 100 messages whose proofs are as large as can be, and their frame.
pub const ANSWER_BYTES: usize = 100 * (PROOF_BYTES + 16 * 1024);
/// What a hook reads from its agent, bytes: the input, the same again in a rewritten form, and the frame.
pub const HOOK_STDIN_BYTES: usize = 1024 * 1024;
/// Nesting of JSON in a hook's event: what tools answer may be deeper than what the hub takes as an input, and the JSON reader
/// itself stops at 128.
pub const HOOK_DEPTH: usize = 120;
/// The agent's own words about a call, bytes.
pub const WHY_BYTES: usize = 4 * 1024;
/// A path, bytes (Linux' PATH_MAX).
pub const PATH_BYTES: usize = 4096;

/// Seconds a long poll may wait: under the 60 s after which proxies hang up.
pub const WAIT_S_MAX: u64 = 55;
/// Open polls per token, by default.
pub const POLLS_PER_TOKEN: usize = 64;
/// Pending items per agent, by default.
pub const PENDING_PER_AGENT: usize = 32;
/// Pending items in all, by default.
pub const PENDING: usize = 1000;
/// New asks a minute per token, by default.
pub const ASKS_PER_MINUTE: usize = 60;
/// Rows on a page of the inbox, the history and the log.
pub const PAGE_ROWS: usize = 50;
/// Most rows a caller may ask for at once.
pub const PAGE_ROWS_MAX: usize = 500;
/// Rows of a page that are read from the disk at once: 32 of the largest inputs are 16 MiB.
pub const PAGE_STEP: u32 = 32;
/// An item up to this is looked through for the human-only list where it comes by, bytes: about a millisecond.
pub const LOOK_BYTES: usize = 8 * 1024;
/// Verdicts of that list a hub remembers: four full inboxes.
pub const LOOKS_KEPT: usize = 4 * PENDING;
/// A page of rows ends before its items are over this, bytes, but for a single one: a phone takes it, and the rest has a cursor.
pub const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Default lifetime of an item, ms: 1 h.
pub const LIFETIME_MS: i64 = 60 * 60 * 1000;
/// Default undo window, ms: 5 s.
pub const UNDO_MS: i64 = 5 * 1000;
/// An enrolment link lives, ms: 10 min.
pub const ENROL_LIFE_MS: i64 = 10 * 60 * 1000;
/// Tries at an enrolment code.
pub const ENROL_TRIES: u32 = 5;
/// A login lives, ms: 12 h.
pub const LOGIN_LIFE_MS: i64 = 12 * 60 * 60 * 1000;
/// A login answer must be younger than this, ms, also to resume after a pause.
pub const LOGIN_ANSWER_MS: i64 = 60 * 1000;

/// Connections a hub holds at once: 64 polls each for 12 tokens, browsers and short requests beside them; far under the
/// 1024 descriptors a process has by default once files are counted.
pub const CONNECTIONS: usize = 900;
/// A request's head must have come within this, ms, and a TLS hello too; an idle connection is closed after it.
pub const HEAD_MS: u64 = 15 * 1000;
/// A request's head, bytes: a bearer token, cookies of neighbours on localhost and the rest.
pub const HEAD_BYTES: usize = 64 * 1024;
/// A request's body may pause this long between two parts, ms.
pub const BODY_PAUSE_MS: u64 = 10 * 1000;
/// After a failed accept (out of descriptors), ms; and what a peer that is turned away has to read why.
pub const ACCEPT_PAUSE_MS: u64 = 100;
/// Open requests have this long to finish when a hub stops, ms.
pub const STOP_MS: u64 = 10 * 1000;
/// Between two signs of life on an idle event stream, ms: under the 60 s after which proxies hang up.
pub const STREAM_IDLE_MS: u64 = 20 * 1000;
/// The longest undo window that can be configured, s: an approve lives 15 minutes at the least where that is its default.
pub const UNDO_S_MAX: u32 = 600;
/// The longest lifetime of an item that can be configured, s: a day, as long as an approve may live.
pub const LIFETIME_S_MAX: u32 = 24 * 60 * 60;
/// The highest cap or rate that can be configured.
pub const CAP_MAX: u32 = 100_000;
/// Login and enrolment tries of everybody together, a minute: each may cost a signature check of 0.1 ms.
pub const DOOR_PER_MINUTE: u32 = 600;

/// A command that a grant or a rule may match, bytes. A longer one goes to a person.
pub const COMMAND_BYTES: usize = 10_000;
/// Parts of a command that a grant or a rule may match. More go to a person.
pub const COMMAND_PARTS: usize = 50;
/// A grants file, bytes: a hundred grants of a page each.
pub const GRANT_FILE_BYTES: usize = 256 * 1024;
/// Grants in one set: each call is held against all of them.
pub const GRANTS: usize = 1000;
/// The highest quorum that can be asked for: one signature of each person fits one proof.
pub const QUORUM_MAX: u32 = 16;

/// A record of a log, bytes with its line end: the largest input, escaped, and the frame.
pub const RECORD_BYTES: usize = 2 * 1024 * 1024;
/// A segment of the broker's log, bytes.
pub const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// A frame between loop and broker, bytes with its line end: arguments of 512 KiB, escaped, at worst double.
pub const FRAME_BYTES: usize = 1024 * 1024;
/// Calls in flight on one connection to the broker.
pub const CALLS_IN_FLIGHT: usize = 64;
/// Bytes that may wait unread on one connection to the broker: four of the largest frames.
pub const UNREAD_BYTES: usize = 4 * FRAME_BYTES;
/// Arguments of a call to the broker, bytes: escaped they fit a frame beside the evidence.
pub const ARGUMENTS_BYTES: usize = 256 * 1024;
/// Evidence of a call, bytes: escaped it fits a frame beside the arguments.
pub const EVIDENCE_BYTES: usize = 128 * 1024;
/// What a tool gives back, bytes; over it the middle is left out and that is said.
pub const RESULT_BYTES: usize = 256 * 1024;

const _: () = {
    assert!(2 * ARGUMENTS_BYTES + 2 * EVIDENCE_BYTES + 16 * 1024 <= FRAME_BYTES, "a frame holds a call");
    assert!(2 * RESULT_BYTES + 16 * 1024 <= FRAME_BYTES, "a frame holds a result");
    assert!(INPUT_BYTES * 2 + 16 * 1024 <= BODY_BYTES, "a body holds an escaped input");
    assert!(
        INPUT_BYTES < HOOK_STDIN_BYTES,
        "a hook reads more than a hub takes, so the hub's reason is heard"
    );
    assert!(BODY_BYTES <= RECORD_BYTES, "what is accepted can be recorded");
    assert!(PAGE_ROWS <= PAGE_ROWS_MAX, "the default page is allowed");
};
