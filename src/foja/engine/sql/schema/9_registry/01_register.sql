-- Registering a domain: its kinds, sources and job types, for the domains of Foja and of users alike. All of it or
-- nothing: a registration is one transaction, and one at a time.

-- Raise if one of the conditions does not hold; `problem` says what is wrong with what.
create function foja.require(condition boolean, code text, problem text) returns void
language plpgsql immutable as $$
begin
    if condition is not true then
        perform foja.refuse(code, problem);
    end if;
end $$;

-- The sources that a definition names, apart from those that belong to every domain.
create function foja.sources_of(definition jsonb) returns setof text
language sql immutable
begin atomic
    select distinct s from (
        select jsonb_array_elements_text(k -> 'sources') from jsonb_array_elements(definition -> 'kinds') k
        union all select j ->> 'source' from jsonb_array_elements(definition -> 'jobs') j
    ) u(s) where s not in ('api', 'sweeper');
end;

create function foja.check_name(what text, name text, pattern text) returns void
language sql immutable
return foja.require(name ~ pattern, 'bad_domain', format('%s %s is not a valid name: expected %s', what,
    coalesce(quote_literal(name), 'null'), pattern));

-- Names that are free, or belong to this domain already.
create function foja.check_names(definition jsonb, own boolean) returns void
language plpgsql stable as $$
declare
    name text := definition ->> 'domain';
    taken record;
begin
    perform foja.check_name('the domain', name, '^[a-z][a-z0-9_]{0,50}$');
    perform foja.require(own or name not in ('document', 'conversation', 'thread', 'image', 'request', 'system'), 'reserved_name',
        format('the domain name %s is reserved', name));
    perform foja.check_name('the kind', k ->> 'kind', '^[a-z][a-z0-9_-]*([.][a-z0-9_-]+)*$'),
        foja.require(length(k ->> 'kind') <= 255, 'bad_domain', 'the name of a kind has 1 to 255 characters'),
        foja.require(k ->> 'kind' not in ('slot.voided', 'body.erased', 'slot.open', 'reset', 'thinking_chunk',
            'message_chunk', 'complete', 'error', 'session_start', 'session_end'), 'reserved_name',
            format('the kind %s is written or shown by the ledger itself', k ->> 'kind'))
    from jsonb_array_elements(definition -> 'kinds') k;
    perform foja.check_name('the source', s, '^[a-z][a-z0-9-]{0,50}$'),
        foja.require(s not in ('api', 'operator', 'reader', 'sweeper', 'worker'), 'reserved_name', format('the source %s is reserved', s))
    from (select foja.sources_of(definition) union select j ->> 'source' from jsonb_array_elements(definition -> 'jobs') j) u(s);
    perform foja.check_name('the job type', j ->> 'type', '^[a-z][a-z0-9_]{0,50}$') from jsonb_array_elements(definition -> 'jobs') j;
    select * into taken from (
        select 'kind' as what, k.kind as name, k.domain from foja.kind k where not k.reserved
        union all select 'source', s.source, s.domain from foja.source s
        union all select 'job type', t.type, t.domain from foja.job_type t
    ) known
    where known.domain <> definition ->> 'domain' and (known.what, known.name) in (
        select 'kind', k ->> 'kind' from jsonb_array_elements(definition -> 'kinds') k
        union all select 'source', foja.sources_of(definition)
        union all select 'job type', j ->> 'type' from jsonb_array_elements(definition -> 'jobs') j) limit 1;
    perform foja.require(taken.domain is null, 'name_taken',
        format('the %s %s belongs to the domain %s', taken.what, taken.name, taken.domain));
end $$;

-- Kinds with sources and fields of known types, job types with a positive lease.
create function foja.check_contents(definition jsonb, own boolean) returns void
language plpgsql immutable as $$
begin
    perform foja.require(jsonb_array_length(definition -> 'kinds') > 0, 'bad_domain', 'a domain needs at least one kind');
    perform foja.require((k ->> 'v')::integer > 0 and jsonb_array_length(k -> 'sources') > 0, 'bad_domain',
            format('the kind %s needs a version from 1 on and at least one source', k ->> 'kind')),
        foja.require(own or not (k -> 'tracked')::boolean, 'bad_domain', 'only domains of Foja have guards')
    from jsonb_array_elements(definition -> 'kinds') k;
    perform foja.require(t in ('any', 'null', 'boolean', 'number', 'string', 'array', 'object'), 'bad_domain',
        format('the field %s of %s has the unknown type %s', f.key, k ->> 'kind', t))
    from jsonb_array_elements(definition -> 'kinds') k cross join jsonb_each(k -> 'required') f
    cross join jsonb_array_elements_text(f.value) t;
    perform foja.require((j ->> 'lease')::double precision between 0.001 and 315576000
            and (j ->> 'backoff')::double precision between 0 and 315576000
            and (j ->> 'backoff_most')::double precision between 0 and 315576000 and (j ->> 'max_tries')::integer > 0
            and not ((j -> 'serial')::boolean and (j -> 'level')::boolean), 'bad_domain',
        format('the job type %s needs tries and a lease above 0, times up to ten years, and is not serial and level', j ->> 'type'))
    from jsonb_array_elements(definition -> 'jobs') j;
    perform foja.require(definition ->> 'executor' is null or exists (select from jsonb_array_elements(definition -> 'jobs') j
        where j ->> 'type' = definition ->> 'executor' and (j -> 'level')::boolean), 'bad_domain',
        'the executor is a job type of the domain, one job per stream');
