-- The truth. One row per event; nothing here is ever rewritten, except the
-- counters in `entity` and the small working tables beside it.

create schema if not exists foja;

-- No checks on the columns that every append writes: PostgreSQL would prepare them anew each time.
-- Only our functions write there, and they look.
create domain foja.lane as text check (value in ('postgres', 'redis'));
create domain foja.slot_state as text check (value in ('open', 'filled', 'voided'));

-- One incarnation of this history. `epoch` is in every cursor: it is renewed when
-- the database turns out to be another one than last time.
create table foja.installation (
    only_one boolean primary key default true check (only_one),
    installation_id uuid not null default gen_random_uuid(),
    epoch text not null default encode(substring(uuid_send(gen_random_uuid()) for 6), 'hex'),
    system_identifier bigint not null,
    timeline integer not null
);

create table foja.domain (
    domain text primary key,
    executor text,                            -- the job type that decides for its streams, if any
    head_only boolean not null default false  -- written at the head alone: no reserved numbers, no lane in Redis
);

-- A predicate that is true of bodies with these keys, each of one of its types.
create function foja.shape_of(required jsonb) returns jsonpath
language sql immutable parallel safe
return (select 'strict $.type() == "object"' || coalesce(string_agg(' && (' || types.words || ')', ''), '')
    from jsonb_each(required) need cross join lateral (
        select string_agg(case each when 'any' then format('exists ($.%s)', to_json(need.key))
            else format('$.%s.type() == %s', to_json(need.key), to_json(each)) end, ' || ')
        from jsonb_array_elements_text(need.value) each
    ) types(words))::jsonpath;

-- The closed registry: what may be said, in which version, by whom. `required` maps each
-- required key to the JSON types it may have; `sole_field` is the key where there is just one.
create table foja.kind (
    domain text not null references foja.domain,
    kind text not null,
    v integer not null check (v > 0),
    sources text[] not null,
    required jsonb not null,
    erasable boolean not null default false,
    wakes boolean not null default false,     -- does the domain's executor want to know?
    tracked boolean not null default false,   -- is anything kept beside its events? then it is kept with them
    reserved boolean not null default false,  -- written by the ledger itself, never by a caller
    keyed_by text[],                          -- a word and a field: the idempotency key is always `word:field`
    shape jsonpath generated always as (foja.shape_of(required)) stored,
    sole_field text generated always as (substring(required::text from '^\{"(\w+)": [^:]*\}$')) stored,
    sole_string boolean generated always as (required::text ~ '^\{"\w+": [^:]*"string"[^:]*\}$') stored,
    primary key (domain, kind, v)
);

