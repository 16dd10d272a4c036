-- Sessions of MCP clients, tool calls that wait for a person, and the audit. Rules as in 00001; names that are not given are '',
-- but NULL where an index leaves them out.

-- +goose Up
ALTER TABLE api_token ADD COLUMN account TEXT NOT NULL DEFAULT ''; -- '': an account of its own

-- Rows stay when a session ends, so that ids are never used again.
CREATE TABLE mcp_session (
    id            TEXT PRIMARY KEY,
    account       TEXT NOT NULL,
    organisation  TEXT NOT NULL,
    mode          TEXT NOT NULL,
    resource      TEXT NOT NULL,
    role          TEXT NOT NULL,
    origin        TEXT NOT NULL,
    client        TEXT NOT NULL,
    protocol      TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL,
    terminated_at INTEGER NOT NULL, -- 0: alive
    state         BLOB              -- sealed, also where it is empty: it proves whose the session is; NULL: terminated
) STRICT;

CREATE INDEX mcp_session_created ON mcp_session (created_at, id);
CREATE INDEX mcp_session_identity ON mcp_session (account, organisation, created_at, id);
CREATE INDEX mcp_session_organisation ON mcp_session (organisation, created_at, id);
CREATE INDEX mcp_session_alive ON mcp_session (created_at, id) WHERE terminated_at = 0;
CREATE INDEX mcp_session_alive_identity ON mcp_session (account, organisation, created_at, id) WHERE terminated_at = 0;

-- Its counters change with each event, so that what is large is kept elsewhere.
CREATE TABLE mcp_stream (
    session    TEXT NOT NULL,
    id         TEXT NOT NULL,
    requests   TEXT NOT NULL,    -- JSON: the ids that are not answered
    running    INTEGER NOT NULL, -- how many they are
    opened_at  INTEGER NOT NULL,
    owner      TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    done_at    INTEGER NOT NULL, -- 0: it is not
    acked_at   INTEGER NOT NULL, -- 0: it is not
    last_seq   INTEGER NOT NULL, -- of its events, those too that are not there any more
    events     INTEGER NOT NULL, -- that are there
    bytes      INTEGER NOT NULL, -- of their messages, before sealing
    PRIMARY KEY (session, id)
) STRICT;

CREATE INDEX mcp_stream_running ON mcp_stream (session) WHERE done_at = 0;
CREATE INDEX mcp_stream_undelivered ON mcp_stream (session, done_at, id) WHERE done_at <> 0 AND acked_at = 0;
CREATE INDEX mcp_stream_owner ON mcp_stream (owner) WHERE done_at = 0;
CREATE INDEX mcp_stream_lapsed ON mcp_stream (held_until) WHERE done_at = 0 AND running > 0;
CREATE INDEX mcp_stream_opened ON mcp_stream (opened_at);

CREATE TABLE mcp_stream_messages (
    session  TEXT NOT NULL,
    stream   TEXT NOT NULL,
    messages BLOB NOT NULL, -- sealed JSON
    PRIMARY KEY (session, stream)
) STRICT;

CREATE TABLE mcp_event (
    session  TEXT NOT NULL,
    stream   TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    bytes    INTEGER NOT NULL, -- of data, before sealing
    response INTEGER NOT NULL, -- 1: it answers a request
    at       INTEGER NOT NULL,
    data     BLOB NOT NULL,    -- sealed
    PRIMARY KEY (session, stream, seq)
) STRICT;

CREATE TABLE mcp_inbox (
    session TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    replica TEXT NOT NULL,
    kind    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    message BLOB NOT NULL, -- sealed
    PRIMARY KEY (session, seq)
) STRICT;

CREATE INDEX mcp_inbox_replica ON mcp_inbox (replica, seq);
CREATE INDEX mcp_inbox_at ON mcp_inbox (at);

CREATE TABLE execution (
    key            TEXT PRIMARY KEY,
    account        TEXT NOT NULL,
    organisation   TEXT NOT NULL,
    session        TEXT, -- NULL: none
    mode           TEXT NOT NULL,
    resource       TEXT NOT NULL,
    client         TEXT NOT NULL,
    request        TEXT, -- NULL: none
    address        TEXT NOT NULL,
    digest         TEXT NOT NULL,
    policy         TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    status         TEXT NOT NULL,    -- 'running', 'waiting', or how it ended
    settled_at     INTEGER NOT NULL, -- 0: it is not
    retained_until INTEGER NOT NULL, -- 0: for ever
    outcome        BLOB,             -- sealed JSON; NULL: none yet
    arguments      BLOB NOT NULL,    -- sealed
    UNIQUE (account, organisation, request)
) STRICT;

