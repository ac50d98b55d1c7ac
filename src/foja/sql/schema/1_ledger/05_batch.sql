-- Many events in one call. `atomic`: all of them or none; otherwise each has its own verdict.
--
-- Arrays in, arrays out: a row per event, either way, costs more than the event.

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
create function foja.make_streams(p_entity uuid[], p_domain text[], p_tenant text) returns foja.streams
language plpgsql as $$
begin
    insert into foja.entity (entity_id, domain, tenant, head)
    select distinct on (id) id, domain, p_tenant, foja.genesis(domain, id)
    from unnest(p_entity, p_domain) new(id, domain)
    where exists (select from foja.domain d where d.domain = new.domain)
    order by id
    on conflict do nothing;
    return foja.lock_streams(p_entity, p_tenant);
end $$;

-- Where a batch leaves its streams, and what each of its items became: `seq` is null where
-- nothing was recorded, `link` where the event is not sealed yet.
create type foja.batch as (
    seq bigint[], at timestamptz[], link bytea[], problem text[],
    entity_id uuid[], next_seq bigint[], head bytea[], last_at timestamptz[], woken uuid[], tracked integer[]
);

-- Number, chain and judge every item, stream by stream, in the order given. Writes nothing.
-- Whether an event was recorded before is looked up only if `p_careful`, or if it could be
-- taken for one with a wrong number; otherwise the insert finds out.
create function foja.number_batch(
    s foja.streams, p_entity uuid[], p_domain text[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[],
    p_payload text[], p_salt bytea[], p_hash bytea[], p_expected bigint[], p_source text, p_careful boolean
) returns foja.batch
language plpgsql as $$
declare
    i record;
    n integer := cardinality(p_entity);
    -- By item. Plain variables, because an element of a composite's array is set by copying it.
    seqs bigint[] := array_fill(null::bigint, array[n]);
    ats timestamptz[] := array_fill(null::timestamptz, array[n]);
    links bytea[] := array_fill(null::bytea, array[n]);
    problems text[];
    -- By stream.
    streams uuid[] := s.entity_id;
    domains text[] := s.domain;
    elsewhere boolean[] := s.on_redis;
    nexts bigint[] := s.next_seq;
    seals bigint[] := s.sealed;
    heads bytea[] := s.head;
    lasts timestamptz[] := s.last_at;
    woken uuid[];
    tracked integer[];
    place integer := 0;
    stream integer;  -- null: it is no stream, and cannot become one
    current uuid;
    next bigint;
    head bytea;
    sealing boolean;
    now timestamptz := clock_timestamp();
    moment timestamptz;
    taken uuid[];
begin
    for i in
        select u.ord, u.entity_id, u.domain, u.event_id, u.kind, u.body_hash, u.expected, k.wakes, k.tracked,
            -- Not `exists`: planned while the table is empty, that would hash the whole of it, for ever.
            (p_careful or u.expected is not null) and (
                select true from foja.event o where o.entity_id = u.entity_id and o.event_id = u.event_id) as known,
            case when not coalesce(foja.is_sound(k, p_source, u.actor, u.payload, u.salt, u.body_hash), false)
                then foja.body_problem(k, p_source, u.actor, u.payload, u.salt, u.body_hash) end as problem
        from unnest(p_entity, p_domain, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_hash, p_expected)
            with ordinality u(entity_id, domain, kind, v, event_id, actor, payload, salt, body_hash, expected, ord)
        left join foja.kind k on k.domain = u.domain and k.kind = u.kind and k.v = u.v
        order by u.entity_id, u.ord
    loop
        if current is distinct from i.entity_id then
            current := i.entity_id;
            stream := case when streams[place + 1] = current then place + 1 end;
            place := coalesce(stream, place);
            next := nexts[stream];
            head := heads[stream];
            sealing := seals[stream] = next;
            moment := greatest(now, lasts[stream]);
            taken := '{}';
        end if;
        if i.problem is not null then
            problems[i.ord] := i.problem;
        elsif i.domain is distinct from domains[stream] then
            problems[i.ord] := format('wrong_entity: %s is not a %s of this tenant', i.entity_id, i.domain);
        elsif elsewhere[stream] then
            problems[i.ord] := format('on_redis: %s is numbered by Redis', i.entity_id);
        elsif i.known or p_careful and i.event_id = any (taken) then
            null;  -- recorded before: `batch_receipts` finds it
        elsif i.expected <> next then
            problems[i.ord] := format('wrong_expected_seq: the next number is %s, not %s', next, i.expected);
        else
            if sealing then
                head := foja.chain_step(head, i.entity_id, next, i.event_id, i.kind, moment, i.body_hash);
                links[i.ord] := head;
                if i.wakes then
                    woken := woken || current;
                end if;
            end if;
            if i.tracked then
                tracked := tracked || i.ord::integer;
            end if;
            seqs[i.ord] := next;
            ats[i.ord] := moment;
            next := next + 1;
            nexts[stream] := next;
            heads[stream] := head;
            lasts[stream] := moment;
            if p_careful then
                taken := taken || i.event_id;
            end if;
        end if;
    end loop;
    return row(seqs, ats, links, problems, streams, nexts, heads, lasts, woken, tracked)::foja.batch;
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

-- What became of every item: recorded now, recorded before, or refused.
create function foja.batch_receipts(
    p_entity uuid[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[], p_payload text[], p_hash bytea[],
    b foja.batch, p_source text, p_tenant text, p_atomic boolean
) returns foja.receipts
language plpgsql as $$
declare
    r foja.receipts;
    one foja.receipt;
begin
    for n in 1 .. cardinality(p_entity) loop
        if b.problem[n] is not null then
            one := row('refused', b.problem[n], null, null, null, null, null);
        elsif b.seq[n] is not null then
            one := row('appended', null, b.seq[n], p_event[n], b.at[n], p_hash[n], b.link[n] is not null);
        else
            one := foja.find_replay(p_entity[n], p_tenant, p_kind[n], p_v[n], p_event[n], p_actor[n], p_source, p_payload[n]);
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
create function foja.append_batch(
    p_entity uuid[], p_domain text[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[],
    p_payload text[], p_salt bytea[], p_hash bytea[], p_key text[], p_expected bigint[],
    p_source text, p_tenant text, p_atomic boolean, p_careful boolean
) returns foja.receipts
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- One plan for every batch, made of index look-ups: planning these statements costs more
-- than running them, and the first plan is made while the tables are empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    n integer := cardinality(p_entity);
    s foja.streams;
    locked integer;
    b foja.batch;
begin
    perform foja.check_source(p_source);
    s := foja.lock_streams(p_entity, p_tenant);
    locked := coalesce(cardinality(s.entity_id), 0);
    if locked < n and locked < (select count(distinct id) from unnest(p_entity) id) then
        s := foja.make_streams(p_entity, p_domain, p_tenant);
    end if;
    b := foja.number_batch(s, p_entity, p_domain, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_hash, p_expected,
        p_source, p_careful);
    insert into foja.event
    select u.entity_id, u.seq, u.event_id, u.kind, u.v, u.at, u.actor, p_source, u.payload::json, u.salt, u.body_hash,
        u.key, p_tenant
    from unnest(p_entity, b.seq, p_event, p_kind, p_v, b.at, p_actor, p_payload, p_salt, p_hash, p_key)
        u(entity_id, seq, event_id, kind, v, at, actor, payload, salt, body_hash, key)
    where u.seq is not null;
    if b.tracked is not null then
        perform foja.track(p_entity[item], b.seq[item]) from unnest(b.tracked) item;
    end if;
    if array_position(b.link, null) is null then
        insert into foja.pending (entity_id, seq, chain_hash) values (p_entity, b.seq, b.link);
    else
        perform foja.queue_some(p_entity, b.seq, b.link);
    end if;
    if b.woken is not null then
        perform foja.wake(array(select entity_id from foja.entity where entity_id = any (b.woken) and awake is null));
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
    delete from foja.entity where entity_id = any (p_entity) and next_seq = 0 and lane = 'postgres';  -- a stream begins with an event
    return foja.batch_receipts(
        p_entity, p_kind, p_v, p_event, p_actor, p_payload, p_hash, b, p_source, p_tenant, p_atomic);
end $$;
