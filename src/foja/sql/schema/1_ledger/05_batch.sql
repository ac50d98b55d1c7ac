-- Many events in one call. `atomic`: all of them or none; otherwise each has its own verdict.

-- Lock every stream of a batch, in order, making the new ones first.
create function foja.lock_entities(p_entity uuid[], p_domain text[], p_tenant text) returns void
language plpgsql as $$
declare
    locked integer;
begin
    perform from foja.entity where entity_id = any (p_entity) order by entity_id for no key update;
    get diagnostics locked = row_count;
    if locked < cardinality(p_entity) and locked < (select count(distinct id) from unnest(p_entity) id) then
        insert into foja.entity (entity_id, domain, tenant, head)
        select distinct on (id) id, domain, p_tenant, foja.genesis(domain, id)
        from unnest(p_entity, p_domain) new(id, domain)
        where exists (select from foja.domain d where d.domain = new.domain)
        order by id
        on conflict do nothing;
        perform from foja.entity where entity_id = any (p_entity) order by entity_id for no key update;
    end if;
end $$;

-- Where a batch leaves its streams, and what each of its items became: `seq` is null where
-- nothing was recorded, `link` where the event is not sealed yet.
create type foja.batch as (
    seq bigint[], at timestamptz[], link bytea[], problem text[],
    entity_id uuid[], next_seq bigint[], head bytea[], last_at timestamptz[], woken uuid[]
);

