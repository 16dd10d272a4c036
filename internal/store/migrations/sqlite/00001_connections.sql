-- Times are microseconds since 1970 in UTC; 0 is "never". Sealed columns hold ciphertext that is bound to table, column and row.

-- +goose Up
CREATE TABLE keyset_proof (
    purpose TEXT PRIMARY KEY, -- 'aead' or 'mac'
    proof   BLOB NOT NULL     -- made with the keyset that this database belongs to
) STRICT;

CREATE TABLE engine (
    id         TEXT PRIMARY KEY,
    base_url   TEXT NOT NULL,
    username   TEXT NOT NULL,
    password   BLOB NOT NULL, -- sealed
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE connection_desired (
    workspace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    directory  TEXT NOT NULL,
    engine_id  TEXT REFERENCES engine (id), -- NULL: the workspace has no engine yet
    profile    TEXT NOT NULL,
    config     BLOB NOT NULL, -- sealed JSON
    metadata   BLOB NOT NULL, -- sealed JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, name, directory)
) STRICT;

CREATE INDEX connection_desired_engine ON connection_desired (engine_id, workspace, name, directory);

-- No reference to connection_desired: a push may still be under way after its connection was removed.
CREATE TABLE connection_runtime (
    workspace        TEXT NOT NULL,
    name             TEXT NOT NULL,
    directory        TEXT NOT NULL,
    last_probe_at    INTEGER NOT NULL DEFAULT 0,
    last_ok_at       INTEGER NOT NULL DEFAULT 0,
    misses           INTEGER NOT NULL DEFAULT 0,
    canary           BLOB, -- sealed
    push_generation  INTEGER NOT NULL DEFAULT 0,
    push_revision    TEXT NOT NULL DEFAULT '',
    push_started_at  INTEGER NOT NULL DEFAULT 0,
    push_deadline    INTEGER NOT NULL DEFAULT 0,
    push_finished_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, name, directory)
) STRICT;

-- +goose Down
DROP TABLE connection_runtime;
DROP TABLE connection_desired;
DROP TABLE engine;
DROP TABLE keyset_proof;
