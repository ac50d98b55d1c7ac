-- name: act_as_reader
-- Act as the role of requests if this login may not even use the schema, as one that inherits nothing.
select set_config('role', 'foja_api', false) from pg_namespace n
where n.nspname = 'foja' and not has_schema_privilege(n.oid, 'usage')
    and pg_has_role(current_user, to_regrole('foja_api'), 'member');

-- name: wait_for_locks
-- Give up on a lock after this time, for the rest of the session.
select set_config('lock_timeout', %(timeout)s, false);

-- name: try_migration_lock
-- Take the migration lock if it is free.
select pg_try_advisory_lock(%(key)s);

-- name: await_migration_lock
-- Wait for the migration lock.
select pg_advisory_lock(%(key)s);

-- name: release_locks
-- Release the advisory locks of this session.
select pg_advisory_unlock_all();

-- name: access_state
-- Whether this login owns the schema, and which of Foja's roles do not exist or lack their grants.
select pg_has_role(current_user, n.nspowner, 'member'), array(
    select needed.role from (
        select unnest(array['anon', 'authenticated', 'service_role', 'foja_api', 'foja_reader', 'foja_operator', 'foja_sweeper', 'foja_worker'])
        union select role from foja.source union select role from foja.job_type
    ) needed (role) left join pg_roles r on r.rolname = needed.role
    where r.oid is null or needed.role <> 'anon' and not has_schema_privilege(r.oid, n.oid, 'usage')
    union select current_user from pg_class c  -- it owns tables since others made the policies of their owner
    where c.relforcerowsecurity and c.relnamespace in (n.oid, 'public'::regnamespace) and c.relowner = current_user::regrole
        and not exists (select from pg_policy p where p.polrelid = c.oid and c.relowner = any (p.polroles)))
from pg_namespace n where n.nspname = 'foja';

-- name: restore_source_roles
-- The roles of all sources, as their registration made them.
select foja.ensure_role(s.source) from (select source from foja.source union select source from foja.job_type) s
where s.source not in ('api', 'sweeper');

-- name: adopt_roles
-- Let this login act as Foja's roles; returns those that it may not grant itself, and its name.
select foja.adopt_roles(), current_user::text;

-- name: lock_holder
-- Who holds an advisory lock of this database.
select format('%%s as %%s (pid %%s, %%s)', coalesce(nullif(a.application_name, ''), 'a session'), a.usename, a.pid, a.state)
from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.granted and l.database = (select oid from pg_database where datname = current_database())
    and (l.classid::bigint << 32 | l.objid::bigint) = %(key)s limit 1;

-- name: migration_table
-- Whether any migration was ever recorded here.
select to_regclass('foja.migration') is not null;

-- name: event_table
-- Whether there is a ledger.
select to_regclass('foja.event') is not null;

-- name: count_events
-- How many events there are, counted up to a limit.
select count(*) from (select from foja.event limit %(most)s) e;

-- name: create_migration_table
-- Where the migrations of this database are recorded.
create schema if not exists foja;
create table foja.migration (
    number integer primary key check (number > 0),
    name text not null,
    digest text not null,
    applied_at timestamptz not null default now()
);

-- name: applied_migrations
-- What was done to this database, in order.
select number, name, digest, applied_at from foja.migration order by number;

-- name: living_processes
-- Processes of Foja that are connected to this database, by the names of their connections.
select distinct substring(a.application_name from 6) from pg_stat_activity a
where a.datname = current_database() and a.application_name like 'foja %%:%%';

-- name: worker_table
-- Whether workers can announce themselves here.
select to_regclass('foja.worker') is not null;

-- name: living_workers
-- Workers that announced themselves of late, as some do that speak only SQL.
select distinct w.name from foja.worker w where w.seen_at > clock_timestamp() - interval '30 seconds';

-- name: record_migration
-- One more step was taken.
insert into foja.migration (number, name, digest) values (%(number)s, %(name)s, %(digest)s);

-- name: forget_migration
-- The last step was taken back.
delete from foja.migration where number = %(number)s;

-- name: has_schema
-- Whether this database has a schema of Foja.
select to_regnamespace('foja') is not null;

-- name: taken_names
-- What the schema public has under these names, as `alter` names it.
select format('%%s public.%%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
    when 'S' then 'sequence' else 'table' end, c.relname)
from pg_class c where c.relnamespace = to_regnamespace('public') and c.relname = any (%(names)s)
union all
select format('%%s public.%%I(%%s)', case p.prokind when 'p' then 'procedure' else 'function' end, p.proname,
    pg_get_function_identity_arguments(p.oid))
from pg_proc p where p.pronamespace = to_regnamespace('public') and p.proname = any (%(names)s)
order by 1 desc;