create table foja.entity (
    entity_id uuid primary key,
    domain text not null references foja.domain,
    tenant text not null,
    lane foja.lane not null default 'postgres',
    fence uuid,
    run_id text,
    moved_at timestamptz,                     -- when the lane last moved; null: never
    next_seq bigint not null default 0,  -- the next number to hand out
    sealed bigint not null default 0,    -- every seq below it is filled and chained
    head bytea not null,                -- chain hash at sealed - 1
    last_at timestamptz not null default '-infinity',
    awake bigint                              -- the number that woke the executor; null: it has seen everything
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- For lists; it costs an append nothing, since none of its columns ever changes.
create index entity_names on foja.entity (tenant, domain, entity_id);

-- No foreign key to `entity`: only the functions below insert here, under its lock.
create table foja.event (
    entity_id uuid not null,
    seq bigint not null,
    event_id uuid not null,
    kind text not null,
    v integer not null,
    at timestamptz not null,
    actor text,
    source text not null,
    payload json,                        -- json, not jsonb: it keeps the canonical bytes
    salt bytea,
    body_hash bytea not null,
    idempotency_key text,
    tenant text not null,
    primary key (entity_id, seq),
    unique (entity_id, event_id)
);

create table foja.slot (
    entity_id uuid not null,
    seq bigint not null,
    token uuid not null,
    deadline timestamptz not null,
    intent json,
    state foja.slot_state not null default 'open',
    tenant text not null,
    primary key (entity_id, seq)
);

create index slot_deadlines on foja.slot (deadline) where state = 'open';

-- Events recorded above a hole, for the sequencer to seal once the hole is gone.
create table foja.unsealed (
    entity_id uuid not null,
    seq bigint not null,
    primary key (entity_id, seq)
);

-- The outbox: sealed events that have no place in the log yet, a row for all of one append.
-- `id` is drawn under the locks of its streams, so its order agrees with every stream's own.
create table foja.pending (
    id bigint generated always as identity primary key,
    entity_id uuid[] not null,
    seq bigint[] not null,
    chain_hash bytea[] not null
) with (autovacuum_vacuum_scale_factor = 0.05);

-- Streams whose executor has something to look at, a row for all of one append. Whoever claims its jobs
-- queues it: an append has more to do than to keep a queue in order.
create table foja.woken (
    id bigint generated always as identity primary key,
    entity_id uuid[] not null,
    at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.05);

-- RFC 8785 for callers that speak only SQL. A vector file proves it equal to
-- `foja.core.canonical`; what has no canonical form is refused here as there.

-- Text whose C order is the UTF-16 order of `key`: U+E000..U+FFFF sort last.
create function foja.utf16_order(key text) returns text
language sql immutable strict parallel safe
return regexp_replace(
    replace(key, U&'\+10FFFF', U&'\+10FFFF\0001'), U&'([\E000-\FFFF])', U&'\+10FFFF\0002\\1', 'g');

-- The fewest digits that read back as this number. PostgreSQL's own output misses a shorter
-- one where it lies exactly between two numbers, as 1e23 does.
create function foja.shortest(number double precision) returns numeric
language plpgsql immutable strict parallel safe
set extra_float_digits = 1 as $$
declare
    printed numeric := number::text::numeric;
    scale integer := 16 - floor(log(printed))::integer;
    shorter numeric;
begin
    for digits in 1 .. 16 loop
        shorter := round(printed, scale - 17 + digits);
        continue when shorter > 1.7976931348623157e308;  -- rounded up, out of range
        if shorter::double precision = number then
            return shorter;
        end if;
    end loop;
    return printed;
end $$;

-- A number as ECMAScript prints it.
create function foja.canonical_float(number double precision) returns text
language plpgsql immutable strict parallel safe as $$
declare
    part text[] := regexp_match(foja.shortest(abs(number))::text, '^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
    sign text := case when number < 0 then '-' else '' end;
    digits text := ltrim(part[1] || coalesce(part[2], ''), '0');
    point integer := length(part[1]) + coalesce(part[3], '0')::integer
        - (length(part[1] || coalesce(part[2], '')) - length(digits));
begin
    digits := rtrim(digits, '0');
    if length(digits) <= point and point <= 21 then
        return sign || rpad(digits, point, '0');
    elsif 0 < point and point <= 21 then
        return sign || left(digits, point) || '.' || substr(digits, point + 1);
    elsif -6 < point and point <= 0 then
        return sign || '0.' || repeat('0', -point) || digits;
    end if;
    return sign || left(digits, 1) || case when length(digits) > 1 then '.' else '' end || substr(digits, 2)
        || 'e' || case when point > 0 then '+' else '-' end || abs(point - 1);
end $$;

-- Between 2^53 and 10^21 a number prints as an integer that few readers keep exactly.
create function foja.canonical_number(value jsonb) returns text
language plpgsql immutable strict parallel safe as $$
declare
    number numeric := value::numeric;
begin
    if number = trunc(number) and abs(number) <= 9007199254740991 then
        return trunc(number)::text;
    elsif abs(number) > 9007199254740991 and abs(number) < 1e21 then
        perform foja.refuse('not_canonical', format('the number %s is not kept exactly by JSON readers', number));
    end if;
    return case when number::double precision = 0 then '0'
        else foja.canonical_float(number::double precision) end;
end $$;

create function foja.canonical(value jsonb, depth integer default 1) returns text
language plpgsql immutable strict parallel safe as $$
declare
    type text := jsonb_typeof(value);
    items text[];
begin
    if type in ('object', 'array') and depth > 64 then
        perform foja.refuse('not_canonical', 'nested over 64 levels deep');
    end if;
    if type = 'object' then
        return (
            select '{' || coalesce(string_agg(
                to_json(member.key)::text || ':' || case jsonb_typeof(member.value)
                    when 'object' then foja.canonical(member.value, depth + 1)
                    when 'array' then foja.canonical(member.value, depth + 1)
                    when 'number' then foja.canonical_number(member.value)
                    else member.value::text end,
                ',' order by case when octet_length(member.key) = length(member.key) then member.key
                    else foja.utf16_order(member.key) end collate "C"), '') || '}'
            from jsonb_each(value) member);
    elsif type = 'array' then
        for place in 0 .. jsonb_array_length(value) - 1 loop
            items := items || foja.canonical(value -> place, depth + 1);
        end loop;
        return '[' || coalesce(array_to_string(items, ','), '') || ']';
    elsif type = 'number' then
        return foja.canonical_number(value);
    end if;
    return value::text;
end $$;

-- What an event says, and whether it may be said.

-- Raise one of our errors; `code` is the message, for people and programs the detail.
create function foja.refuse(code text, detail text) returns void
language plpgsql immutable as $$
begin
    raise exception using errcode = 'FJ001', message = code, detail = detail;
end $$;

-- The number has to come from Redis, or the stream has to be claimed first.
create function foja.refuse_lane(entity_id uuid) returns void
language plpgsql immutable as $$
begin
    raise exception using errcode = 'FJ003', message = 'on_redis', detail = format('%s is numbered by Redis', entity_id);
end $$;

-- Stable, not immutable, so that the planner can inline it: `to_json` is stable.
create function foja.body_hash(salt bytea, actor text, payload text, source text, v integer) returns bytea
language sql stable parallel safe
return sha256('\x03'::bytea || salt || convert_to(
    '{"actor":' || coalesce(to_json(actor)::text, 'null') || ',"payload":' || payload
    || ',"source":' || to_json(source)::text || ',"v":' || v || '}', 'UTF8'));

create function foja.genesis(domain text, entity_id uuid) returns bytea
language sql immutable strict parallel safe
return sha256('\x020000000d'::bytea || convert_to('foja/chain/v1', 'UTF8')
    || int4send(octet_length(domain)) || convert_to(domain, 'UTF8')
    || '\x00000010'::bytea || uuid_send(entity_id));

-- Stable for the same reason. `array_send` writes the length before each field, as lp() does,
-- after twenty bytes of its own: one call, where concatenating them takes a dozen.
create function foja.chain_step(
    previous bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language sql stable parallel safe
return sha256('\x02'::bytea || substring(array_send(array[
    previous, uuid_send(entity_id), int8send(seq), uuid_send(event_id), convert_to(kind, 'UTF8'),
    int8send((extract(epoch from at at time zone 'UTC') * 1000000)::bigint), body_hash]) from 21));

-- The chain as a running aggregate: `head` is where the first row starts from.
create function foja.chain_on(
    state bytea, head bytea, entity_id uuid, seq bigint, event_id uuid, kind text, at timestamptz, body_hash bytea
) returns bytea
language plpgsql stable parallel safe as $$
begin
    return foja.chain_step(coalesce(state, head), entity_id, seq, event_id, kind, at, body_hash);
end $$;

create aggregate foja.chain(bytea, uuid, bigint, uuid, text, timestamptz, bytea) (
    sfunc = foja.chain_on, stype = bytea
);

-- Refuse with a problem written `code: words`.
create function foja.refuse_for(problem text) returns void
language plpgsql immutable as $$
begin
    perform foja.refuse(split_part(problem, ': ', 1), problem);
end $$;

-- The role this session acts as, also inside a function that runs as its owner.
create function foja.acting_role() returns text
language sql stable parallel safe
return case current_setting('role') when 'none' then session_user::text else current_setting('role') end;

-- A source is a database role: nobody can speak for another worker.
create function foja.check_source(source text) returns void
language plpgsql stable as $$
declare
    role text := foja.acting_role();
begin
    if role = 'foja_' || replace(source, '-', '_') then
        return;
    elsif source = 'api' and (role = 'service_role'
            or (select rolsuper or rolname = current_user from pg_roles where rolname = role)) then
        return;
    end if;
    perform foja.refuse('wrong_source', format('the role %s may not write as %s', role, source));
end $$;

-- Is the payload nothing but its kind's only field, a string, in canonical form?
-- The common case, decided without looking at each member.
create function foja.is_plain(rule foja.kind, payload text) returns boolean
language sql stable parallel safe
return case when rule.sole_string
    then payload = '{"' || rule.sole_field || '":' || to_json(payload::jsonb ->> rule.sole_field)::text || '}'
    else false end;

-- Is there plainly nothing wrong with this body? One expression, for the planner to inline.
create function foja.is_sound(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea
) returns boolean
language sql stable parallel safe
return p_source = any (rule.sources) and not rule.reserved and octet_length(p_payload) <= 1048576
    and foja.is_plain(rule, p_payload) and octet_length(p_salt) = 16
    and foja.body_hash(p_salt, p_actor, p_payload, p_source, rule.v) = p_hash;

-- Why this body may not be recorded, or null.
-- Python computed it; the database does not take its word for it.
create function foja.body_problem(
    rule foja.kind, p_source text, p_actor text, p_payload text, p_salt bytea, p_hash bytea
) returns text
language plpgsql stable as $$
declare
    body jsonb;
begin
    if rule.kind is null then
        return 'unknown_kind: this domain has no such kind, or not in this version';
    elsif rule.reserved then
        return format('unknown_kind: %s is written by the ledger itself', rule.kind);
    elsif p_source <> all (rule.sources) then
        return format('wrong_source: %s may not be said by %s', rule.kind, p_source);
    elsif octet_length(p_payload) > 1048576 then
        return 'too_large: a body may have 1,048,576 bytes';
    end if;
    if foja.is_plain(rule, p_payload) is not true then
        body := p_payload::jsonb;
        if (body @@ rule.shape) is not true then
            return format('bad_payload: %s needs %s', rule.kind, rule.required);
        elsif foja.canonical(body) <> p_payload then
            return 'not_canonical: the payload is not in canonical form (RFC 8785)';
        end if;
    end if;
    if octet_length(p_salt) is distinct from 16
            or foja.body_hash(p_salt, p_actor, p_payload, p_source, rule.v) is distinct from p_hash then
        return 'bad_hash: the body hash does not fit the body';
    end if;
    return null;
end $$;

-- One event at a time. The plain way in; `05_batch.sql` is the same for many.

create type foja.receipt as (
    status text,          -- appended | replayed | erased | refused
    detail text,
    seq bigint,
    event_id uuid,
    at timestamptz,
    body_hash bytea,
    sealed boolean        -- part of the chained prefix already
);

-- Make a stream that is new; refuse one that is somebody else's or stands elsewhere.
create function foja.make_entity(p_entity uuid, p_domain text, p_tenant text, p_expected bigint default null)
returns void
language plpgsql as $$
declare
    e foja.entity;
begin
    insert into foja.entity (entity_id, domain, tenant, head)
    values (p_entity, p_domain, p_tenant, foja.genesis(p_domain, p_entity))
    on conflict do nothing;
    select * into e from foja.entity where entity_id = p_entity for no key update;
    if e.domain <> p_domain or e.tenant <> p_tenant then
        perform foja.refuse('wrong_entity', format('%s is not a %s of this tenant', p_entity, p_domain));
    elsif e.lane = 'redis' then
        perform foja.refuse_lane(p_entity);
    elsif p_expected <> e.next_seq then
        perform foja.refuse('wrong_expected_seq', format('the next number is %s, not %s', e.next_seq, p_expected));
    end if;
end $$;

-- Lock a stream's row, making the stream first if it is new.
create function foja.lock_entity(p_entity uuid, p_domain text, p_tenant text) returns foja.entity
language plpgsql as $$
declare
    e foja.entity;
begin
    select * into e from foja.entity
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant for no key update;
    if not found then
        perform foja.make_entity(p_entity, p_domain, p_tenant);
        select * into e from foja.entity where entity_id = p_entity for no key update;
    end if;
    return e;
end $$;

-- The stored result of an event recorded before; refused if it says something else.
create function foja.find_replay(
    p_entity uuid, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text, p_source text, p_payload text
) returns foja.receipt
language plpgsql stable as $$
declare
    old foja.event;
begin
    select * into old from foja.event where entity_id = p_entity and event_id = p_event and tenant = p_tenant;
    if not found then
        return null;
    elsif old.kind <> p_kind or old.salt is not null
            and foja.body_hash(old.salt, p_actor, p_payload, p_source, p_v) <> old.body_hash then
        return row('refused', format('idempotency_conflict: it is event %s, a %s', old.seq, old.kind),
            null, null, null, null, null)::foja.receipt;
    end if;
    return row(case when old.salt is null then 'erased' else 'replayed' end,
        null, old.seq, old.event_id, old.at, old.body_hash,
        old.seq < (select sealed from foja.entity where entity_id = p_entity))::foja.receipt;
end $$;

-- The stored result of an event that `append` found recorded before.
create function foja.replay(
    p_entity uuid, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text, p_source text, p_payload text
) returns foja.receipt
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    stored foja.receipt;
begin
    perform foja.check_source(p_source);
    stored := foja.find_replay(p_entity, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload);
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is null then
        raise serialization_failure using message = 'the event was recorded after this snapshot';
    end if;
    return stored;
end $$;

-- One event: judge the body, take the number and chain it, record, put in the outbox.
-- An event recorded before is a unique violation here; the caller then asks `replay`.
create function foja.append(
    p_entity uuid, p_domain text, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text,
    p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text, p_expected bigint
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moment timestamptz := clock_timestamp();
    problem text;
    wakes boolean;
    tracked boolean;
    e record;
begin
    if current_setting('role') <> 'foja_' || p_source then
        perform foja.check_source(p_source);
    end if;
    select case when foja.is_sound(k, p_source, p_actor, p_payload, p_salt, p_hash) then null
        else foja.body_problem(k, p_source, p_actor, p_payload, p_salt, p_hash) end, k.wakes, k.tracked
    into problem, wakes, tracked
    from foja.kind k where k.domain = p_domain and k.kind = p_kind and k.v = p_v;
    if problem is not null or wakes is null then
        perform foja.refuse_for(coalesce(problem, 'unknown_kind: this domain has no such kind, or not in this version'));
    end if;
    update foja.entity
    set next_seq = next_seq + 1, last_at = greatest(moment, last_at),
        sealed = case when sealed = next_seq then sealed + 1 else sealed end,
        head = case when sealed = next_seq
            then foja.chain_step(head, p_entity, next_seq, p_event, p_kind, greatest(moment, last_at), p_hash)
            else head end,
        awake = case when awake is null and wakes and sealed = next_seq then next_seq else awake end
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant and fence is null  -- not on Redis
        and (p_expected is null or next_seq = p_expected)
    returning next_seq - 1 as seq, last_at as at, head, sealed = next_seq as sealed, awake into e;
    if e.seq is null then
        return foja.append_first(p_entity, p_domain, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload,
            p_salt, p_hash, p_key, p_expected);
    end if;
    insert into foja.event values (p_entity, e.seq, p_event, p_kind, p_v, e.at, p_actor, p_source, p_payload::json,
        p_salt, p_hash, p_key, p_tenant);
    if tracked then
        perform foja.track(p_domain, new, true) from foja.event new where new.entity_id = p_entity and new.seq = e.seq;
    end if;
    if e.sealed then
        insert into foja.pending (entity_id, seq, chain_hash) values (array[p_entity], array[e.seq], array[e.head]);
        if e.awake = e.seq then
            insert into foja.woken (entity_id) values (array[p_entity]);
        end if;
    else
        insert into foja.unsealed values (p_entity, e.seq);
    end if;
    return row('appended', null, e.seq, p_event, e.at, p_hash, e.sealed)::foja.receipt;
end $$;

-- The same where no row could be numbered: a new stream, or a number that is not the next.
create function foja.append_first(
    p_entity uuid, p_domain text, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text,
    p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text, p_expected bigint
) returns foja.receipt
language plpgsql as $$
declare
    stored foja.receipt := foja.find_replay(p_entity, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload);
begin
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is not null then
        return stored;
    end if;
    perform foja.make_entity(p_entity, p_domain, p_tenant, p_expected);
    return foja.append(p_entity, p_domain, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload, p_salt,
        p_hash, p_key, p_expected);
end $$;

-- Many events in one call. `atomic`: all of them or none; otherwise each has its own verdict.
--
-- One array in, arrays out: a row per event, or an array per column, costs as much as the event.

-- An event ready to be recorded.
create type foja.draft as (
    entity_id uuid, domain text, kind text, v integer, event_id uuid, actor text, payload text, salt bytea,
    body_hash bytea, idempotency_key text, expected_seq bigint
);

-- What became of every item. The last three are null where all of them were recorded now.
create type foja.receipts as (
    seq bigint[], at timestamptz[], sealed boolean[], status text[], detail text[], body_hash bytea[]
);

-- The streams of a batch as they stand, by id. `domain` is null in another tenant's.
create type foja.streams as (
    entity_id uuid[], next_seq bigint[], sealed bigint[], head bytea[], last_at timestamptz[], domain text[], on_redis boolean[]
);

-- Lock every stream of a batch, in order.
create function foja.lock_streams(p_entity uuid[], p_tenant text) returns foja.streams
language plpgsql as $$
declare
    s foja.streams;
begin
    select array_agg(e.entity_id), array_agg(e.next_seq), array_agg(e.sealed),
        array_agg(e.head), array_agg(e.last_at), array_agg(case when e.tenant = p_tenant then e.domain end),
        array_agg(e.lane = 'redis')
    into s
    from (select * from foja.entity where entity_id = any (p_entity) order by entity_id for no key update) e;
    return s;
end $$;

-- The same, making the new ones first.
create function foja.make_streams(p_entity uuid[], p_drafts foja.draft[], p_tenant text) returns foja.streams
language plpgsql as $$
begin
    insert into foja.entity (entity_id, domain, tenant, head)
    select distinct on (new.entity_id) new.entity_id, new.domain, p_tenant, foja.genesis(new.domain, new.entity_id)
    from unnest(p_drafts) new
    where exists (select from foja.domain d where d.domain = new.domain)
    order by new.entity_id
    on conflict do nothing;
    return foja.lock_streams(p_entity, p_tenant);
end $$;

-- Where a batch leaves its streams, and what each of its items became: `seq` is null where
-- nothing was recorded, `link` where the event is not sealed yet.
create type foja.batch as (
    seq bigint[], at timestamptz[], link bytea[], problem text[],
    entity_id uuid[], next_seq bigint[], head bytea[], last_at timestamptz[], woken uuid[], tracked integer[]
);

-- Number, chain and judge every draft, stream by stream, in the order given. Writes nothing.
-- Whether an event was recorded before is looked up only if `p_careful`, or if it could be
-- taken for one with a wrong number; otherwise the insert finds out.
create function foja.number_batch(s foja.streams, p_drafts foja.draft[], p_source text, p_careful boolean)
returns foja.batch
language plpgsql as $$
declare
    i record;
    n integer := cardinality(p_drafts);
    -- By draft. Plain variables, because an element of a composite's array is set by copying it.
    seqs bigint[] := array_fill(null::bigint, array[n]);
    ats timestamptz[] := array_fill(null::timestamptz, array[n]);
    links bytea[] := array_fill(null::bytea, array[n]);
    problems text[];
    -- By stream.
    nexts bigint[] := s.next_seq;
    heads bytea[] := s.head;
    lasts timestamptz[] := s.last_at;
    woken uuid[];
    tracked integer[];
    -- The stream at hand; `stream` is null where there is none, and cannot become one.
    place integer := 0;
    stream integer;
    current uuid;
    domain text;
    next bigint;
    head bytea;
    sealing boolean;
    now timestamptz := clock_timestamp();
    moment timestamptz;
    taken uuid[];
    -- The draft at hand.
    rule foja.kind;
    problem text;
begin
    for i in
        select u.*,
            -- Not `exists`: planned while the table is empty, that would hash the whole of it, for ever.
            (p_careful or u.expected_seq is not null) and (
                select true from foja.event o where o.entity_id = u.entity_id and o.event_id = u.event_id) as known
        from unnest(p_drafts) with ordinality u(entity_id, domain, kind, v, event_id, actor, payload, salt, body_hash,
            idempotency_key, expected_seq, ord)
        order by u.entity_id, u.ord
    loop
        if current is distinct from i.entity_id then
            if stream is not null then
                nexts[stream] := next; heads[stream] := head; lasts[stream] := moment;
            end if;
            current := i.entity_id;
            stream := case when s.entity_id[place + 1] = current then place + 1 end;
            place := coalesce(stream, place);
            domain := s.domain[stream];
            next := s.next_seq[stream];
            head := s.head[stream];
            sealing := s.sealed[stream] = next;
            moment := greatest(now, s.last_at[stream]);
            taken := '{}';
        end if;
        if rule.kind is distinct from i.kind or rule.v <> i.v or rule.domain <> i.domain then
            select * into rule from foja.kind k where k.domain = i.domain and k.kind = i.kind and k.v = i.v;
        end if;
        problem := case when foja.is_sound(rule, p_source, i.actor, i.payload, i.salt, i.body_hash) then null
            else foja.body_problem(rule, p_source, i.actor, i.payload, i.salt, i.body_hash) end;
        if problem is not null then
            problems[i.ord] := problem;
        elsif i.domain is distinct from domain then
            problems[i.ord] := format('wrong_entity: %s is not a %s of this tenant', i.entity_id, i.domain);
        elsif s.on_redis[stream] then
            problems[i.ord] := format('on_redis: %s is numbered by Redis', i.entity_id);
        elsif i.known or p_careful and i.event_id = any (taken) then
            null;  -- recorded before: `batch_receipts` finds it
        elsif i.expected_seq <> next then
            problems[i.ord] := format('wrong_expected_seq: the next number is %s, not %s', next, i.expected_seq);
        else
            if sealing then
                head := foja.chain_step(head, i.entity_id, next, i.event_id, i.kind, moment, i.body_hash);
                links[i.ord] := head;
                if rule.wakes then
                    woken := woken || current;
                end if;
            end if;
            if rule.tracked then
                tracked := tracked || i.ord::integer;
            end if;
            seqs[i.ord] := next;
            ats[i.ord] := moment;
            next := next + 1;
            if p_careful then
                taken := taken || i.event_id;
            end if;
        end if;
    end loop;
    if stream is not null then
        nexts[stream] := next; heads[stream] := head; lasts[stream] := moment;
    end if;
    return row(seqs, ats, links, problems, s.entity_id, nexts, heads, lasts, woken, tracked)::foja.batch;
end $$;

-- Put in the outbox what is sealed, and on the waiting list what is not; what was not recorded is neither.
create function foja.queue_some(p_entity uuid[], p_seq bigint[], p_link bytea[]) returns void
language sql as $$
    insert into foja.unsealed
    select u.entity_id, u.seq from unnest(p_entity, p_seq, p_link) u(entity_id, seq, link)
    where u.seq is not null and u.link is null;
    insert into foja.pending (entity_id, seq, chain_hash)
    select array_agg(u.entity_id order by u.place), array_agg(u.seq order by u.place), array_agg(u.link order by u.place)
    from unnest(p_entity, p_seq, p_link) with ordinality u(entity_id, seq, link, place)
    where u.link is not null having count(*) > 0;
$$;

-- What became of every draft: recorded now, recorded before, or refused.
create function foja.batch_receipts(
    p_drafts foja.draft[], b foja.batch, p_source text, p_tenant text, p_atomic boolean
) returns foja.receipts
language plpgsql as $$
declare
    r foja.receipts;
    d foja.draft;
    one foja.receipt;
    n integer := 0;
begin
    foreach d in array p_drafts loop
        n := n + 1;
        if b.problem[n] is not null then
            one := row('refused', b.problem[n], null, null, null, null, null);
        elsif b.seq[n] is not null then
            one := row('appended', null, b.seq[n], d.event_id, b.at[n], d.body_hash, b.link[n] is not null);
        else
            one := foja.find_replay(d.entity_id, p_tenant, d.kind, d.v, d.event_id, d.actor, p_source, d.payload);
        end if;
        if one.detail is not null and p_atomic then
            perform foja.refuse_for(format('%s (item %s)', one.detail, n - 1));
        end if;
        r.seq[n] := one.seq; r.at[n] := one.at; r.sealed[n] := one.sealed;
        r.status[n] := one.status; r.detail[n] := one.detail; r.body_hash[n] := one.body_hash;
    end loop;
    return r;
end $$;

-- An event recorded before is a unique violation, unless `p_careful`: the caller then asks
-- again with it. A retry is rare, and looking for one costs every event of every batch.
create function foja.append_drafts(
    p_drafts foja.draft[], p_source text, p_tenant text, p_atomic boolean, p_careful boolean
) returns foja.receipts
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- One plan for every batch, made of index look-ups: planning these statements costs more
-- than running them, and the first plan is made while the tables are empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    n integer := cardinality(p_drafts);
    entities uuid[] := array(select d.entity_id from unnest(p_drafts) d);
    s foja.streams;
    locked integer;
    b foja.batch;
begin
    perform foja.check_source(p_source);
    s := foja.lock_streams(entities, p_tenant);
    locked := coalesce(cardinality(s.entity_id), 0);
    if locked < n and locked < (select count(distinct id) from unnest(entities) id) then
        s := foja.make_streams(entities, p_drafts, p_tenant);
    end if;
    b := foja.number_batch(s, p_drafts, p_source, p_careful);
    insert into foja.event
    select u.entity_id, u.seq, u.event_id, u.kind, u.v, u.at, u.actor, p_source, u.payload::json, u.salt, u.body_hash,
        u.idempotency_key, p_tenant
    from unnest(p_drafts, b.seq, b.at) u(entity_id, domain, kind, v, event_id, actor, payload, salt, body_hash,
        idempotency_key, expected_seq, seq, at)
    where u.seq is not null;
    if b.tracked is not null then
        perform foja.track(p_drafts[item].domain, new, true) from unnest(b.tracked) item
        join foja.event new on new.entity_id = entities[item] and new.seq = b.seq[item];
    end if;
    if array_position(b.link, null) is null then
        insert into foja.pending (entity_id, seq, chain_hash) values (entities, b.seq, b.link);
    else
        perform foja.queue_some(entities, b.seq, b.link);
    end if;
    if b.woken is not null then
        insert into foja.woken (entity_id)
        select array_agg(entity_id) from foja.entity where entity_id = any (b.woken) and awake is null
        having count(*) > 0;
    end if;
    update foja.entity e set next_seq = u.next_seq, head = u.head, last_at = u.last_at,
        sealed = case when e.sealed = e.next_seq then u.next_seq else e.sealed end,
        awake = case when e.awake is null and e.entity_id = any (b.woken) then e.next_seq else e.awake end
    from unnest(b.entity_id, b.next_seq, b.head, b.last_at) u(entity_id, next_seq, head, last_at)
    where e.entity_id = u.entity_id and e.next_seq < u.next_seq;
    if array_position(b.link, null) is null then
        return row(b.seq, b.at, array_fill(true, array[n]), null, null, null)::foja.receipts;
    elsif array_position(b.seq, null) is null then
        return row(b.seq, b.at, array(select link is not null from unnest(b.link) link), null, null, null)::foja.receipts;
    end if;
    delete from foja.entity where entity_id = any (entities) and next_seq = 0 and lane = 'postgres';  -- a stream begins with an event
    return foja.batch_receipts(p_drafts, b, p_source, p_tenant, p_atomic);
end $$;

-- Numbers promised before the events exist: reserve, extend, fill, void.

create function foja.check_reservation(p_count integer, p_ttl interval) returns void
language plpgsql immutable as $$
begin
    if p_count not between 1 and 256 or p_ttl <= interval '0' or p_ttl > interval '1 hour' then
        perform foja.refuse('bad_reservation', 'a reservation holds 1 to 256 numbers for up to one hour');
    end if;
end $$;

-- Whoever decides from a whole history cannot wait for numbers that may never be filled.
create function foja.check_numbers(p_domain text) returns void
language plpgsql stable as $$
begin
    if exists (select from foja.domain d where d.domain = p_domain and d.head_only) then
        perform foja.refuse('bad_reservation', format('a %s is written at its head; append without a number', p_domain));
    end if;
end $$;

-- `p_claim`: take the stream from Redis first if it numbers it; otherwise such a stream is refused.
-- A reservation lost in a crash is a token the database does not know; so a caller that
-- does nothing else may commit it without waiting for the disk.
create function foja.reserve(
    p_entity uuid, p_domain text, p_tenant text, p_source text, p_count integer, p_ttl interval, p_intents text[],
    p_claim boolean default true
) returns table (first_seq bigint, token uuid, deadline timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    e foja.entity;
    ticket uuid := gen_random_uuid();
    due timestamptz := clock_timestamp() + p_ttl;
begin
    perform foja.check_source(p_source);
    perform foja.check_reservation(p_count, p_ttl);
    perform foja.check_numbers(p_domain);
    if p_claim then
        perform foja.claim_lanes(array[p_entity]);
    end if;
    e := foja.lock_entity(p_entity, p_domain, p_tenant);
    if e.lane = 'redis' then
        perform foja.refuse_lane(p_entity);
    end if;
    insert into foja.slot (entity_id, seq, token, deadline, intent, tenant)
    select p_entity, e.next_seq + i - 1, ticket, due, p_intents[i]::json, p_tenant from generate_series(1, p_count) i;
    update foja.entity set next_seq = e.next_seq + p_count where entity_id = p_entity;
    return query select e.next_seq::bigint, ticket, due;
end $$;

-- More time for the numbers still open; returns the new deadline.
create function foja.extend(p_entity uuid, p_tenant text, p_token uuid, p_ttl interval) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    due timestamptz := clock_timestamp() + p_ttl;
begin
    if p_ttl <= interval '0' or p_ttl > interval '1 hour' then
        perform foja.refuse('bad_reservation', 'a reservation holds its numbers for up to one hour at a time');
    end if;
    perform from foja.entity where entity_id = p_entity and tenant = p_tenant for no key update;
    update foja.slot set deadline = due
    where entity_id = p_entity and tenant = p_tenant and token = p_token
        and state = 'open' and deadline > clock_timestamp();
    if not found then
        perform foja.refuse('slot_voided', 'no number of this reservation is open any more');
    end if;
    return due;
end $$;

-- Record an event at a number taken before. It never seals by itself. The stream's row is
-- touched, so that a caller with an older snapshot is told to retry.
create function foja.record_at(
    p_entity uuid, p_seq bigint, p_kind text, p_v integer, p_event uuid, p_at timestamptz, p_actor text,
    p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text, p_tenant text
) returns foja.receipt
language plpgsql as $$
begin
    insert into foja.event values (p_entity, p_seq, p_event, p_kind, p_v, p_at, p_actor, p_source,
        p_payload::json, p_salt, p_hash, p_key, p_tenant);
    insert into foja.unsealed values (p_entity, p_seq);
    update foja.entity set last_at = greatest(last_at, p_at) where entity_id = p_entity;
    perform foja.track(e.domain, new, false) from foja.entity e join foja.kind k using (domain)
    join foja.event new on new.entity_id = e.entity_id and new.seq = p_seq
    where e.entity_id = p_entity and k.kind = p_kind and k.v = p_v and k.tracked;
    return row('appended', null, p_seq, p_event, p_at, p_hash, false)::foja.receipt;
end $$;

-- The event that explains why a number holds nothing else.
create function foja.void_slot(p_entity uuid, p_seq bigint, p_source text, p_reason text, p_tenant text)
returns foja.receipt
language plpgsql as $$
declare
    payload text := '{"reason":' || to_json(p_reason)::text || '}';
    salt bytea := foja.new_salt();
begin
    update foja.slot set state = 'voided' where entity_id = p_entity and seq = p_seq;
    return foja.record_at(p_entity, p_seq, 'slot.voided', 1, foja.new_id(), clock_timestamp(), null, p_source,
        payload, salt, foja.body_hash(salt, null, payload, p_source, 1), null, p_tenant);
end $$;

create function foja.fill(
    p_entity uuid, p_domain text, p_tenant text, p_seq bigint, p_token uuid, p_kind text, p_v integer,
    p_event uuid, p_actor text, p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    rule foja.kind;
    problem text;
    stored foja.receipt;
    held foja.slot;
begin
    perform foja.check_source(p_source);
    select * into rule from foja.kind k where k.domain = p_domain and k.kind = p_kind and k.v = p_v;
    problem := foja.body_problem(rule, p_source, p_actor, p_payload, p_salt, p_hash);
    if problem is not null then
        perform foja.refuse_for(problem);
    end if;
    perform from foja.entity
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant for no key update;
    stored := foja.find_replay(p_entity, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload);
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.status is not null then
        return stored;
    end if;
    select * into held from foja.slot
    where entity_id = p_entity and seq = p_seq and token = p_token and tenant = p_tenant for update;
    if held.state = 'open' and held.deadline > clock_timestamp() then
        update foja.slot set state = 'filled' where entity_id = p_entity and seq = p_seq;
        return foja.record_at(p_entity, p_seq, p_kind, p_v, p_event, clock_timestamp(), p_actor, p_source, p_payload,
            p_salt, p_hash, p_key, p_tenant);
    elsif held.state = 'filled' then
        perform foja.refuse('slot_filled', format('number %s holds another event', p_seq));
    elsif held.state = 'open' then
        perform foja.void_slot(p_entity, p_seq, 'sweeper', 'expired', p_tenant);
    end if;
    -- Returned, not raised: a raise would undo the void.
    return row('refused', format('slot_voided: number %s is no longer reserved', p_seq),
        null, null, null, null, null)::foja.receipt;
end $$;

-- Give a number back. Asking twice is harmless; a filled one stays filled.
create function foja.void(
    p_entity uuid, p_domain text, p_tenant text, p_seq bigint, p_token uuid, p_source text, p_reason text
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    held foja.slot;
    old foja.event;
begin
    perform foja.check_source(p_source);
    if p_reason is null then
        perform foja.refuse('bad_payload', 'say why: a reason is needed');
    end if;
    perform from foja.entity
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant for no key update;
    select * into held from foja.slot
    where entity_id = p_entity and seq = p_seq and token = p_token and tenant = p_tenant for update;
    if held.state = 'open' then
        return foja.void_slot(p_entity, p_seq, p_source, p_reason, p_tenant);
    end if;
    select * into old from foja.event
    where entity_id = p_entity and seq = p_seq and tenant = p_tenant and kind = 'slot.voided';
    if not found then
        perform foja.refuse(case when held.state = 'filled' then 'slot_filled' else 'slot_voided' end,
            format('number %s is not an open number of this reservation', p_seq));
    end if;
    return row('replayed', null, old.seq, old.event_id, old.at, old.body_hash, null)::foja.receipt;
end $$;

-- Void what nobody came back for, a bounded number of streams at a time.
create function foja.expire_slots(p_streams integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stream uuid;
    voided bigint;
    total bigint := 0;
begin
    perform foja.check_source('sweeper');
    for stream in
        select due.entity_id from (
            select distinct entity_id from foja.slot where state = 'open' and deadline <= clock_timestamp()
        ) due order by due.entity_id limit p_streams
    loop
        perform from foja.entity where entity_id = stream for no key update;
        perform foja.void_slot(stream, s.seq, 'sweeper', 'expired', s.tenant)
        from (select seq, tenant from foja.slot
              where entity_id = stream and state = 'open' and deadline <= clock_timestamp()
              order by seq for update) s;
        get diagnostics voided = row_count;
        total := total + voided;
    end loop;
    return total;
end $$;

-- Sealing: what was recorded out of order becomes a chained prefix, in order.

-- Seal the contiguous run of one stream, at most `p_most` events; returns how many.
create function foja.seal(p_entity uuid, p_most integer) returns bigint
language plpgsql as $$
declare
    e foja.entity;
    run bigint;
    link bytea;
    wakes boolean;
begin
    select * into e from foja.entity where entity_id = p_entity for no key update;
    with next as (
        select seq, event_id, kind, v, at, body_hash, row_number() over (order by seq) as place
        from foja.event where entity_id = p_entity and seq >= e.sealed order by seq limit p_most
    ), chained as (
        select seq, kind, v, foja.chain(e.head, p_entity, seq, event_id, kind, at, body_hash)
            over (order by seq) as chain_hash
        from next where seq = e.sealed + place - 1
    ), outbox as (
        insert into foja.pending (entity_id, seq, chain_hash)
        select array_agg(p_entity), array_agg(seq order by seq), array_agg(chain_hash order by seq)
        from chained having count(*) > 0
    )
    select count(*), (array_agg(c.chain_hash order by c.seq desc))[1], bool_or(k.wakes) into run, link, wakes
    from chained c left join foja.kind k on k.domain = e.domain and k.kind = c.kind and k.v = c.v;
    delete from foja.unsealed where entity_id = p_entity and seq < e.sealed + run;
    delete from foja.slot where entity_id = p_entity and seq < e.sealed + run;
    if run > 0 then
        update foja.entity set sealed = e.sealed + run, head = link,
            awake = case when awake is null and wakes then e.sealed else awake end
        where entity_id = p_entity;
    end if;
    if wakes and e.awake is null then
        insert into foja.woken (entity_id) values (array[p_entity]);
    end if;
    return run;
end $$;

-- Seal every stream whose next number is there, a bounded number of them.
create function foja.seal_ready(p_streams integer, p_most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stream uuid;
    run bigint;
    total bigint := 0;
begin
    perform foja.check_source('sweeper');
    for stream in
        select e.entity_id from foja.entity e
        join (select entity_id, min(seq) as seq from foja.unsealed group by entity_id) waiting using (entity_id)
        where waiting.seq <= e.sealed order by e.entity_id limit p_streams
    loop
        run := foja.seal(stream, p_most);
        total := total + run;
    end loop;
    return total;
end $$;

-- For callers that speak only SQL: the same append, with its bytes made here.

create function foja.new_salt() returns bytea
language sql volatile parallel safe
return substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) for 16);

-- A time-ordered id (UUIDv7).
create function foja.new_id() returns uuid
language sql volatile parallel safe
return encode(set_byte(set_byte(
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        || substring(uuid_send(gen_random_uuid()) from 7 for 1) || substring(foja.new_salt() for 9),
    6, get_byte(uuid_send(gen_random_uuid()), 0) & 15 | 112),
    8, get_byte(uuid_send(gen_random_uuid()), 0) & 63 | 128), 'hex')::uuid;

create function foja.rotate(word bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return ((word << bits) | (word >> (32 - bits))) & 4294967295;

-- SHA-1, only because UUIDv5 is made of it; PostgreSQL has none without an extension.
create function foja.sha1(message bytea) returns bytea
language plpgsql immutable strict parallel safe as $$
declare
    size integer := octet_length(message);
    data bytea := message || '\x80'::bytea || decode(repeat('00', (119 - size % 64) % 64), 'hex')
        || int8send(size::bigint * 8);
    h bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
    w bigint[];
    a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; k bigint; t bigint;
begin
    for block in 0 .. octet_length(data) / 64 - 1 loop
        for i in 0 .. 15 loop
            w[i] := ('x' || lpad(encode(substring(data from block * 64 + i * 4 + 1 for 4), 'hex'), 16, '0'))::bit(64)::bigint;
        end loop;
        for i in 16 .. 79 loop
            w[i] := foja.rotate(w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16], 1);
        end loop;
        a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
        for i in 0 .. 79 loop
            if i < 20 then f := (b & c) | ((b # 4294967295) & d); k := 1518500249;
            elsif i < 40 then f := b # c # d; k := 1859775393;
            elsif i < 60 then f := (b & c) | (b & d) | (c & d); k := 2400959708;
            else f := b # c # d; k := 3395469782;
            end if;
            t := (foja.rotate(a, 5) + f + e + k + w[i]) & 4294967295;
            e := d; d := c; c := foja.rotate(b, 30); b := a; a := t;
        end loop;
        h := array[(h[1] + a) & 4294967295, (h[2] + b) & 4294967295, (h[3] + c) & 4294967295,
            (h[4] + d) & 4294967295, (h[5] + e) & 4294967295];
    end loop;
    return decode((select string_agg(lpad(to_hex(word), 8, '0'), '' order by ord)
        from unnest(h) with ordinality u(word, ord)), 'hex');
end $$;

-- The id of an event with an idempotency key: UUIDv5 in the entity's namespace.
create function foja.event_id_for(entity_id uuid, idempotency_key text) returns uuid
language plpgsql immutable strict parallel safe as $$
declare
    digest bytea := foja.sha1(uuid_send(entity_id) || convert_to(idempotency_key, 'UTF8'));
begin
    return encode(substring(set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 80),
        8, get_byte(digest, 8) & 63 | 128) for 16), 'hex')::uuid;
end $$;

-- The idempotency key that events of this kind always have; null if the caller may choose.
create function foja.forced_key(p_domain text, p_kind text, p_v integer, payload jsonb) returns text
language sql stable
return (select k.keyed_by[1] || ':' || (payload ->> k.keyed_by[2]) from foja.kind k
    where k.domain = p_domain and k.kind = p_kind and k.v = p_v);

create function foja.append_event(
    entity_id uuid, domain text, kind text, payload jsonb, source text default 'api', actor text default null,
    idempotency_key text default null, expected_seq bigint default null, v integer default 1,
    tenant text default 'default', event_id uuid default null
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    bytes text := foja.canonical(payload);
    salt bytea := foja.new_salt();
    forced text := foja.forced_key(domain, kind, v, payload);
    id uuid := coalesce(foja.event_id_for(entity_id, forced), event_id,
        foja.event_id_for(entity_id, idempotency_key), foja.new_id());
begin
    if event_id is not null and idempotency_key is not null then
        perform foja.refuse('bad_payload', 'an event with an idempotency key gets its id from the key; give one of the two');
    end if;
    return foja.append(entity_id, domain, tenant, kind, v, id, actor, source, bytes, salt,
        foja.body_hash(salt, actor, bytes, source, v), coalesce(forced, idempotency_key), expected_seq);
exception
    when unique_violation then
        return foja.replay(entity_id, tenant, kind, v, id, actor, source, bytes);
    when sqlstate 'FJ003' then
        perform foja.claim_lanes(array[entity_id]);
        return foja.append_event(entity_id, domain, kind, payload, source, actor, idempotency_key, expected_seq, v, tenant,
            event_id);
end $$;

-- Append-only, also for the owner of the table.

create function foja.forbid_change() returns trigger
language plpgsql as $$
begin
    raise exception using errcode = 'FJ002', message = 'append_only',
        detail = format('%s on %s.%s is refused: what is recorded stays', tg_op, tg_table_schema, tg_table_name);
end $$;

-- The id of the event that says a body is gone: found by it, there can be only one.
create function foja.erasure_id(entity_id uuid, seq bigint) returns uuid
language sql immutable strict parallel safe
return encode(substring(sha256(convert_to('foja/erased/v1', 'UTF8') || uuid_send(entity_id) || int8send(seq)) for 16),
    'hex')::uuid;

-- The one change an event may suffer: its body goes, its hash stays, and an
-- event recorded before says so.
create function foja.allow_erasure() returns trigger
language plpgsql as $$
begin
    if old.payload is not null and new.payload is null and new.salt is null and new.actor is null
        and (new.entity_id, new.seq, new.event_id, new.kind, new.v, new.at, new.source, new.body_hash, new.tenant)
          = (old.entity_id, old.seq, old.event_id, old.kind, old.v, old.at, old.source, old.body_hash, old.tenant)
        and new.idempotency_key is not distinct from old.idempotency_key
        and exists (select from foja.entity e join foja.kind k on k.domain = e.domain
            where e.entity_id = old.entity_id and k.kind = old.kind and k.v = old.v and k.erasable)
        and exists (select from foja.event witness where witness.entity_id = old.entity_id
            and witness.event_id = foja.erasure_id(old.entity_id, old.seq) and witness.kind = 'body.erased')
    then
        return new;
    end if;
    raise exception using errcode = 'FJ002', message = 'append_only',
        detail = format('event %s of %s cannot be changed', old.seq, old.entity_id);
end $$;

create trigger event_update before update on foja.event for each row execute function foja.allow_erasure();
create trigger event_delete before delete on foja.event for each row execute function foja.forbid_change();
create trigger event_truncate before truncate on foja.event for each statement execute function foja.forbid_change();

-- Always: `session_replication_role = replica` must not be a way around them.
alter table foja.event
    enable always trigger event_update, enable always trigger event_delete, enable always trigger event_truncate;

-- Forget a body: payload, salt, actor and the slot's intent. Erasing twice is harmless.
create function foja.erase(p_entity uuid, p_tenant text, p_seq bigint, p_source text, p_actor text, p_reason text)
returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    e foja.entity;
    old foja.event;
    notice foja.receipt;
    payload text := foja.canonical(jsonb_build_object('seq', p_seq, 'reason', p_reason));
    salt bytea := foja.new_salt();
    moment timestamptz;
begin
    perform foja.check_source(p_source);
    if p_reason is null then
        perform foja.refuse('bad_payload', 'say why: a reason is needed');
    end if;
    perform foja.claim_lanes(array[p_entity]);
    select * into e from foja.entity where entity_id = p_entity and tenant = p_tenant for no key update;
    if e.lane = 'redis' then
        raise serialization_failure using message = 'the stream went back to Redis in between';
    end if;
    select * into old from foja.event where entity_id = p_entity and seq = p_seq and tenant = p_tenant;
    if old.seq is null then
        perform foja.refuse('unknown_entity', format('%s has no event %s', p_entity, p_seq));
    elsif not exists (select from foja.kind k
            where k.domain = e.domain and k.kind = old.kind and k.v = old.v and k.erasable) then
        perform foja.refuse('not_erasable', format('a %s is kept whole', old.kind));
    end if;
    if old.payload is null then
        select 'replayed', null, w.seq, w.event_id, w.at, w.body_hash, null into notice from foja.event w
        where w.entity_id = p_entity and w.event_id = foja.erasure_id(p_entity, p_seq);
        return notice;
    end if;
    moment := greatest(clock_timestamp(), e.last_at);
    update foja.entity set next_seq = e.next_seq + 1 where entity_id = p_entity;
    notice := foja.record_at(p_entity, e.next_seq, 'body.erased', 1, foja.erasure_id(p_entity, p_seq), moment, p_actor, p_source,
        payload, salt, foja.body_hash(salt, p_actor, payload, p_source, 1), null, p_tenant);
    update foja.event set payload = null, salt = null, actor = null
    where entity_id = p_entity and seq = p_seq;
    update foja.slot set intent = null where entity_id = p_entity and seq = p_seq;
    perform foja.seal(p_entity, 1000);
    return notice;
end $$;

-- What may be said. The `events.py` of every domain says the same; a test compares them.

insert into foja.domain (domain, head_only) values ('conversation', false), ('document', true), ('thread', false);

insert into foja.kind (domain, kind, v, sources, required, erasable, reserved) values
    ('conversation', 'user_message_sent', 1, '{api}', '{"content": ["string", "array"]}', true, false),
    ('conversation', 'thinking', 1, '{api}', '{"content": ["string", "array"]}', true, false),
    ('conversation', 'agent_message_sent', 1, '{api}', '{"content": ["string", "array"]}', true, false),
    ('conversation', 'tool_use_requested', 1, '{api}',
        '{"tool_use_id": ["string"], "tool_name": ["string"], "tool_args": ["object"]}', true, false),
    ('conversation', 'tool_use_completed', 1, '{api}',
        '{"tool_use_id": ["string"], "tool_name": ["string"], "tool_result": ["any"], "success": ["boolean"],
          "error_message": ["string", "null"]}', true, false),
    ('conversation', 'approval_requested', 1, '{api}',
        '{"approval_id": ["string"], "tool_name": ["string"], "tool_args": ["object"], "expires_at": ["string"]}',
        false, false),
    ('conversation', 'approval_completed', 1, '{api,sweeper}',
        '{"approval_id": ["string"], "decision": ["string"], "reason": ["string", "null"]}', false, false),
    ('conversation', 'turn_paused', 1, '{api}', '{"reason": ["string"]}', false, false),
    ('conversation', 'content_refused', 1, '{api}', '{"reason": ["string"]}', false, false),
    ('conversation', 'slot.voided', 1, '{api,sweeper}', '{"reason": ["string"]}', false, true),
    ('conversation', 'body.erased', 1, '{api}', '{"reason": ["string"], "seq": ["number"]}', false, true),
    ('thread', 'checkpoint.saved', 1, '{api}',
        '{"thread_id": ["string"], "ns": ["string"], "checkpoint_id": ["string"], "parent_id": ["string", "null"],
          "checkpoint": ["object"], "metadata": ["object"], "values": ["object"], "held": ["object"]}', true, false),
    ('thread', 'writes.saved', 1, '{api}',
        '{"ns": ["string"], "checkpoint_id": ["string"], "task_id": ["string"], "path": ["string"],
          "writes": ["array"]}', true, false),
    ('thread', 'values.saved', 1, '{api}',
        '{"ns": ["string"], "checkpoint_id": ["string"], "values": ["object"]}', true, false),
    ('thread', 'slot.voided', 1, '{api,sweeper}', '{"reason": ["string"]}', false, true),
    ('thread', 'body.erased', 1, '{api}', '{"reason": ["string"], "seq": ["number"]}', false, true),
    ('document', 'document.added', 1, '{api}', '{"sha256": ["string"], "custody": ["string"]}', true, false),
    ('document', 'document.witness.required', 1, '{api}', '{}', false, false),
    ('document', 'document.witness.ready', 1, '{api}', '{"witness_hash": ["string"]}', false, false),
    ('document', 'document.signature.started', 1, '{api}', '{}', false, false),
    ('document', 'document.signed', 1, '{api}', '{}', false, false),
    ('document', 'document.revoked', 1, '{api}', '{"reason": ["string"]}', false, false),
    ('document', 'document.archived', 1, '{api}', '{"reason": ["string"]}', false, false),
    ('document', 'document.protected.requested', 1, '{api}',
        '{"witness_hash": ["string"], "required_evidence": ["array"]}', false, false),
    ('document', 'job.run-tsa.required', 1, '{protect-document-v2}',
        '{"witness_hash": ["string"], "attempt": ["number"], "deadline": ["string"]}', false, false),
    ('document', 'job.submit-anchor-polygon.required', 1, '{protect-document-v2}',
        '{"witness_hash": ["string"], "attempt": ["number"], "deadline": ["string"]}', false, false),
    ('document', 'job.submit-anchor-bitcoin.required', 1, '{protect-document-v2}',
        '{"witness_hash": ["string"], "attempt": ["number"], "deadline": ["string"]}', false, false),
    ('document', 'job.submit-anchor-rekor.required', 1, '{protect-document-v2}',
        '{"witness_hash": ["string"], "attempt": ["number"], "deadline": ["string"]}', false, false),
    ('document', 'job.build-artifact.required', 1, '{protect-document-v2}',
        '{"witness_hash": ["string"], "attempt": ["number"], "deadline": ["string"]}', false, false),
    ('document', 'tsa.confirmed', 1, '{run-tsa}',
        '{"witness_hash": ["string"], "token_b64": ["string"], "gen_time": ["string"]}', false, false),
    ('document', 'tsa.failed', 1, '{run-tsa,sweeper}',
        '{"witness_hash": ["string"], "attempt": ["number"], "failure_code": ["string"]}', false, false),
    ('document', 'anchor.submitted', 1, '{submit-anchor-bitcoin,submit-anchor-polygon,submit-anchor-rekor}',
        '{"network": ["string"], "witness_hash": ["string"], "attempt": ["number"]}', false, false),
    ('document', 'anchor.confirmed', 1, '{process-bitcoin-anchors,process-polygon-anchors,submit-anchor-bitcoin,submit-anchor-polygon,submit-anchor-rekor}',
        '{"network": ["string"], "witness_hash": ["string"], "attempt": ["number"], "confirmed_at": ["string"]}', false, false),
    ('document', 'anchor.timeout', 1, '{process-bitcoin-anchors,process-polygon-anchors,submit-anchor-bitcoin,submit-anchor-polygon,submit-anchor-rekor,sweeper}',
        '{"network": ["string"], "witness_hash": ["string"], "attempt": ["number"], "limit": ["string"]}', false, false),
    ('document', 'anchor.failed', 1, '{process-bitcoin-anchors,process-polygon-anchors,submit-anchor-bitcoin,submit-anchor-polygon,submit-anchor-rekor,sweeper}',
        '{"network": ["string"], "witness_hash": ["string"], "attempt": ["number"], "failure_code": ["string"]}', false, false),
    ('document', 'rekor.confirmed', 1, '{submit-anchor-rekor}',
        '{"witness_hash": ["string"], "attempt": ["number"], "log_index": ["number"]}', false, false),
    ('document', 'artifact.finalized', 1, '{build-artifact}',
        '{"sha256": ["string"], "size": ["number"], "profile": ["string"], "verdict": ["string"]}', false, false),
    ('document', 'artifact.failed', 1, '{build-artifact,sweeper}',
        '{"attempt": ["number"], "failure_code": ["string"]}', false, false),
    ('document', 'artifact.renewed', 1, '{build-artifact}',
        '{"sha256": ["string"], "size": ["number"]}', false, false),
    ('document', 'protection.retry.requested', 1, '{api}',
        '{"evidence": ["string"], "witness_hash": ["string"]}', false, false),
    ('document', 'slot.voided', 1, '{api,sweeper}', '{"reason": ["string"]}', false, true),
    ('document', 'body.erased', 1, '{api}', '{"reason": ["string"], "seq": ["number"]}', false, true);

update foja.kind set keyed_by = '{approval, approval_id}' where kind = 'approval_completed';

-- Which history this is.

-- Return the epoch, renewed if this is not the server or timeline it was. Called at every start.
create function foja.recognise() returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    server bigint := (select system_identifier from pg_control_system());
    line integer := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
    known foja.installation;
begin
    select * into known from foja.installation;
    if (known.system_identifier, known.timeline) = (server, line) then
        return known.epoch;
    end if;
    insert into foja.installation (system_identifier, timeline) values (server, line)
    on conflict (only_one) do update
    set epoch = excluded.epoch, system_identifier = excluded.system_identifier, timeline = excluded.timeline
    where (installation.system_identifier, installation.timeline)
        <> (excluded.system_identifier, excluded.timeline);
    return (select epoch from foja.installation);
end $$;

-- The log: every sealed event of every stream in one gapless order, and its tree.

create table foja.log (
    origin integer primary key,
    name text not null unique,           -- the checkpoint's origin line
    next_idx bigint not null default 0,
    closed_size bigint,                  -- null while open; leaves above it were never proven
    halted text,                         -- why numbering and signing stopped, or null
    opened_at timestamptz not null default clock_timestamp()
);

create unique index log_open on foja.log ((true)) where closed_size is null;

-- The leaves, in bundles of at most 256: a row each would cost as much as the events they stand for.
create table foja.leaves (
    origin integer not null,
    idx bigint not null,                 -- of the first one; the others follow
    entity_id uuid[] not null,
    seq bigint[] not null,
    chain_hash bytea[] not null,
    primary key (origin, idx)
);

-- Which bundle to open for an event: the one where its stream goes on at the last number up to its own.
create table foja.leaf_place (
    entity_id uuid not null,
    origin integer not null,
    seq bigint not null,
    idx bigint not null,                 -- of the bundle
    primary key (entity_id, origin, seq)
);

-- Every leaf by itself.
create view foja.leaf with (security_invoker = true) as
select l.origin, l.idx + u.place - 1 as idx, u.entity_id, u.seq, u.chain_hash
from foja.leaves l
cross join lateral unnest(l.entity_id, l.seq, l.chain_hash) with ordinality u(entity_id, seq, chain_hash, place);

-- A run of leaves: the bundle that holds the first of them, and those after it.
create function foja.leaves_between(p_origin integer, p_low bigint, p_high bigint) returns setof foja.leaf
language sql stable parallel safe as $$
    select l.origin, l.idx + u.place - 1, u.entity_id, u.seq, u.chain_hash
    from foja.leaves l
    cross join lateral unnest(l.entity_id, l.seq, l.chain_hash) with ordinality u(entity_id, seq, chain_hash, place)
    where l.origin = p_origin and l.idx < p_high and l.idx + u.place - 1 between p_low and p_high - 1
      and l.idx >= coalesce((select max(b.idx) from foja.leaves b where b.origin = p_origin and b.idx <= p_low), 0)
    order by l.idx, u.place
$$;

-- Where an event stands in a log: its leaf, or nothing.
create function foja.find_leaf(p_origin integer, p_entity uuid, p_seq bigint) returns setof foja.leaf
language sql stable parallel safe as $$
    select l.origin, l.idx + u.place - 1, u.entity_id, u.seq, u.chain_hash
    from (select p.idx from foja.leaf_place p
        where p.entity_id = p_entity and p.origin = p_origin and p.seq <= p_seq order by p.seq desc limit 1) bundle
    join foja.leaves l on l.origin = p_origin and l.idx = bundle.idx
    cross join lateral unnest(l.entity_id, l.seq, l.chain_hash) with ordinality u(entity_id, seq, chain_hash, place)
    where u.entity_id = p_entity and u.seq = p_seq
$$;

-- The chain hash of a sealed event: in the newest log that has it, else in the outbox.
create function foja.chain_hash_of(p_entity uuid, p_seq bigint) returns bytea
language sql stable parallel safe as $$
    select coalesce(
        (select l.chain_hash from foja.log o cross join lateral foja.find_leaf(o.origin, p_entity, p_seq) l
         where o.closed_size is null or l.idx < o.closed_size order by o.origin desc limit 1),
        (select u.chain_hash from foja.pending p
         cross join lateral unnest(p.entity_id, p.seq, p.chain_hash) u(entity_id, seq, chain_hash)
         where u.entity_id = p_entity and u.seq = p_seq limit 1))
$$;

create table foja.checkpoint (
    origin integer not null references foja.log,
    size bigint not null,
    root bytea not null,
    frontier bytea not null,             -- the tree's edge, so that a restart need not read every leaf
    note text not null,
    signed_at timestamptz not null default clock_timestamp(),
    published_at timestamptz,            -- proofs are given out against published ones only
    primary key (origin, size)
);

create trigger leaf_change before update or delete on foja.leaves for each row execute function foja.forbid_change();
create trigger leaf_truncate before truncate on foja.leaves for each statement execute function foja.forbid_change();
create trigger leaf_place_change before update or delete on foja.leaf_place
    for each row execute function foja.forbid_change();
create trigger leaf_place_truncate before truncate on foja.leaf_place
    for each statement execute function foja.forbid_change();
create trigger checkpoint_delete before delete on foja.checkpoint
    for each row execute function foja.forbid_change();
create trigger checkpoint_truncate before truncate on foja.checkpoint
    for each statement execute function foja.forbid_change();

-- A checkpoint changes once: when it has been published.
create function foja.allow_publication() returns trigger
language plpgsql as $$
begin
    if old.published_at is null and new.published_at is not null
        and (new.origin, new.size, new.root, new.frontier, new.note, new.signed_at)
          = (old.origin, old.size, old.root, old.frontier, old.note, old.signed_at) then
        return new;
    end if;
    raise exception using errcode = 'FJ002', message = 'append_only',
        detail = format('checkpoint %s of log %s cannot be changed', old.size, old.origin);
end $$;

create trigger checkpoint_update before update on foja.checkpoint
    for each row execute function foja.allow_publication();

alter table foja.leaves enable always trigger leaf_change, enable always trigger leaf_truncate;
alter table foja.leaf_place
    enable always trigger leaf_place_change, enable always trigger leaf_place_truncate;
alter table foja.checkpoint enable always trigger checkpoint_delete, enable always trigger checkpoint_truncate,
    enable always trigger checkpoint_update;

-- Who numbers a stream: PostgreSQL by the stream's own row, or Redis by a counter that belongs to
-- one fence. The lane lock says when that may change: shared for a number that Redis gave, alone
-- for a move. It is taken before the stream's row, never after.

create function foja.lane_key(entity_id uuid) returns bigint
language sql immutable strict parallel safe
return hashtextextended('foja/lane/' || entity_id::text, 0);

-- What happened to a number is asked after the lane lock was waited for; an older snapshot cannot tell.
create function foja.need_read_committed() returns void
language plpgsql stable as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise serialization_failure using message = 'a stream that Redis numbers is written in read committed only';
    end if;
end $$;

-- The next number of a stream. Its row knows it only while PostgreSQL numbers it.
create function foja.next_seq(e foja.entity) returns bigint
language sql stable parallel safe
return case when e.lane = 'postgres' then e.next_seq else greatest(e.next_seq,
    (select max(v.seq) + 1 from foja.event v where v.entity_id = e.entity_id),
    (select max(s.seq) + 1 from foja.slot s where s.entity_id = e.entity_id)) end;

-- The event that explains a number nobody will use. Unlike `void_slot` it leaves the stream's row alone.
create function foja.void_number(p_entity uuid, p_seq bigint, p_source text, p_reason text, p_tenant text)
returns boolean
language plpgsql as $$
declare
    payload text := '{"reason":' || to_json(p_reason)::text || '}';
    salt bytea := foja.new_salt();
begin
    insert into foja.event values (p_entity, p_seq, foja.new_id(), 'slot.voided', 1, clock_timestamp(), null, p_source,
        payload::json, salt, foja.body_hash(salt, null, payload, p_source, 1), null, p_tenant)
    on conflict do nothing;
    if found then
        insert into foja.unsealed values (p_entity, p_seq);
    end if;
    return found;
end $$;

-- Give a stream another fence; returns how many numbers were lost to the old one. The lane lock is
-- held alone and the row is locked: what the old fence numbered is recorded by now, or never will be.
create function foja.shift_lane(e foja.entity, p_lane text, p_run text) returns bigint
language plpgsql as $$
declare
    next bigint := foja.next_seq(e);
    voided bigint;
begin
    -- `offset 0` keeps one look-up per number: joined freely, a generic plan reads the whole stream.
    perform foja.void_number(e.entity_id, n, 'sweeper', 'unused', e.tenant)
    from generate_series(e.sealed, next - 1) n
    where not exists (select from foja.event v where v.entity_id = e.entity_id and v.seq = n offset 0)
      and not exists (select from foja.slot s where s.entity_id = e.entity_id and s.seq = n offset 0);
    get diagnostics voided = row_count;
    update foja.entity set lane = p_lane, next_seq = next, moved_at = clock_timestamp(),
        fence = case p_lane when 'redis' then gen_random_uuid() end,
        run_id = case p_lane when 'redis' then p_run end,
        last_at = greatest(last_at, clock_timestamp())
    where entity_id = e.entity_id;
    return voided;
end $$;

-- Let PostgreSQL number these streams from here on. For head appends that it has to number.
create function foja.claim_lanes(p_entity uuid[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    claimed uuid[] := (select array_agg(entity_id order by entity_id) from foja.entity
        where entity_id = any (p_entity) and lane = 'redis');
    stream uuid;
    e foja.entity;
    moved bigint := 0;
begin
    if claimed is null then
        return 0;
    end if;
    perform foja.need_read_committed();
    foreach stream in array claimed loop
        perform pg_advisory_xact_lock(foja.lane_key(stream));
    end loop;
    for e in select * from foja.entity where entity_id = any (claimed) order by entity_id for no key update loop
        if e.lane = 'redis' then
            perform foja.shift_lane(e, 'postgres', null);
            moved := moved + 1;
        end if;
    end loop;
    return moved;
end $$;

-- What a domain keeps beside its events, and what it refuses because of it. Called by whoever records
-- an event of a `tracked` kind, in the same transaction: each domain brings the function for its own.

-- `p_at_head`: it got the next number of its stream, not one that was taken before.
create function foja.track(p_domain text, new foja.event, p_at_head boolean) returns void
language plpgsql as $$
begin
    case p_domain
        when 'conversation' then perform foja.track_approval(new);
        when 'document' then perform foja.track_document(new, p_at_head);
    end case;
end $$;
