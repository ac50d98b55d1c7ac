-- name: want_executor
-- Give conversations an executor that every event wakes.
with executor as (
    insert into foja.job_type (type, domain, source, level) values ('look', 'conversation', 'looker', true) returning type
), chosen as (
    update foja.domain set executor = executor.type from executor where domain = 'conversation'
)
update foja.kind set wakes = true where domain = 'conversation';

-- name: forget_wakeups
-- Clear the wake-ups, as an executor does.
with looked as (delete from foja.woken)
update foja.entity set awake = null where awake is not null;

-- name: count_events
-- Count the events.
select count(*) from foja.event;

-- name: places
-- Stream and number of every event.
select entity_id, seq from foja.event;

-- name: count_wakeups
-- Count the streams that wait for their executor, in the list or in the queue.
select (select count(*) from foja.woken) + (select count(*) from foja.job where state = 'queued');

-- name: append_event_bytes
-- One append with the parameter that the ledger sends.
select status, seq from foja.append(%(draft)s::foja.draft);