CREATE INDEX execution_created ON execution (created_at, key);
CREATE INDEX execution_identity ON execution (account, organisation, created_at, key);
CREATE INDEX execution_organisation ON execution (organisation, created_at, key);
CREATE INDEX execution_session ON execution (session, created_at, key) WHERE session IS NOT NULL;
CREATE INDEX execution_address ON execution (address, created_at, key);
CREATE INDEX execution_status ON execution (status, created_at, key);
CREATE INDEX execution_retained ON execution (retained_until) WHERE retained_until <> 0;

CREATE TABLE execution_pause (
    id           TEXT PRIMARY KEY,
    execution    TEXT NOT NULL,
    account      TEXT NOT NULL,
    organisation TEXT NOT NULL,
    session      TEXT, -- NULL: none
    address      TEXT NOT NULL,
    client       TEXT NOT NULL,
    policy       TEXT NOT NULL,
    digest       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    open         INTEGER NOT NULL, -- 1: it waits
    outcome      TEXT NOT NULL,    -- of the execution; '': it has not ended
    changed      INTEGER NOT NULL, -- of two changes of pauses the later one has the higher
    pause        BLOB NOT NULL     -- sealed JSON
) STRICT;

CREATE INDEX execution_pause_created ON execution_pause (created_at, id);
CREATE INDEX execution_pause_identity ON execution_pause (account, organisation, created_at, id);
CREATE INDEX execution_pause_organisation ON execution_pause (organisation, created_at, id);
CREATE INDEX execution_pause_session ON execution_pause (session, created_at, id) WHERE session IS NOT NULL;
CREATE INDEX execution_pause_execution ON execution_pause (execution, created_at, id);
CREATE INDEX execution_pause_open ON execution_pause (created_at, id) WHERE open = 1;
CREATE INDEX execution_pause_open_identity ON execution_pause (account, organisation, created_at, id) WHERE open = 1;
CREATE INDEX execution_pause_open_organisation ON execution_pause (organisation, created_at, id) WHERE open = 1;
CREATE UNIQUE INDEX execution_pause_changed ON execution_pause (changed);

CREATE TABLE execution_event (
    execution TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    pause     INTEGER NOT NULL, -- its number; 0: none
    at        INTEGER NOT NULL,
    PRIMARY KEY (execution, seq)
) STRICT;

CREATE TABLE upstream_call (
    execution   TEXT NOT NULL,
    number      INTEGER NOT NULL,
    fence       INTEGER NOT NULL,
    idempotency TEXT NOT NULL,
    claimed_at  INTEGER NOT NULL,
    done_at     INTEGER NOT NULL, -- 0: claimed only
    tool_error  INTEGER NOT NULL,
    result      BLOB, -- sealed; NULL: none yet
    PRIMARY KEY (execution, number)
) STRICT;

CREATE TABLE direct_call (
    account      TEXT NOT NULL,
    organisation TEXT NOT NULL,
    name         TEXT NOT NULL,
    address      TEXT NOT NULL,
    digest       TEXT NOT NULL,
    at           INTEGER NOT NULL,
    done_at      INTEGER NOT NULL, -- 0: begun only
    tool_error   INTEGER NOT NULL,
    result       BLOB, -- sealed; NULL: none yet
    PRIMARY KEY (account, organisation, name)
) STRICT;

CREATE INDEX direct_call_at ON direct_call (at);

CREATE TABLE gateway_audit (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    account      TEXT NOT NULL,
    organisation TEXT NOT NULL,
    principal    TEXT NOT NULL,
    name         TEXT NOT NULL,
    via          TEXT NOT NULL,
    action       TEXT NOT NULL,
    session      TEXT, -- NULL: none
    execution    TEXT, -- NULL: none
    pause        TEXT NOT NULL,
    address      TEXT, -- NULL: none
    digest       TEXT NOT NULL,
    policy       TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    latency      INTEGER NOT NULL, -- in microseconds
    reason       TEXT NOT NULL
) STRICT;

CREATE INDEX gateway_audit_identity ON gateway_audit (account, organisation, id);
CREATE INDEX gateway_audit_organisation ON gateway_audit (organisation, id);
CREATE INDEX gateway_audit_session ON gateway_audit (session, id) WHERE session IS NOT NULL;
CREATE INDEX gateway_audit_execution ON gateway_audit (execution, id) WHERE execution IS NOT NULL;
CREATE INDEX gateway_audit_address ON gateway_audit (address, id) WHERE address IS NOT NULL;

-- +goose Down
DROP TABLE gateway_audit;
DROP TABLE direct_call;
DROP TABLE upstream_call;
DROP TABLE execution_event;
DROP TABLE execution_pause;
DROP TABLE execution;
DROP TABLE mcp_inbox;
DROP TABLE mcp_event;
DROP TABLE mcp_stream_messages;
DROP TABLE mcp_stream;
DROP TABLE mcp_session;
ALTER TABLE api_token DROP COLUMN account;
