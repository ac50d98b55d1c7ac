-- Requesting work. A known key raises nothing, and no notification is sent: both would slow down the append
-- in whose transaction this happens.

-- A job to be queued. Without a correlation it is its stream.
create type foja.new_job as (
    type text, entity_id uuid, tenant text, dedupe_key text, payload text, delay double precision, priority integer,
    on_death text, correlation_id uuid
);

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

-- May the sweeper append this event, too? Any other kind needs its own source.
create function foja.may_append_on_death(p_domain text, p_event jsonb) returns boolean
language sql stable
return exists (select from foja.kind k where k.domain = p_domain and k.kind = p_event ->> 'kind'
    and k.v::text = coalesce(p_event ->> 'v', '1') and 'sweeper' = any (k.sources));

-- `on_death` is set by the executor of the stream's domain, or by a source of that kind.
create function foja.check_on_death(p_jobs foja.new_job[]) returns void
language plpgsql stable as $$
declare
    acting text := foja.acting_role();
    given record;
begin
    for given in
        select distinct e.domain, jsonb_build_object('kind', w.event -> 'kind', 'v', coalesce(w.event -> 'v', '1')) as event
        from unnest(p_jobs) u cross join lateral (select u.on_death::jsonb as event offset 0) w
        left join foja.entity e on e.entity_id = u.entity_id
        where u.on_death is not null
    loop
        if given.domain is null or not foja.may_append_on_death(given.domain, given.event) then
            perform foja.refuse('bad_payload', 'on_death must be a kind that the sweeper may append to this stream');
        elsif acting is distinct from (select t.role from foja.domain d join foja.job_type t on t.type = d.executor
                    where d.domain = given.domain)
                and not exists (select from foja.kind k cross join unnest(k.sources) source
                    where k.domain = given.domain and k.kind = given.event ->> 'kind'
                        and acting = 'foja_' || replace(source, '-', '_')) then
            perform foja.refuse('wrong_source', format('the role %s may not set on_death of these jobs', acting));
        end if;
    end loop;
end $$;

-- A job is requested by its own source, by the executor of its stream, by the API, the sweeper or the owner.
create function foja.check_asker(p_jobs foja.new_job[]) returns void
language plpgsql stable as $$
declare
    acting text := foja.acting_role();
    own text[] := array(select d.domain from foja.domain d join foja.job_type t on t.type = d.executor where t.role = acting);
    other text := (select t.type from unnest(p_jobs) u join foja.job_type t using (type) where t.role <> acting limit 1);
begin
    if other is null or acting in ('foja_api', 'service_role', 'foja_sweeper')
            or (select rolsuper or rolname = current_user from pg_roles where rolname = acting) then
        return;
    elsif own = '{}' or exists (select from unnest(p_jobs) u
            join foja.job_type t on t.type = u.type and t.role <> acting
            -- Not `exists`: by the index of names that would read every stream of the domain.
            where (select e.domain from foja.entity e where e.entity_id = u.entity_id) = any (own) is not true) then
        perform foja.refuse('wrong_source', format('the role %s may not request %s', acting, other));
    end if;
end $$;

-- What a worker can read: an object of bounded size and depth, with numbers that a double holds.
create function foja.is_readable(payload text) returns boolean
language sql immutable parallel safe
return octet_length(payload) <= 1048576 and jsonb_typeof(payload::jsonb) = 'object' and foja.is_shallow(payload)
    and (payload !~ '[eE]\+?\d{3}|\d{255}'
        or not payload::jsonb @? 'strict $.** ? (@.type() == "number" && (@ > 1e308 || @ < -1e308))');

-- Whether an event of this kind asks for a job: its number is the key, and the payload has some of its fields.
create function foja.is_asked(wanted foja.new_job, p_kind text) returns boolean
language sql stable
return coalesce((select v.kind = p_kind and v.payload::jsonb @> wanted.payload::jsonb
    from foja.event v where v.entity_id = wanted.entity_id
        and v.seq = case when wanted.dedupe_key ~ '^\d{1,18}$' then wanted.dedupe_key::bigint end), false);

