-- For operators and the sweeper. Streams first, then jobs, as everywhere.

-- Lock the streams of these jobs, then the jobs.
create function foja.lock_jobs(p_job bigint[]) returns void
language plpgsql as $$
begin
    perform from foja.entity where entity_id = any (array(select j.entity_id from foja.job j where j.job_id = any (p_job)))
    order by entity_id for no key update;
    perform from foja.job where job_id = any (p_job) order by job_id for no key update;
end $$;

-- Lock a job and its stream, if it has one, unless another session holds one of them: nothing may wait for that.
create function foja.try_lock_job(p_job bigint) returns boolean
language plpgsql as $$
declare
    stream uuid := (select j.entity_id from foja.job j where j.job_id = p_job);
begin
    perform from foja.entity where entity_id = stream for no key update skip locked;
    if not found and exists (select from foja.entity where entity_id = stream) then
        return false;
    end if;
    perform from foja.job where job_id = p_job for no key update skip locked;
    return found;
end $$;

-- Cancel jobs that are locked, or whose stream is; a worker of one has no valid token any more.
create function foja.cancel_locked_jobs(p_job bigint[], p_reason text) returns bigint
language plpgsql as $$
declare
    dropped bigint[];
begin
    with gone as (
        update foja.job j set state = 'cancelled', finished_at = clock_timestamp(), lease_token = null,
            last_error = left(p_reason, 2000)
        where j.job_id = any (p_job) and j.state in ('queued', 'running', 'retry_scheduled')
        returning j.job_id
    )
    select array_agg(g.job_id) into dropped from gone g;
    if dropped is not null then
        perform foja.after_jobs(dropped);
    end if;
    return coalesce(cardinality(dropped), 0);
end $$;

-- Cancel jobs whose end the domain records by itself, under the locks of their streams; return how many.
create function foja.cancel_quietly(p_job bigint[], p_reason text) returns bigint
language plpgsql as $$
begin
    perform from foja.job j where j.job_id = any (p_job) order by j.job_id for no key update;
    update foja.job j set silent = true where j.job_id = any (p_job) and j.on_death is not null;
    return coalesce(foja.cancel_locked_jobs(array(select each from unnest(p_job) each order by each), p_reason), 0);
end $$;

-- The same for jobs of a stream by type and key.
create function foja.cancel_keys(p_entity uuid, p_type text, p_key text[], p_reason text) returns bigint
language sql
return foja.cancel_quietly(array(select j.job_id from foja.job j
    where j.entity_id = p_entity and j.type = p_type and j.dedupe_key = any (p_key)), p_reason);

-- Those of these jobs whose tenant this transaction acts for: the others are unknown here.
create function foja.own_jobs(p_job bigint[]) returns bigint[]
language sql stable
return array(select j.job_id from foja.job j where j.job_id = any (p_job) and foja.may_act_for(j.tenant) order by j.job_id);

-- A dead job is only put away. The `on_death` events of the others are left to the sweeper, so that nothing waits
-- for them.
create function foja.cancel_jobs_v1(p_job bigint[], p_reason text default 'cancelled by an operator') returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    put_away bigint;
begin
    p_job := foja.own_jobs(p_job);
    perform foja.lock_jobs(p_job);
    update foja.job j set state = 'cancelled', silent = true where j.job_id = any (p_job) and j.state = 'dead';
    get diagnostics put_away = row_count;
    return put_away + foja.cancel_locked_jobs(p_job, p_reason);
end $$;

