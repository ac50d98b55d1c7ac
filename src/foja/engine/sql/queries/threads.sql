-- name: thread_checkpoints
-- The newest checkpoints of a thread below a number, newest first; of one namespace if it is named. The
-- `coalesce` around the equality makes the planner expect half of the rows: of an equality alone it expects few, and would
-- sort the whole thread to find them.
select seq, kind, payload from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and seq < %(before)s
    and kind = 'checkpoint.saved' and payload is not null
    and (%(ns)s::text is null or coalesce(payload ->> 'ns' = %(ns)s, false))
order by seq desc limit %(limit)s;

-- name: thread_latest
-- Everything said about the newest checkpoint of a namespace: the first halves of the ids are equal.
select e.seq, e.kind, e.payload from (
    select left(event_id::text, 19) as half from foja.event
    where entity_id = %(entity)s and tenant = %(tenant)s and kind = 'checkpoint.saved' and payload is not null
        and payload ->> 'ns' = %(ns)s
    order by seq desc limit 1
) newest cross join lateral (
    select * from foja.event
    where entity_id = %(entity)s and tenant = %(tenant)s and payload is not null
        and event_id between (half || '8000-000000000000')::uuid and (half || 'bfff-ffffffffffff')::uuid
    offset 0
) e order by e.seq;

-- name: thread_writes
-- The writes that belong to the checkpoints at these numbers.
select e.seq, e.kind, e.payload
from unnest(%(seqs)s::bigint[]) n cross join lateral (
    select left(event_id::text, 19) as half from foja.event
    where entity_id = %(entity)s and tenant = %(tenant)s and seq = n offset 0
) saved cross join lateral (
    select * from foja.event
    where entity_id = %(entity)s and tenant = %(tenant)s and kind = 'writes.saved' and payload is not null
        and event_id between (half || '8000-000000000000')::uuid and (half || 'bfff-ffffffffffff')::uuid
    offset 0
) e order by e.seq;

-- name: thread_about
-- Everything said about a checkpoint: the ids begin alike.
select seq, kind, payload from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and event_id between %(low)s and %(high)s and payload is not null
order by seq;

-- name: thread_values
-- The events that hold values of channels, and those that these rest on. Each payload comes once: a value may
-- be large, and PostgreSQL parses all of it for every part that is asked for.
with recursive walk(channel, seq, payload) as (
    select c.channel, c.seq, e.payload
    from unnest(%(channels)s::text[], %(seqs)s::bigint[]) c(channel, seq)
    join foja.event e on e.entity_id = %(entity)s and e.tenant = %(tenant)s and e.seq = c.seq
    union all
    select w.channel, e.seq, e.payload
    from walk w cross join lateral (
        -- `offset 0` forces one look-up: in a table with few streams, a join would read all of it at every step.
        select x.seq, x.payload from foja.event x
        where x.entity_id = %(entity)s and x.tenant = %(tenant)s
            and x.seq = (w.payload #>> array['values', w.channel, 'after'])::bigint offset 0
    ) e
)
select channel, seq, case row_number() over (partition by seq) when 1 then payload end as payload from walk;

-- name: thread_streams
-- Every thread of a tenant.
select entity_id from foja.entity where domain = 'thread' and tenant = %(tenant)s order by entity_id;

-- name: thread_bodies
-- What a thread says that can still be read, without what it says.
select seq, kind, payload ->> 'ns' as ns, payload ->> 'checkpoint_id' as checkpoint_id,
    payload -> 'metadata' ->> 'run_id' as run_id
from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and kind <> 'body.erased' and payload is not null order by seq;
