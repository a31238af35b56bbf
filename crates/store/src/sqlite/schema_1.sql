-- Schema 1. Never edited once released: the next change is schema_2.sql.

-- The end of the log, beside the log: without it nobody would notice that the last lines are gone.
CREATE TABLE chain (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT;
INSERT INTO chain VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');

CREATE TABLE events (
  seq INTEGER NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL,
  line TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_kind ON events (kind, seq);

-- Which events concern whom or what: `agent/NAME`, `agents` (all of them), `item/ID`.
CREATE TABLE topics (
  topic TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (topic, seq)
) STRICT, WITHOUT ROWID;

-- `fields` is the JSON of the hashed fields but `id`; large columns stand last, so that a scan of small ones skips them.
CREATE TABLE items (
  seq INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  owner TEXT NOT NULL,
  twin BLOB NOT NULL,
  quorum INTEGER NOT NULL,
  guard TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN
    ('pending', 'collecting', 'settling', 'allowed', 'denied', 'expired', 'cancelled', 'superseded')),
  batch TEXT REFERENCES batches (id),
  denial TEXT REFERENCES denials (nonce),
  answered_by TEXT NOT NULL DEFAULT '' CHECK (answered_by IN ('', 'person', 'rule', 'reviewer')),
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  closed INTEGER,
  ended INTEGER UNIQUE,
  who TEXT NOT NULL DEFAULT '',
  host TEXT,
  thread TEXT,
  why TEXT,
  fields TEXT NOT NULL
) STRICT;
CREATE INDEX items_waiting ON items (seq) WHERE status IN ('pending', 'collecting', 'settling');
CREATE INDEX items_twins ON items (twin, seq) WHERE status IN ('pending', 'collecting', 'settling');
CREATE INDEX items_lapse ON items (expires) WHERE status IN ('pending', 'collecting');
CREATE INDEX items_by_batch ON items (batch, seq) WHERE batch IS NOT NULL;
CREATE INDEX items_by_denial ON items (denial, seq) WHERE denial IS NOT NULL;
CREATE INDEX items_by_day ON items (closed, status, answered_by) WHERE closed IS NOT NULL;

-- How many items wait, by owner and (owner '') in all, so that caps and totals cost one row.
CREATE TABLE waiting (
  owner TEXT NOT NULL PRIMARY KEY,
  unanswered INTEGER NOT NULL,
  waiting INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO waiting VALUES ('', 0, 0);
CREATE TRIGGER items_come AFTER INSERT ON items BEGIN
  INSERT INTO waiting
    SELECT owner, NEW.status IN ('pending', 'collecting'), NEW.status IN ('pending', 'collecting', 'settling')
    FROM (SELECT '' AS owner UNION ALL SELECT NEW.owner) WHERE true
    ON CONFLICT (owner) DO UPDATE SET
      unanswered = unanswered + excluded.unanswered, waiting = waiting.waiting + excluded.waiting;
END;
CREATE TRIGGER items_move AFTER UPDATE OF status ON items WHEN OLD.status <> NEW.status BEGIN
  UPDATE waiting SET
    unanswered = unanswered + (NEW.status IN ('pending', 'collecting')) - (OLD.status IN ('pending', 'collecting')),
    waiting = waiting + (NEW.status IN ('pending', 'collecting', 'settling'))
      - (OLD.status IN ('pending', 'collecting', 'settling'))
    WHERE owner IN ('', NEW.owner);
END;

CREATE TABLE batches (
  seq INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('collecting', 'settling', 'settled', 'undone', 'expired')),
  need INTEGER NOT NULL,
  have INTEGER NOT NULL,
  undo_ms INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  created INTEGER NOT NULL,
  settles INTEGER,
  expires INTEGER NOT NULL,
  signers TEXT NOT NULL,
  payload BLOB NOT NULL,
  entries TEXT NOT NULL,
  proof TEXT
) STRICT;
CREATE INDEX batches_open ON batches (seq) WHERE status IN ('collecting', 'settling');
CREATE INDEX batches_settling ON batches (settles) WHERE status = 'settling';
CREATE INDEX batches_lapse ON batches (expires) WHERE status = 'collecting';

CREATE TABLE denials (
  nonce TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  channel TEXT NOT NULL,
  label TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  reason TEXT NOT NULL,
  ids TEXT NOT NULL,
  proof TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- `seq` is that of the event; `topic` as in topics.
CREATE TABLE messages (
  seq INTEGER NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL,
  nonce TEXT NOT NULL REFERENCES denials (nonce),
  pinned INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  revoked INTEGER
) STRICT;
CREATE INDEX messages_by_reader ON messages (topic, seq) WHERE revoked IS NULL;
CREATE INDEX messages_pinned ON messages (seq) WHERE pinned = 1 AND revoked IS NULL;
CREATE INDEX messages_by_nonce ON messages (nonce);

-- `seq` is that of the event. A pin has `subject` = key and an executor, a revoke `what` and `subject` = id.
CREATE TABLE trust (
  seq INTEGER NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  nonce TEXT NOT NULL UNIQUE,
  verb TEXT NOT NULL CHECK (verb IN ('pin', 'revoke')),
  what TEXT NOT NULL,
  subject TEXT NOT NULL,
  executor TEXT NOT NULL,
  label TEXT NOT NULL,
  proof TEXT NOT NULL
) STRICT;

CREATE TABLE tokens (
  hash TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  executors TEXT NOT NULL,
  created INTEGER NOT NULL,
  seen INTEGER,
  revoked INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tokens_live ON tokens (name) WHERE revoked IS NULL;

CREATE TABLE sessions (
  cookie_hash TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  page_hash TEXT NOT NULL,
  keyid TEXT NOT NULL,
  label TEXT NOT NULL,
  person TEXT NOT NULL,
  created INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pause (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  by TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
