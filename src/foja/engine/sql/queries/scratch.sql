-- name: create_scratch
-- Create a temporary database, empty or as a copy of one without connections.
create database {name} template {template};

-- name: drop_scratch
-- Drop it, also if connections are open.
drop database if exists {name} with (force);

-- name: ignore_triggers
-- What an intruder with all rights would do first.
alter table foja.event disable trigger user;

-- name: forge_payload
-- What an intruder would do next: other words under the same number.
update foja.event set payload = %(payload)s::json where entity_id = %(entity)s and seq = %(seq)s;
