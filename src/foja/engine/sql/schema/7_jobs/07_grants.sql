-- Who may do what with jobs. `foja_worker` is what every worker's own role is a member of.

do $$
begin
    create role foja_worker nologin;
exception when duplicate_object or unique_violation then
    null;  -- roles belong to the whole server; another database made it
end $$;

revoke execute on function
    foja.promote, foja.may_append_on_death, foja.check_on_death, foja.check_asker, foja.check_jobs, foja.is_readable, foja.is_asked, foja.insert_jobs, foja.enqueue_jobs_v1, foja.enqueue_job_v1, foja.wake, foja.queue_woken_v1, foja.wake_domain, foja.check_worker, foja.claim_jobs_v1,
    foja.heartbeat_jobs_v1, foja.backoff, foja.append_on_death, foja.after_jobs, foja.judge_jobs, foja.close_jobs,
    foja.look_again, foja.settle_jobs_v1, foja.drafts_of, foja.next_jobs_of, foja.settle_one, foja.complete_job_v1,
    foja.fail_job_v1, foja.snooze_job_v1, foja.lock_jobs, foja.try_lock_job, foja.own_jobs, foja.cancel_locked_jobs, foja.cancel_keys, foja.cancel_jobs_v1,
    foja.retry_jobs_v1, foja.pause_jobs_v1, foja.resume_jobs_v1, foja.close_abandoned_job, foja.correct_times_v1, foja.wake_missed, foja.sweep_jobs_v1, foja.run_ticks_v1
    from public;

grant usage on schema foja to foja_worker;
grant select on all tables in schema foja to foja_worker;
revoke select on foja.live_key, foja.id_key, foja.kept from foja_worker;
grant select on foja.job, foja.job_type to service_role, foja_api, foja_reader;
grant select on foja.tick to service_role, foja_reader;
grant execute on function foja.append, foja.replay, foja.append_drafts, foja.append_event, foja.claim_lanes to foja_worker;
grant execute on function foja.recognise, foja.next_seq to foja_worker;
grant execute on function
    foja.claim_jobs_v1, foja.heartbeat_jobs_v1, foja.settle_jobs_v1, foja.complete_job_v1, foja.fail_job_v1, foja.snooze_job_v1
    to foja_worker;
grant execute on function foja.enqueue_jobs_v1, foja.enqueue_job_v1 to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.cancel_jobs_v1, foja.retry_jobs_v1 to service_role, foja_api, foja_operator;
-- All tenants share a type: no request may stop it.
grant execute on function foja.pause_jobs_v1, foja.resume_jobs_v1 to service_role, foja_operator;
grant execute on function foja.queue_woken_v1 to foja_worker, service_role, foja_api, foja_operator;
grant execute on function foja.correct_times_v1, foja.sweep_jobs_v1, foja.run_ticks_v1 to foja_sweeper;

create policy worker_reads on foja.entity for select to foja_worker using (true);
create policy worker_reads on foja.event for select to foja_worker using (true);
create policy worker_reads on foja.slot for select to foja_worker using (true);
create policy worker_reads on foja.voided for select to foja_worker using (true);
create policy worker_reads on foja.checkpoint for select to foja_worker using (true);
create policy worker_reads on foja.approval_due for select to foja_worker using (true);
create policy worker_reads on foja.approval_event for select to foja_worker using (true);

alter table foja.job enable row level security, force row level security;
create policy owner_works on foja.job to current_user using (true) with check (true);
create policy installation_reads on foja.job for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.job for select to foja_api
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