end $$;

-- The role of a source: made here, or one without any other right. Roles belong to the whole server, so another
-- database may have made it.
create function foja.ensure_role(source text) returns void
language plpgsql as $$
declare
    name text := 'foja_' || replace(source, '-', '_');
    fit boolean;
begin
    begin
        execute format('create role %I nologin', name);
    exception when duplicate_object or unique_violation then
        null;
    end;
    if not pg_has_role(name, 'foja_worker', 'member') then
        begin
            execute format('grant foja_worker to %I', name);
        exception when unique_violation then
            null;  -- granted at the same moment, for another database
        end;
    end if;
    select not (r.rolcanlogin or r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls)
        and not exists (select from pg_auth_members m where m.member = r.oid and m.roleid <> 'foja_worker'::regrole)
    into fit from pg_roles r where r.rolname = name;
    perform foja.require(fit, 'role_unfit', format(
        'the role %s exists and can do more than a worker: it must be NOLOGIN and a member of foja_worker alone', name));
end $$;

-- Let the login act as every role of Foja: a superuser can, another administrator needs a grant. Returns the roles
-- that it may not grant itself.
create function foja.adopt_roles() returns text[]
language plpgsql as $$
declare
    name text;
    kind text := case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end;
    refused text[] := '{}';
begin
    for name in
        select r.rolname from pg_roles r where r.rolname in ('foja_api', 'foja_sweeper')
            or r.rolname in (select s.role from foja.source s union select t.role from foja.job_type t) order by 1
    loop
        if not pg_has_role(current_user, name, kind) then
            begin
                execute format('grant %I to %I', name, current_user);
            exception when insufficient_privilege then
                refused := refused || name;
            end;
        end if;
    end loop;
    return refused;
end $$;

-- Insert a kind, or refuse it if it is registered in another form. Whether it wakes the executor may change, by a
-- definition that has one. A version that was retired stays retired, whatever an older definition says.
create function foja.register_kind(p_domain text, k jsonb, p_reserved boolean, p_decides boolean) returns void
language plpgsql as $$
declare
    known foja.kind;
    keyed text[] := (select array_agg(w order by place) from jsonb_array_elements_text(nullif(k -> 'keyed_by', 'null'))
        with ordinality u(w, place));
    sources text[] := array(select s from jsonb_array_elements_text(k -> 'sources') s order by s);
    is_retired boolean := coalesce((k -> 'retired')::boolean, false);
begin
    select * into known from foja.kind x where x.domain = p_domain and x.kind = k ->> 'kind' and x.v = (k ->> 'v')::integer;
    if found then
        perform foja.require(
            (array(select s from unnest(known.sources) s order by s), known.required, known.erasable, known.reserved,
                known.client_checks) = (sources, k -> 'required', (k -> 'erasable')::boolean, p_reserved, k -> 'client_checks')
            and known.keyed_by is not distinct from keyed, 'kind_changed',
            format('%s v%s is registered with other fields or sources; register the change as v%s', known.kind, known.v, known.v + 1));
        known.wakes := case when p_decides then (k -> 'wakes')::boolean else known.wakes end;
        update foja.kind x set wakes = known.wakes, tracked = (k -> 'tracked')::boolean, retired = known.retired or is_retired
        where x.domain = p_domain and x.kind = known.kind and x.v = known.v
            and (x.wakes, x.tracked, x.retired) <> (known.wakes, (k -> 'tracked')::boolean, known.retired or is_retired);
        return;
    end if;
    insert into foja.kind (domain, kind, v, sources, required, erasable, wakes, tracked, reserved, retired, keyed_by, client_checks)
    values (p_domain, k ->> 'kind', (k ->> 'v')::integer, sources, k -> 'required', (k -> 'erasable')::boolean,
        (k -> 'wakes')::boolean, (k -> 'tracked')::boolean, p_reserved, is_retired, keyed, k -> 'client_checks');
end $$;

create function foja.register_job_type(p_domain text, j jsonb) returns void
language plpgsql as $$
declare
    known foja.job_type;
