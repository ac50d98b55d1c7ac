-- name: create_webhook
-- Create a webhook with its first secret.
select foja.create_webhook_v1(%(webhook)s, %(tenant)s, %(url)s, %(kinds)s::text[], %(payload)s, %(description)s, %(secret)s,
    %(from_start)s, %(actor)s);

-- name: change_webhook
-- Change what is given of a webhook.
select foja.change_webhook_v1(%(tenant)s, %(webhook)s, %(url)s::text, %(kinds)s::text[], %(payload)s::boolean,
    %(description)s::text, %(actor)s);

-- name: switch_webhook
-- Switch a webhook on or off.
select foja.switch_webhook_v1(%(tenant)s, %(webhook)s, %(on)s, %(reason)s::text, %(actor)s);

-- name: rotate_webhook
-- Sign with a new secret, and for some time with the old one as well.
select foja.rotate_webhook_v1(%(tenant)s, %(webhook)s, %(secret)s, %(overlap)s, %(actor)s);

-- name: remove_webhook
-- Remove a webhook with its log.
select foja.remove_webhook_v1(%(tenant)s, %(webhook)s, %(actor)s);

-- name: replay_deliveries
-- Deliver again: one delivery, or those of a range.
select foja.replay_deliveries_v1(%(tenant)s, %(webhook)s, %(first)s::bigint, %(last)s::bigint, %(since)s::timestamptz,
    %(until)s::timestamptz, %(failed)s, %(actor)s);

-- name: webhooks
-- The webhooks of a tenant, or one of them, with how much waits: rows up to a limit, and leaves that were not looked at.
select w.webhook_id as id, w.url, w.kinds, w.include_payload, w.description, w.state, w.off_reason, w.failures,
    w.failing_since, w.created_at, (select count(*) from (select from foja.webhook_delivery d
        where d.webhook_id = w.webhook_id and d.state = 'waiting' limit 10000) waiting) as waiting,
    greatest(0, (select sum(coalesce(o.closed_size, o.next_idx)) from foja.log o where o.origin >= w.origin) - w.idx)::bigint as behind
from foja.webhook w
where w.tenant = %(tenant)s and (%(webhook)s::uuid is null or w.webhook_id = %(webhook)s)
order by w.created_at, w.webhook_id;

-- name: webhook_deliveries
-- The newest deliveries of a webhook, newest first.
select d.delivery_id as id, d.entity_id, d.seq, d.kind, d.state, d.attempts, d.created_at, d.ended_at, last.status, last.error
from foja.webhook_delivery d
left join lateral (select a.status, a.error from foja.webhook_attempt a
    where a.delivery_id = d.delivery_id order by a.at desc limit 1) last on true
where d.webhook_id = %(webhook)s and d.tenant = %(tenant)s and (%(state)s::text is null or d.state = %(state)s)
    and (%(delivery)s::bigint is null or d.delivery_id = %(delivery)s)
    and (%(before)s::bigint is null or d.delivery_id < %(before)s)
order by d.delivery_id desc limit %(limit)s;

-- name: webhook_attempts
-- The attempts of one delivery, oldest first.
select a.at, a.status, a.error, a.seconds from foja.webhook_attempt a
where a.delivery_id = %(delivery)s and a.tenant = %(tenant)s order by a.at;

-- name: plan_deliveries
-- Plan deliveries of the next events of the log.
select foja.plan_deliveries_v1(%(limit)s, %(open)s);

-- name: queue_lost_deliveries
-- Queue the deliveries that wait for a job that is not there; returns how many.
select foja.queue_lost_deliveries_v1();

-- name: open_deliveries
-- What is still to be sent of these batches.
select batch, delivery_id as id, webhook_id, url, secrets, attempts, tenant, entity_id, seq, event_id, kind, v, at, actor,
    source, include_payload, payload
from foja.open_deliveries_v1(%(batches)s::uuid[]);

-- name: record_attempts
-- Record the results of attempts to deliver.
select foja.record_attempts_v1(%(webhook)s, %(made)s::jsonb, %(attempts)s, %(failures)s, %(seconds)s);

-- name: forget_deliveries
-- Forget deliveries that ended long ago.
select foja.forget_deliveries_v1(%(seconds)s, %(limit)s);
