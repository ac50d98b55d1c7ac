-- name: read_excerpt
-- One sealed event with its own chain hash and the one before it, which is null for the first event.
select e.domain, v.seq, v.event_id as id, v.kind, v.v, v.at, v.actor, v.source, v.payload::text, v.salt,
    v.body_hash, 1::bigint as place, foja.chain_hash_of(v.entity_id, v.seq - 1) as previous, here.chain_hash
from foja.event v
join foja.entity e on e.entity_id = v.entity_id
cross join lateral foja.chain_hash_of(v.entity_id, v.seq) here (chain_hash)
where here.chain_hash is not null and v.entity_id = %(entity)s and v.seq = %(seq)s and v.tenant = %(tenant)s;

-- name: read_excerpts
-- A range of sealed events of one stream. The caller derives their chain hashes.
select e.domain, v.seq, v.event_id as id, v.kind, v.v, v.at, v.actor, v.source, v.payload::text, v.salt, v.body_hash
from foja.event v join foja.entity e using (entity_id)
where v.entity_id = %(entity)s and v.tenant = %(tenant)s and v.seq >= %(low)s and v.seq < e.sealed
    and (%(high)s::bigint is null or v.seq < %(high)s)
order by v.seq limit %(limit)s;

-- name: read_histories
-- The first sealed events of several streams of this tenant, as many of each as asked for.
select e.domain, v.seq, v.event_id as id, v.kind, v.v, v.at, v.actor, v.source, v.payload::text, v.salt, v.body_hash,
    w.place
from unnest(%(entities)s::uuid[], %(lengths)s::bigint[]) with ordinality w(entity_id, length, place)
cross join lateral (select * from foja.entity s where s.entity_id = w.entity_id offset 0) e
cross join lateral (
    select * from foja.event x where x.entity_id = w.entity_id and x.seq < least(w.length, e.sealed) offset 0) v
where e.tenant = %(tenant)s
order by w.place, v.seq;

-- name: stream_domain
-- The domain and the sealed count of a stream of this tenant.
select domain, sealed from foja.entity where entity_id = %(entity)s and tenant = %(tenant)s;

-- name: covered_events
-- How many events of a stream, from the first on, are covered by a published checkpoint.
select foja.covered_events(%(entity)s);
