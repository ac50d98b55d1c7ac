-- Who may do what with jobs.

grant select on foja.job_type to foja_worker, service_role, foja_api, foja_reader;
grant select on foja.tick to foja_worker, service_role, foja_reader;
grant execute on function
    foja.claim_jobs_v1, foja.heartbeat_jobs_v1, foja.settle_jobs_v1, foja.complete_job_v1, foja.fail_job_v1, foja.snooze_job_v1
    to foja_worker;
grant execute on function foja.enqueue_jobs_v1, foja.enqueue_job_v1 to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.cancel_jobs_v1, foja.retry_jobs_v1 to service_role, foja_api, foja_operator;
-- All tenants share a type: no request may stop it.
grant execute on function foja.pause_jobs_v1, foja.resume_jobs_v1 to service_role, foja_operator;
grant execute on function foja.queue_woken_v1 to foja_worker, service_role, foja_api, foja_operator;
grant execute on function foja.correct_times_v1, foja.sweep_jobs_v1, foja.run_ticks_v1 to foja_sweeper;
select foja.share_rows('foja.job', 'foja_api');
