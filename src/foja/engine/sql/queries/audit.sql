-- name: audit_counts
-- The number of streams, of events that wait for the sequencer, and of open slots.
select (select count(*) from foja.entity), (select coalesce(sum(cardinality(seq)), 0)::bigint from foja.pending),
    (select count(*) from foja.slot where state = 'open');

-- name: audit_steps
-- Gaps, also below an open slot, and duplicate numbers in streams. One pass over the primary key.
-- Above the sealed prefix a missing number may be a slot, or an event that is recorded a few seconds later.
with step as (
    select entity_id, seq, seq - lag(seq, 1, -1::bigint) over (partition by entity_id order by seq) as distance
    from foja.event
)
select step.entity_id, step.seq - step.distance + 1, step.seq, step.distance
from step left join foja.entity e using (entity_id)
where step.distance = 0
   or step.distance > 1 and (
        e.sealed > step.seq - step.distance + 1
        or exists (
            select from generate_series(step.seq - step.distance + 1, step.seq - 1) n
            where not exists (select from foja.slot s where s.entity_id = step.entity_id and s.seq = n)
        ) and exists (
            select from foja.event above where above.entity_id = step.entity_id and above.seq = step.seq
                and above.at < clock_timestamp() - make_interval(secs => %(grace)s)
        )
    );

-- name: audit_ends
-- Streams whose last number does not match their row in foja.entity.
select e.entity_id, last.seq + 1, e.sealed, e.next_seq
from foja.entity e cross join lateral (
    select greatest(
        (select max(seq) from foja.event v where v.entity_id = e.entity_id),
        (select max(seq) from foja.slot s where s.entity_id = e.entity_id), -1) as seq
) last
where last.seq < e.sealed - 1 or e.lane = 'postgres' and last.seq <> e.next_seq - 1;

-- name: audit_heads
-- Streams whose head is not the chain hash of their last sealed event, in the log or in the outbox.
select e.entity_id, e.sealed - 1, encode(coalesce(leaf.chain_hash, p.chain_hash), 'hex'), encode(e.head, 'hex')
from foja.entity e
left join lateral (
    select l.chain_hash from foja.log o cross join lateral foja.find_leaf(o.origin, e.entity_id, e.sealed - 1) l
    where o.closed_size is null or l.idx < o.closed_size
    order by o.origin desc limit 1
) leaf on true
left join (
    select u.entity_id, u.seq, u.chain_hash from foja.pending w
    cross join lateral unnest(w.entity_id, w.seq, w.chain_hash) u(entity_id, seq, chain_hash)
) p on p.entity_id = e.entity_id and p.seq = e.sealed - 1
where e.sealed > 0 and coalesce(leaf.chain_hash, p.chain_hash) is distinct from e.head;

-- name: audit_strays
-- Events without a stream, or with another tenant, an unknown kind or a forbidden source.
select v.entity_id, v.seq, v.kind, v.v, v.source, v.tenant, e.domain, e.tenant as owner
from foja.event v left join foja.entity e using (entity_id)
left join foja.kind k on k.domain = e.domain and k.kind = v.kind and k.v = v.v
where e.entity_id is null or v.tenant <> e.tenant or k.kind is null or v.source <> all (k.sources);

-- name: audit_voided
-- Voided numbers that foja.voided does not list, and listed ones that are not voided.
select coalesce(v.entity_id, g.entity_id), coalesce(v.seq, g.seq), case when g.seq is null then 'one' else 'none' end,
    case when g.seq is null then 'none' else 'one' end
from (select entity_id, seq, tenant from foja.event where kind = 'slot.voided') v
full join foja.voided g on g.entity_id = v.entity_id and g.seq = v.seq and g.tenant = v.tenant
where v.seq is null or g.seq is null;

-- name: audit_late_slots
-- Open slots past their deadline.
select entity_id, seq, round(extract(epoch from clock_timestamp() - deadline))::bigint from foja.slot
where state = 'open' and deadline < clock_timestamp() - make_interval(secs => %(grace)s);

-- name: audit_sealing
-- Streams whose next event is recorded and was not sealed in time.
select e.entity_id, e.sealed as seq, round(extract(epoch from clock_timestamp() - v.at))::bigint as seconds
from foja.unsealed u join foja.entity e on e.entity_id = u.entity_id and e.sealed = u.seq
join foja.event v on v.entity_id = u.entity_id and v.seq = u.seq
where v.at < clock_timestamp() - make_interval(secs => %(limit)s);

