-- name: load_scanned_objects
-- Objects from one number up to another; old enough to be candidates.
insert into foja.object (sha256, generation, state, size, created_at, changed_at)
select encode(sha256(n::text::bytea), 'hex'), 0, 'live', 1, now() - interval '30 days', now() - interval '30 days'
from generate_series(%(first)s::bigint, %(last)s::bigint) n;

-- name: load_scanned_references
-- A reference to each of them, except one of a hundred.
insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant, referred_at)
select gen_random_uuid(), 0, encode(sha256(n::text::bytea), 'hex'), 0, 'document', 'default', now() - interval '30 days'
from generate_series(%(first)s::bigint, %(last)s::bigint) n where n %% 100 > 0;