begin
    select * into known from foja.job_type t where t.type = j ->> 'type';
    perform foja.require(known.type is null or (known.source, known.serial, known.level)
            = (j ->> 'source', (j -> 'serial')::boolean, (j -> 'level')::boolean), 'job_type_changed',
        format('the job type %s is registered with another source or order; give the new one another name', known.type));
    insert into foja.job_type as t (type, domain, source, lease, max_tries, backoff, backoff_most, serial, level,
        asked_by)
    values (j ->> 'type', p_domain, j ->> 'source', make_interval(secs => (j ->> 'lease')::double precision),
        (j ->> 'max_tries')::integer, make_interval(secs => (j ->> 'backoff')::double precision),
        make_interval(secs => (j ->> 'backoff_most')::double precision), (j -> 'serial')::boolean, (j -> 'level')::boolean,
        j ->> 'asked_by')
    on conflict (type) do update set lease = excluded.lease, max_tries = excluded.max_tries, backoff = excluded.backoff,
        backoff_most = excluded.backoff_most, asked_by = excluded.asked_by
    where (t.lease, t.max_tries, t.backoff, t.backoff_most, t.asked_by)
        is distinct from (excluded.lease, excluded.max_tries, excluded.backoff, excluded.backoff_most, excluded.asked_by);
end $$;

-- Objects with the values that they leave out.
create function foja.each_with(defaults jsonb, objects jsonb) returns jsonb
language sql immutable
return (select coalesce(jsonb_agg(defaults || each order by place), '[]')
    from jsonb_array_elements(objects) with ordinality u(each, place));

-- A definition with the values that it leaves out: those of `Domain`, `Kind` and `JobType` in Python.
create function foja.complete_definition(definition jsonb) returns jsonb
language plpgsql immutable as $$
declare
    kind constant jsonb := jsonb_build_object('v', 1, 'sources', '["api"]'::jsonb, 'required', '{}'::jsonb, 'erasable', false,
        'wakes', definition ->> 'executor' is not null, 'tracked', false, 'keyed_by', null,
        'client_checks', '{"optional": {}, "choices": {}, "digests": []}'::jsonb);
begin
    definition := '{"head_only": false, "executor": null, "kinds": [], "jobs": [], "reserved_kinds": [
        {"kind": "slot.voided", "sources": ["api", "sweeper"], "required": {"reason": ["string"]}},
        {"kind": "body.erased", "required": {"reason": ["string"], "seq": ["number"]}}]}' || definition;
    perform foja.require(jsonb_typeof(definition) = 'object' and jsonb_typeof(definition -> 'head_only') = 'boolean'
        and jsonb_typeof(definition -> 'kinds') = 'array' and jsonb_typeof(definition -> 'reserved_kinds') = 'array'
        and jsonb_typeof(definition -> 'jobs') = 'array', 'bad_domain',
        'a definition is an object with the lists `kinds` and `jobs`; `head_only` is true or false');
    return definition || jsonb_build_object('kinds', foja.each_with(kind, definition -> 'kinds'),
        'reserved_kinds', foja.each_with(kind, definition -> 'reserved_kinds'),
        'jobs', foja.each_with('{"lease": 30, "max_tries": 5, "backoff": 2, "backoff_most": 3600, "serial": false,
            "level": false, "asked_by": null}', definition -> 'jobs'));
end $$;

-- Register a domain, or what it has that is new. `own`: it is one of Foja's; its row is made by the schema.
create function foja.register_domain(definition jsonb, own boolean default false) returns void
language plpgsql as $$
declare
    name text := definition ->> 'domain';
    old foja.domain;
begin
    definition := foja.complete_definition(definition);
    lock table foja.domain in share row exclusive mode;  -- not an advisory lock: any login can hold those
    perform foja.check_names(definition, own);
    perform foja.check_contents(definition, own);
    select * into old from foja.domain d where d.domain = name;
    perform foja.require(case when own then old.reserved else not coalesce(old.reserved, false) end, 'reserved_name',
        format('%s is not a domain of this schema', name));
    perform foja.require(old.domain is null or old.head_only = (definition -> 'head_only')::boolean
        and coalesce(old.executor = definition ->> 'executor', true), 'domain_changed',
        format('the domain %s is registered with another order of writing or another executor', name));
    insert into foja.domain (domain, head_only) values (name, (definition -> 'head_only')::boolean) on conflict do nothing;
    perform foja.ensure_role(s) from foja.sources_of(definition) s;
    insert into foja.source (source, domain) select s, name from foja.sources_of(definition) s on conflict do nothing;
    perform foja.register_kind(name, k, false, definition ->> 'executor' is not null)
    from jsonb_array_elements(definition -> 'kinds') k;
    perform foja.register_kind(name, k, true, definition ->> 'executor' is not null)
    from jsonb_array_elements(definition -> 'reserved_kinds') k;
    perform foja.register_job_type(name, j) from jsonb_array_elements(definition -> 'jobs') j;
    if definition ->> 'executor' is not null and old.executor is null then
        update foja.domain d set executor = definition ->> 'executor' where d.domain = name;
        perform foja.wake_domain(name);
    end if;
end $$;
select foja.restrict_functions();