-- Number, chain and judge every item, stream by stream, in the order given. Writes nothing.
create function foja.number_batch(
    p_entity uuid[], p_domain text[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[],
    p_payload text[], p_salt bytea[], p_hash bytea[], p_expected bigint[], p_source text, p_tenant text
) returns foja.batch
language plpgsql as $$
declare
    i record;
    n integer := cardinality(p_entity);
    -- By item. Plain variables, because an element of a composite's array is set by copying it.
    seqs bigint[] := array_fill(null::bigint, array[n]);
    ats timestamptz[] := array_fill(null::timestamptz, array[n]);
    links bytea[] := array_fill(null::bytea, array[n]);
    problems text[] := array_fill(null::text, array[n]);
    -- By stream.
    streams uuid[] := '{}';
    nexts bigint[] := '{}';
    heads bytea[] := '{}';
    lasts timestamptz[] := '{}';
    woken uuid[];
    stream integer := 0;
    current uuid;
    next bigint;
    head bytea;
    sealing boolean;
    moment timestamptz;
    taken uuid[];
begin
    for i in
        select u.ord, u.entity_id, u.event_id, u.kind, u.body_hash, u.expected,
            e.next_seq, e.sealed, e.head, e.last_at, k.wakes,
            exists (select from foja.event o where o.entity_id = u.entity_id and o.event_id = u.event_id) as known,
            case when e.domain is distinct from u.domain or e.tenant <> p_tenant
                then format('wrong_entity: %s is not a %s of this tenant', u.entity_id, u.domain)
                when e.lane = 'redis' then format('on_redis: %s is numbered by Redis', u.entity_id)
                when not coalesce(foja.is_sound(k, p_source, u.actor, u.payload, u.salt, u.body_hash), false)
                then foja.body_problem(k, p_source, u.actor, u.payload, u.salt, u.body_hash)
            end as problem
        from unnest(p_entity, p_domain, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_hash, p_expected)
            with ordinality u(entity_id, domain, kind, v, event_id, actor, payload, salt, body_hash, expected, ord)
        left join foja.entity e on e.entity_id = u.entity_id
        left join foja.kind k on k.domain = u.domain and k.kind = u.kind and k.v = u.v
        order by u.entity_id, u.ord
    loop
        if current is distinct from i.entity_id then
            current := i.entity_id;
            stream := stream + 1;
            streams[stream] := current;
            next := i.next_seq;
            head := i.head;
            sealing := i.sealed = i.next_seq;
            moment := greatest(clock_timestamp(), i.last_at);
            taken := '{}';
        end if;
        if i.problem is not null then
            problems[i.ord] := i.problem;
        elsif i.known or i.event_id = any (taken) then
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
            seqs[i.ord] := next;
            ats[i.ord] := moment;
            taken := taken || i.event_id;
            next := next + 1;
        end if;
        nexts[stream] := next;
        heads[stream] := head;
        lasts[stream] := moment;
    end loop;
    return row(seqs, ats, links, problems, streams, nexts, heads, lasts, woken)::foja.batch;
end $$;

create function foja.append_batch(
    p_entity uuid[], p_domain text[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[],
    p_payload text[], p_salt bytea[], p_hash bytea[], p_key text[], p_expected bigint[],
    p_source text, p_tenant text, p_atomic boolean
) returns setof foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- One plan for every batch, made of index look-ups: planning these statements costs more
-- than running them, and the first plan is made while the tables are empty.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    b foja.batch;
begin
    perform foja.check_source(p_source);
    perform foja.lock_entities(p_entity, p_domain, p_tenant);
    b := foja.number_batch(p_entity, p_domain, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_hash, p_expected,
        p_source, p_tenant);
    insert into foja.event
    select u.entity_id, u.seq, u.event_id, u.kind, u.v, u.at, u.actor, p_source, u.payload::json, u.salt, u.body_hash,
        u.key, p_tenant
    from unnest(p_entity, b.seq, p_event, p_kind, p_v, b.at, p_actor, p_payload, p_salt, p_hash, p_key)
        u(entity_id, seq, event_id, kind, v, at, actor, payload, salt, body_hash, key)
    where u.seq is not null;
    insert into foja.pending (entity_id, seq, chain_hash)
    select u.entity_id, u.seq, u.link from unnest(p_entity, b.seq, b.link) u(entity_id, seq, link)
    where u.link is not null;
    if array_position(b.link, null) is not null then
        insert into foja.unsealed
        select u.entity_id, u.seq from unnest(p_entity, b.seq, b.link) u(entity_id, seq, link)
        where u.seq is not null and u.link is null;
    end if;
    if b.woken is not null then
        insert into foja.wakeup (entity_id, domain)
        select e.entity_id, e.domain from foja.entity e where e.entity_id = any (b.woken) and e.awake is null
        on conflict do nothing;
    end if;
    update foja.entity e set next_seq = u.next_seq, head = u.head, last_at = u.last_at,
        sealed = case when e.sealed = e.next_seq then u.next_seq else e.sealed end,
        awake = case when e.awake is null and e.entity_id = any (b.woken) then e.next_seq else e.awake end
    from unnest(b.entity_id, b.next_seq, b.head, b.last_at) u(entity_id, next_seq, head, last_at)
    where e.entity_id = u.entity_id and e.next_seq < u.next_seq;
    if array_position(b.seq, null) is null then
        return query select 'appended', null::text, u.seq, u.event_id, u.at, u.body_hash, u.link is not null
            from unnest(b.seq, p_event, b.at, p_hash, b.link) u(seq, event_id, at, body_hash, link);
        return;
    end if;
    delete from foja.entity where entity_id = any (p_entity) and next_seq = 0 and lane = 'postgres';  -- a stream begins with an event
    return query select * from foja.batch_receipts(
        p_entity, p_kind, p_v, p_event, p_actor, p_payload, p_hash, b, p_source, p_tenant, p_atomic);
end $$;

-- What became of every item: recorded now, recorded before, or refused.
create function foja.batch_receipts(
    p_entity uuid[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[], p_payload text[], p_hash bytea[],
    b foja.batch, p_source text, p_tenant text, p_atomic boolean
) returns setof foja.receipt
language plpgsql as $$
declare
    old foja.receipt;
    wrong text;
begin
    for n in 1 .. cardinality(p_entity) loop
        wrong := b.problem[n];
        if wrong is null and b.seq[n] is not null then
            return next row('appended', null, b.seq[n], p_event[n], b.at[n], p_hash[n], b.link[n] is not null)::foja.receipt;
        elsif wrong is null then
            old := foja.find_replay(p_entity[n], p_tenant, p_kind[n], p_v[n], p_event[n], p_actor[n], p_source, p_payload[n]);
            wrong := old.detail;
            if wrong is null then
                return next old;
            end if;
        end if;
        if wrong is not null and p_atomic then
            perform foja.refuse_for(format('%s (item %s)', wrong, n - 1));
        elsif wrong is not null then
            return next row('refused', wrong, null, null, null, null, null)::foja.receipt;
        end if;
    end loop;
end $$;
