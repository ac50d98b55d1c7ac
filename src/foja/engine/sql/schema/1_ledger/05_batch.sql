-- Many events in one call. `atomic`: all of them or none; otherwise each has its own verdict.
--
-- One array in, arrays out: a row per event, or an array per column, costs as much as the event.

-- The result of every item. `status`, `detail` and `body_hash` are null where all of them were recorded now, `result`
-- where the guard of their domain returned nothing.
create type foja.receipts as (
    seq bigint[], at timestamptz[], sealed boolean[], status text[], detail text[], body_hash bytea[], result integer[]
);

-- The state of the streams of a batch, by id.
create type foja.streams as (
    entity_id uuid[], next_seq bigint[], sealed bigint[], head bytea[], last_at timestamptz[], domain text[],
    tenant text[], on_redis boolean[]
);

-- Lock every stream of a batch, in order.
create function foja.lock_streams(p_entity uuid[]) returns foja.streams
language plpgsql as $$
declare
    s foja.streams;
begin
    select array_agg(e.entity_id), array_agg(e.next_seq), array_agg(e.sealed),
        array_agg(e.head), array_agg(e.last_at), array_agg(e.domain), array_agg(e.tenant),
        array_agg(e.lane = 'redis')
    into s
    from (select * from foja.entity where entity_id = any (p_entity) order by entity_id for no key update) e;
    return s;
end $$;

-- The same, creating the new ones first.
create function foja.create_streams(p_entity uuid[], p_drafts foja.draft[]) returns foja.streams
language plpgsql as $$
begin
    perform foja.check_tenant_name(d.tenant) from unnest(p_drafts) d;
    insert into foja.entity (entity_id, domain, tenant, head)
    select distinct on (new.entity_id) new.entity_id, new.domain, new.tenant, foja.genesis(new.domain, new.entity_id)
    from unnest(p_drafts) new
    where exists (select from foja.domain d where d.domain = new.domain)
        and foja.is_own_stream(new.entity_id, new.domain, new.tenant)
    order by new.entity_id
    on conflict do nothing;
    return foja.lock_streams(p_entity);
end $$;

-- What is known of the drafts of a batch before their streams are locked: of each its stream, its payload as json if it
-- is sound, and whether its kind wakes an executor or is tracked; of all of them whether they are sound, and the first
-- source and tenant and the last, by name.
create type foja.checks as (
    entity_id uuid[], payload json[], wakes boolean[], tracked boolean[], all_sound boolean, source text[], tenant text[]
);

-- The payload of a draft as json, or null if the draft is not sound. Not inlined: hardly any batch is checked so.
create function foja.sound_payload(d foja.draft) returns json
language plpgsql stable as $$
begin
    -- Not a condition of the query: its parts would be checked in any order, and some need a text of JSON.
    return (select case when foja.is_sound(k, d.source, d.actor, d.payload, d.salt, d.body_hash, d.idempotency_key)
            then d.payload::json end
        from foja.kind k where k.domain = d.domain and k.kind = d.kind and k.v = d.v);
exception
    when data_exception or statement_too_complex or sqlstate 'FJ001' then
        return null;
end $$;

-- Check the drafts of a batch, one by one if `p_careful`. Otherwise a payload that is not JSON, or has a key twice, is an
-- error: it is parsed only once.
create function foja.check_each(p_drafts foja.draft[], p_careful boolean) returns foja.checks
language plpgsql stable as $$
declare
    c foja.checks;
begin
    select array_agg(d.entity_id), array_agg(d.payload), array_agg(d.wakes), array_agg(d.tracked),
        bool_and(d.payload is not null), array[min(d.source), max(d.source)],
        array[min(coalesce(d.tenant, '')), max(coalesce(d.tenant, ''))]
    into c
    from (select u.entity_id, u.source, u.tenant, k.wakes, k.tracked,
            case when octet_length(u.payload) > 1048576 then null
                when p_careful then foja.sound_payload(p_drafts[u.ord])
                when foja.is_shallow(u.payload) and foja.is_exact(u.payload) and foja.has_sound_fields(
                    k, u.source, u.actor, u.payload, u.salt, u.body_hash, u.idempotency_key)
                then foja.unique_json(u.payload) end as payload
        from unnest(p_drafts) with ordinality u(entity_id, domain, tenant, kind, v, event_id, actor, source, payload,
            salt, body_hash, idempotency_key, expected_seq, ord)
        left join foja.kind k on k.domain = u.domain and k.kind = u.kind and k.v = u.v
        order by u.ord offset 0) d;
    return c;
