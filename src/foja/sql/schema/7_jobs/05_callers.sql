-- For workers that speak only SQL: one job at a time, its bytes made here.

create type foja.next_jobs as (
    of integer[], type text[], entity_id uuid[], key text[], payload text[], delay double precision[], priority integer[],
    words text[]
);

-- Events as `settle_jobs_v1` takes them.
create function foja.drafts_of(p_events jsonb, j foja.job, p_source text) returns foja.draft[]
language sql volatile
begin atomic
    select array_agg(row(b.entity_id, b.domain, b.kind, b.v, coalesce(foja.event_id_for(b.entity_id, b.key), foja.new_id()),
        b.actor, b.payload, b.salt, foja.body_hash(b.salt, b.actor, b.payload, p_source, b.v), b.key, b.expected)::foja.draft)
    from (
        select e.entity_id, e.domain, g.kind, g.v, g.said ->> 'actor' as actor, foja.canonical(g.said -> 'payload') as payload,
            foja.new_salt() as salt, (g.said ->> 'expected_seq')::bigint as expected,
            coalesce(foja.forced_key(e.domain, g.kind, g.v, g.said -> 'payload'), g.said ->> 'idempotency_key') as key
        from (
            select said, said ->> 'kind' as kind, coalesce((said ->> 'v')::integer, 1) as v, place
            from jsonb_array_elements(p_events) with ordinality u(said, place)
        ) g join foja.entity e on e.entity_id = coalesce((g.said ->> 'entity_id')::uuid, (j).entity_id)
        order by g.place offset 0
    ) b;
end;

-- Following jobs as `settle_jobs_v1` takes them.
create function foja.next_jobs_of(p_jobs jsonb, j foja.job) returns foja.next_jobs
language sql stable
begin atomic
    select array_agg(1), array_agg(n ->> 'type'), array_agg(coalesce((n ->> 'entity_id')::uuid, (j).entity_id)),
        array_agg(n ->> 'dedupe_key'), array_agg((n -> 'payload')::text), array_agg((n ->> 'delay')::double precision),
        array_agg((n ->> 'priority')::integer), array_agg((n -> 'on_death')::text)
    from (select n from jsonb_array_elements(p_jobs) with ordinality u(n, place) order by place) u;
end;

create function foja.settle_one(p_job bigint, p_token uuid, p_outcome text, p_error text, p_delay double precision)
returns text
language plpgsql as $$
declare
    j foja.job;
    rule foja.job_type;
begin
    select * into j from foja.job x where x.job_id = p_job;
    select * into rule from foja.job_type t where t.type = j.type;
    perform foja.check_worker(rule, coalesce(j.type, 'unknown'));
    return (foja.settle_jobs_v1(array[p_job], array[p_token], array[p_outcome], array[p_error], array[p_delay], null,
        null, null, null, null, null, null, null, null, null, null, rule.source, j.tenant, false))[1];
end $$;

-- The work is done. `events` are facts for the job's stream, or for the `entity_id` they name:
-- [{kind, payload, v?, actor?, idempotency_key?, expected_seq?, entity_id?}]. `jobs` follow from it:
-- [{type, dedupe_key, entity_id?, payload?, delay?, priority?, on_death?}], `delay` in seconds.
-- Returns what became of it: done, again, already or lost.
create function foja.complete_job_v1(
    job_id bigint, token uuid, events jsonb default '[]', jobs jsonb default '[]', read bigint default null
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    j foja.job;
    rule foja.job_type;
    drafts foja.draft[];
    n foja.next_jobs;
    careful boolean := false;
begin
    select * into j from foja.job x where x.job_id = complete_job_v1.job_id;
    select * into rule from foja.job_type t where t.type = j.type;
    perform foja.check_worker(rule, coalesce(j.type, 'unknown'));
    drafts := foja.drafts_of(events, j, rule.source);
    if coalesce(cardinality(drafts), 0) < jsonb_array_length(events) then
        perform foja.refuse('unknown_entity', 'an event is for a stream that is not there');
    end if;
    n := foja.next_jobs_of(jobs, j);
    loop
        begin
            return (foja.settle_jobs_v1(array[j.job_id], array[token], '{done}', null, null, array[read],
                array_fill(1, array[coalesce(cardinality(drafts), 0)]), drafts,
                n.of, n.type, n.entity_id, n.key, n.payload, n.delay, n.priority, n.words,
                rule.source, j.tenant, careful))[1];
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
return foja.settle_one(job_id, token, case when permanent then 'give_up' else 'retry' end, error, null);

-- There is nothing to do before so many seconds have passed; this was no try.
create function foja.snooze_job_v1(job_id bigint, token uuid, seconds double precision) returns text
language sql security definer set search_path = pg_catalog, pg_temp
return foja.settle_one(job_id, token, 'snooze', null, seconds);