-- Refuse jobs of an unknown type, with a wrong priority, or for a stream that is missing, another tenant's or of another
-- domain than the type, one that no event of the stream asks for (the installation itself needs none), and what no worker
-- could do: a payload that it cannot read, a delay beyond ten years.
create function foja.check_jobs(p_jobs foja.new_job[]) returns void
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    problem text;
begin
    select w.problem into problem
    from unnest(p_jobs) u left join foja.job_type t on t.type = u.type
    -- Ticks have the id of the installation, as its own stream has: that one has no jobs.
    left join foja.entity e on e.entity_id = u.entity_id and e.domain <> 'system'
    cross join lateral (select case
        when t.type is null or t.level then format('unknown_job: %s is not a job type that can be requested', u.type)
        when u.priority not between 0 and 2 then 'bad_payload: a priority is 0, 1 or 2'
        when u.dedupe_key is null or u.entity_id is null or u.tenant is null
            then 'bad_payload: a job needs a stream, a tenant and a key'
        when octet_length(u.dedupe_key) > 1024 or octet_length(u.tenant) > 255
            then 'too_large: a key may have 1,024 bytes, the name of a tenant 255'
        when u.delay not between 0 and 315576000 then 'bad_payload: a delay is 0 to 315,576,000 seconds (ten years)'
        when e.tenant <> u.tenant then foja.unknown_stream(u.entity_id, t.domain)
        when t.domain <> e.domain then format('wrong_entity: %s is a job of the domain %s, and %s is not a stream of it', u.type,
            t.domain, u.entity_id)
        when t.serial and e.entity_id is null
            then 'unknown_entity: jobs that run in order need a stream: its row is their lock'
        when not foja.is_readable(u.payload) or not foja.is_readable(u.on_death)
            then 'bad_payload: the payload of a job, and its on_death event, is an object of up to 1,048,576 bytes and 64 levels, '
                'with numbers up to 1e308'
        when t.asked_by is not null and not foja.is_asked(u, t.asked_by)
                and u.entity_id is distinct from (select i.installation_id from foja.installation i)
            then format('bad_payload: %s is requested by an event of the kind %s: the key of the job is the number of that event, '
                'and its payload has fields of it', u.type, t.asked_by) end) w(problem)
    where w.problem is not null limit 1;
    perform foja.refuse_problem(problem);
end $$;

-- Write these jobs, except those whose key is known; return the new ones. For guards, which know what they ask for; others ask
-- by `insert_jobs`. `p_tries` takes the place of the tries of their types.
create function foja.write_jobs(p_jobs foja.new_job[], p_tries integer[] default null) returns setof foja.job
language plpgsql as $$
begin
    -- Numbered as they were given, written in the order of their keys: two callers never wait for each other.
    return query
    insert into foja.job (job_id, type, entity_id, correlation_id, tenant, dedupe_key, serial, head, priority, run_at,
        payload, max_tries, on_death)
    overriding system value
    select u.job_id, u.type, u.entity_id, coalesce(u.correlation_id, u.entity_id), u.tenant, u.dedupe_key, t.serial,
        not t.serial, coalesce(u.priority, 1), clock_timestamp() + make_interval(secs => coalesce(u.delay, 0)),
        coalesce(u.payload, '{}')::jsonb, coalesce(p_tries[u.place], t.max_tries), u.on_death::jsonb
    from (select g.*, nextval('foja.job_job_id_seq') as job_id from unnest(p_jobs) with ordinality g(type, entity_id, tenant,
        dedupe_key, payload, delay, priority, on_death, correlation_id, place) offset 0) u
    cross join lateral (select * from foja.job_type o where o.type = u.type offset 0) t
    order by u.entity_id, u.type, u.dedupe_key, u.job_id
    on conflict (entity_id, type, dedupe_key) do nothing returning *;
end $$;

-- Queue these jobs, except those whose key is known; return how many are new. The streams of serial types are locked.
create function foja.insert_jobs(p_jobs foja.new_job[]) returns bigint
language plpgsql as $$
declare
    added bigint;