end $$;

create function foja.check_drafts(p_drafts foja.draft[]) returns foja.checks
language plpgsql stable as $$
begin
    return foja.check_each(p_drafts, false);
exception
    when data_exception or statement_too_complex then
        return foja.check_each(p_drafts, true);
end $$;

-- Where a batch leaves its streams, and what each of its items became: `seq` is null where
-- nothing was recorded, `link` where the event is not sealed yet.
create type foja.batch as (
    seq bigint[], at timestamptz[], link bytea[], problem text[],
    entity_id uuid[], next_seq bigint[], head bytea[], last_at timestamptz[], woken uuid[], tracked integer[]
);

-- Number and chain every draft, stream by stream, in the order given. Writes nothing.
-- Whether an event was recorded before is looked up only if `p_careful`, or if it could be
-- taken for one with a wrong number; otherwise the insert finds out.
create function foja.number_batch(s foja.streams, p_drafts foja.draft[], c foja.checks, p_careful boolean)
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
    payloads json[] := c.payload;
    wakes boolean[] := c.wakes;
    tracks boolean[] := c.tracked;
    all_sound boolean := c.all_sound;
    has_tracks boolean := true = any (c.tracked);
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
    tenant text;
    next bigint;
    head bytea;
    sealing boolean;
    now timestamptz := clock_timestamp();
    moment timestamptz;
    taken uuid[];
begin
    for i in
        select u.entity_id, u.domain, u.tenant, u.kind, u.event_id, u.body_hash, u.expected_seq, u.ord,
            -- Not `exists`: planned while the table is empty, that would hash the whole of it, for ever.
            (p_careful or u.expected_seq is not null) and (
                select true from foja.event o where o.entity_id = u.entity_id and o.event_id = u.event_id) as known
        from unnest(p_drafts) with ordinality u(entity_id, domain, tenant, kind, v, event_id, actor, source, payload,
            salt, body_hash, idempotency_key, expected_seq, ord)
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
            tenant := s.tenant[stream];
            next := s.next_seq[stream];
            head := s.head[stream];
            sealing := s.sealed[stream] = next;
            moment := greatest(now, s.last_at[stream]);
            taken := '{}';
        end if;
        if not all_sound and payloads[i.ord] is null then
            problems[i.ord] := foja.draft_problem(p_drafts[i.ord]);
        elsif i.tenant is null or i.tenant <> tenant then
            problems[i.ord] := foja.unknown_stream(i.entity_id, i.domain);
        elsif i.domain is distinct from domain then
            problems[i.ord] := format('wrong_entity: %s is not a %s', i.entity_id, i.domain);
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
                if wakes[i.ord] then
                    woken := woken || current;
                end if;
            end if;
            if has_tracks and tracks[i.ord] then
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
create function foja.queue_mixed(p_entity uuid[], p_seq bigint[], p_link bytea[]) returns void
language sql as $$
    insert into foja.unsealed
    select u.entity_id, u.seq from unnest(p_entity, p_seq, p_link) u(entity_id, seq, link)
    where u.seq is not null and u.link is null;
    insert into foja.pending (entity_id, seq, chain_hash)
    select array_agg(u.entity_id order by u.place), array_agg(u.seq order by u.place), array_agg(u.link order by u.place)
    from unnest(p_entity, p_seq, p_link) with ordinality u(entity_id, seq, link, place)
    where u.link is not null having count(*) > 0;
$$;

