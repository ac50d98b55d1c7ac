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

-- name: count_documents
-- Count the documents in a state.
select count(*) from foja.document_summary where state = %(state)s;

-- name: count_submitted
-- Count the digests in batches of these networks.
select coalesce(sum(size), 0) from foja.anchor_batch where network = any (%(networks)s);

-- name: look_now
-- Let every batch of a network be looked at now.
update foja.anchor_batch set next_look = now() where network = %(network)s and next_look is not null;

-- name: confirmation_size
-- The number of confirmations of a network, and the bytes of their payloads.
select count(*), sum(octet_length(payload::text)) from foja.event
where kind = 'anchor.confirmed' and payload ->> 'network' = %(network)s;

-- name: act_for_session
-- Act for a tenant for the rest of the session: what is measured is one query alone.
select set_config('foja.tenant', %(tenant)s, false);
