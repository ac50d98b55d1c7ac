-- name: read_newest
-- The newest events of some kinds below a number, newest first; what was erased is left out.
select seq, kind, payload from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and seq < %(before)s
    and kind = any(%(kinds)s) and payload is not null
order by seq desc limit %(limit)s;

-- name: stream_histories
-- The sealed events of many streams, each with the time of reading.
select e.entity_id, clock_timestamp(), v.seq, v.event_id, v.kind, v.v, v.at, v.actor, v.source, v.payload, v.body_hash
from unnest(%(entities)s::uuid[]) asked (entity_id)
join foja.entity e on e.entity_id = asked.entity_id
cross join lateral (select * from foja.event x where x.entity_id = e.entity_id and x.seq < e.sealed offset 0) v
order by e.entity_id, v.seq;
