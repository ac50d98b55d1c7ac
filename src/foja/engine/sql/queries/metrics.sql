-- name: limit_time
-- End the statements of this transaction after this time.
select set_config('statement_timeout', %(timeout)s, true);

-- name: anchor_ages
-- Of each network: the age of the oldest batch that is not confirmed, and how many batches its balance pays for.
select n.network, coalesce(extract(epoch from clock_timestamp() - min(b.created_at)), 0)::double precision,
    (select trunc(w.balance / w.price)::double precision from foja.anchor_balance w where w.network = n.network)
from foja.anchor_network n left join foja.anchor_batch b
    on b.network = n.network and b.status in ('drafted', 'sent', 'reorged') and b.next_look is not null
group by n.network;

-- name: jobs_waiting
-- How many jobs of each type are queued or scheduled, counted up to a limit.
select t.type, (select count(*) from (
    select from foja.job j where j.type = t.type and j.head and j.state in ('queued', 'retry_scheduled')
        and (%(tenant)s::text is null or j.tenant = %(tenant)s) limit %(most)s) counted)
from foja.job_type t;

-- name: jobs_recent
-- The newest jobs of the last day by type and state. The order of their numbers is that of their creation.
select j.type, j.state, count(*) from (
    select type, state, created_at, tenant from foja.job order by job_id desc limit %(most)s
) j
where j.created_at > clock_timestamp() - interval '1 day' and (%(tenant)s::text is null or j.tenant = %(tenant)s)
group by j.type, j.state;

-- name: log_totals
-- Events that are in a log or wait for their place, and cosigners of the open log that have a fault.
select (select coalesce(sum(coalesce(l.closed_size, l.next_idx)), 0) from foja.log l)
        + (select coalesce(sum(cardinality(p.seq)), 0) from foja.pending p),
    (select count(*) from foja.cosigner c join foja.log l on l.origin = c.origin and l.closed_size is null
        where c.fault is not null);

-- name: cosigning_late
-- How long the oldest published checkpoint waits that is newer than all which enough of these keys have signed.
select coalesce(extract(epoch from clock_timestamp() - min(c.published_at)), 0)::double precision
from foja.log l join foja.checkpoint c on c.origin = l.origin and c.published_at is not null
where l.closed_size is null and c.size > coalesce((
    select s.size from foja.cosignature s where s.origin = l.origin and s.public_key = any (%(keys)s::bytea[])
    group by s.size having count(*) >= %(required)s order by s.size desc limit 1), 0);

-- name: thumbnail_gauges
-- Jobs of images by status, those that were skipped, their attempts and how many failed, and quantiles of the time that
-- they took to render and of the time since their request.
select array[queued, processing, error, success] as jobs, skipped, attempts, failed_attempts,
    array[render_p50_ms_1d, render_p95_ms_1d, render_p50_ms_7d, render_p95_ms_7d] as rendering,
    array[p50_ms_1d, p95_ms_1d, p50_ms_7d, p95_ms_7d] as latency
from public.vw_image_thumbnail_job_metrics;

-- name: gallery_gauges
-- Images, and what breaks the order of galleries.
select images, array[gaps, duplicates, products_without_main] as violations from public.vw_image_gallery_metrics;

-- name: orphan_gauges
-- Candidates, what the last complete scan missed and when it was, what was taken back in seven days, and all runs. Before
-- the first scan, its age is that of the installation. What was taken back since the last run is not in a run yet.
select (select count(*) from public.image_orphan_candidates c where c.confirmed_deleted_at is null) as candidates,
    coalesce((select r.missing from foja.orphan_run r where r.action = 'scan' and r.outcome = 'complete'
        order by r.ended_at desc limit 1), 0) as missing,
    (select extract(epoch from clock_timestamp() - coalesce((select max(r.ended_at) from foja.orphan_run r
        where r.action = 'scan' and r.outcome = 'complete'), i.installed_at)) from foja.installation i)::double precision as scan_age,
    coalesce(sum(r.false_positives) filter (where r.ended_at > clock_timestamp() - interval '7 days'), 0) + (
        select count(*) from foja.unstaged u
        where u.false_positive and u.unstaged_at > clock_timestamp() - interval '7 days') as false_positives,
    coalesce(sum(r.rescued_late) filter (where r.ended_at > clock_timestamp() - interval '7 days'), 0) + (
        select count(*) from foja.unstaged u
        where not u.false_positive and u.unstaged_at - u.detected_at > make_interval(secs => %(grace)s)
            and u.unstaged_at > clock_timestamp() - interval '7 days') as rescued_late,
    array[coalesce(sum(r.staged), 0), coalesce(sum(r.rescued), 0), coalesce(sum(r.false_positives), 0),
    coalesce(sum(r.quarantined), 0), coalesce(sum(r.deleted), 0)] as totals
from foja.orphan_run r;

-- name: orphan_run_totals
-- Runs by action and outcome.
select r.action, r.outcome, count(*) from foja.orphan_run r group by r.action, r.outcome;

-- name: http_failures
-- Failures of each route: all of them, and those of the last 24 hours.
select f.route, sum(f.count), coalesce(sum(f.count) filter (where f.hour > clock_timestamp() - interval '24 hours'), 0)
from foja.http_failure f group by f.route;

-- name: count_http_failures
-- Add failures of routes that this process counted.
select foja.count_http_failures_v1(%(routes)s::text[], %(counts)s::bigint[]);

-- name: database_state
-- Connections and their limit, the oldest idle transaction, the size, and the age of the oldest transaction.
select connections, connection_limit, idle_seconds, bytes, transaction_age from foja.database_state_v1();

-- name: server_facts
-- The server as any login sees it, also one without rights: its version, its clock, the login, the size, whether Foja was
-- installed, and the name of the database if every login may connect to it.
select current_setting('server_version'), current_setting('server_version_num')::integer, clock_timestamp(),
    session_user::text, pg_database_size(current_database()), current_setting('server_encoding'),
    exists (select from pg_class c where c.relname = 'job_type'
        and c.relnamespace = (select n.oid from pg_namespace n where n.nspname = 'foja')),
    case when has_database_privilege('public', current_database(), 'connect') then quote_ident(current_database()) end,
    quote_ident(session_user::text);

-- name: unusable_roles
-- Roles of Foja that do not exist, or that this login may not act as.
select needed.role from (
    select unnest(array['foja_api', 'foja_operator', 'foja_sweeper', 'foja_worker'])
    union select role from foja.source union select role from foja.job_type
) needed (role) left join pg_roles r on r.rolname = needed.role
where r.oid is null or not pg_has_role(session_user, r.oid, 'member') order by 1;
