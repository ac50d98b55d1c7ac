-- What is measured of images, under the names of the seed. Every number comes from rows that are really written.

-- The seed's columns, then ours. Nothing was rendered of what was skipped, so it is counted by itself. An attempt that did
-- not succeed and does not run has failed; `pending` is what the seed calls so: queued and error. The percentiles are of the
-- last day, and of the seven days before it: `p50_ms` of the seed's latency, from the request to the success, `render_p50_ms`
-- of its last part, the rendering.
create view public.vw_image_thumbnail_job_metrics with (security_invoker = true) as
select count(*) filter (where t.status = 'queued') as queued,
    count(*) filter (where t.status = 'processing') as processing,
    count(*) filter (where t.status = 'error') as error,
    count(*) filter (where made.success) as success,
    extract(epoch from now() - min(t.created_at) filter (where t.status in ('queued', 'processing')))::bigint
        as oldest_pending_age_seconds,
    extract(epoch from now() - max(t.updated_at))::bigint as last_activity_age_seconds,
    count(*) filter (where t.skipped is not null) as skipped,
    count(*) filter (where t.status in ('queued', 'error')) as pending,
    round(count(*) filter (where made.success)::numeric
        / nullif(count(*) filter (where made.success or t.status = 'error'), 0), 4) as success_rate,
    count(*) filter (where t.status = 'error' and t.updated_at > now() - interval '1 day') as errors_1d,
    coalesce(sum(made.attempts), 0)::bigint as attempts,
    coalesce(sum(made.failed), 0)::bigint as failed_attempts,
    round(sum(made.failed)::numeric / nullif(sum(made.attempts), 0), 4) as error_ratio,
    percentile_cont(0.5) within group (order by made.ms) filter (where made.day) as p50_ms_1d,
    percentile_cont(0.95) within group (order by made.ms) filter (where made.day) as p95_ms_1d,
    percentile_cont(0.5) within group (order by made.ms) filter (where made.week) as p50_ms_7d,
    percentile_cont(0.95) within group (order by made.ms) filter (where made.week) as p95_ms_7d,
    extract(epoch from now() - max(t.completed_at) filter (where made.success))::bigint as last_success_age_seconds,
    percentile_cont(0.5) within group (order by t.duration_ms) filter (where made.day) as render_p50_ms_1d,
    percentile_cont(0.95) within group (order by t.duration_ms) filter (where made.day) as render_p95_ms_1d,
    percentile_cont(0.5) within group (order by t.duration_ms) filter (where made.week) as render_p50_ms_7d,
    percentile_cont(0.95) within group (order by t.duration_ms) filter (where made.week) as render_p95_ms_7d
from public.image_thumbnail_jobs t cross join lateral (
    select t.status = 'success' and t.skipped is null as success,
        case when t.skipped is null then t.attempts end as attempts,
        1000 * extract(epoch from t.completed_at - t.created_at)::double precision as ms
) of_job cross join lateral (
    select of_job.*, greatest(of_job.attempts - (t.status in ('success', 'processing'))::integer, 0) as failed,
        of_job.success and t.completed_at > now() - interval '1 day' as day,
        of_job.success and t.completed_at <= now() - interval '1 day' and t.completed_at > now() - interval '8 days' as week
) made;

-- The order of all galleries. All but the first two are 0: the database refuses anything else.
create view public.vw_image_gallery_metrics with (security_invoker = true) as
select (select count(*) from public.products) as products, coalesce(sum(g.images), 0)::bigint as images,
    coalesce(sum(g.places_to - g.places), 0)::bigint as gaps, coalesce(sum(g.images - g.places), 0)::bigint as duplicates,
    count(*) filter (where g.first > 0) as products_without_main
from (
    select count(*) as images, count(distinct i.image_order) as places, max(i.image_order) + 1 as places_to,
        min(i.image_order) as first
    from public.product_images i group by i.product_id
) g;

