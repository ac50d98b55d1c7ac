-- name: thread_checkpoints
-- The newest checkpoints of a thread below a number, newest first; of one namespace if it is named.
select seq, kind, payload from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and seq < %(before)s
    and kind = 'checkpoint.saved' and payload is not null
    and (%(ns)s::text is null or payload ->> 'ns' = %(ns)s)
order by seq desc limit %(limit)s;

-- name: thread_about
-- Everything said about some checkpoints: their ids begin alike.
select e.seq, e.kind, e.payload
from unnest(%(lows)s::uuid[], %(highs)s::uuid[]) about(low, high) cross join lateral (
    select * from foja.event
    where entity_id = %(entity)s and tenant = %(tenant)s and event_id between low and high and payload is not null
    offset 0
) e order by e.seq;

-- name: thread_values
-- Values of channels where events hold them, and whatever these rest on.
with recursive walk(channel, seq, value) as (
    select c.channel, c.seq, e.payload -> 'values' -> c.channel
    from unnest(%(channels)s::text[], %(seqs)s::bigint[]) c(channel, seq)
    join foja.event e on e.entity_id = %(entity)s and e.tenant = %(tenant)s and e.seq = c.seq
    union all
    select w.channel, e.seq, e.payload -> 'values' -> w.channel
    from walk w
    join foja.event e on e.entity_id = %(entity)s and e.tenant = %(tenant)s and e.seq = (w.value ->> 'after')::bigint
)
select channel, seq, value from walk;

-- name: thread_streams
-- Every thread of a tenant.
select entity_id from foja.entity where domain = 'thread' and tenant = %(tenant)s order by entity_id;

-- name: thread_bodies
-- What a thread says that can still be read, without what it says.
select seq, kind, payload ->> 'ns', payload ->> 'checkpoint_id', payload -> 'metadata' ->> 'run_id'
from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and kind <> 'body.erased' and payload is not null order by seq;