-- Dead jobs are queued anew with fresh tries, also an executor however it ended; those that wait for
-- their time come at once. Returns how many. A job whose on_death event was appended is over: its attempt has ended.
create function foja.retry_jobs_v1(p_job bigint[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    again bigint;
    spent bigint;
begin
    p_job := foja.own_jobs(p_job);
    perform foja.lock_jobs(p_job);
    select j.job_id into spent from foja.job j
    where j.job_id = any (p_job) and j.state = 'dead' and j.silent limit 1;
    if spent is not null then
        perform foja.refuse('job_is_over',
            format('the stream knows that job %s failed; ask there for another attempt (`foja retry`)', spent));
    end if;
    update foja.entity e set awake = e.sealed
    from foja.job j join foja.job_type t on t.type = j.type and t.level
    where j.job_id = any (p_job) and j.state in ('succeeded', 'dead', 'cancelled') and e.entity_id = j.entity_id
        and e.awake is null;
    update foja.job j
    set state = 'queued', run_at = clock_timestamp(), finished_at = null, alone = false,
        tries = case when j.state in ('succeeded', 'dead', 'cancelled') then 0 else j.tries end,
        head = case j.state when 'dead' then not j.serial else j.head end
    from foja.job_type t
    where j.job_id = any (p_job) and t.type = j.type and (j.state in ('dead', 'retry_scheduled')
        or j.state = 'queued' and j.run_at > clock_timestamp() or j.state in ('succeeded', 'cancelled') and t.level);
    get diagnostics again = row_count;
    perform foja.promote(array_agg(j.entity_id), array_agg(j.type)) from foja.job j
    where j.job_id = any (p_job) and j.serial
    having count(*) > 0;
    return again;
end $$;

-- Claim no more jobs of this type; running jobs finish.
create function foja.pause_jobs_v1(p_type text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.job_type set paused = true, paused_at = coalesce(paused_at, clock_timestamp()) where type = p_type;
    return found;
end $$;

create function foja.resume_jobs_v1(p_type text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.job_type set paused = false, paused_at = null where type = p_type;
    return found;
end $$;

-- Close one job that killed its last worker; false if another process was faster. It and its stream are locked.
create function foja.close_abandoned_job(p_job bigint) returns boolean
language plpgsql as $$
begin
    update foja.job j set state = 'dead', finished_at = clock_timestamp(), lease_token = null,
        last_error = format('its worker %s did not come back from try %s', j.worker, j.tries)
    where j.job_id = p_job and j.state = 'running' and j.alone and j.tries >= j.max_tries and j.lease_until < clock_timestamp();
    if not found then
        return false;
    end if;
    perform foja.append_on_death(p_job, true);
    perform foja.after_jobs(array[p_job]);
    return true;
end $$;

-- Wake the executors of streams that wait for one which is not queued; return how many. A safety net: no such
-- stream should exist. It reads two megabytes of the streams at a time, others every second, and only those at rest:
-- an index would cost every append.
create function foja.wake_missed() returns bigint
language plpgsql
set enable_seqscan = off as $$
declare
    part constant integer := 256;
    parts bigint := pg_relation_size('foja.entity') / current_setting('block_size')::integer / part + 1;
    page bigint := extract(epoch from clock_timestamp())::bigint % parts * part;
    sleepers uuid[];
begin
    select array_agg(s.entity_id) into sleepers
    from (
        select e.entity_id from foja.entity e join foja.domain d on d.domain = e.domain
        where e.ctid >= format('(%s,0)', page)::tid and e.ctid < format('(%s,0)', page + part)::tid
            and e.awake is not null and e.last_at < clock_timestamp() - interval '5 seconds' and d.executor is not null
            -- Not a join: before the tables are analyzed, that would read the executors of all streams for each stream.
            and coalesce((select j.state from foja.job j where j.entity_id = e.entity_id and j.type = d.executor
                and j.dedupe_key = 'executor'), 'missing') not in ('queued', 'running', 'retry_scheduled')
            and e.entity_id not in (select unnest(w.entity_id) from foja.woken w)
    ) s;
    if sleepers is not null then
        perform foja.wake(sleepers);
    end if;
    return coalesce(cardinality(sleepers), 0);
end $$;

-- Correct run times, leases and deadlines of slots that were written while the clock was ahead, which was set back since:
-- what waits for them would wait too long. Return how many. A slot has an hour at most. Of the jobs it reads two
-- megabytes at a time, others every second.
create function foja.correct_times_v1() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off as $$
declare
    part constant integer := 256;
    parts bigint := pg_relation_size('foja.job') / current_setting('block_size')::integer / part + 1;
    page bigint := extract(epoch from clock_timestamp())::bigint % parts * part;
    moment timestamptz := clock_timestamp();
    latest timestamptz := moment + interval '5 minutes';
    corrected bigint;
    slots bigint;
begin
    perform foja.check_source('sweeper');
    with ahead as materialized (
        select s.entity_id, s.seq from foja.slot s where s.state = 'open' and s.deadline > latest + interval '1 hour'
        for no key update of s skip locked
    )
    update foja.slot s set deadline = moment + interval '1 hour' from ahead a where s.entity_id = a.entity_id and s.seq = a.seq;
    get diagnostics slots = row_count;
    with ahead as materialized (
        select j.job_id, t.lease from foja.job j join foja.job_type t on t.type = j.type
        where j.ctid >= format('(%s,0)', page)::tid and j.ctid < format('(%s,0)', page + part)::tid
            and case when j.state = 'running' then j.lease_until > latest + t.lease
                when j.state in ('queued', 'retry_scheduled') then j.run_at > latest
                    and (j.created_at > latest or j.lease_until > latest + t.lease) end
        for no key update of j skip locked
    )
    update foja.job j set created_at = least(j.created_at, moment), lease_until = least(j.lease_until, moment + a.lease),
        run_at = case when j.state = 'running' then j.run_at when j.created_at > latest
            then moment + greatest(j.run_at - j.created_at, interval '0') else moment end
    from ahead a where j.job_id = a.job_id;
    get diagnostics corrected = row_count;
    return corrected + slots;
end $$;

-- Close jobs whose lease expired and that have no tries left, and append the `on_death` events of cancelled jobs;
-- return how many. Stream by stream, in order. Executors without a worker are queued here, so that lists show them.
create function foja.sweep_jobs_v1(p_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    job bigint;
    cancelled boolean;
    buried bigint := 0;
begin
    perform foja.check_source('sweeper');
    for job, cancelled in
        select found.job_id, found.cancelled from (
            (select j.job_id, false, j.entity_id from foja.job_type t join foja.job j on j.type = t.type
            where j.state = 'running' and j.alone and j.tries >= j.max_tries and j.lease_until < clock_timestamp()
            limit p_limit)
            union all
            (select j.job_id, true, j.entity_id from foja.job j
            where j.state = 'cancelled' and j.on_death is not null and not j.silent limit p_limit)
        ) found (job_id, cancelled, entity_id) order by found.entity_id, found.job_id
    loop
        continue when not foja.try_lock_job(job);
        if cancelled then
            perform foja.append_on_death(job, true);
            update foja.job j set silent = true where j.job_id = job;  -- also if the stream would not have them
        end if;
        buried := buried + (cancelled or foja.close_abandoned_job(job))::integer;
    end loop;
    perform foja.queue_woken_v1();  -- last: it locks jobs and waits for no lock
    return buried + foja.wake_missed();
end $$;

-- Queue the jobs of ticks that are due, once per interval; missed intervals are not made up for.
create function foja.run_ticks_v1() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    t foja.tick;
    slot timestamptz;
    queued bigint := 0;
begin
    perform foja.check_source('sweeper');
    -- Written by a clock ahead. Those of networks are due when a batch is looked at again, however late that is.
    update foja.tick set due = clock_timestamp() where due > clock_timestamp() + every + interval '5 minutes'
        and type not like 'process\_%\_anchors';
    for t in select * from foja.tick where due <= clock_timestamp() order by name for update skip locked loop
        slot := date_bin(t.every, clock_timestamp(), timestamptz '2000-01-01 00:00:00Z');
        queued := queued + foja.insert_jobs(array[row(t.type, i.installation_id, t.tenant,
            t.name || ':' || extract(epoch from slot)::bigint, t.payload::text, null, null, null, null)::foja.new_job])
        from foja.installation i;
        update foja.tick set due = slot + t.every where name = t.name;
    end loop;
    return coalesce(queued, 0);
end $$;
