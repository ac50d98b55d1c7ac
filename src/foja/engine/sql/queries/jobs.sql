-- name: prepare_enqueue_jobs
-- Ask for work; what was asked for before is left out.
prepare enqueue_jobs as
select foja.enqueue_jobs_v1($1) where set_config('foja.tenant', $2, true) is not null;

-- name: prepare_settle_jobs
-- Say how a batch of jobs ended, with the facts that were found and the jobs that follow.
prepare settle_jobs as
select foja.settle_jobs_v1($1, $2, $3, $4, $5, $6);

-- name: claim_jobs
-- Lease jobs to a worker. It need not wait for the disk: after a crash a lost claim is only an unknown token.
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select job_id as id, type, entity_id, tenant, dedupe_key as key, payload, tries, max_tries, lease_token as token,
    lease_seconds, alone, corrected
from unhurried, foja.claim_jobs_v1(%(type)s, %(limit)s, %(worker)s, %(tenant)s);

-- name: heartbeat_jobs
-- Extend leases, without waiting for the disk; the jobs that are still ours.
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select h from unhurried, foja.heartbeat_jobs_v1(%(jobs)s::bigint[], %(tokens)s::uuid[]) h;

-- name: job_types
-- The numbers of the types that jobs are sent in: draft, new job, settlement.
select 'foja.draft'::regtype::oid::bigint as draft, 'foja.new_job'::regtype::oid::bigint as new_job,
    'foja.settlement'::regtype::oid::bigint as settlement;

-- name: sweep_jobs
-- Close jobs whose lease expired and that have no tries left.
select foja.sweep_jobs_v1(%(most)s);

-- name: correct_times
-- Set right what a clock that was ahead wrote into a part of the jobs; each call takes the next part.
select foja.correct_times_v1();

-- name: run_ticks
-- Queue the jobs of ticks that are due.
select foja.run_ticks_v1();

-- name: queue_woken
-- Queue the executors that appends have woken.
select foja.queue_woken_v1();

-- name: list_jobs
-- Jobs as an operator sees them, newest first.
select job_id as id, type, state, entity_id, correlation_id, tenant, dedupe_key as key, priority, tries, max_tries,
    head as first, run_at, created_at, finished_at, worker, lease_until, last_error, payload, on_death
from foja.job
where (%(tenant)s::text is null or tenant = %(tenant)s)
    and (%(job)s::bigint is null or job_id = %(job)s)
    and (%(state)s::text is null or state = %(state)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(entity)s::uuid is null or entity_id = %(entity)s)
    and (%(before)s::bigint is null or job_id < %(before)s)
order by job_id desc limit %(limit)s;

-- name: jobs_named
-- Jobs as an operator sees them, by their ids, newest first.
select job_id as id, type, state, entity_id, correlation_id, tenant, dedupe_key as key, priority, tries, max_tries,
    head as first, run_at, created_at, finished_at, worker, lease_until, last_error, payload, on_death
from foja.job where job_id = any (%(jobs)s::bigint[]) and (%(tenant)s::text is null or tenant = %(tenant)s)
order by job_id desc;

-- name: job_gauges
-- Of each type: how long the oldest job waits that could be claimed, how many are past their lease, how many died
-- without a word.
select t.type, coalesce(extract(epoch from clock_timestamp() - min(ready.run_at)), 0)::double precision as age,
    (select count(*) from foja.job j where j.type = t.type and j.state = 'running' and j.lease_until < clock_timestamp()) as past_lease,
    (select count(*) from foja.job j where j.state = 'dead' and j.type = t.type and not j.silent) as dead
from foja.job_type t cross join generate_series(0, 2) rank
left join lateral (
    select j.run_at from foja.job j
    where j.type = t.type and j.priority = rank and j.run_at <= clock_timestamp()
        and (%(tenant)s::text is null or j.tenant = %(tenant)s) and j.head and j.state in ('queued', 'retry_scheduled')
    order by j.run_at limit 1
) ready on true
group by t.type;

-- name: announce_worker
-- Say that this process does jobs of these types; with none, that it has ended.
select foja.announce_worker_v1(%(worker)s, %(name)s, %(types)s::text[], %(tenant)s);

-- name: unhandled_types
-- The types of which jobs are ready and no living worker does them: how many, and since when.
select type, jobs, ready_at from foja.unhandled_types_v1(%(tenant)s, %(most)s, %(living)s);

-- name: paused_types
-- The types of which nothing is claimed now.
select type from foja.job_type where paused order by type;
