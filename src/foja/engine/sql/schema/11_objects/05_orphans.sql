-- Objects that nothing refers to: found, staged, and left alone for some time. A candidate stays live. Only the role
-- `hygiene` calls these functions; each call is a transaction of its own, over a page of rows.

-- Scans and purges that ended. The events `object.scanned` and `object.purge.ended` say the same.
create table foja.orphan_run (
    run uuid primary key,
    action text not null check (action in ('scan', 'purge')),
    outcome text not null check (outcome in ('complete', 'aborted')),
    started_at timestamptz not null,
    ended_at timestamptz not null default clock_timestamp(),
    detail text,                             -- why it was aborted
    checked bigint not null default 0,       -- objects that were looked at
    candidates bigint not null default 0,    -- candidates at its end
    staged bigint not null default 0,
    strays bigint not null default 0,        -- staged ones that have no row
    missing bigint not null default 0,       -- objects that something refers to and the store does not have
    rescued bigint not null default 0,       -- candidates that something began to refer to
    rescued_late bigint not null default 0,  -- those of them whose grace period was over
    false_positives bigint not null default 0,  -- candidates that something had referred to before
    quarantined bigint not null default 0,
    deleted bigint not null default 0,
    bytes bigint not null default 0          -- of the deleted ones
);

create index orphan_run_ends on foja.orphan_run (action, ended_at);

select foja.restore_rows('foja.orphan_run');

create function foja.is_referred(p_sha256 text, p_generation integer) returns boolean
language sql stable
return exists (select from foja.object_reference r where r.sha256 = p_sha256 and r.generation = p_generation);

-- Look at the next page of objects; stage those that nothing refers to, except fresh ones, whose event may be on its way.
-- Returns the last of the page, null at the end, how many were looked at and staged, and the paths that are referred to.
create function foja.stage_orphans_v1(
    p_after text, p_generation integer, p_limit integer, p_fresh double precision, p_dry boolean
) returns table (sha256 text, generation integer, checked bigint, staged bigint, referred text[])
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    latest timestamptz := clock_timestamp() - make_interval(secs => p_fresh);
    orphans text[];
begin
    perform foja.check_source('hygiene');
    with page as materialized (
        select o.sha256, o.generation, o.state, o.changed_at from foja.object o
        where (o.sha256, o.generation) > (p_after, p_generation) order by o.sha256, o.generation limit p_limit
    ), seen as (
        select p.sha256, p.generation, foja.object_path(p.sha256, p.generation) as path, p.state, p.changed_at,
            exists (select from foja.object_reference r
                where r.sha256 = p.sha256 and r.generation = p.generation) as referred
        from page p
    )
    select (array_agg(x.sha256 order by x.sha256 desc, x.generation desc))[1],
        (array_agg(x.generation order by x.sha256 desc, x.generation desc))[1], count(*),
        coalesce(array_agg(x.path) filter (where x.referred and x.state = 'live'), '{}'),
        coalesce(array_agg(x.path) filter (where not x.referred and x.state in ('intent', 'live') and x.changed_at <= latest), '{}')
    into sha256, generation, checked, referred, orphans from seen x;
    orphans := array(select each from unnest(orphans) each
        where not exists (select from public.image_orphan_candidates c where c.path = each));
    staged := case when p_dry or orphans = '{}' then cardinality(orphans) else foja.insert_candidates(orphans) end;
    return next;
end $$;

-- Stage what nothing refers to, except what another session holds. The check follows the lock as a statement of its own:
-- it sees the references that were made before.
create function foja.insert_candidates(p_paths text[]) returns bigint
language plpgsql as $$
declare
    locked text[];
    staged bigint;
begin
    locked := array(select each from unnest(p_paths) each
        join foja.object o on o.sha256 = split_part(each, '/', 2) and o.generation = split_part(each, '/', 3)::integer
        where o.state in ('intent', 'live') for update of o skip locked);
    insert into public.image_orphan_candidates (path, detected_at, last_seen_reference)
    select each, clock_timestamp(), o.released_at from unnest(locked) each
    join foja.object o on o.sha256 = split_part(each, '/', 2) and o.generation = split_part(each, '/', 3)::integer
    where not foja.is_referred(o.sha256, o.generation)
    on conflict do nothing;
    get diagnostics staged = row_count;
    return staged;
end $$;

-- Stage those of these keys of the store that no row explains: bytes whose row was lost, or that came after their end.
create function foja.stage_strays_v1(p_paths text[], p_dry boolean) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    strays text[];
begin
    perform foja.check_source('hygiene');
    strays := array(select p.path from unnest(p_paths) p(path) where not exists (select from foja.object o
            where o.sha256 = split_part(p.path, '/', 2) and o.generation = split_part(p.path, '/', 3)::integer
                and o.state <> 'deleted')
        and not exists (select from public.image_orphan_candidates c
            where c.path = p.path and c.confirmed_deleted_at is null));
    if not p_dry then
        insert into public.image_orphan_candidates (path, detected_at)
        select each, clock_timestamp() from unnest(strays) each
        on conflict (path) do update set detected_at = excluded.detected_at, confirmed_deleted_at = null;
    end if;
    return cardinality(strays);
end $$;

-- Take back those of these candidates that something refers to. False positives are those that something referred to
-- before they were staged.
create function foja.unstage(p_paths text[]) returns bigint
language plpgsql as $$
declare
    taken bigint;
begin
    with back as (
        delete from public.image_orphan_candidates c where c.path = any (p_paths) and c.confirmed_deleted_at is null
        returning c.path, c.detected_at
    )
    insert into foja.unstaged (path, detected_at, false_positive)
    select b.path, b.detected_at, coalesce((select min(r.referred_at) from foja.object_reference r
        where r.sha256 = split_part(b.path, '/', 2) and r.generation = split_part(b.path, '/', 3)::integer) <= b.detected_at, false)
    from back b on conflict do nothing;
    get diagnostics taken = row_count;
    return taken;
end $$;

-- Look at the next page of candidates and take back those that something refers to; returns the last path, null at the
-- end, and how many were taken back. References end staging themselves: what is found here came another way.
create function foja.unstage_referred_v1(p_after text, p_limit integer) returns table (path text, unstaged bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    page text[];
begin
    perform foja.check_source('hygiene');
    page := array(select c.path from public.image_orphan_candidates c where c.path > p_after and c.confirmed_deleted_at is null
        order by c.path limit p_limit);
    path := page[cardinality(page)];
    unstaged := foja.unstage(array(select each from unnest(page) each
        where foja.is_referred(split_part(each, '/', 2), split_part(each, '/', 3)::integer)));
    return next;
end $$;
