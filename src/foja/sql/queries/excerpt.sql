-- name: read_excerpt
-- One sealed event whole, with the chain hash before it and its own; none before the first.
select e.domain, v.entity_id, v.seq, v.event_id, v.kind, v.v, v.at, v.actor, v.source, v.payload::text, v.salt,
    v.body_hash, before.chain_hash, here.chain_hash
from foja.event v
join foja.entity e on e.entity_id = v.entity_id
cross join lateral (
    select chain_hash from foja.leaf where entity_id = v.entity_id and seq = v.seq
    union all
    select chain_hash from foja.pending where entity_id = v.entity_id and seq = v.seq limit 1
) here
left join lateral (
    select chain_hash from foja.leaf where entity_id = v.entity_id and seq = v.seq - 1
    union all
    select chain_hash from foja.pending where entity_id = v.entity_id and seq = v.seq - 1 limit 1
) before on true
where v.entity_id = %(entity)s and v.seq = %(seq)s and v.tenant = %(tenant)s;
