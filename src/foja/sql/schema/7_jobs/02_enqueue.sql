-- Asking for work. Never an exception for what was asked before, and no notification: both would
-- be paid for by the append in whose transaction this happens.

-- Let the first job of each line be claimed, if none is. The streams are locked.
create function foja.promote(p_entity uuid[], p_type text[]) returns void
language plpgsql as $$
begin
    update foja.job j set head = true
    from (select distinct entity_id, type from unnest(p_entity, p_type) l(entity_id, type)) line
    cross join lateral (
        select n.job_id, n.head from foja.job n
        where n.serial and n.state in ('queued', 'running', 'retry_scheduled')
            and n.entity_id = line.entity_id and n.type = line.type
        order by n.head desc, n.job_id limit 1
    ) first
    where j.job_id = first.job_id and not first.head;
end $$;

-- May the sweeper say this, too? Everything else would be said in the name of who found it out.
create function foja.may_append_on_death(p_domain text, p_on_death jsonb) returns boolean
language sql stable
return exists (select from foja.kind k where k.domain = p_domain and k.kind = p_on_death ->> 'kind'
    and k.v::text = coalesce(p_on_death ->> 'v', '1') and 'sweeper' = any (k.sources));

-- Last words are given by who decides for the stream, or by who may say them anyway.
create function foja.check_on_death(p_entity uuid[], p_on_death text[]) returns void
language plpgsql stable as $$
declare
    acting text := foja.acting_role();
    said record;
begin
    for said in
        select distinct e.domain, jsonb_build_object('kind', w.words -> 'kind', 'v', coalesce(w.words -> 'v', '1')) as words
        from unnest(p_entity, p_on_death) u(entity_id, given) cross join lateral (select u.given::jsonb as words offset 0) w
        left join foja.entity e on e.entity_id = u.entity_id
        where u.given is not null
    loop
        if said.domain is null or not foja.may_append_on_death(said.domain, said.words) then
            perform foja.refuse('bad_payload', 'on_death must be a kind that the sweeper may append to this stream');
        elsif acting is distinct from (select t.role from foja.domain d join foja.job_type t on t.type = d.executor
                    where d.domain = said.domain)
                and not exists (select from foja.kind k cross join unnest(k.sources) source
                    where k.domain = said.domain and k.kind = said.words ->> 'kind'
                        and acting = 'foja_' || replace(source, '-', '_')) then
            perform foja.refuse('wrong_source', format('the role %s may not set on_death of these jobs', acting));
        end if;
    end loop;
end $$;

-- A job is asked for by who does it, by who decides for its stream, and by the house: API, sweeper, owner.
create function foja.check_asker(p_type text[], p_entity uuid[]) returns void
language plpgsql stable as $$
declare
    acting text := foja.acting_role();
    own text[] := array(select d.domain from foja.domain d join foja.job_type t on t.type = d.executor where t.role = acting);
    other text := (select t.type from foja.job_type t where t.type = any (p_type) and t.role <> acting limit 1);
begin
    if other is null or acting in ('foja_api', 'service_role', 'foja_sweeper')
            or (select rolsuper or rolname = current_user from pg_roles where rolname = acting) then
        return;
    elsif own = '{}' or exists (select from unnest(p_type, p_entity) u(type, entity_id)
            join foja.job_type t on t.type = u.type and t.role <> acting
            -- Not `exists`: by the index of names that would read every stream of the domain.
            where (select e.domain from foja.entity e where e.entity_id = u.entity_id) = any (own) is not true) then
        perform foja.refuse('wrong_source', format('the role %s may not ask for %s', acting, other));
    end if;
end $$;

-- Some of these keys were there before: as keys of the same types, or else what was asked for would never be done.
create function foja.check_known(p_type text[], p_key text[]) returns void
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    taken record;
begin
    select j.dedupe_key as key, j.type into taken from unnest(p_type, p_key) u(type, key)
    join foja.job j on j.dedupe_key = u.key where j.type <> u.type limit 1;
    if taken is not null then
        perform foja.refuse('job_key_taken', format('the key %s is that of a %s', taken.key, taken.type));
    end if;
end $$;

-- Queue these jobs, but those whose key is known; returns how many are new. Of a serial type, the
-- streams are locked already.
create function foja.insert_jobs(
    p_type text[], p_entity uuid[], p_correlation uuid[], p_tenant text, p_key text[], p_payload text[],
    p_delay double precision[], p_priority integer[], p_on_death text[]
) returns bigint
language plpgsql as $$
declare
    added bigint;
    strange text := (select u.type from unnest(p_type) u(type) left join foja.job_type t using (type)
        where t.type is null or t.level limit 1);
    serial boolean := exists (select from foja.job_type t where t.type = any (p_type) and t.serial);
