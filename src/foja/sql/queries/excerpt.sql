-- name: read_excerpt
-- One sealed event whole, with the chain hash before it and its own; none before the first.
select e.domain, v.entity_id, v.seq, v.event_id, v.kind, v.v, v.at, v.actor, v.source, v.payload::text, v.salt,
    v.body_hash, foja.chain_hash_of(v.entity_id, v.seq - 1), here.chain_hash
from foja.event v
join foja.entity e on e.entity_id = v.entity_id
cross join lateral foja.chain_hash_of(v.entity_id, v.seq) here (chain_hash)
where here.chain_hash is not null and v.entity_id = %(entity)s and v.seq = %(seq)s and v.tenant = %(tenant)s;
