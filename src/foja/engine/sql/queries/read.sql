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

-- name: recent_conversations
-- Conversations, highest id first, each with its number of events, its last event's time and its last message.
-- A message is looked for among the last hundred events only.
select c.entity_id as id, coalesce(last.seq + 1, 0) as events, last.at as last_at, message.kind, message.actor, message.payload
from (select entity_id from foja.entity
    where tenant = %(tenant)s and domain = 'conversation' and entity_id < %(before)s
    order by entity_id desc limit %(limit)s) c
left join lateral (select v.seq, v.at from foja.event v where v.entity_id = c.entity_id
    order by v.seq desc limit 1) last on true
left join lateral (select v.kind, v.actor, v.payload from foja.event v
    where v.entity_id = c.entity_id and v.seq > last.seq - 100
        and v.kind in ('user_message_sent', 'agent_message_sent') and v.payload is not null
    order by v.seq desc limit 1) message on true
order by c.entity_id desc;

-- name: stream_actors
-- The actors of a stream, and of the stream of which it is a transcript.
select distinct v.actor from (
    select %(entity)s::uuid
    union
    select (payload #>> '{transcript_of,entity_id}')::uuid from foja.event
    where entity_id = %(entity)s and tenant = %(tenant)s and kind = 'document.added') s (entity_id)
join foja.event v on v.entity_id = s.entity_id and v.tenant = %(tenant)s
where v.actor is not null limit 1000;