-- The result of every draft: recorded now, recorded before, or refused.
create function foja.batch_receipts(p_drafts foja.draft[], b foja.batch, p_atomic boolean) returns foja.receipts
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
            one := row('refused', b.problem[n], null, null, null, null, null, null);
        elsif b.seq[n] is not null then
            one := row('appended', null, b.seq[n], d.event_id, b.at[n], d.body_hash, b.link[n] is not null, null);
        else
            one := foja.find_replay(d);
            if one.status is null then
                raise serialization_failure using message = 'an event was recorded after this snapshot';
            end if;
        end if;
        if one.detail is not null and p_atomic then
            perform foja.refuse_for(format('%s (item %s)', one.detail, n - 1));
        end if;
        r.seq[n] := one.seq; r.at[n] := one.at; r.sealed[n] := one.sealed;
        r.status[n] := one.status; r.detail[n] := one.detail; r.body_hash[n] := one.body_hash;
    end loop;
    return r;
end $$;

-- An event recorded before is a unique violation, unless `p_careful`: the caller then repeats
-- the call with it. A retry is rare, and looking for one costs every event of every batch.
create function foja.append_drafts(p_drafts foja.draft[], p_atomic boolean, p_careful boolean) returns foja.receipts
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- One plan for every batch, made of index look-ups: planning these statements costs more
-- than running them, and the first plan is made while the tables are empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    n integer := cardinality(p_drafts);
    c foja.checks;
    entities uuid[];
    s foja.streams;
    locked integer;
    b foja.batch;
    results integer[];
begin
    c := foja.check_drafts(p_drafts);  -- before anything is locked: writers of one stream do this side by side
    entities := c.entity_id;
    if c.source[1] <> c.source[2] or current_setting('role') <> 'foja_' || c.source[1] then
        perform foja.check_source(source) from (select distinct d.source from unnest(p_drafts) d) named;
    end if;
    if c.tenant[1] <> c.tenant[2] or c.tenant[2] is distinct from nullif(current_setting('foja.tenant', true), '') then
        perform foja.check_tenant(case when c.tenant[1] = c.tenant[2] then c.tenant[1] end, entities[1], p_drafts[1].domain);
    end if;
    s := foja.lock_streams(entities);
    locked := coalesce(cardinality(s.entity_id), 0);
    if locked < n and locked < (select count(distinct id) from unnest(entities) id) then
        s := foja.create_streams(entities, p_drafts);
    end if;
    b := foja.number_batch(s, p_drafts, c, p_careful);
    insert into foja.event
    select u.entity_id, u.seq, u.event_id, u.kind, u.v, u.at, u.actor, u.source, u.parsed, u.salt, u.body_hash,
        u.idempotency_key, u.tenant
    from unnest(p_drafts, b.seq, b.at, c.payload) u(entity_id, domain, tenant, kind, v, event_id, actor, source, payload,
        salt, body_hash, idempotency_key, expected_seq, seq, at, parsed)
    where u.seq is not null;
    if cardinality(b.tracked) = n and s.domain[1] = all (s.domain) then
        results := foja.track(s.domain[1], entities, b.seq);
    elsif b.tracked is not null then
        perform foja.track(t.domain, t.entity_id, t.seq) from (
            select p_drafts[item].domain, array_agg(entities[item] order by place), array_agg(b.seq[item] order by place)
            from unnest(b.tracked) with ordinality u(item, place) group by 1) t(domain, entity_id, seq);
    end if;
    if array_position(b.link, null) is null then
        insert into foja.pending (entity_id, seq, chain_hash) values (entities, b.seq, b.link);
    else
        perform foja.queue_mixed(entities, b.seq, b.link);
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
        return row(b.seq, b.at, array_fill(true, array[n]), null, null, null, results)::foja.receipts;
    elsif array_position(b.seq, null) is null then
        return row(b.seq, b.at, array(select link is not null from unnest(b.link) link), null, null, null,
            results)::foja.receipts;
    end if;
    delete from foja.entity where entity_id = any (entities) and next_seq = 0 and lane = 'postgres';  -- a stream begins with an event
    return foja.batch_receipts(p_drafts, b, p_atomic);
end $$;
