-- For workers that speak only SQL: one job at a time, its bytes made here.

-- Events as `settle_jobs_v1` takes them.
create function foja.drafts_of(p_events jsonb, j foja.job, p_source text) returns foja.draft[]
language sql volatile
begin atomic
    select array_agg(foja.new_draft(e.entity_id, e.domain, e.tenant, g.kind, foja.canonical(g.event -> 'payload'), p_source,
        g.event ->> 'actor', null, coalesce(foja.forced_key(e.domain, g.kind, g.v, g.event -> 'payload'),
            g.event ->> 'idempotency_key'), (g.event ->> 'expected_seq')::bigint, g.v) order by g.place)
    from (
        select event, event ->> 'kind' as kind, coalesce((event ->> 'v')::integer, 1) as v, place
        from jsonb_array_elements(p_events) with ordinality u(event, place)
    ) g join foja.entity e on e.entity_id = coalesce((g.event ->> 'entity_id')::uuid, (j).entity_id)
        and e.tenant = (j).tenant;
end;

-- Following jobs as `settle_jobs_v1` takes them.
create function foja.next_jobs_of(p_jobs jsonb, j foja.job) returns foja.new_job[]
language sql stable
begin atomic
    select array_agg(row(n ->> 'type', coalesce((n ->> 'entity_id')::uuid, (j).entity_id), (j).tenant, n ->> 'dedupe_key',
        (n -> 'payload')::text, (n ->> 'delay')::double precision, (n ->> 'priority')::integer,
        (n -> 'on_death')::text, null)::foja.new_job order by place)
    from jsonb_array_elements(p_jobs) with ordinality u(n, place);
end;

create function foja.settle_one(p_settlement foja.settlement) returns text
language plpgsql as $$
declare
    j foja.job;
    rule foja.job_type;
begin
    select * into j from foja.job x where x.job_id = p_settlement.job_id;
    select * into rule from foja.job_type t where t.type = j.type;
    perform foja.check_worker(rule, coalesce(j.type, 'unknown'));
    return (foja.settle_jobs_v1(array[p_settlement], null, null, null, null, false))[1];
end $$;

-- The work is done. `events` go to the job's stream, or to the `entity_id` they name:
-- [{kind, payload, v?, actor?, idempotency_key?, expected_seq?, entity_id?}]. `jobs` follow from it:
-- [{type, dedupe_key, entity_id?, payload?, delay?, priority?, on_death?}], `delay` in seconds.
-- Returns the result: done, again, already or lost.
create function foja.complete_job_v1(
    job_id bigint, token uuid, events jsonb default '[]', jobs jsonb default '[]', read bigint default null
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    j foja.job;
    rule foja.job_type;
    drafts foja.draft[];
    next foja.new_job[];
    careful boolean := false;
begin
    select * into j from foja.job x where x.job_id = complete_job_v1.job_id;
    select * into rule from foja.job_type t where t.type = j.type;
    perform foja.check_worker(rule, coalesce(j.type, 'unknown'));
    drafts := foja.drafts_of(events, j, rule.source);
    if coalesce(cardinality(drafts), 0) < jsonb_array_length(events) then
        perform foja.refuse('unknown_entity', 'an event is for a stream that is not there');
    end if;
    next := foja.next_jobs_of(jobs, j);
    loop
        begin
            return (foja.settle_jobs_v1(
                array[row(j.job_id, token, 'done', null, null, read)::foja.settlement],
                array_fill(1, array[coalesce(cardinality(drafts), 0)]), drafts,
                array_fill(1, array[coalesce(cardinality(next), 0)]), next, careful))[1];
        exception when unique_violation then
            if careful then
                raise;
            end if;
            careful := true;  -- recorded before: look it up
        end;
    end loop;
end $$;

-- The work failed. `permanent`: trying again cannot help.
create function foja.fail_job_v1(job_id bigint, token uuid, error text, permanent boolean default false) returns text
language sql security definer set search_path = pg_catalog, pg_temp
return foja.settle_one(row(job_id, token, case when permanent then 'give_up' else 'retry' end, error, null, null));

-- There is nothing to do before so many seconds have passed; this was no try.
create function foja.snooze_job_v1(job_id bigint, token uuid, seconds double precision) returns text
language sql security definer set search_path = pg_catalog, pg_temp
return foja.settle_one(row(job_id, token, 'snooze', null, seconds, null));