begin
    perform foja.check_jobs(p_jobs);
    if exists (select from unnest(p_jobs) u where u.on_death is not null) then
        perform foja.check_on_death(p_jobs);
    end if;
    perform foja.check_asker(p_jobs);
    select count(*) into added from foja.write_jobs(p_jobs);
    if exists (select from unnest(p_jobs) u join foja.job_type t using (type) where t.serial) then
        perform foja.promote(array_agg(u.entity_id), array_agg(u.type)) from unnest(p_jobs) u;
    end if;
    return added;
end $$;

create function foja.enqueue_jobs_v1(p_jobs foja.new_job[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_tenant(u.tenant, u.entity_id, 'stream') from unnest(p_jobs) u;
    perform from foja.entity where entity_id = any (array(select u.entity_id from unnest(p_jobs) u))
    order by entity_id for no key update;
    return foja.insert_jobs(p_jobs);
end $$;

-- One job; returns its id, also of one that was requested before.
create function foja.enqueue_job_v1(
    type text, entity_id uuid, dedupe_key text, payload jsonb default '{}', delay interval default '0',
    priority integer default 1, on_death jsonb default null, correlation_id uuid default null,
    tenant text default foja.acting_tenant()
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.enqueue_jobs_v1(array[row(type, entity_id, tenant, dedupe_key, payload::text,
        extract(epoch from delay)::double precision, priority, on_death::text, correlation_id)::foja.new_job]);
    return (select j.job_id from foja.job j where j.type = enqueue_job_v1.type
        and j.entity_id = enqueue_job_v1.entity_id and j.dedupe_key = enqueue_job_v1.dedupe_key
        and j.tenant = enqueue_job_v1.tenant);
end $$;

-- Queue the executors of these streams, except those that run: their completion looks again. One that another
-- transaction holds is not waited for: unless it is about to look anyway, its stream stays noted.
create function foja.wake(p_entity uuid[], p_since timestamptz default clock_timestamp()) returns void
language plpgsql
-- By index, whatever the planner thought of the tables while they were empty. The job of each stream is looked up by
-- itself, never joined: from an empty table the planner would read the executors of all streams each time.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    queued bigint;
    added bigint;
begin
    with asleep as materialized (
        select own.job_id from foja.entity e join foja.domain d on d.domain = e.domain
        cross join lateral (select j.job_id from foja.job j
            where j.entity_id = e.entity_id and j.type = d.executor and j.dedupe_key = 'executor' and j.state <> 'running'
            for no key update skip locked) own
        where e.entity_id = any (p_entity)
    )
    update foja.job j
    set state = 'queued', run_at = clock_timestamp(), finished_at = null,
        tries = case when j.state in ('queued', 'retry_scheduled') then j.tries else 0 end
    from asleep a where j.job_id = a.job_id;
    get diagnostics queued = row_count;
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries)
    select t.type, e.entity_id, e.entity_id, e.tenant, 'executor', t.max_tries
    from foja.entity e join foja.domain d on d.domain = e.domain join foja.job_type t on t.type = d.executor
    where e.entity_id = any (p_entity)
        -- Finding that out by a conflict would wait for the transaction that changes it.
        and (select j.job_id from foja.job j
            where j.entity_id = e.entity_id and j.type = t.type and j.dedupe_key = 'executor') is null
    order by e.entity_id
    on conflict (entity_id, type, dedupe_key) do nothing;
    get diagnostics added = row_count;
    if queued + added < cardinality(p_entity) then
        insert into foja.woken (entity_id, at)
        select array_agg(e.entity_id), p_since from foja.entity e join foja.domain d on d.domain = e.domain
        cross join lateral (select * from foja.job j
            where j.entity_id = e.entity_id and j.type = d.executor and j.dedupe_key = 'executor' offset 0) own
        where e.entity_id = any (p_entity) and own.state <> 'running'
            and (own.state <> 'queued' or own.run_at > clock_timestamp())
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

-- Let the executor of a domain look at every stream: for a domain that has one from now on.
create function foja.wake_domain(p_domain text) returns void
language plpgsql as $$
begin
    update foja.entity set awake = sealed where domain = p_domain and sealed > 0;
    perform foja.wake(array(select entity_id from foja.entity where domain = p_domain and sealed > 0));
end $$;
