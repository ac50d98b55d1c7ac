-- name: queue_all_woken
-- Queue the executors of all woken streams, as the next claims would.
select foja.queue_woken_v1(1000000);

-- name: count_chores
-- Completed jobs, their events, and jobs of executors.
select (select count(*) from foja.job where state = 'succeeded'), (select count(*) from foja.event where kind = 'chore.done'),
    (select count(*) from foja.job where type = 'decide_chore');

-- name: make_peer_events
-- The table of the events that the jobs of a peer belong to.
create table peer_event (id bigserial primary key, document uuid not null, kind text not null, payload jsonb not null);

-- name: insert_peer_event
-- One event, in the transaction that enqueues.
insert into peer_event (document, kind, payload) values (%s, 'chore.asked', %s::jsonb);

-- name: insert_peer_event_asyncpg
-- The same with the placeholders of asyncpg.
insert into peer_event (document, kind, payload) values ($1, 'chore.asked', $2::jsonb);

-- name: count_peer_events
-- Count the events.
select count(*) from peer_event;

-- name: count_procrastinate
-- Completed jobs.
select count(*) from procrastinate_jobs where status = 'succeeded';

-- name: count_procrastinate_all
-- Jobs of any state.
select count(*) from procrastinate_jobs;

-- name: count_pgqueuer
-- Completed jobs.
select count(*) from pgqueuer_log where status = 'successful';

-- name: count_pgqueuer_all
-- Queued jobs.
select count(*) from pgqueuer;

-- name: done_chores
-- Count the completed jobs of these documents.
select count(*) from unnest(%(documents)s::uuid[]) d(entity_id)
join foja.job j on j.entity_id = d.entity_id and j.state = 'succeeded';

-- name: done_procrastinate
-- The same for procrastinate.
select count(*) from procrastinate_jobs where status = 'succeeded' and args ->> 'document' = any (%(documents)s);