-- name: audit_numbering
-- The oldest sealed event that is not in the log, if it waits too long. The wait begins at the newest event up
-- to it: an event above a hole is older than its sealing.
select p.entity_id, p.seq, round(extract(epoch from clock_timestamp() - since.at))::bigint as seconds
from (select entity_id[1] as entity_id, seq[1] as seq from foja.pending order by id limit 1) p cross join lateral (
    select max(v.at) as at from (
        select at from foja.event where entity_id = p.entity_id and seq <= p.seq order by seq desc limit 20000
    ) v
) since
where since.at < clock_timestamp() - make_interval(secs => %(limit)s);

-- name: audit_publishing
-- The oldest leaf that no published checkpoint covers, if it waits too long.
select leaf.entity_id, leaf.seq, round(extract(epoch from clock_timestamp() - since.at))::bigint as seconds, leaf.idx as leaf
from foja.log l
left join lateral (
    select c.size, c.published_at from foja.checkpoint c
    where c.origin = l.origin and c.published_at is not null order by c.size desc limit 1
) seen on true
cross join lateral foja.leaves_between(l.origin, coalesce(seen.size, 0), coalesce(seen.size, 0) + 1) leaf
cross join lateral (
    select greatest(max(v.at), seen.published_at) as at from (
        select at from foja.event where entity_id = leaf.entity_id and seq <= leaf.seq order by seq desc limit 20000
    ) v
) since
where l.closed_size is null and since.at < clock_timestamp() - make_interval(secs => %(limit)s);

-- name: audit_signed
-- A signed checkpoint, newer than all published ones, that was not published in time.
select c.size, round(extract(epoch from clock_timestamp() - c.signed_at))::bigint
from foja.checkpoint c join foja.log l on l.origin = c.origin and l.closed_size is null
where c.published_at is null and c.signed_at < clock_timestamp() - make_interval(secs => %(limit)s)
  and not exists (select from foja.checkpoint p
      where p.origin = c.origin and p.size > c.size and p.published_at is not null);

-- name: audit_halted
-- The open log, if it is halted.
select name, halted from foja.log where halted is not null and closed_size is null;

-- name: audit_leaves
-- Logs whose last leaf does not match their row in foja.log.
select l.name, l.next_idx, coalesce(last.idx + 1, 0)
from foja.log l left join lateral (
    select b.idx + octet_length(b.chain_hash) / 32 - 1 as idx from foja.leaves b where b.origin = l.origin order by b.idx desc limit 1
) last on true
where coalesce(last.idx + 1, 0) <> l.next_idx;

-- name: audit_guards
-- Triggers against changes that are missing, disabled, or not always enabled.
select g.relation, g.trigger,
    case when t.oid is null then 'missing' when t.tgenabled = 'D' then 'disabled' else 'enabled in some sessions' end
from (values
    ('event', 'event_update'), ('event', 'event_delete'), ('event', 'event_truncate'),
    ('leaves', 'leaf_change'), ('leaves', 'leaf_truncate'),
    ('leaf_place', 'leaf_place_change'), ('leaf_place', 'leaf_place_truncate'),
    ('checkpoint', 'checkpoint_update'), ('checkpoint', 'checkpoint_delete'), ('checkpoint', 'checkpoint_truncate'),
    ('cosignature', 'cosignature_change'), ('cosignature', 'cosignature_truncate')
) g (relation, trigger)
left join pg_trigger t on t.tgrelid = to_regclass('foja.' || g.relation) and t.tgname = g.trigger
where t.tgenabled is distinct from 'A' order by g.relation <> 'event', g.relation <> 'leaves', g.trigger;

-- name: audit_dead_jobs
-- Dead jobs without an event in their stream, because they have none or it was refused. `foja jobs retry` or
-- `cancel` removes them from here.
select entity_id, null, job_id, type from foja.job where state = 'dead' and not silent order by job_id;

-- name: audit_leases
-- Running jobs whose lease expired and that no worker has claimed in time.
select entity_id, null, job_id, type, round(extract(epoch from clock_timestamp() - lease_until))::bigint from foja.job
where state = 'running' and lease_until < clock_timestamp() - make_interval(secs => %(limit)s) order by lease_until;

