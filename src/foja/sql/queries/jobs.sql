-- name: prepare_enqueue_jobs
-- Ask for work; what was asked for before is left out.
prepare enqueue_jobs as
select foja.enqueue_jobs_v1($1, $2, $3, $4, $5, $6, $7, $8);

-- name: prepare_settle_jobs
-- Say how a batch of jobs ended, with the facts that were found and the jobs that follow.
prepare settle_jobs as
select foja.settle_jobs_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29);

-- name: claim_jobs
-- Lease jobs to a worker.
select job_id, type, entity_id, tenant, dedupe_key, payload, tries, max_tries, lease_token, lease_seconds, alone, corrected
from foja.claim_jobs_v1(%(type)s, %(tenant)s, %(most)s, %(worker)s);

-- name: heartbeat_jobs
-- Extend leases; the jobs that are still ours.
select foja.heartbeat_jobs_v1(%(jobs)s::bigint[], %(tokens)s::uuid[]);

-- name: sweep_jobs
-- Close what nobody came back from and has no tries left.
select foja.sweep_jobs_v1(%(most)s);

-- name: run_ticks
-- Queue the jobs of ticks that are due.
select foja.run_ticks_v1();
