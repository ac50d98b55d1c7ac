-- What last happened to each part of the installation, as its processes saw it: real uses, and probes. One row for each
-- part, such as `store:write` or `authority:http://tsa.example`. Only the functions below write here.

create table foja.health (
    part text primary key,
    worked_at timestamptz,
    failed_at timestamptz,
    failing_since timestamptz,                -- the first failure after the last success; null: it works
    code text,                                -- of the newest failure
    error text,
    probed_at timestamptz                     -- when a process undertook to probe it
);

-- Record what a process saw. Times are ages in seconds: no clock but this one counts. A part works again when it worked
-- for five seconds after its last failure: where some uses fail and others do not, it fails.
create function foja.record_health_v1(
    p_parts text[], p_worked double precision[], p_failed double precision[], p_since double precision[],
    p_codes text[], p_errors text[]
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    at timestamptz := clock_timestamp();
begin
    perform set_config('synchronous_commit', 'off', true);  -- what a crash forgets is seen again
    -- Written by a clock that was ahead: until then nothing could fail, and nothing would be probed.
    update foja.health h set worked_at = case when h.worked_at <= at then h.worked_at end,
        failed_at = case when h.failed_at <= at then h.failed_at end,
        failing_since = case when h.failing_since > at then at else h.failing_since end,
        probed_at = null
    where greatest(h.worked_at, h.failed_at, h.failing_since, h.probed_at) > at + interval '1 minute';
    -- Also without anything to tell: that this write was made says that the database takes writes.
    insert into foja.health as h (part, worked_at) values ('database', at)
    on conflict (part) do update set worked_at = at;
    insert into foja.health as h (part, worked_at, failed_at, failing_since, code, error)
    select left(u.part, 400), at - make_interval(secs => u.worked), at - make_interval(secs => u.failed),
        at - make_interval(secs => u.since), u.code, left(u.error, 1000)
    from unnest(p_parts, p_worked, p_failed, p_since, p_codes, p_errors) u(part, worked, failed, since, code, error)
    where u.part <> 'database' order by u.part
    on conflict (part) do update set
        worked_at = greatest(h.worked_at, excluded.worked_at),
        failed_at = greatest(h.failed_at, excluded.failed_at),
        failing_since = case
            when greatest(h.worked_at, excluded.worked_at)
                > greatest(h.failed_at, excluded.failed_at) + interval '5 seconds' then null
            else coalesce(h.failing_since, excluded.failing_since) end,
        code = coalesce(excluded.code, h.code),
        error = coalesce(excluded.error, h.error);
end $$;

-- Return those of these parts that nobody tried for their interval, or that fail and were not probed for `p_again`
-- seconds. The caller probes them; nobody else does meanwhile.
create function foja.claim_probes_v1(p_parts text[], p_seconds double precision[], p_again double precision)
returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    at timestamptz := clock_timestamp();
begin
    perform set_config('synchronous_commit', 'off', true);
    return query
    with wanted as (
        select left(u.part, 400) as part, make_interval(secs => u.seconds) as pause, make_interval(secs => p_again) as again
        from unnest(p_parts, p_seconds) u(part, seconds)
    ), due as (
        select w.part from wanted w left join foja.health h using (part)
        where (h.probed_at is null or h.probed_at < at - least(w.pause, w.again)) and case
            when h.failing_since is null then coalesce(greatest(h.worked_at, h.failed_at), '-infinity') < at - w.pause
            else coalesce(greatest(h.worked_at, h.failed_at), '-infinity') < at - least(w.again, interval '5 seconds') end
        order by w.part
    )
    insert into foja.health as h (part, probed_at) select d.part, at from due d
    on conflict (part) do update set probed_at = at where h.probed_at is null or h.probed_at < at
    returning h.part;
end $$;

grant execute on function foja.record_health_v1, foja.claim_probes_v1 to service_role, foja_api;
grant select on foja.health to service_role, foja_reader;
select foja.restrict_functions();
