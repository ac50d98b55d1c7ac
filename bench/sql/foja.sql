-- name: want_executor
-- Whatever a conversation says wakes its executor from now on.
with executor as (
    insert into foja.job_type (type, domain, source, level) values ('look', 'conversation', 'looker', true) returning type
), chosen as (
    update foja.domain set executor = executor.type from executor where domain = 'conversation'
)
update foja.kind set wakes = true where domain = 'conversation';

-- name: forget_wakeups
-- What an executor does when it has looked.
with looked as (delete from foja.woken)
update foja.entity set awake = null where awake is not null;

-- name: count_events
-- How many events are there.
select count(*) from foja.event;

-- name: places
-- Every event's place in its stream.
select entity_id, seq from foja.event;

-- name: count_wakeups
-- Whether streams wait for their executor, in the list or in the queue.
select (select count(*) from foja.woken) + (select count(*) from foja.job where state = 'queued');

-- name: append_event_bytes
-- One append as the ledger's own lines send it.
select status, seq from foja.append(%(draft)s::foja.draft);
