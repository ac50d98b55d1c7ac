-- name: queue_all_woken
-- What the next claims of executors do.
select foja.queue_woken_v1(1000000);

-- name: count_chores
-- Jobs that ended well with their fact, and jobs of executors that wait.
select (select count(*) from foja.job where state = 'succeeded'), (select count(*) from foja.event where kind = 'chore.done'),
    (select count(*) from foja.job where type = 'decide_chore');

-- name: make_peer_events
-- Where a peer keeps the event that its job belongs to.
create table peer_event (id bigserial primary key, document uuid not null, kind text not null, payload jsonb not null);

-- name: insert_peer_event
-- One event, in the transaction that enqueues.
insert into peer_event (document, kind, payload) values (%s, 'chore.asked', %s::jsonb);

-- name: insert_peer_event_asyncpg
-- The same, as asyncpg spells it.
insert into peer_event (document, kind, payload) values ($1, 'chore.asked', $2::jsonb);

-- name: count_peer_events
-- How many events are there.
select count(*) from peer_event;

-- name: count_procrastinate
-- Jobs that ended well.
select count(*) from procrastinate_jobs where status = 'succeeded';

-- name: count_procrastinate_all
-- Jobs of any state.
select count(*) from procrastinate_jobs;

-- name: count_pgqueuer
-- Jobs that ended well.
select count(*) from pgqueuer_log where status = 'successful';

-- name: count_pgqueuer_all
-- Jobs that wait.
select count(*) from pgqueuer;

-- name: done_chores
-- How many of these documents have no job left.
select count(*) from unnest(%(documents)s::uuid[]) d(entity_id)
join foja.job j on j.entity_id = d.entity_id and j.state = 'succeeded';

-- name: done_procrastinate
-- The same for procrastinate.
select count(*) from procrastinate_jobs where status = 'succeeded' and args ->> 'document' = any (%(documents)s);