-- The seed's ratio counts every candidate that was taken back; ours counts those that should never have been one.
create view public.vw_image_orphan_run_metrics with (security_invoker = true) as
select coalesce(sum(r.staged) filter (where r.week), 0)::bigint as staged_7d,
    coalesce(sum(r.rescued) filter (where r.week), 0)::bigint as rescued_7d,
    coalesce(sum(r.false_positives) filter (where r.week), 0)::bigint as false_positives_7d,
    coalesce(sum(r.rescued_late) filter (where r.week), 0)::bigint as rescued_late_7d,
    round(sum(r.rescued) filter (where r.week) / nullif(sum(r.staged) filter (where r.week), 0), 4) as rescued_ratio,
    round(sum(r.false_positives) filter (where r.week) / nullif(sum(r.staged) filter (where r.week), 0), 4) as false_positive_ratio,
    round(sum(r.rescued + r.false_positives) filter (where r.week) / nullif(sum(r.staged) filter (where r.week), 0), 4)
        as unstaged_ratio,
    count(distinct r.ended_at::date) filter (where r.week and r.action = 'scan' and r.outcome = 'complete') as scan_days_7d,
    count(*) filter (where r.week and r.outcome = 'aborted') as aborted_7d,
    extract(epoch from now() - max(r.ended_at) filter (where r.action = 'scan' and r.outcome = 'complete'))::bigint
        as last_scan_age_seconds,
    extract(epoch from now() - max(r.ended_at) filter (where r.action = 'purge' and r.outcome = 'complete'))::bigint
        as last_purge_age_seconds
from (select o.*, o.ended_at > now() - interval '7 days' as week from foja.orphan_run o) r;

-- The seed's columns first: its six of jobs, its five of orphans.
create view public.vw_image_system_overview with (security_invoker = true) as
select j.queued, j.processing, j.error, j.success, j.oldest_pending_age_seconds, j.last_activity_age_seconds,
    o.total_staged as orphans_total, o.lt_1d, o.d1_3, o.d3_7, o.gte_7d,
    g.products, g.images, g.gaps, g.duplicates, g.products_without_main,
    j.skipped, j.pending, j.success_rate, j.errors_1d, j.error_ratio, j.p50_ms_1d, j.p95_ms_1d, j.p50_ms_7d, j.p95_ms_7d,
    j.last_success_age_seconds, j.render_p50_ms_1d, j.render_p95_ms_1d, j.render_p50_ms_7d, j.render_p95_ms_7d, r.rescued_ratio, r.false_positive_ratio, r.unstaged_ratio, r.aborted_7d,
    r.last_scan_age_seconds, r.last_purge_age_seconds
from public.vw_image_thumbnail_job_metrics j cross join public.vw_image_orphan_candidates_metrics o
cross join public.vw_image_gallery_metrics g cross join public.vw_image_orphan_run_metrics r;

-- What `anon` and `authenticated` may do with the tables of images, and should not: write, or read without a policy.
create function foja.open_image_tables() returns bigint
language sql stable
begin atomic
    select count(*) from (values ('products'), ('product_images'), ('image_thumbnail_jobs'), ('image_orphan_candidates')) t (name)
    cross join (values ('anon'), ('authenticated')) r (role)
    join pg_class c on c.relname = t.name and c.relnamespace = 'public'::regnamespace
    where has_table_privilege(r.role, c.oid, 'insert, update, delete, truncate')
        or has_table_privilege(r.role, c.oid, 'select') and not c.relrowsecurity;
end;

-- The seed's criteria for closing its four phases: the value now, the most that it may be, and whether it is met.
create view public.vw_image_closing_criteria with (security_invoker = true) as
select c.phase, c.criterion, c.value, c.threshold, coalesce(c.value <= c.threshold, false) and c.measured as met
from (
    select 1, 'consistency', 'gaps, duplicates and galleries without a main image',
        (g.gaps + g.duplicates + g.products_without_main)::numeric, 0::numeric, true
    from public.vw_image_gallery_metrics g
    union all
    select 2, 'observability', 'share of attempts that failed; jobs have durations', j.error_ratio, 0.05,
        coalesce(j.p95_ms_1d, j.p95_ms_7d) is not null
    from public.vw_image_thumbnail_job_metrics j
    union all
    select 3, 'hygiene', 'false positives of seven days; a scan on each of them', r.false_positives_7d, 0, r.scan_days_7d >= 7
    from public.vw_image_orphan_run_metrics r
    union all
    select 4, 'security', 'rights of anon and authenticated that go past row level security', foja.open_image_tables(), 0, true
) c (place, phase, criterion, value, threshold, measured)
order by c.place;

grant execute on function foja.open_image_tables to foja_worker, service_role, foja_reader;
grant select on public.vw_image_thumbnail_job_metrics, public.vw_image_gallery_metrics, public.vw_image_orphan_run_metrics,
    public.vw_image_system_overview, public.vw_image_closing_criteria
    to foja_worker, service_role, foja_reader;
grant select on public.vw_image_thumbnail_job_metrics, public.vw_image_gallery_metrics to foja_api, authenticated;
select foja.restrict_functions();
