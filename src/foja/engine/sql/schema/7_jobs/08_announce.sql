-- Which processes do jobs now, and of which types. It decides nothing: whoever may claim, claims.

create table foja.worker (
    worker_id uuid primary key,               -- of one run of one process
    name text not null,                       -- its host and process number
    types text[] not null,                    -- that it has a handler for
    tenant text,                              -- whose jobs alone it does; null: of all
    seen_at timestamptz not null default clock_timestamp()
);

-- Say that this process does jobs of these types, with no types, that it has ended; it is believed for 30 seconds. It waits
-- for no disk: what a crash forgets is said again. The role of the maintenance speaks for its whole process.
create function foja.announce_worker_v1(p_worker uuid, p_name text, p_types text[], p_tenant text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if foja.acting_role() <> 'foja_sweeper' then
        perform foja.check_worker(t, u.type) from unnest(p_types) u(type) left join foja.job_type t on t.type = u.type;
    end if;
    perform foja.check_size(p_name, 255, 'the name of a worker');
    perform set_config('synchronous_commit', 'off', true);
    if coalesce(cardinality(p_types), 0) = 0 then
        delete from foja.worker w where w.worker_id = p_worker;
        return;
    end if;
    insert into foja.worker as w (worker_id, name, types, tenant) values (p_worker, p_name, p_types, p_tenant)
    on conflict (worker_id) do update set types = p_types, tenant = p_tenant, seen_at = clock_timestamp();
    delete from foja.worker w where w.worker_id in (
        select d.worker_id from foja.worker d where d.seen_at < clock_timestamp() - interval '1 hour'
        order by d.worker_id for update skip locked);
end $$;

-- Types of which jobs are ready and no living worker does them: how many, counted up to a limit for each priority, and
-- how long the oldest one is ready. A worker of another program that announces nothing lives while it has a lease.
create function foja.unhandled_types_v1(p_tenant text, p_most integer, p_living double precision default 30)
returns table (type text, jobs bigint, ready_at timestamptz)
language sql stable set search_path = pg_catalog, pg_temp as $$
    with living as materialized (
        select u.type, bool_or(w.tenant is null) as for_all, array_agg(w.tenant) as tenants
        from foja.worker w cross join unnest(w.types) u(type)
        where w.seen_at > clock_timestamp() - make_interval(secs => p_living)
            and w.seen_at < clock_timestamp() + make_interval(secs => p_living)  -- not of a clock that was ahead
        group by u.type
    )
    select t.type, sum(waiting.jobs)::bigint, min(waiting.ready_at)
    from foja.job_type t left join living l on l.type = t.type cross join generate_series(0, 2) rank
    cross join lateral (
        select count(*) as jobs, min(ready.run_at) as ready_at from (
            select j.run_at from foja.job j
            where j.type = t.type and j.priority = rank and j.run_at <= clock_timestamp()
                and j.head and j.state in ('queued', 'retry_scheduled')
                and (p_tenant is null or j.tenant = p_tenant) and (l.type is null or j.tenant <> all (l.tenants))
            order by j.run_at limit p_most
        ) ready
    ) waiting
    where not t.paused and l.for_all is not true and not exists (
        select from foja.job j where j.type = t.type and j.state = 'running' and j.lease_until > clock_timestamp())
    group by t.type having sum(waiting.jobs) > 0 order by t.type
$$;

grant execute on function foja.announce_worker_v1 to foja_worker, foja_sweeper;
grant execute on function foja.unhandled_types_v1 to foja_worker, service_role, foja_api, foja_reader;
select foja.share_rows('foja.worker', 'foja_api');
create policy shared_workers on foja.worker for select to foja_api using (tenant is null);
select foja.restrict_functions();
