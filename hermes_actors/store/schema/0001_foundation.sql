-- Everything a gateway must remember. Times are seconds since 1970 and are never used for order:
-- clocks step back, row ids do not. JSON columns hold what the store itself never opens.

CREATE TABLE sessions (
  id              TEXT PRIMARY KEY,
  session_key     TEXT NOT NULL,
  agent_id        TEXT NOT NULL,
  platform        TEXT NOT NULL,
  source          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(source)),
  display_name    TEXT,
  title           TEXT,
  parent_id       TEXT REFERENCES sessions(id),
  started_at      REAL NOT NULL,
  updated_at      REAL NOT NULL,
  ended_at        REAL,
  end_reason      TEXT,
  model_override  TEXT CHECK (model_override IS NULL OR json_valid(model_override)),
  system_prompt   TEXT,
  message_count   INTEGER NOT NULL DEFAULT 0,
  tool_call_count INTEGER NOT NULL DEFAULT 0,
  input_tokens    INTEGER NOT NULL DEFAULT 0,
  output_tokens   INTEGER NOT NULL DEFAULT 0,
  cached_tokens   INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_micros     INTEGER NOT NULL DEFAULT 0,
  rewinds         INTEGER NOT NULL DEFAULT 0,
  strikes         INTEGER NOT NULL DEFAULT 0,
  archived        INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
  extra           TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(extra)),
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
) STRICT;
CREATE UNIQUE INDEX sessions_title ON sessions(title) WHERE title IS NOT NULL;
CREATE INDEX sessions_key ON sessions(session_key, started_at);
CREATE INDEX sessions_parent ON sessions(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_updated ON sessions(updated_at);

-- The routing index: where a chat's next message goes. Several keys may lead to one session.
CREATE TABLE bindings (
  session_key   TEXT PRIMARY KEY,
  session_id    TEXT NOT NULL REFERENCES sessions(id),
  agent_id      TEXT NOT NULL,
  bound_at      REAL NOT NULL,
  updated_at    REAL NOT NULL,
  reset_reason  TEXT,
  reset_had_activity INTEGER NOT NULL DEFAULT 0 CHECK (reset_had_activity IN (0, 1)),
  suspended     INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1)),
  expiry_finalized INTEGER NOT NULL DEFAULT 0 CHECK (expiry_finalized IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX bindings_session ON bindings(session_id);
CREATE INDEX bindings_updated ON bindings(updated_at) WHERE expiry_finalized = 0;

CREATE TABLE runs (
  id           TEXT PRIMARY KEY,
  session_id   TEXT NOT NULL REFERENCES sessions(id),
  session_key  TEXT NOT NULL,
  agent_id     TEXT NOT NULL,
  platform     TEXT NOT NULL DEFAULT '',
  state        TEXT NOT NULL DEFAULT 'running'
    CHECK (state IN ('running', 'completed', 'stopped', 'halted', 'failed', 'expired')),
  reason       TEXT,
  detail       TEXT,
  phase        TEXT NOT NULL DEFAULT 'starting',
  started_at   REAL NOT NULL,
  ended_at     REAL,
  hook_fired   INTEGER NOT NULL DEFAULT 0 CHECK (hook_fired IN (0, 1)),
  CHECK ((state = 'running') = (ended_at IS NULL)),
  CHECK (CASE state
    WHEN 'running'   THEN reason IS NULL
    WHEN 'completed' THEN reason IS 'ok'
    WHEN 'stopped'   THEN reason IN ('user_stop', 'new_session', 'superseded', 'client_disconnected',
                                     'handoff', 'shutdown', 'supervisor', 'crash')
    WHEN 'halted'    THEN reason IN ('guardrail', 'budget', 'max_iterations', 'denied')
    WHEN 'failed'    THEN reason IN ('provider', 'store', 'internal')
    WHEN 'expired'   THEN reason IN ('deadline', 'idle')
  END IS TRUE)
) STRICT;
-- Turns of one session are serial. This line is why two can never overlap, whoever asks.
CREATE UNIQUE INDEX runs_one_running ON runs(session_id) WHERE state = 'running';
CREATE INDEX runs_session ON runs(session_id, started_at);
CREATE INDEX runs_owing_hook ON runs(id) WHERE hook_fired = 0 AND state <> 'running';

CREATE TABLE messages (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id     TEXT NOT NULL REFERENCES sessions(id),
  run_id         TEXT REFERENCES runs(id),
  role           TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool', 'meta')),
  content        TEXT,
  parts          TEXT CHECK (parts IS NULL OR json_valid(parts)),
  tool_call_id   TEXT,
  tool_name      TEXT,
  tool_calls     TEXT CHECK (tool_calls IS NULL OR json_valid(tool_calls)),
  reasoning      TEXT,
  reasoning_details TEXT CHECK (reasoning_details IS NULL OR json_valid(reasoning_details)),
  finish_reason  TEXT,
  effect         TEXT,
  token_count    INTEGER,
  platform_message_id TEXT,
  at             REAL NOT NULL,
  partial        INTEGER NOT NULL DEFAULT 0 CHECK (partial IN (0, 1)),
  active         INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  compacted      INTEGER NOT NULL DEFAULT 0 CHECK (compacted IN (0, 1))
) STRICT;
CREATE INDEX messages_session ON messages(session_id, id);
CREATE INDEX messages_run ON messages(run_id) WHERE run_id IS NOT NULL;

CREATE TABLE tool_calls (
  run_id       TEXT NOT NULL REFERENCES runs(id),
  call_id      TEXT NOT NULL,
  session_id   TEXT NOT NULL REFERENCES sessions(id),
  name         TEXT NOT NULL,
  arguments    TEXT NOT NULL DEFAULT '{}',
  idempotent   INTEGER NOT NULL DEFAULT 0 CHECK (idempotent IN (0, 1)),
  state        TEXT NOT NULL DEFAULT 'intent' CHECK (state IN ('intent', 'started', 'finished')),
  outcome      TEXT CHECK (outcome IN ('ok', 'error', 'cancelled', 'timeout', 'denied', 'unknown')),
  intended_at  REAL NOT NULL,
  started_at   REAL,
  finished_at  REAL,
  PRIMARY KEY (run_id, call_id),
  CHECK ((state = 'finished') = (outcome IS NOT NULL)),
  CHECK ((state = 'finished') = (finished_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_calls_open ON tool_calls(run_id) WHERE state <> 'finished';

CREATE TABLE inbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  key          TEXT NOT NULL UNIQUE,
  session_key  TEXT NOT NULL,
  agent_id     TEXT NOT NULL,
  platform     TEXT NOT NULL,
  source       TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(source)),
  payload      TEXT NOT NULL CHECK (json_valid(payload)),
  digest       TEXT,
  state        TEXT NOT NULL DEFAULT 'queued' CHECK (state IN
    ('queued', 'claimed', 'answered', 'stopped', 'withdrawn', 'rejected', 'dead')),
  strikes      INTEGER NOT NULL DEFAULT 0,
  run_id       TEXT REFERENCES runs(id),
  reason       TEXT,
  received_at  REAL NOT NULL,
  finished_at  REAL,
  CHECK ((state IN ('queued', 'claimed')) = (finished_at IS NULL)),
  CHECK (state <> 'claimed' OR run_id IS NOT NULL)
) STRICT;
CREATE INDEX inbox_queued ON inbox(session_key, id) WHERE state = 'queued';
CREATE INDEX inbox_claimed ON inbox(run_id) WHERE state = 'claimed';
CREATE INDEX inbox_run ON inbox(run_id) WHERE run_id IS NOT NULL;
CREATE INDEX inbox_finished ON inbox(finished_at) WHERE finished_at IS NOT NULL;

-- One row is one visible reply, from its first preview to its final text. Ids are the order.
CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  key          TEXT NOT NULL UNIQUE,
  platform     TEXT NOT NULL,
  account      TEXT NOT NULL DEFAULT '',
  chat_id      TEXT NOT NULL,
  thread_id    TEXT,
  session_id   TEXT REFERENCES sessions(id),
  run_id       TEXT REFERENCES runs(id),
  kind         TEXT NOT NULL DEFAULT 'reply',
  preview      TEXT,
  text         TEXT,
  payload      TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
  state        TEXT NOT NULL DEFAULT 'queued'
    CHECK (state IN ('preview', 'queued', 'sending', 'unsure', 'sent', 'dead')),
  attempts     INTEGER NOT NULL DEFAULT 0,
  repeated     INTEGER NOT NULL DEFAULT 0 CHECK (repeated IN (0, 1)),
  not_before   REAL NOT NULL DEFAULT 0,
  receipt      TEXT CHECK (receipt IS NULL OR json_valid(receipt)),
  error        TEXT,
  created_at   REAL NOT NULL,
  updated_at   REAL NOT NULL,
  CHECK (state IN ('preview', 'dead') OR text IS NOT NULL)
) STRICT;
CREATE INDEX outbox_open ON outbox(platform, account, chat_id, id)
  WHERE state IN ('queued', 'sending', 'unsure');
CREATE INDEX outbox_run ON outbox(run_id) WHERE run_id IS NOT NULL;
CREATE INDEX outbox_updated ON outbox(updated_at);

CREATE TABLE handoffs (
  id           TEXT PRIMARY KEY,
  session_id   TEXT NOT NULL REFERENCES sessions(id),
  platform     TEXT NOT NULL,
  target       TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(target)),
  state        TEXT NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'running', 'completed', 'failed')),
  token        TEXT,
  lease_until  REAL,
  destination  TEXT CHECK (destination IS NULL OR json_valid(destination)),
  error        TEXT,
  requested_at REAL NOT NULL,
  updated_at   REAL NOT NULL,
  CHECK ((state = 'running') = (lease_until IS NOT NULL)),
  CHECK (state <> 'running' OR token IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX handoffs_one_open ON handoffs(session_id)
  WHERE state IN ('pending', 'running');

CREATE TABLE approvals (
  id           TEXT PRIMARY KEY,
  session_id   TEXT NOT NULL REFERENCES sessions(id),
  run_id       TEXT NOT NULL REFERENCES runs(id),
  call_id      TEXT NOT NULL,
  tool         TEXT NOT NULL,
  args_digest  TEXT NOT NULL,
  description  TEXT NOT NULL DEFAULT '',
  owner        TEXT NOT NULL,
  epoch        INTEGER NOT NULL,
  state        TEXT NOT NULL DEFAULT 'pending' CHECK (state IN
    ('pending', 'approved', 'denied', 'expired', 'cancelled', 'unreachable')),
  scope        TEXT NOT NULL DEFAULT 'once' CHECK (scope IN ('once', 'session', 'always')),
  reason       TEXT,
  decided_by   TEXT,
  asked_at     REAL NOT NULL,
  expires_at   REAL,
  decided_at   REAL,
  CHECK ((state = 'pending') = (decided_at IS NULL))
) STRICT;
CREATE INDEX approvals_pending ON approvals(session_id, asked_at) WHERE state = 'pending';
CREATE INDEX approvals_run ON approvals(run_id);

-- A moment at which a job was due has one row, whatever clocks and processes do.
CREATE TABLE cron_instants (
  job_id      TEXT NOT NULL,
  due         REAL NOT NULL,
  agent_id    TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN
    ('dispatched', 'ok', 'failed', 'stopped', 'skipped', 'missed', 'unknown')),
  late_by     REAL NOT NULL DEFAULT 0,
  run_id      TEXT,
  detail      TEXT,
  recorded_at REAL NOT NULL,
  ended_at    REAL,
  PRIMARY KEY (job_id, due),
  CHECK ((state = 'dispatched') = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX cron_dispatched ON cron_instants(due) WHERE state = 'dispatched';

CREATE TABLE dead_letters (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  origin      TEXT NOT NULL CHECK (origin IN ('inbox', 'outbox', 'actor')),
  origin_key  TEXT NOT NULL,
  session_key TEXT,
  payload     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
  reason      TEXT NOT NULL,
  at          REAL NOT NULL,
  notified    INTEGER NOT NULL DEFAULT 0 CHECK (notified IN (0, 1)),
  UNIQUE (origin, origin_key)
) STRICT;
CREATE INDEX dead_letters_unnotified ON dead_letters(id) WHERE notified = 0;

CREATE TABLE usage (
  day              TEXT NOT NULL,
  agent_id         TEXT NOT NULL,
  model            TEXT NOT NULL,
  calls            INTEGER NOT NULL DEFAULT 0,
  input_tokens     INTEGER NOT NULL DEFAULT 0,
  output_tokens    INTEGER NOT NULL DEFAULT 0,
  cached_tokens    INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_micros      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (day, agent_id, model)
) STRICT, WITHOUT ROWID;

-- Small facts that others keep here so that they survive: cursors, pairing codes, stored answers.
CREATE TABLE notes (
  space      TEXT NOT NULL,
  name       TEXT NOT NULL,
  value      TEXT NOT NULL CHECK (json_valid(value)),
  updated_at REAL NOT NULL,
  PRIMARY KEY (space, name)
) STRICT, WITHOUT ROWID;