-- name: audit_waiting_jobs
-- For each type that is not paused, the job that has been ready for the longest time, if that is too long;
-- and the first stream whose executor is not queued yet.
select j.entity_id, null, j.job_id, t.type, round(extract(epoch from clock_timestamp() - j.run_at))::bigint
from foja.job_type t cross join lateral (
    select job_id, entity_id, run_at from foja.job
    where head and state in ('queued', 'retry_scheduled') and type = t.type order by run_at limit 1
) j
where not t.paused and j.run_at < clock_timestamp() - make_interval(secs => %(limit)s)
union all
select e.entity_id, null, null, t.type, round(extract(epoch from clock_timestamp() - w.at))::bigint
from (select entity_id[1], at from foja.woken order by id limit 1) w
join foja.entity e using (entity_id) join foja.domain d on d.domain = e.domain join foja.job_type t on t.type = d.executor
where not t.paused and w.at < clock_timestamp() - make_interval(secs => %(limit)s);

-- name: audit_clocks
-- Times that are ahead of the database's clock, which was set back since: jobs, leases, attempts, slots, ticks and
-- checkpoints. What waits for such a time waits too long.
with clock as (select clock_timestamp() + make_interval(secs => %(tolerance)s) as latest)
select j.entity_id, null::bigint, format('the run time of the %%s job %%s', j.type, j.job_id), j.run_at::text,
    format('`foja jobs retry %%s` runs it now', j.job_id)
from clock, foja.job j where j.state in ('queued', 'retry_scheduled') and j.run_at > latest
    and (j.created_at > latest or j.lease_until > latest + (select t.lease from foja.job_type t where t.type = j.type))
union all
select j.entity_id, null::bigint, format('the lease of the %%s job %%s', j.type, j.job_id), j.lease_until::text,
    format('`foja jobs cancel %%s` ends it, if no worker runs it', j.job_id)
from clock, foja.job j join foja.job_type t using (type) where j.state = 'running' and j.lease_until > latest + t.lease
union all
select a.entity_id, a.asked_seq, format('the deadline of attempt %%s at %%s', a.attempt, a.evidence), a.deadline::text,
    'its job may still end it'
from clock, foja.attempt a join foja.event v on v.entity_id = a.entity_id and v.seq = a.asked_seq
where a.state = 'open' and a.deadline > latest and v.at > latest
union all
select s.entity_id, s.seq, 'the deadline of a slot', s.deadline::text, 'fill it, or void it'
from clock, foja.slot s where s.state = 'open' and s.deadline > latest + interval '1 hour'
union all
select null::uuid, null::bigint, format('the next run of the tick %%s', t.name), t.due::text, 'set foja.tick.due to the present'
from clock, foja.tick t where t.due > latest + t.every
    -- The tick of a network is due when its first batch is looked at again.
    and not exists (select from foja.anchor_batch b where t.type = format('process_%%s_anchors', b.network) and b.next_look >= t.due)
union all
select null::uuid, null::bigint, format('the newest checkpoint of log %%s', c.origin), c.signed_at::text, 'correct the clock'
from clock, (select distinct on (origin) origin, signed_at from foja.checkpoint order by origin, size desc) c
where c.signed_at > latest;

-- name: audit_stuck_queues
-- Streams with a queue of jobs that has no head, or more than one.
select entity_id, null, type, count(*), count(*) filter (where head) from foja.job
where serial and state in ('queued', 'running', 'retry_scheduled')
group by entity_id, type having count(*) filter (where head) <> 1;

-- name: audit_sleepers
-- Streams with new events whose executor is not queued.
select e.entity_id, e.awake, coalesce(j.state, 'missing')
from foja.entity e join foja.domain d on d.domain = e.domain
left join foja.job j on j.entity_id = e.entity_id and j.type = d.executor and j.dedupe_key = 'executor'
where e.awake is not null and d.executor is not null
    and coalesce(j.state, 'missing') not in ('queued', 'running', 'retry_scheduled')
    and e.entity_id not in (select unnest(w.entity_id) from foja.woken w);

-- name: audit_waits_without_job
-- What waits for a job that is not there: open attempts, images without variants, deliveries of webhooks that are on.
select a.entity_id, a.asked_seq, format('the %%s job of attempt %%s', foja.job_of(a.evidence), a.attempt),
    '`foja rebuild` queues it'
from foja.lost_attempts() a
union all
select i.product_id, i.content_seq, 'a render_image job', '`foja rebuild` queues it' from foja.unrendered_images() i
union all
select d.entity_id, d.seq, format('a job that delivers it to the webhook %%s', d.webhook_id),
    '`foja rebuild` queues it'
from foja.lost_deliveries() d;

