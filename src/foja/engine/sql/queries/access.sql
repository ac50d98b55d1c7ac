-- name: access_version
-- The number of changes of keys and sessions, and whether a key was ever made.
select version, has_keys from foja.access_version;

-- name: create_key
-- Make a key; its secret is known by its hash only.
select foja.create_key_v1(%(key)s, %(hash)s, %(tenant)s, %(name)s, %(scopes)s::text[], %(installation)s, %(expires)s, %(actor)s);

-- name: revoke_key
-- Revoke a key; whether it was valid before.
select foja.revoke_key_v1(%(key)s, %(tenant)s, %(actor)s);

-- name: rotate_key
-- Give a key another secret; until when the one before is valid.
select foja.rotate_key_v1(%(key)s, %(hash)s, make_interval(secs => %(overlap)s), %(tenant)s, %(actor)s);

-- name: find_key
-- The valid secrets of a key, and what it may do.
select secret_hash, tenant, name, scopes, installation, seconds from foja.find_key_v1(%(key)s);

-- name: list_keys
-- Keys, newest first.
select key_id as id, tenant, name, scopes, installation, created_at, created_by, expires_at, revoked_at, last_used_at
from foja.list_keys_v1(%(tenant)s, %(limit)s);

-- name: open_session
-- Open a session of a person.
select foja.open_session_v1(%(hash)s, %(tenant)s, %(actor)s, %(scopes)s::text[], %(installation)s, %(key)s, %(idle)s, %(seconds)s);

-- name: find_session
-- A valid session, and what its person may do.
select session_id, tenant, actor, scopes, installation, seconds, idle, name from foja.find_session_v1(%(hash)s);

-- name: end_session
-- End a session by its cookie or by its id; whether it was valid before.
select foja.end_session_v1(%(hash)s, %(session)s, %(tenant)s, %(actor)s);

-- name: list_sessions
-- Sessions that are not over, newest first.
select session_id as id, tenant, actor, scopes, installation, key_id, created_at, seen_at, ends_at
from foja.list_sessions_v1(%(tenant)s, %(limit)s);

-- name: name_person
-- Note the name of a person; a new one is recorded.
select foja.name_person_v1(%(tenant)s, %(actor)s, %(name)s, %(installation)s);

-- name: find_names
-- The names of actors, where there are some.
select actor, name from foja.find_names_v1(%(tenant)s, %(actors)s::text[]);

-- name: note_use
-- Note that keys and sessions were used.
select foja.note_use_v1(%(keys)s::text[], %(sessions)s::uuid[]);

-- name: change_jobs
-- Retry or cancel jobs, and record who did it.
select foja.change_jobs_v1(%(action)s, %(jobs)s::bigint[], %(tenant)s, %(actor)s);

-- name: switch_jobs
-- Pause or resume a job type, and record who did it.
select foja.switch_jobs_v1(%(action)s, %(type)s, %(actor)s);

-- name: recent_acts
-- What administrators did, newest first: among the newest events of the streams of these tenants in the domain `system`.
select v.at, v.kind, v.actor, v.payload from unnest(%(tenants)s::text[]) t (tenant)
cross join lateral (select case t.tenant when 'system' then (select i.installation_id from foja.installation i)
    else (select s.entity_id from foja.system_stream s where s.tenant = t.tenant) end) own (entity_id)
cross join lateral (select e.next_seq from foja.entity e where e.entity_id = own.entity_id offset 0) stream
cross join lateral (select x.at, x.kind, x.actor, x.payload from foja.event x
    where x.entity_id = own.entity_id and x.seq >= stream.next_seq - %(newest)s and x.kind = any (%(kinds)s::text[])
    order by x.seq desc limit %(limit)s) v
order by v.at desc limit %(limit)s;
