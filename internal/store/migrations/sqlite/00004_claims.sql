-- Who carries out a request, and what of it was done: whoever sends it again goes on from there.

-- +goose Up
ALTER TABLE api_request ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0; -- of the last try
ALTER TABLE api_request ADD COLUMN holder     TEXT    NOT NULL DEFAULT ''; -- '': nobody
ALTER TABLE api_request ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_request ADD COLUMN passing    INTEGER NOT NULL DEFAULT 0;  -- 1: the result is a failure that passes by itself
ALTER TABLE api_request ADD COLUMN plan       BLOB; -- sealed; NULL: none yet
ALTER TABLE api_request ADD COLUMN intent     BLOB; -- sealed JSON; NULL: none was written

-- +goose Down
ALTER TABLE api_request DROP COLUMN intent;
ALTER TABLE api_request DROP COLUMN plan;
ALTER TABLE api_request DROP COLUMN passing;
ALTER TABLE api_request DROP COLUMN held_until;
ALTER TABLE api_request DROP COLUMN holder;
ALTER TABLE api_request DROP COLUMN started_at;
