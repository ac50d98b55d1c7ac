-- No job is done any more. The jobs are kept for the way up, and streams that grow meanwhile stay noted in `woken`.

select foja.keep_rows('foja.job_type', 'foja.job', 'foja.tick');
alter table foja.domain drop constraint domain_executor_fkey;

drop policy worker_reads on foja.entity;
drop policy worker_reads on foja.event;
drop policy worker_reads on foja.slot;
drop policy worker_reads on foja.voided;
drop policy worker_reads on foja.checkpoint;
drop policy worker_reads on foja.approval_due;
drop policy worker_reads on foja.approval_event;
drop function foja.promote, foja.check_asker, foja.check_jobs, foja.is_readable, foja.is_asked, foja.insert_jobs, foja.check_on_death, foja.may_append_on_death, foja.enqueue_jobs_v1, foja.enqueue_job_v1, foja.wake, foja.queue_woken_v1, foja.wake_domain, foja.check_worker, foja.claim_jobs_v1,
    foja.heartbeat_jobs_v1, foja.backoff, foja.append_on_death, foja.after_jobs, foja.judge_jobs, foja.close_jobs,
    foja.look_again, foja.settle_jobs_v1, foja.drafts_of, foja.next_jobs_of, foja.settle_one, foja.complete_job_v1,
    foja.fail_job_v1, foja.snooze_job_v1, foja.lock_jobs, foja.try_lock_job, foja.own_jobs, foja.cancel_locked_jobs, foja.cancel_keys, foja.cancel_jobs_v1,
    foja.retry_jobs_v1, foja.pause_jobs_v1, foja.resume_jobs_v1, foja.close_abandoned_job, foja.correct_times_v1, foja.wake_missed, foja.sweep_jobs_v1, foja.run_ticks_v1;
drop function foja.announce_worker_v1, foja.unhandled_types_v1;
drop table foja.worker;  -- its processes announce themselves again
drop type foja.settlement, foja.new_job;
drop table foja.tick, foja.job, foja.job_type;
revoke all on all tables in schema foja from foja_worker;
revoke all on all functions in schema foja from foja_worker;
revoke usage on schema foja from foja_worker;
