-- Purging: what was a candidate for long enough is quarantined, then its bytes are deleted, then an event says so. Between
-- the three the store is asked, so each is a transaction of its own and can be repeated.

-- The latest moment at which a candidate may have been staged: before the grace period, and before so many days with a
-- complete scan, because one jump of the clock must not end a period. Null: no candidate is due.
create function foja.orphan_deadline(p_grace double precision, p_days integer) returns timestamptz
language sql stable
return (select case when p_days = 0 then clock_timestamp() - make_interval(secs => p_grace)
        when count(*) = p_days then least(clock_timestamp() - make_interval(secs => p_grace), min(d.first)) end
    from (select min(r.ended_at) as first from foja.orphan_run r where r.action = 'scan' and r.outcome = 'complete'
        group by (r.ended_at at time zone 'UTC')::date order by 1 desc limit p_days) d);

-- Quarantine candidates that are due: nothing refers to them, under the lock of their rows. Those that something refers to
-- are taken back. Returns how many of each.
create function foja.quarantine_orphans_v1(p_grace double precision, p_days integer, p_limit integer)
returns table (quarantined bigint, unstaged bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    latest timestamptz := foja.orphan_deadline(p_grace, p_days);
    due text[];
    referred text[];
    strays bigint;
begin
    perform foja.check_source('hygiene');
    strays := foja.adopt_strays(latest, p_limit);
    due := array(select c.path from public.image_orphan_candidates c
        join foja.object o on o.sha256 = split_part(c.path, '/', 2) and o.generation = split_part(c.path, '/', 3)::integer
        where c.confirmed_deleted_at is null and c.detected_at <= latest and o.state in ('intent', 'live')
        order by c.detected_at limit p_limit for update of o skip locked);
    -- A statement of its own: it sees the references that were made before the lock.
    referred := array(select each from unnest(due) each
        where foja.is_referred(split_part(each, '/', 2), split_part(each, '/', 3)::integer));
    unstaged := foja.unstage(referred);
    update foja.object o set state = 'quarantined', changed_at = clock_timestamp() from unnest(due) each
    where each <> all (referred) and o.sha256 = split_part(each, '/', 2) and o.generation = split_part(each, '/', 3)::integer;
    get diagnostics quarantined = row_count;
    quarantined := quarantined + strays;
    return next;
end $$;

-- Give due strays a row. One that a new upload wrote again meanwhile has an open row, and is not a stray any more.
create function foja.adopt_strays(p_latest timestamptz, p_limit integer) returns bigint
language plpgsql as $$
declare
    adopted bigint;
begin
    insert into foja.object as o (sha256, generation, state)
    select split_part(c.path, '/', 2), split_part(c.path, '/', 3)::integer, 'quarantined'
    from public.image_orphan_candidates c
    left join foja.object x on x.sha256 = split_part(c.path, '/', 2) and x.generation = split_part(c.path, '/', 3)::integer
    where c.confirmed_deleted_at is null and c.detected_at <= p_latest and coalesce(x.state, 'deleted') = 'deleted'
    limit p_limit
    on conflict (sha256, generation) do update set state = 'quarantined', changed_at = clock_timestamp(), claimed_at = null
    where o.state = 'deleted';
    get diagnostics adopted = row_count;
    return adopted;
end $$;

-- Locked by a backup while it copies objects, in share mode, and by what is about to delete objects.
create table foja.purge_lock (empty boolean check (false));

-- Refuse to delete objects while a backup copies them.
create function foja.begin_purge() returns void
language plpgsql as $$
begin
    lock table foja.purge_lock in row exclusive mode nowait;
exception when lock_not_available then
    perform foja.refuse('purge_held', 'a backup is being written, and no object is deleted meanwhile; try again later');
end $$;

-- Take the objects whose quarantine is over, to delete their bytes: from now on they cannot be restored.
create function foja.claim_orphans_v1(p_quarantine double precision, p_limit integer) returns table (path text, size bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('hygiene');
    perform foja.begin_purge();
    return query
    with due as (
        select o.sha256, o.generation from foja.object o where o.state = 'quarantined'
            and o.changed_at <= clock_timestamp() - make_interval(secs => p_quarantine)
        order by o.changed_at limit p_limit for update skip locked
    )
    update foja.object o set claimed_at = clock_timestamp() from due d
    where o.sha256 = d.sha256 and o.generation = d.generation
    returning foja.object_path(o.sha256, o.generation), coalesce(o.size, 0);
end $$;

-- Take one object out of turn, past the grace period; refused while anything refers to it. Returns its paths.
create function foja.claim_object_v1(p_sha256 text) returns table (path text, size bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    used bigint;
begin
    perform foja.check_source('hygiene');
    perform foja.begin_purge();
    perform from foja.object o where o.sha256 = p_sha256 and o.state <> 'deleted' order by o.generation for update;
    if not found then
        perform foja.refuse('object_missing', format('there is no object %s: it was never stored, or was removed', p_sha256));
    end if;
    select count(*) into used from foja.object_reference r where r.sha256 = p_sha256;
    if used > 0 then
        perform foja.refuse('object_referred', format('%s events refer to the object %s; erase or remove them first', used, p_sha256));
    end if;
    return query
    update foja.object o set state = 'quarantined', changed_at = clock_timestamp(), claimed_at = clock_timestamp()
    where o.sha256 = p_sha256 and o.state <> 'deleted'
    returning foja.object_path(o.sha256, o.generation), coalesce(o.size, 0);
end $$;

-- The bytes of these objects are gone: record it, with who deleted them and why. Returns how many were not recorded before.
create function foja.record_purge_v1(p_run uuid, p_actor text, p_reason text, p_paths text[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    home uuid := (select i.installation_id from foja.installation i);
    gone jsonb;
begin
    perform foja.check_source('hygiene');
    perform from foja.entity e where e.entity_id = home for no key update;
    with ended as (
        update foja.object o set state = 'deleted', changed_at = clock_timestamp() from unnest(p_paths) each
        where o.state = 'quarantined' and o.claimed_at is not null
            and o.sha256 = split_part(each, '/', 2) and o.generation = split_part(each, '/', 3)::integer
        returning each as path, o.sha256, o.generation, o.size
    ), forgotten as (
        delete from foja.object_upload u using ended e where u.sha256 = e.sha256 and u.generation = e.generation
    ), confirmed as (
        update public.image_orphan_candidates c set confirmed_deleted_at = clock_timestamp() from ended e
        where c.path = e.path and c.confirmed_deleted_at is null returning c.path, c.detected_at
    )
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('sha256', e.sha256, 'generation', e.generation, 'size', e.size,
        'detected_at', c.detected_at)) order by e.path) into gone from ended e left join confirmed c using (path);
    if gone is null then
        return 0;
    end if;
    perform foja.append_event(home, 'system', 'object.purged',
        jsonb_build_object('run', p_run, 'reason', p_reason, 'objects', gone), 'hygiene', p_actor, tenant => 'system');
    return jsonb_array_length(gone);
end $$;

-- Let a candidate, or an object in quarantine, be live again; it may be staged again by a later scan. Returns its path.
create function foja.restore_object_v1(p_sha256 text, p_actor text, p_reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    home uuid := (select i.installation_id from foja.installation i);
    o foja.object;
    place text;
begin
    perform foja.check_source('hygiene');
    perform from foja.entity e where e.entity_id = home for no key update;
    select * into o from foja.object x where x.sha256 = p_sha256 and x.state <> 'deleted' order by x.generation desc limit 1 for update;
    place := foja.object_path(o.sha256, o.generation);
    if o.sha256 is null or o.claimed_at is not null then
        perform foja.refuse('object_missing', format('the object %s is deleted, or is being deleted', p_sha256));
    elsif o.state = 'quarantined' then
        update foja.object x set state = 'live', changed_at = clock_timestamp()
        where x.sha256 = o.sha256 and x.generation = o.generation;
    elsif not exists (select from public.image_orphan_candidates c where c.path = place and c.confirmed_deleted_at is null) then
        perform foja.refuse('not_staged', format('the object %s is neither a candidate nor in quarantine', p_sha256));
    end if;
    delete from public.image_orphan_candidates c where c.path = place;
    perform foja.append_event(home, 'system', 'object.restored', jsonb_build_object('sha256', o.sha256,
        'generation', o.generation, 'reason', p_reason), 'hygiene', p_actor, tenant => 'system');
    return place;
end $$;

-- Record how a run ended, and with it the candidates that were taken back since the last one: which of them after their
-- grace period, too. Repeating is harmless.
create function foja.record_orphan_run_v1(p_run uuid, p_actor text, result jsonb, p_grace double precision) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    home uuid := (select i.installation_id from foja.installation i);
    back jsonb;
    wrong bigint;
    late bigint;
    r foja.orphan_run;
begin
    perform foja.check_source('hygiene');
    perform from foja.entity e where e.entity_id = home for no key update;
    if exists (select from foja.orphan_run x where x.run = p_run) then
        return;
    end if;
    with taken as (delete from foja.unstaged u returning u.*)
    select coalesce(jsonb_agg(to_jsonb(t) order by t.path), '[]'), count(*) filter (where t.false_positive),
        count(*) filter (where not t.false_positive and t.unstaged_at - t.detected_at > make_interval(secs => p_grace))
    into back, wrong, late from taken t;
    r := jsonb_populate_record(null::foja.orphan_run, '{"checked": 0, "staged": 0, "strays": 0, "missing": 0, "quarantined": 0,
        "deleted": 0, "bytes": 0}' || result || jsonb_build_object('run', p_run, 'ended_at', clock_timestamp(),
        'candidates', (select count(*) from public.image_orphan_candidates c where c.confirmed_deleted_at is null),
        'rescued', jsonb_array_length(back) - wrong, 'rescued_late', late, 'false_positives', wrong));
    insert into foja.orphan_run select r.*;
    if back <> '[]' then
        perform foja.append_event(home, 'system', 'object.unstaged', jsonb_build_object('run', p_run, 'objects', part.items),
            'hygiene', p_actor, tenant => 'system')
        from (select jsonb_agg(each order by n) as items from jsonb_array_elements(back) with ordinality u(each, n)
            group by (n - 1) / 1000) part;
    end if;
    perform foja.append_event(home, 'system', case r.action when 'scan' then 'object.scanned' else 'object.purge.ended' end,
        jsonb_strip_nulls(to_jsonb(r) - '{action}'::text[]), 'hygiene', p_actor, tenant => 'system');
end $$;

-- Let a job scan for orphans every so many seconds; 0: never.
create function foja.plan_orphan_scans_v1(p_seconds double precision, p_tenant text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    if p_seconds = 0 then
        delete from foja.tick t where t.name = 'scan_orphans';
        return;
    end if;
    insert into foja.tick as t (name, type, every, due, tenant) values ('scan_orphans', 'scan_orphans',
        make_interval(secs => p_seconds), clock_timestamp() + make_interval(secs => p_seconds), p_tenant)
    on conflict (name) do update set every = excluded.every, due = least(t.due, excluded.due), tenant = excluded.tenant
    where (t.every, t.tenant) <> (excluded.every, excluded.tenant);
end $$;

-- How many days with a complete scan and at least one candidate there were since the last false positive: the automatic
-- purge is armed after seven.
create function foja.orphan_days() returns bigint
language sql stable
return (select count(distinct (r.ended_at at time zone 'UTC')::date) from foja.orphan_run r
    where r.action = 'scan' and r.outcome = 'complete' and r.candidates > 0 and r.ended_at > coalesce(
        (select max(f.ended_at) from foja.orphan_run f where f.false_positives > 0), '-infinity'));

-- The seed's view, over candidates that are not purged.
create view public.vw_image_orphan_candidates_metrics with (security_invoker = true) as
select count(*) as total_staged,
    count(*) filter (where c.detected_at > now() - interval '1 day') as lt_1d,
    count(*) filter (where c.detected_at <= now() - interval '1 day' and c.detected_at > now() - interval '3 days') as d1_3,
    count(*) filter (where c.detected_at <= now() - interval '3 days' and c.detected_at > now() - interval '7 days') as d3_7,
    count(*) filter (where c.detected_at <= now() - interval '7 days') as gte_7d
from public.image_orphan_candidates c where c.confirmed_deleted_at is null;
