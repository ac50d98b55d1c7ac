-- What operators do about jobs, recorded with their name.

-- Retry or cancel jobs of a tenant, or of all (null). Returns how many were changed.
create function foja.change_jobs_v1(p_action text, p_job bigint[], p_tenant text, p_actor text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    done bigint;
begin
    if exists (select from foja.job j where j.job_id = any (p_job) and (j.tenant <> p_tenant or not foja.may_act_for(j.tenant))) then
        perform foja.refuse('unknown_job', 'there is no such job; `foja jobs list` shows them');
    end if;
    done := case p_action when 'retry' then foja.retry_jobs_v1(p_job) when 'cancel' then foja.cancel_jobs_v1(p_job) end;
    if done > 0 then
        perform foja.record_act(found.tenant, 'job.changed', 'api', p_actor,
            jsonb_build_object('action', p_action, 'jobs', found.jobs, 'count', done))
        from (select j.tenant, jsonb_agg(jsonb_build_object('id', j.job_id, 'type', j.type, 'entity_id', j.entity_id)
            order by j.job_id) as jobs from foja.job j where j.job_id = any (p_job) group by j.tenant order by j.tenant) found;
    end if;
    return done;
end $$;

-- Pause or resume a job type, for all tenants. Returns whether there is such a type.
create function foja.switch_jobs_v1(p_action text, p_type text, p_actor text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    before boolean := (select t.paused from foja.job_type t where t.type = p_type);
begin
    if before is distinct from (p_action = 'pause') and before is not null then
        perform foja.record_act('system', 'job.changed', 'api', p_actor, jsonb_build_object('action', p_action, 'type', p_type));
    end if;
    return case p_action when 'pause' then foja.pause_jobs_v1(p_type) when 'resume' then foja.resume_jobs_v1(p_type) end;
end $$;
