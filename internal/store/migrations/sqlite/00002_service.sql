-- Names that are not given are ''; other rules as in 00001. The next migration is written in Go (migrate.go): it fills
-- workspace, whose rows need keys.

-- +goose Up
ALTER TABLE connection_desired ADD COLUMN token_source BLOB; -- sealed JSON; NULL: headers as given

CREATE TABLE workspace (
    id         TEXT NOT NULL,
    directory  TEXT NOT NULL,
    engine_id  TEXT REFERENCES engine (id), -- NULL: no engine yet
    account    TEXT NOT NULL,
    seal       BLOB NOT NULL, -- proves that this row was written with the keys: it decides to whom shared configs are sent
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (id, directory)
) STRICT;

CREATE INDEX workspace_engine ON workspace (engine_id, id, directory);
CREATE INDEX workspace_account ON workspace (account, id, directory);

CREATE TABLE account_desired (
    account      TEXT NOT NULL,
    name         TEXT NOT NULL,
    profile      TEXT NOT NULL,
    config       BLOB NOT NULL, -- sealed JSON
    metadata     BLOB NOT NULL, -- sealed JSON
    token_source BLOB,          -- sealed JSON; NULL: headers as given
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT;

CREATE TABLE intent (
    account    TEXT NOT NULL,
    workspace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL, -- 'enabled', 'disabled' or 'removed'
    revision   INTEGER NOT NULL UNIQUE,
    changed_by TEXT NOT NULL,
    reason     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, workspace, name),
    CHECK ((account = '') <> (workspace = ''))
) STRICT;

CREATE INDEX intent_name ON intent (name);

CREATE TABLE counter (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL -- the last one that was given out
) STRICT;

CREATE TABLE credential_token (
    credential    TEXT PRIMARY KEY,
    source_digest TEXT NOT NULL,
    sequence      INTEGER NOT NULL,
    access_token  BLOB, -- sealed; NULL: forgotten
    refresh_token BLOB, -- sealed; NULL: none
    minted_at     INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    renew_at      INTEGER NOT NULL,
    dropped       INTEGER NOT NULL -- 1: distrusted, not to be sent any more
) STRICT;

-- Rows stay when a lease ends, so that fences only rise.
CREATE TABLE credential_lease (
    credential TEXT PRIMARY KEY,
    holder     TEXT NOT NULL, -- '': released
    fence      INTEGER NOT NULL,
    held_until INTEGER NOT NULL
) STRICT;

CREATE TABLE api_token (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL,
    hash         BLOB, -- sealed, so that nobody without keys can write a token; NULL: revoked
    created_at   INTEGER NOT NULL,
    created_by   TEXT NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE api_request (
    id              TEXT PRIMARY KEY,
    principal       TEXT NOT NULL,
    idempotency_key TEXT, -- NULL: none was given
    kind            TEXT NOT NULL,
    workspace       TEXT NOT NULL,
    name            TEXT NOT NULL,
    directory       TEXT NOT NULL,
    digest          BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    finished_at     INTEGER NOT NULL,
    status          INTEGER NOT NULL,
    result          BLOB, -- sealed; NULL: none yet
    UNIQUE (principal, idempotency_key)
) STRICT;

CREATE INDEX api_request_created ON api_request (created_at);

-- +goose Down
DROP TABLE api_request;
DROP TABLE api_token;
DROP TABLE credential_lease;
DROP TABLE credential_token;
DROP TABLE counter;
DROP TABLE intent;
DROP TABLE account_desired;
DROP TABLE workspace;
ALTER TABLE connection_desired DROP COLUMN token_source;
