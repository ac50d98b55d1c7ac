-- name: record_health
-- Record what this process saw of some parts; each time is told as an age in seconds.
select foja.record_health_v1(%(parts)s::text[], %(worked)s::double precision[], %(failed)s::double precision[],
    %(since)s::double precision[], %(codes)s::text[], %(errors)s::text[]);

-- name: claim_probes
-- The parts that this process shall probe now, of those named: each has its own interval, one that fails a shorter one.
select part from foja.claim_probes_v1(%(parts)s::text[], %(seconds)s::double precision[], %(again)s::double precision) part;

-- name: health_records
-- What last happened to each part.
select part, worked_at, failed_at, failing_since, code, error from foja.health order by part;

-- name: health_facts
-- The time now; why the log is halted; whether a webhook is on; since when nothing reaches any address that is used.
-- One address that fails is its tenant's concern: only if several do, and none else gets anything, it may be ours.
select clock_timestamp() as now, (select l.halted from foja.log l where l.closed_size is null) as halted,
    exists (select from foja.webhook w where w.state = 'on') as receivers,
    (select f.since from (
        select max(w.failing_since) since, count(distinct substring(w.url from '//([^/]+)')) addresses
        from foja.webhook w where w.state = 'on' and w.failures > 0
    ) f
    where f.addresses > 1 and not exists (
        select from foja.webhook_delivery d where d.state = 'delivered' and d.ended_at > f.since)) as failing_since;

-- name: failing_webhooks
-- For how long each webhook that is on has taken no message, 0 if it took the last one; those that fail longest first.
select w.webhook_id, coalesce(extract(epoch from clock_timestamp() - w.failing_since), 0)::double precision
from foja.webhook w where w.state = 'on' order by w.failing_since nulls last limit %(most)s;

-- name: health_queues
-- Every job type: whether and since when it is paused, and when a worker said last that it does this type.
select t.type, t.paused, t.paused_at, max(w.seen_at) as seen_at
from foja.job_type t left join foja.worker w on t.type = any (w.types)
group by t.type order by t.type;

-- name: count_given_up
-- How many documents have evidence that was given up, counted up to a limit.
select count(*) from (select from foja.document_summary s
    where s.failed and foja.is_given_up(s.entity_id) limit %(most)s) stuck;
