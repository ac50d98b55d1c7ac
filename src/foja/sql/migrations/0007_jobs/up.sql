-- The queue. What is to be done is decided from events; here is only who does it, and when.

-- A type belongs to one source: only the role of that name may claim it and say how it ended.
create table foja.job_type (
    type text primary key,
    source text not null,
    role text not null generated always as ('foja_' || replace(source, '-', '_')) stored,
    lease interval not null default '30 seconds' check (lease > interval '0'),
    max_tries integer not null default 5 check (max_tries > 0),
    backoff interval not null default '2 seconds',       -- before the second try; doubled before each one after
    backoff_most interval not null default '1 hour',
    serial boolean not null default false,               -- one job of a stream at a time, in order
    level boolean not null default false,                -- one job per stream, queued again whenever it grows
    paused boolean not null default false,
    check (not (serial and level))
);

alter table foja.domain add foreign key (executor) references foja.job_type;

-- No checks: every step of every job writes here, and only the functions below may.
create table foja.job (
    job_id bigint generated always as identity primary key,
    type text not null,
    entity_id uuid not null,                  -- the stream; of a batch or a tick its own id
    correlation_id uuid not null,             -- the same; a worker that is handed another one corrects it
    tenant text not null,
    dedupe_key text not null unique,          -- for ever: what was asked once is done once
    state text not null default 'queued',     -- queued, running, succeeded, retry_scheduled, dead, cancelled
    serial boolean not null default false,
    head boolean not null default true,       -- first in its line; only heads are claimed
    priority smallint not null default 1,     -- 0 before 1 before 2
    run_at timestamptz not null default clock_timestamp(),
    payload jsonb not null default '{}',
    tries integer not null default 0,
    max_tries integer not null,
    lease_token uuid,                         -- kept by whoever ended it, so that a lost answer can be asked for
    lease_until timestamptz,
    worker text,
    alone boolean not null default false,     -- claimed without company: if its worker dies, it was this one
    corrected boolean not null default false, -- it came with another correlation
    last_error text,
    last_words jsonb,                         -- the event {kind, v, payload} that says it is dead
    silent boolean not null default false,    -- they were said, or others in their place, or nobody needs to hear them
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create index job_runnable on foja.job (type, tenant, priority, run_at, job_id)
    where head and state in ('queued', 'retry_scheduled');
create index job_leases on foja.job (type, lease_until) where state = 'running';
create index job_lines on foja.job (entity_id, type, head desc, job_id)
    where serial and state in ('queued', 'running', 'retry_scheduled');
create index job_dead on foja.job (job_id) where state = 'dead';
create index job_unsaid on foja.job (job_id) where state = 'cancelled' and last_words is not null and not silent;

-- What is to be done again and again: one job per slot of time, whoever looks first.
create table foja.tick (
    name text primary key,
    type text not null references foja.job_type,
    every interval not null check (every >= interval '1 second'),
    due timestamptz not null default clock_timestamp(),
    payload jsonb not null default '{}',
    tenant text not null default 'default'
);

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
create function foja.is_last_word(p_domain text, p_words jsonb) returns boolean
language sql stable
return exists (select from foja.kind k where k.domain = p_domain and k.kind = p_words ->> 'kind'
    and k.v::text = coalesce(p_words ->> 'v', '1') and 'sweeper' = any (k.sources));

-- Last words are given by who decides for the stream, or by who may say them anyway.
create function foja.check_last_words(p_entity uuid[], p_words text[]) returns void
language plpgsql stable as $$
declare
    acting text := foja.acting_role();
    said record;
begin
    for said in
        select distinct e.domain, jsonb_build_object('kind', w.words -> 'kind', 'v', coalesce(w.words -> 'v', '1')) as words
        from unnest(p_entity, p_words) u(entity_id, given) cross join lateral (select u.given::jsonb as words offset 0) w
        left join foja.entity e on e.entity_id = u.entity_id
        where u.given is not null
    loop
        if said.domain is null or not foja.is_last_word(said.domain, said.words) then
            perform foja.refuse('bad_payload', 'last words are of a kind that the sweeper may say of this stream');
        elsif acting is distinct from (select t.role from foja.domain d join foja.job_type t on t.type = d.executor
                    where d.domain = said.domain)
                and not exists (select from foja.kind k cross join unnest(k.sources) source
                    where k.domain = said.domain and k.kind = said.words ->> 'kind'
                        and acting = 'foja_' || replace(source, '-', '_')) then
            perform foja.refuse('wrong_source', format('the role %s may not give last words to these jobs', acting));
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
create function foja.put_jobs(
    p_type text[], p_entity uuid[], p_correlation uuid[], p_tenant text, p_key text[], p_payload text[],
    p_delay double precision[], p_priority integer[], p_words text[]
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
    elsif exists (select from unnest(p_words) words where words is not null) then
        perform foja.check_last_words(p_entity, p_words);
    end if;
    perform foja.check_asker(p_type, p_entity);
    -- Numbered as they were given, written in the order of their keys: two callers never wait for each other.
    with given as materialized (
        select u.*, nextval('foja.job_job_id_seq') as job_id
        from unnest(p_type, p_entity, p_correlation, p_key, p_payload, p_delay, p_priority, p_words)
            u(type, entity_id, correlation_id, key, payload, delay, priority, words)
    )
    insert into foja.job (job_id, type, entity_id, correlation_id, tenant, dedupe_key, serial, head, priority, run_at, payload,
        max_tries, last_words)
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
    p_delay double precision[] default null, p_priority integer[] default null, p_words text[] default null,
    p_correlation uuid[] default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from foja.entity where entity_id = any (p_entity) order by entity_id for no key update;
    return foja.put_jobs(p_type, p_entity, p_correlation, p_tenant, p_key, p_payload, p_delay, p_priority, p_words);
end $$;

-- One job; returns its id, also of one that was asked for before.
create function foja.enqueue_job_v1(
    type text, entity_id uuid, dedupe_key text, payload jsonb default '{}', delay interval default '0',
    priority integer default 1, last_words jsonb default null, correlation_id uuid default null,
    tenant text default 'default'
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.enqueue_jobs_v1(array[type], array[entity_id], tenant, array[dedupe_key], array[payload::text],
        array[extract(epoch from delay)::double precision], array[priority], array[last_words::text],
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

-- Queue the executors of up to `p_most` appends that woke one, the oldest first.
create function foja.queue_woken_v1(p_most integer default 1000) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    streams uuid[];
    since timestamptz;
begin
    with oldest as materialized (
        select id from foja.woken order by id limit p_most for update skip locked
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

-- Taking work. A claim waits for nobody, and never ends a job.

create function foja.check_worker(rule foja.job_type, p_type text) returns void
language plpgsql stable as $$
begin
    if rule.type is null then
        perform foja.refuse('unknown_job', format('there is no job type %s', p_type));
    elsif foja.acting_role() <> rule.role then
        perform foja.refuse('wrong_source', format('the role %s may not do %s', foja.acting_role(), p_type));
    end if;
end $$;

-- Up to `p_most` jobs, each leased to this worker until it settles it or stops extending the lease.
-- A job whose lease ran out comes alone, and says so. Tries count here: once for each claim, but the one in
-- company that nobody came back from is nobody's.
create function foja.claim_jobs_v1(p_type text, p_tenant text, p_most integer, p_worker text)
returns table (
    job_id bigint, type text, entity_id uuid, tenant text, dedupe_key text, payload jsonb, tries integer,
    max_tries integer, lease_token uuid, lease_seconds double precision, alone boolean, corrected boolean
)
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- One plan for every claim, by index: the first one is made while the table is empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    rule foja.job_type;
    token uuid := gen_random_uuid();
    moment timestamptz;
    missing integer := p_most;
    found_now integer;
begin
    select * into rule from foja.job_type t where t.type = p_type;
    perform foja.check_worker(rule, p_type);
    if rule.paused then
        return;
    elsif rule.level then
        perform foja.queue_woken_v1();
    end if;
    moment := clock_timestamp();
    return query
        with left_behind as materialized (
            select j.job_id, j.correlation_id <> j.entity_id as strange from foja.job j
            where j.type = p_type and j.state = 'running' and j.lease_until < moment and j.tenant = p_tenant
                and (j.tries < j.max_tries or not j.alone)
            order by j.lease_until limit 1 for update skip locked
        )
        update foja.job j
        set tries = j.tries + j.alone::integer, alone = true, lease_token = token, lease_until = moment + rule.lease,
            worker = p_worker, correlation_id = j.entity_id, corrected = j.corrected or l.strange
        from left_behind l where j.job_id = l.job_id
        returning j.job_id, j.type, j.entity_id, j.tenant, j.dedupe_key, j.payload, j.tries, j.max_tries, j.lease_token,
            extract(epoch from rule.lease)::double precision, true, l.strange;
    if found then
        return;
    end if;
    for level in 0 .. 2 loop
        return query
            with due as materialized (
                select j.job_id, j.correlation_id <> j.entity_id as strange from foja.job j
                where j.type = p_type and j.tenant = p_tenant and j.priority = level and j.run_at <= moment
                    and j.head and j.state in ('queued', 'retry_scheduled')
                order by j.run_at, j.job_id limit missing for update skip locked
            )
            update foja.job j
            set state = 'running', tries = j.tries + 1, alone = p_most = 1, lease_token = token,
                lease_until = moment + rule.lease, worker = p_worker, correlation_id = j.entity_id,
                corrected = j.corrected or d.strange
            from due d where j.job_id = d.job_id
            returning j.job_id, j.type, j.entity_id, j.tenant, j.dedupe_key, j.payload, j.tries, j.max_tries,
                j.lease_token, extract(epoch from rule.lease)::double precision, false, d.strange;
        get diagnostics found_now = row_count;
        missing := missing - found_now;
        exit when missing <= 0;
    end loop;
end $$;

-- More time for jobs that are still ours; returns which are. One that is being settled right now is
-- left alone.
create function foja.heartbeat_jobs_v1(p_job bigint[], p_token uuid[]) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    with held as materialized (
        select j.job_id, t.lease from unnest(p_job, p_token) u(job_id, token)
        join foja.job j on j.job_id = u.job_id and j.lease_token = u.token and j.state = 'running'
        join foja.job_type t on t.type = j.type and t.role = foja.acting_role()
        order by j.job_id for no key update of j skip locked
    )
    update foja.job j set lease_until = clock_timestamp() + h.lease from held h where j.job_id = h.job_id;
    return query
        select j.job_id from unnest(p_job, p_token) u(job_id, token)
        join foja.job j on j.job_id = u.job_id and j.lease_token = u.token and j.state = 'running';
end $$;

-- Saying how work ended. One call for a batch: streams are locked first, in order, then jobs, in order;
-- the facts that were found and the jobs that follow are in the same transaction.

create function foja.backoff(rule foja.job_type, tries integer) returns interval
language sql volatile
return least(rule.backoff_most, rule.backoff * 2 ^ least(tries - 1, 20)) * (0.5 + random() / 2);

-- The event that says a job is dead. If the stream will not have it, the job says so instead.
create function foja.say_last_words(p_job bigint, p_source text) returns void
language plpgsql as $$
declare
    j foja.job;
    words text;
begin
    select * into j from foja.job where job_id = p_job;
    if j.last_words is null or j.silent then
        return;
    elsif not exists (select from foja.entity e
            where e.entity_id = j.entity_id and foja.is_last_word(e.domain, j.last_words)) then
        perform foja.refuse('bad_payload', 'they are of no kind that the sweeper may say');
    end if;
    update foja.job set silent = true where job_id = p_job;
    perform foja.append_event(e.entity_id, e.domain, j.last_words ->> 'kind', j.last_words -> 'payload', p_source,
        idempotency_key => j.last_words ->> 'key', v => coalesce((j.last_words ->> 'v')::integer, 1), tenant => j.tenant)
    from foja.entity e where e.entity_id = j.entity_id;
exception when others then
    if sqlstate ~ '^(40|53|57)' then  -- nothing was decided: whoever asked will ask again
        raise;
    end if;
    get stacked diagnostics words = pg_exception_detail;
    update foja.job set last_error = concat_ws('; ', last_error,
        'its last words were refused: ' || coalesce(nullif(words, ''), sqlerrm))
    where job_id = p_job;
end $$;

-- What follows when jobs end: their line moves on, and an executor that ended without having seen
-- everything can be woken. The streams are locked.
create function foja.after_jobs(p_job bigint[]) returns void
language plpgsql as $$
begin
    perform foja.promote(array_agg(j.entity_id), array_agg(j.type)) from foja.job j
    where j.job_id = any (p_job) and j.serial
    having count(*) > 0;
    update foja.entity e set awake = null
    from foja.job j join foja.job_type t on t.type = j.type and t.level
    where j.job_id = any (p_job) and j.state in ('succeeded', 'dead', 'cancelled', 'queued') and e.entity_id = j.entity_id
        and e.awake is not null and (j.state <> 'queued' or j.run_at > clock_timestamp());
end $$;

-- What becomes of each job: `lost` if its token is not the one given, `already` if it was settled with
-- that token before, `again` if its stream grew since it was read; otherwise the outcome itself.
create function foja.judge_jobs(p_job bigint[], p_token uuid[], p_outcome text[], p_read bigint[]) returns text[]
language plpgsql as $$
declare
    verdicts text[];
    problem text;
begin
    select array_agg(case
            when j.job_id is null or j.lease_token is distinct from u.token then 'lost'
            when j.state <> 'running' then 'already'
            when u.outcome = 'done' and e.sealed <> u.read then 'again'
            when u.outcome = 'retry' and j.tries >= j.max_tries then 'give_up'
            else u.outcome end order by u.place),
        min(case when t.role <> foja.acting_role()
                then format('wrong_source: the role %s may not settle a %s', foja.acting_role(), t.type)
            when u.outcome not in ('done', 'retry', 'give_up', 'snooze') then 'bad_payload: there is no such outcome'
            when t.level and u.outcome = 'done' and u.read is null
                then format('bad_payload: %s has to say up to where it read', t.type) end)
    into verdicts, problem
    from unnest(p_job, p_token, p_outcome, p_read) with ordinality u(job_id, token, outcome, read, place)
    left join foja.job j on j.job_id = u.job_id
    left join foja.job_type t on t.type = j.type
    left join foja.entity e on u.read is not null and e.entity_id = j.entity_id;
    if problem is not null then
        perform foja.refuse_for(problem);
    end if;
    return verdicts;
end $$;

-- Write down how the jobs ended, or when they go on.
create function foja.close_jobs(p_job bigint[], p_verdict text[], p_error text[], p_delay double precision[]) returns void
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    update foja.job j
    set state = case u.verdict when 'done' then 'succeeded' when 'give_up' then 'dead' when 'retry' then 'retry_scheduled'
            else 'queued' end,
        finished_at = case when u.verdict in ('done', 'give_up') then moment end,
        run_at = case u.verdict
            when 'retry' then moment + coalesce(make_interval(secs => u.delay), foja.backoff(t, j.tries))
            when 'snooze' then moment + make_interval(secs => u.delay)
            when 'again' then moment else j.run_at end,
        tries = j.tries - (u.verdict in ('snooze', 'again'))::integer,
        last_error = case when u.verdict in ('retry', 'give_up') then left(u.error, 2000) else j.last_error end
    from unnest(p_job, p_verdict, p_error, p_delay) u(job_id, verdict, error, delay), foja.job_type t
    where j.job_id = u.job_id and t.type = j.type and u.verdict not in ('lost', 'already');
end $$;

-- An executor that appended on what it had read has seen everything, unless somebody else in this very
-- batch wrote to its stream too.
create function foja.look_again(p_job bigint[], p_verdict text[], p_read bigint[], p_of integer[]) returns void
language plpgsql as $$
declare
    place integer;
    own bigint[] := array_fill(0::bigint, array[cardinality(p_job)]);
begin
    foreach place in array coalesce(p_of, '{}') loop
        own[place] := own[place] + 1;
    end loop;
    update foja.job j set state = 'queued', finished_at = null, run_at = clock_timestamp(), tries = 0
    from unnest(p_job, p_verdict, p_read, own) u(job_id, verdict, read, own), foja.entity e, foja.job_type t
    where j.job_id = u.job_id and u.verdict = 'done' and t.type = j.type and t.level and e.entity_id = j.entity_id
        and e.sealed <> u.read + u.own;
end $$;

-- Settle a batch; returns a verdict for each job. Drafts and following jobs say by `of` whose they are:
-- the place of the job, from 1 on. Those of a job that is not ours any more are left out.
create function foja.settle_jobs_v1(
    p_job bigint[], p_token uuid[], p_outcome text[], p_error text[], p_delay double precision[], p_read bigint[],
    p_of integer[], p_drafts foja.draft[],
    p_next_of integer[], p_next_type text[], p_next_entity uuid[], p_next_key text[], p_next_payload text[],
    p_next_delay double precision[], p_next_priority integer[], p_next_words text[],
    p_source text, p_tenant text, p_careful boolean
) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    verdicts text[];
    special boolean;  -- does anything else follow than that these jobs are done?
    level boolean;
begin
    perform from foja.entity where entity_id = any (
        array(select j.entity_id from unnest(p_job) u(job_id) join foja.job j on j.job_id = u.job_id)
        || array(select d.entity_id from unnest(p_drafts) d) || p_next_entity)
    order by entity_id for no key update;
    perform from foja.job where job_id = any (p_job) order by job_id for no key update;
    verdicts := foja.judge_jobs(p_job, p_token, p_outcome, p_read);
    special := 'done' <> any (verdicts);
    if special then
        select array_agg(p_of[n] order by n), array_agg(p_drafts[n] order by n) into p_of, p_drafts
        from generate_subscripts(p_of, 1) n
        where verdicts[p_of[n]] in ('done', 'give_up') and verdicts[p_of[n]] = p_outcome[p_of[n]];
        select array_agg(u.type), array_agg(u.entity_id), array_agg(u.key), array_agg(u.payload),
            array_agg(u.delay), array_agg(u.priority), array_agg(u.words)
        into p_next_type, p_next_entity, p_next_key, p_next_payload, p_next_delay, p_next_priority, p_next_words
        from unnest(p_next_of, p_next_type, p_next_entity, p_next_key, p_next_payload, p_next_delay, p_next_priority,
            p_next_words) u(of, type, entity_id, key, payload, delay, priority, words)
        where verdicts[u.of] = 'done';
    end if;
    perform foja.close_jobs(p_job, verdicts, p_error, p_delay);  -- first: what follows finds them ended
    if p_drafts is not null then
        perform foja.append_drafts(p_drafts, p_source, p_tenant, true, p_careful);
    end if;
    if p_next_type is not null then
        perform foja.put_jobs(p_next_type, p_next_entity, null, p_tenant, p_next_key, p_next_payload, p_next_delay,
            p_next_priority, p_next_words);
    end if;
    if special then
        update foja.job j set silent = true  -- it said itself how it ended
        from unnest(p_job, verdicts) with ordinality u(job_id, verdict, place)
        where j.job_id = u.job_id and u.verdict = 'give_up' and u.place::integer = any (p_of);
        perform foja.say_last_words(u.job_id, p_source)
        from unnest(p_job, verdicts) with ordinality u(job_id, verdict, place)
        where u.verdict = 'give_up' and not (u.place::integer = any (coalesce(p_of, '{}')));
    end if;
    select bool_or(t.level), coalesce(special, false) or bool_or(t.level or t.serial) into level, special
    from foja.job j join foja.job_type t on t.type = j.type where j.job_id = any (p_job);
    if level then
        perform foja.look_again(p_job, verdicts, p_read, p_of);
    end if;
    if special then
        perform foja.after_jobs(array(select u.job_id from unnest(p_job, verdicts) u(job_id, verdict)
            where u.verdict not in ('lost', 'already')));
    end if;
    return verdicts;
end $$;

-- For workers that speak only SQL: one job at a time, its bytes made here.

create type foja.followers as (
    of integer[], type text[], entity_id uuid[], key text[], payload text[], delay double precision[], priority integer[],
    words text[]
);

-- Events as `settle_jobs_v1` takes them.
create function foja.drafts_of(p_events jsonb, j foja.job, p_source text) returns foja.draft[]
language sql volatile
begin atomic
    select array_agg(row(b.entity_id, b.domain, b.kind, b.v, coalesce(foja.event_id_for(b.entity_id, b.key), foja.new_id()),
        b.actor, b.payload, b.salt, foja.body_hash(b.salt, b.actor, b.payload, p_source, b.v), b.key, b.expected)::foja.draft)
    from (
        select e.entity_id, e.domain, g.kind, g.v, g.said ->> 'actor' as actor, foja.canonical(g.said -> 'payload') as payload,
            foja.new_salt() as salt, (g.said ->> 'expected_seq')::bigint as expected,
            coalesce(foja.forced_key(e.domain, g.kind, g.v, g.said -> 'payload'), g.said ->> 'idempotency_key') as key
        from (
            select said, said ->> 'kind' as kind, coalesce((said ->> 'v')::integer, 1) as v, place
            from jsonb_array_elements(p_events) with ordinality u(said, place)
        ) g join foja.entity e on e.entity_id = coalesce((g.said ->> 'entity_id')::uuid, (j).entity_id)
        order by g.place offset 0
    ) b;
end;

-- Following jobs as `settle_jobs_v1` takes them.
create function foja.followers_of(p_jobs jsonb, j foja.job) returns foja.followers
language sql stable
begin atomic
    select array_agg(1), array_agg(n ->> 'type'), array_agg(coalesce((n ->> 'entity_id')::uuid, (j).entity_id)),
        array_agg(n ->> 'dedupe_key'), array_agg((n -> 'payload')::text), array_agg((n ->> 'delay')::double precision),
        array_agg((n ->> 'priority')::integer), array_agg((n -> 'last_words')::text)
    from (select n from jsonb_array_elements(p_jobs) with ordinality u(n, place) order by place) u;
end;

create function foja.settle_one(p_job bigint, p_token uuid, p_outcome text, p_error text, p_delay double precision)
returns text
language plpgsql as $$
declare
    j foja.job;
    rule foja.job_type;
begin
    select * into j from foja.job x where x.job_id = p_job;
    select * into rule from foja.job_type t where t.type = j.type;
    perform foja.check_worker(rule, coalesce(j.type, 'unknown'));
    return (foja.settle_jobs_v1(array[p_job], array[p_token], array[p_outcome], array[p_error], array[p_delay], null,
        null, null, null, null, null, null, null, null, null, null, rule.source, j.tenant, false))[1];
end $$;

-- The work is done. `events` are facts for the job's stream, or for the `entity_id` they name:
-- [{kind, payload, v?, actor?, idempotency_key?, expected_seq?, entity_id?}]. `jobs` follow from it:
-- [{type, dedupe_key, entity_id?, payload?, delay?, priority?, last_words?}], `delay` in seconds.
-- Returns what became of it: done, again, already or lost.
create function foja.complete_job_v1(
    job_id bigint, token uuid, events jsonb default '[]', jobs jsonb default '[]', read bigint default null
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    j foja.job;
    rule foja.job_type;
    drafts foja.draft[];
    n foja.followers;
    careful boolean := false;
begin
    select * into j from foja.job x where x.job_id = complete_job_v1.job_id;
    select * into rule from foja.job_type t where t.type = j.type;
    perform foja.check_worker(rule, coalesce(j.type, 'unknown'));
    drafts := foja.drafts_of(events, j, rule.source);
    if coalesce(cardinality(drafts), 0) < jsonb_array_length(events) then
        perform foja.refuse('unknown_entity', 'an event is for a stream that is not there');
    end if;
    n := foja.followers_of(jobs, j);
    loop
        begin
            return (foja.settle_jobs_v1(array[j.job_id], array[token], '{done}', null, null, array[read],
                array_fill(1, array[coalesce(cardinality(drafts), 0)]), drafts,
                n.of, n.type, n.entity_id, n.key, n.payload, n.delay, n.priority, n.words,
                rule.source, j.tenant, careful))[1];
        exception when unique_violation then
            if careful then
                raise;
            end if;
            careful := true;  -- recorded before: look it up
        end;
    end loop;
end $$;

-- The work failed. `permanent`: trying again cannot help.
create function foja.fail_job_v1(job_id bigint, token uuid, error text, permanent boolean default false) returns text
language sql security definer set search_path = pg_catalog, pg_temp
return foja.settle_one(job_id, token, case when permanent then 'give_up' else 'retry' end, error, null);

-- There is nothing to do before so many seconds have passed; this was no try.
create function foja.snooze_job_v1(job_id bigint, token uuid, seconds double precision) returns text
language sql security definer set search_path = pg_catalog, pg_temp
return foja.settle_one(job_id, token, 'snooze', null, seconds);

-- For operators and the sweeper. Streams first, then jobs, as everywhere.

-- Lock the streams of these jobs, then the jobs.
create function foja.lock_jobs(p_job bigint[]) returns void
language plpgsql as $$
begin
    perform from foja.entity where entity_id = any (array(select j.entity_id from foja.job j where j.job_id = any (p_job)))
    order by entity_id for no key update;
    perform from foja.job where job_id = any (p_job) order by job_id for no key update;
end $$;

-- Cancel jobs that are locked, or whose stream is; whoever works on one has no token any more.
create function foja.drop_jobs(p_job bigint[], p_reason text) returns bigint
language plpgsql as $$
declare
    dropped bigint[];
begin
    with gone as (
        update foja.job j set state = 'cancelled', finished_at = clock_timestamp(), lease_token = null, last_error = p_reason
        where j.job_id = any (p_job) and j.state in ('queued', 'running', 'retry_scheduled')
        returning j.job_id
    )
    select array_agg(g.job_id) into dropped from gone g;
    if dropped is not null then
        perform foja.after_jobs(dropped);
    end if;
    return coalesce(cardinality(dropped), 0);
end $$;

-- Cancel by key, for a domain that holds the lock of the stream they belong to; returns how many.
create function foja.cancel_keys(p_key text[], p_reason text) returns bigint
language plpgsql as $$
declare
    ids bigint[];
begin
    select array_agg(j.job_id order by j.job_id) into ids
    from (select * from foja.job x where x.dedupe_key = any (p_key) order by x.job_id for no key update) j;
    update foja.job j set silent = true where j.job_id = any (ids) and j.last_words is not null;  -- the domain ended it
    return coalesce(foja.drop_jobs(ids, p_reason), 0);
end $$;

-- A dead one is only put away: nobody has to look at it any more. What the others would have said at
-- their death is left to the sweeper, so that nothing waits for them.
create function foja.cancel_jobs_v1(p_job bigint[], p_reason text default 'cancelled by an operator') returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    put_away bigint;
begin
    perform foja.lock_jobs(p_job);
    update foja.job j set state = 'cancelled', silent = true where j.job_id = any (p_job) and j.state = 'dead';
    get diagnostics put_away = row_count;
    return put_away + foja.drop_jobs(p_job, p_reason);
end $$;

-- Dead jobs are queued anew with fresh tries, also an executor however it ended; those that wait for
-- their time come at once. Returns how many. What has said its last words is over: its attempt has ended.
create function foja.retry_jobs_v1(p_job bigint[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    again bigint;
    spent bigint;
begin
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

-- Nothing of this type is claimed from now on; what runs goes on.
create function foja.pause_jobs_v1(p_type text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.job_type set paused = true where type = p_type;
    return found;
end $$;

create function foja.resume_jobs_v1(p_type text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.job_type set paused = false where type = p_type;
    return found;
end $$;

-- Close one job that killed its last worker; false if somebody was faster.
create function foja.bury_job(p_job bigint) returns boolean
language plpgsql as $$
begin
    perform foja.lock_jobs(array[p_job]);
    update foja.job j set state = 'dead', finished_at = clock_timestamp(), lease_token = null,
        last_error = format('its worker %s did not come back from try %s', j.worker, j.tries)
    where j.job_id = p_job and j.state = 'running' and j.alone and j.tries >= j.max_tries and j.lease_until < clock_timestamp();
    if not found then
        return false;
    end if;
    perform foja.say_last_words(p_job, 'sweeper');
    perform foja.after_jobs(array[p_job]);
    return true;
end $$;

-- Wake the executors of streams that wait for one and that none is going to look at; returns how many. No such
-- stream should be: it was lost in a race nobody thought of, or by an administrator's hand. Two megabytes of
-- the streams at a time, others every second, and of them what is at rest: to find them by index would cost
-- every append, to look at what is busy would cost every rush.
create function foja.wake_sleepers() returns bigint
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
        left join foja.job j on j.dedupe_key = d.executor || ':' || e.entity_id
        where e.ctid >= format('(%s,0)', page)::tid and e.ctid < format('(%s,0)', page + part)::tid
            and e.awake is not null and e.last_at < clock_timestamp() - interval '5 seconds' and d.executor is not null
            and coalesce(j.state, 'missing') not in ('queued', 'running', 'retry_scheduled')
            and e.entity_id not in (select unnest(w.entity_id) from foja.woken w)
    ) s;
    if sleepers is not null then
        perform foja.wake(sleepers);
    end if;
    return coalesce(cardinality(sleepers), 0);
end $$;

-- Close what nobody came back from and has no tries left, and say what cancelled jobs left unsaid;
-- returns how many. Stream by stream, in order. Executors that nobody claims are queued here, to be seen.
create function foja.sweep_jobs_v1(p_most integer) returns bigint
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
            limit p_most)
            union all
            (select j.job_id, true, j.entity_id from foja.job j
            where j.state = 'cancelled' and j.last_words is not null and not j.silent limit p_most)
        ) found (job_id, cancelled, entity_id) order by found.entity_id, found.job_id
    loop
        if cancelled then
            perform foja.lock_jobs(array[job]);
            perform foja.say_last_words(job, 'sweeper');
            update foja.job j set silent = true where j.job_id = job;  -- also if the stream would not have them
        end if;
        buried := buried + (cancelled or foja.bury_job(job))::integer;
    end loop;
    perform foja.queue_woken_v1();  -- last: it locks jobs, and waits for nobody
    return buried + foja.wake_sleepers();
end $$;

-- Queue the jobs of ticks that are due, once per slot; slots that nobody saw are not made up for.
create function foja.run_ticks_v1() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    t foja.tick;
    slot timestamptz;
    queued bigint := 0;
begin
    perform foja.check_source('sweeper');
    for t in select * from foja.tick where due <= clock_timestamp() order by name for update skip locked loop
        slot := date_bin(t.every, clock_timestamp(), timestamptz '2000-01-01 00:00:00Z');
        queued := queued + foja.put_jobs(array[t.type], array[i.installation_id], null, t.tenant,
            array[t.name || ':' || extract(epoch from slot)::bigint], array[t.payload::text], null, null, null)
        from foja.installation i;
        update foja.tick set due = slot + t.every where name = t.name;
    end loop;
    return coalesce(queued, 0);
end $$;

-- Who may do what with jobs. `foja_worker` is what every worker's own role is a member of.

do $$
begin
    create role foja_worker nologin;
exception when duplicate_object or unique_violation then
    null;  -- roles belong to the whole server; another database made it
end $$;

revoke execute on function
    foja.promote, foja.is_last_word, foja.check_last_words, foja.check_asker, foja.check_known, foja.put_jobs, foja.enqueue_jobs_v1, foja.enqueue_job_v1, foja.wake, foja.queue_woken_v1, foja.wake_domain, foja.check_worker, foja.claim_jobs_v1,
    foja.heartbeat_jobs_v1, foja.backoff, foja.say_last_words, foja.after_jobs, foja.judge_jobs, foja.close_jobs,
    foja.look_again, foja.settle_jobs_v1, foja.drafts_of, foja.followers_of, foja.settle_one, foja.complete_job_v1,
    foja.fail_job_v1, foja.snooze_job_v1, foja.lock_jobs, foja.drop_jobs, foja.cancel_keys, foja.cancel_jobs_v1,
    foja.retry_jobs_v1, foja.pause_jobs_v1, foja.resume_jobs_v1, foja.bury_job, foja.wake_sleepers, foja.sweep_jobs_v1, foja.run_ticks_v1
    from public;

grant usage on schema foja to foja_worker;
grant select on all tables in schema foja to foja_worker;
grant select on foja.job, foja.job_type, foja.tick to service_role, foja_api, foja_sweeper;
grant execute on function foja.append, foja.replay, foja.append_drafts, foja.append_event, foja.claim_lanes to foja_worker;
grant execute on function foja.recognise, foja.next_seq to foja_worker;
grant execute on function
    foja.claim_jobs_v1, foja.heartbeat_jobs_v1, foja.settle_jobs_v1, foja.complete_job_v1, foja.fail_job_v1, foja.snooze_job_v1
    to foja_worker;
grant execute on function foja.enqueue_jobs_v1, foja.enqueue_job_v1 to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.cancel_jobs_v1, foja.retry_jobs_v1, foja.pause_jobs_v1, foja.resume_jobs_v1
    to service_role, foja_api;
grant execute on function foja.queue_woken_v1 to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.sweep_jobs_v1, foja.run_ticks_v1 to foja_sweeper;

create policy worker_reads on foja.entity for select to foja_worker using (true);
create policy worker_reads on foja.event for select to foja_worker using (true);
create policy worker_reads on foja.slot for select to foja_worker using (true);
create policy worker_reads on foja.checkpoint for select to foja_worker using (true);
