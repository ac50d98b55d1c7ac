-- name: begin_objects
-- The generations to write the bytes of these digests to, by their places; in one order, so that no two calls wait for
-- each other. Alone in its transaction, it need not wait for the disk: the event that refers to an object is written later,
-- and its commit saves this one too.
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select u.place, foja.begin_object_v1(u.sha256, u.size, u.tenant) from unhurried, (
    select * from unnest(%(tenant)s::text[], %(sha256)s::text[], %(size)s::bigint[]) with ordinality
        o(tenant, sha256, size, place)
    order by o.sha256 offset 0) u;

-- name: finish_objects
-- The bytes of these digests are in the store; by their places, false where another generation is needed.
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select u.place, foja.finish_object_v1(u.sha256, u.generation) from unhurried, (
    select * from unnest(%(sha256)s::text[], %(generation)s::integer[]) with ordinality o(sha256, generation, place)
    order by o.sha256 offset 0) u;

-- name: referred_generations
-- The newest generation that this tenant refers to, of each of these objects. The digests are hidden from the planner,
-- which would otherwise plan every call for its number of them.
select r.sha256, max(r.generation) from foja.object_reference r
where r.sha256 = any (array(select unnest(%(sha256)s::text[]))) and r.tenant = %(tenant)s group by r.sha256;

-- name: count_objects
-- How many objects have a row, about: for a progress bar.
select greatest(reltuples, 0)::bigint from pg_class where oid = 'foja.object'::regclass;

-- name: stage_orphans
-- Look at the next page of objects, and stage those that nothing refers to.
select sha256 as after, generation, checked, staged, referred
from foja.stage_orphans_v1(%(after)s, %(generation)s, %(limit)s, %(fresh)s, %(dry)s);

-- name: still_referred
-- Those of these objects that are live and that something refers to.
select foja.object_path(o.sha256, o.generation) from unnest(%(paths)s::text[]) each
join foja.object o on o.sha256 = split_part(each, '/', 2) and o.generation = split_part(each, '/', 3)::integer
where o.state = 'live' and exists (select from foja.object_reference r
    where r.sha256 = o.sha256 and r.generation = o.generation);

-- name: stage_strays
-- Stage those of these keys that no row explains.
select foja.stage_strays_v1(%(paths)s, %(dry)s);

-- name: unstage_referred
-- Look at the next page of candidates, and take back those that something refers to.
select path, unstaged from foja.unstage_referred_v1(%(after)s, %(limit)s);

-- name: record_orphan_run
-- Record how a scan or a purge ended.
select foja.record_orphan_run_v1(%(run)s, %(actor)s, %(result)s::jsonb, %(grace)s);

-- name: orphan_inventory
-- What is known before a purge.
select clock_timestamp() as now, (select count(*) from foja.object o where o.state = 'live') as objects,
    (select count(*) from public.image_orphan_candidates c left join foja.object o on o.sha256 = split_part(c.path, '/', 2)
        and o.generation = split_part(c.path, '/', 3)::integer
        where c.confirmed_deleted_at is null and c.detected_at <= foja.orphan_deadline(%(grace)s, %(days)s)
            and o.state is distinct from 'quarantined') as due,
    (select count(*) from foja.object o where o.state = 'quarantined') as quarantined, foja.orphan_days() as days,
    (select max(r.ended_at) from foja.orphan_run r where r.action = 'scan' and r.outcome = 'complete') as last_scan,
    (select max(r.ended_at) from foja.orphan_run r) as last_run;

-- name: quarantine_orphans
-- Quarantine the candidates that are due, and take back those that something refers to.
select quarantined, unstaged from foja.quarantine_orphans_v1(%(grace)s, %(days)s, %(limit)s);

-- name: claim_orphans
-- Take the objects whose quarantine is over, to delete their bytes.
select path, size from foja.claim_orphans_v1(%(quarantine)s, %(limit)s);

-- name: claim_object
-- Take one object out of turn, to delete its bytes.
select path, size from foja.claim_object_v1(%(sha256)s);

-- name: record_purge
-- The bytes of these objects are gone.
select foja.record_purge_v1(%(run)s, %(actor)s, %(reason)s, %(paths)s);

-- name: restore_object
-- Let a candidate or an object in quarantine be live again.
select foja.restore_object_v1(%(sha256)s, %(actor)s, %(reason)s);

-- name: plan_orphan_scans
-- Let a job scan for orphans at this interval.
select foja.plan_orphan_scans_v1(%(seconds)s, %(tenant)s);

-- name: orphan_candidates
-- Candidates that are not purged, oldest first, with the size and the state of their object.
select c.path, c.detected_at, c.last_seen_reference, o.size, coalesce(o.state, 'stray') as state
from public.image_orphan_candidates c left join foja.object o on o.sha256 = split_part(c.path, '/', 2)
    and o.generation = split_part(c.path, '/', 3)::integer
where c.confirmed_deleted_at is null order by c.detected_at, c.path limit %(limit)s;

-- name: orphan_totals
-- Candidates by age, and what became of all of them.
select v.total_staged, v.lt_1d, v.d1_3, v.d3_7, v.gte_7d, r.staged, r.rescued, r.false_positives, r.deleted, r.bytes
from public.vw_image_orphan_candidates_metrics v cross join (
    select coalesce(sum(x.staged + x.strays), 0)::bigint, coalesce(sum(x.rescued), 0)::bigint,
        coalesce(sum(x.false_positives), 0)::bigint, coalesce(sum(x.deleted), 0)::bigint, coalesce(sum(x.bytes), 0)::bigint
    from foja.orphan_run x
) r (staged, rescued, false_positives, deleted, bytes);

-- name: orphan_runs
-- The last runs, newest first.
select run, action, outcome, started_at, ended_at, detail, checked, candidates, staged, strays, missing, rescued,
    rescued_late, false_positives, quarantined, deleted, bytes
from foja.orphan_run order by ended_at desc limit %(limit)s;