begin
    if strange is not null then
        perform foja.refuse('unknown_job', format('%s is no job type that can be asked for', strange));
    elsif exists (select from unnest(p_priority) n where n not between 0 and 2) then
        perform foja.refuse('bad_payload', 'a priority is 0, 1 or 2');
    elsif exists (select from unnest(p_type, p_key) u(type, key)
            join foja.job_type t on t.type = split_part(u.key, ':', 1)
            where t.type <> u.type and strpos(u.key, ':') > 0) then
        perform foja.refuse('job_key_taken', 'a key that begins with the name of a type and a colon is of that type');
    elsif serial and exists (select from unnest(p_type, p_entity) u(type, entity_id)
            join foja.job_type t on t.type = u.type and t.serial
            where not exists (select from foja.entity e where e.entity_id = u.entity_id)) then
        perform foja.refuse('unknown_entity', 'jobs that run in order need a stream: its row is their lock');
    elsif exists (select from unnest(p_on_death) words where words is not null) then
        perform foja.check_on_death(p_entity, p_on_death);
    end if;
    perform foja.check_asker(p_type, p_entity);
    -- Numbered as they were given, written in the order of their keys: two callers never wait for each other.
    with given as materialized (
        select u.*, nextval('foja.job_job_id_seq') as job_id
        from unnest(p_type, p_entity, p_correlation, p_key, p_payload, p_delay, p_priority, p_on_death)
            u(type, entity_id, correlation_id, key, payload, delay, priority, words)
    )
    insert into foja.job (job_id, type, entity_id, correlation_id, tenant, dedupe_key, serial, head, priority, run_at, payload,
        max_tries, on_death)
    overriding system value
    select u.job_id, u.type, u.entity_id, coalesce(u.correlation_id, u.entity_id), p_tenant, u.key, t.serial, not t.serial,
        coalesce(u.priority, 1), clock_timestamp() + make_interval(secs => coalesce(u.delay, 0)),
        coalesce(u.payload, '{}')::jsonb, t.max_tries, u.words::jsonb
    from given u join foja.job_type t on t.type = u.type
    order by u.key, u.job_id
    on conflict (dedupe_key) do nothing;
    get diagnostics added = row_count;
    if added < cardinality(p_key) then
        perform foja.check_known(p_type, p_key);
    end if;
    if serial then
        perform foja.promote(p_entity, p_type);
    end if;
    return added;
end $$;

create function foja.enqueue_jobs_v1(
    p_type text[], p_entity uuid[], p_tenant text, p_key text[], p_payload text[] default null,
    p_delay double precision[] default null, p_priority integer[] default null, p_on_death text[] default null,
    p_correlation uuid[] default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from foja.entity where entity_id = any (p_entity) order by entity_id for no key update;
    return foja.insert_jobs(p_type, p_entity, p_correlation, p_tenant, p_key, p_payload, p_delay, p_priority, p_on_death);
end $$;

-- One job; returns its id, also of one that was asked for before.
create function foja.enqueue_job_v1(
    type text, entity_id uuid, dedupe_key text, payload jsonb default '{}', delay interval default '0',
    priority integer default 1, on_death jsonb default null, correlation_id uuid default null,
    tenant text default 'default'
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.enqueue_jobs_v1(array[type], array[entity_id], tenant, array[dedupe_key], array[payload::text],
        array[extract(epoch from delay)::double precision], array[priority], array[on_death::text],
        array[correlation_id]);
    return (select j.job_id from foja.job j where j.dedupe_key = enqueue_job_v1.dedupe_key);
end $$;

-- Queue the executors of these streams, but those that run: their completion looks again. One that
-- somebody else has in hand is not waited for: unless it is about to look anyway, its stream stays noted.
create function foja.wake(p_entity uuid[], p_since timestamptz default clock_timestamp()) returns void
language plpgsql
-- By index, whatever the planner thought of the tables while they were empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    queued bigint;
    added bigint;
begin
    with asleep as materialized (
        select j.job_id from foja.entity e join foja.domain d on d.domain = e.domain
        join foja.job j on j.dedupe_key = d.executor || ':' || e.entity_id
        where e.entity_id = any (p_entity) and j.state <> 'running'
        for no key update of j skip locked
    )
    update foja.job j
    set state = 'queued', run_at = clock_timestamp(), finished_at = null,
        tries = case when j.state in ('queued', 'retry_scheduled') then j.tries else 0 end
    from asleep a where j.job_id = a.job_id;
    get diagnostics queued = row_count;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries)
    select t.type, e.entity_id, e.entity_id, e.tenant, t.type || ':' || e.entity_id, t.max_tries
    from foja.entity e join foja.domain d on d.domain = e.domain join foja.job_type t on t.type = d.executor
    where e.entity_id = any (p_entity)
        -- To find that out by conflict would be to wait for whoever changes it.
        and not exists (select from foja.job j where j.dedupe_key = t.type || ':' || e.entity_id)
    order by e.entity_id
    on conflict (dedupe_key) do nothing;
    get diagnostics added = row_count;
    if queued + added < cardinality(p_entity) then
        insert into foja.woken (entity_id, at)
        select array_agg(e.entity_id), p_since from foja.entity e join foja.domain d on d.domain = e.domain
        join foja.job j on j.dedupe_key = d.executor || ':' || e.entity_id
        where e.entity_id = any (p_entity) and j.state <> 'running'
            and (j.state <> 'queued' or j.run_at > clock_timestamp())
        having count(*) > 0;
    end if;
end $$;

-- Queue the executors of up to `p_limit` appends that woke one, the oldest first.
create function foja.queue_woken_v1(p_limit integer default 1000) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    streams uuid[];
    since timestamptz;
begin
    with oldest as materialized (
        select id from foja.woken order by id limit p_limit for update skip locked
    ), gone as (
        delete from foja.woken w using oldest where w.id = oldest.id returning w.entity_id, w.at
    )
    select array_agg(distinct stream), min(gone.at) into streams, since
    from gone cross join unnest(gone.entity_id) stream;
    if streams is not null then
        perform foja.wake(streams, since);
    end if;
end $$;

-- Let the executor of a domain look at every stream there is: for a domain that has one from now on.
create function foja.wake_domain(p_domain text) returns void
language plpgsql as $$
begin
    update foja.entity set awake = sealed where domain = p_domain and sealed > 0;
    perform foja.wake(array(select entity_id from foja.entity where domain = p_domain and sealed > 0));
end $$;