-- name: audit_job_correlations
-- Jobs that ran with a correlation id other than their stream.
select entity_id, null, job_id, correlation_id from foja.job
where correlation_id <> entity_id and state not in ('queued', 'retry_scheduled', 'cancelled');

-- name: audit_summaries_behind
-- Documents whose list entry lacks an event that should have changed it.
select late.entity_id, late.seq, coalesce(s.length, 0)
from foja.entity e left join foja.document_summary s using (entity_id)
cross join lateral (
    select v.entity_id, v.seq from foja.event v join foja.kind k on k.domain = 'document' and k.kind = v.kind and k.v = v.v
    where v.entity_id = e.entity_id and v.seq >= coalesce(s.length, 0) and k.wakes
        and v.at < clock_timestamp() - make_interval(secs => %(limit)s)
    order by v.seq limit 1
) late
where e.domain = 'document' and e.sealed > coalesce(s.length, 0);

-- name: audit_documents
-- Every event of every document; with the first one its list entry, its row for the guards, and its attempts.
select e.entity_id as document, v.seq, v.kind, v.at,
    case v.kind when 'tsa.confirmed' then v.payload::jsonb - '{token_b64,blinding_b64,path_b64}'::text[] else v.payload::jsonb end as payload,
    case v.seq when 0 then (select to_jsonb(s) from foja.document_summary s where s.entity_id = e.entity_id) end as listed,
    case v.seq when 0 then (select to_jsonb(d) from foja.document d where d.entity_id = e.entity_id) end as known,
    case v.seq when 0 then (select jsonb_agg(to_jsonb(a)) from foja.attempt a where a.entity_id = e.entity_id) end as attempts
from foja.entity e join foja.event v using (entity_id)
where e.domain = 'document' order by e.entity_id, v.seq;

-- name: audit_tokens
-- The events of confirmed timestamps.
select v.entity_id, v.seq, v.kind, v.at, v.payload
from foja.attempt a join foja.event v on v.entity_id = a.entity_id and v.kind = 'tsa.confirmed' and v.seq > a.asked_seq
    and v.payload ->> 'witness_hash' = a.witness_hash
where a.evidence = 'tsa' and a.state = 'confirmed';

-- name: audit_tracked_others
-- Rows of document tables whose stream is not a document.
select t.entity_id, null, t.relation from (
    select entity_id, 'foja.document' as relation from foja.document
    union select entity_id, 'foja.attempt' from foja.attempt
) t
where not exists (select from foja.entity e where e.entity_id = t.entity_id and e.domain = 'document');

-- name: audit_references
-- References of documents and galleries that differ from their events, and references to objects that are not live.
select coalesce(x.entity_id, r.entity_id), coalesce(x.seq, r.seq),
    case when x.entity_id is null then 'no such reference' else format('a reference to the %%s %%s', x.role, x.sha256) end,
    case when r.entity_id is null then 'none' else format('one to the %%s %%s', r.role, r.sha256) end
from (select * from foja.document_references() union all select * from foja.image_references()) x full join (
    select o.entity_id, o.seq, o.sha256, o.role, o.tenant from foja.object_reference o
    join foja.entity e on e.entity_id = o.entity_id and e.domain in ('document', 'image')
) r on r.entity_id = x.entity_id and r.seq = x.seq and r.sha256 = x.sha256 and r.role = x.role and r.tenant = x.tenant
where x.entity_id is null or r.entity_id is null
union all
select r.entity_id, r.seq, format('the object %%s live', r.sha256), coalesce(o.state, 'no row')
from foja.object_reference r left join foja.object o using (sha256, generation)
where o.state is distinct from 'live';

-- name: audit_galleries
-- Every event of every gallery; with the first one whether its product has a row, and the rows of its images. Also
-- products with images and without events.
select g.product, v.seq, v.event_id as id, v.kind, v.at, v.idempotency_key as key, v.payload,
    case when coalesce(v.seq, 0) = 0 then exists (select from public.products p where p.productid = g.product) end as known,
    case when coalesce(v.seq, 0) = 0 then (select jsonb_agg(to_jsonb(i) order by i.image_order)
        from public.product_images i where i.product_id = g.product) end as images
from (
    select entity_id as product from foja.entity where domain = 'image'
    union select i.product_id from public.product_images i
) g
left join foja.entity e on e.entity_id = g.product and e.domain = 'image'
left join foja.event v on v.entity_id = e.entity_id
order by g.product, v.seq;
