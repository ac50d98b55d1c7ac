-- name: listen
-- Receive the notifications of every process on this database.
listen foja;

-- name: prepare_notify
-- Notify the other processes and return the epoch. Sent after commit, never inside an append, and without waiting for
-- the disk: after a crash every listener connects anew and reads.
prepare notify as
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select i.epoch from unhurried, foja.installation i, pg_notify($1, $2);

-- name: send_transients
-- Send transients to the other processes. No other notification carries data.
select pg_notify('foja_transients', part) from unnest(%(parts)s::text[]) with ordinality as sent (part, place)
order by place;

-- name: live_key
-- The key that seals transients in notifications.
select key from foja.live_key;

-- name: listen_transients
-- Receive the transients of other processes.
listen foja_transients;

-- name: streams
-- The streams of a domain, highest id first. Ids made by Foja are ordered by time.
select entity_id from foja.entity
where tenant = %(tenant)s and domain = %(domain)s and entity_id < %(before)s
order by entity_id desc limit %(limit)s;

-- name: read_tail
-- Committed events and open slots above a number, in order of their numbers.
(select seq, event_id, kind, v, at, actor, source, payload, body_hash from foja.event
 where entity_id = %(entity)s and tenant = %(tenant)s and seq > %(after)s order by seq limit %(limit)s)
union all
(select seq, null, 'slot.open', 1, null, null, null,
    json_build_object('intent', intent, 'deadline', deadline), null from foja.slot
 where entity_id = %(entity)s and tenant = %(tenant)s and seq > %(after)s and state = 'open' order by seq limit %(limit)s)
order by seq limit %(limit)s;

-- name: first_number
-- The first number with an event above a given number.
select seq from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and seq > %(after)s order by seq limit 1;

-- name: read_numbers
-- The events at the given numbers, if recorded.
select e.seq, event_id, kind, v, at, actor, source, payload, body_hash
from unnest(%(seqs)s::bigint[]) n cross join lateral (
    -- `offset 0` forces one look-up per number: without it, a generic plan reads the whole stream.
    select * from foja.event where entity_id = %(entity)s and tenant = %(tenant)s and seq = n offset 0
) e order by e.seq limit %(limit)s;

-- name: stream_state
-- The epoch, and the next number, sealed count and domain of a stream.
select i.epoch, coalesce(foja.next_seq(e), 0) as next_seq, coalesce(e.sealed, 0) as sealed, e.domain
from foja.installation i left join foja.entity e on e.entity_id = %(entity)s and e.tenant = %(tenant)s;

-- name: missing_numbers
-- The numbers of a range without an event.
select n from generate_series(%(low)s::bigint, %(high)s::bigint) n
where not exists (select from foja.event where entity_id = %(entity)s and tenant = %(tenant)s and seq = n
    and seq between %(low)s and %(high)s);

-- name: log_state
-- The epoch, the size of a log, and whether it is closed.
select i.epoch, coalesce(l.closed_size, l.next_idx) as size, l.closed_size is not null as closed
from foja.installation i left join foja.log l on l.origin = %(origin)s;

-- name: read_log
-- Events of all streams in the order of the log.
select l.idx, l.entity_id, v.seq, v.event_id, v.kind, v.v, v.at, v.actor, v.source, v.payload, v.body_hash
from foja.leaves_between(%(origin)s, %(after)s + 1, least(%(size)s, %(after)s + 1 + %(limit)s)) l
cross join lateral (
    -- `offset 0` as above: nothing says how many leaves a bundle has.
    select * from foja.event where entity_id = l.entity_id and seq = l.seq offset 0
) v order by l.idx;
