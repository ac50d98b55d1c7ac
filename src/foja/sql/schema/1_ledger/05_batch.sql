-- Many events in one statement. `atomic`: all of them or none. Otherwise each has
-- its own verdict, and an item with an expected number must be its stream's first.

-- Lock every stream of a batch, in order, making the new ones first.
create function foja.lock_entities(p_entity uuid[], p_domain text[], p_tenant text) returns void
language plpgsql as $$
declare
    wanted integer := (select count(distinct id) from unnest(p_entity) id);
    locked integer;
begin
    perform from foja.entity where entity_id = any (p_entity) order by entity_id for no key update;
    get diagnostics locked = row_count;
    if locked < wanted then
        insert into foja.entity (entity_id, domain, tenant, head)
        select distinct on (id) id, domain, p_tenant, foja.genesis(domain, id)
        from unnest(p_entity, p_domain) new(id, domain)
        where exists (select from foja.domain d where d.domain = new.domain)
        order by id
        on conflict do nothing;
        perform from foja.entity where entity_id = any (p_entity) order by entity_id for no key update;
    end if;
end $$;

-- Record what is new and allowed; return what is wrong with the others, by position.
create function foja.record_batch(
    p_entity uuid[], p_domain text[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[],
    p_payload text[], p_salt bytea[], p_hash bytea[], p_key text[], p_expected bigint[],
    p_source text, p_tenant text, p_atomic boolean
) returns text[]
language sql as $$
    with item as materialized (
        select i.*, e.next_seq, e.sealed = e.next_seq as sealing, e.head, e.last_at,
            case when e.domain is distinct from i.domain or e.tenant <> p_tenant
                then format('wrong_entity: %s is not a %s of this tenant', i.entity_id, i.domain)
                else foja.body_problem(i.domain, i.kind, i.v, p_source, i.actor, i.payload, i.salt, i.body_hash)
            end as problem
        from unnest(p_entity, p_domain, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_hash, p_key, p_expected)
            with ordinality i(entity_id, domain, kind, v, event_id, actor, payload, salt, body_hash, key, expected, ord)
        left join foja.entity e on e.entity_id = i.entity_id
    ), fresh as (
        select item.*, row_number() over (partition by entity_id, event_id order by ord) as copy
        from item
        where problem is null
          and (p_atomic or expected is null or expected = next_seq)
          and not exists (
            select from foja.event old where old.entity_id = item.entity_id and old.event_id = item.event_id)
    ), numbered as (
        select fresh.*, greatest(clock_timestamp(), last_at) as at,
            next_seq + row_number() over (partition by entity_id order by ord) - 1 as seq
        from fresh where copy = 1
    ), chained as materialized (
        select numbered.*, case when sealing then foja.chain(head, entity_id, seq, event_id, kind, at, body_hash)
            over (partition by entity_id order by seq) end as link
        from numbered
    ), recorded as (
        insert into foja.event
        select entity_id, seq, event_id, kind, v, at, actor, p_source, payload::json, salt, body_hash, key, p_tenant
        from chained
    ), outbox as (
        insert into foja.pending (entity_id, seq, chain_hash)
        select entity_id, seq, link from chained where sealing order by ord
    ), held as (
        insert into foja.unsealed select entity_id, seq from chained where not sealing
    ), counted as (
        update foja.entity e
        set next_seq = last.seq + 1, last_at = last.at,
            sealed = case when last.sealing then last.seq + 1 else e.sealed end,
            head = coalesce(last.link, e.head)
        from (select distinct on (entity_id) * from chained order by entity_id, seq desc) last
        where e.entity_id = last.entity_id
    ), woken as (
        insert into foja.wakeup (entity_id, domain)
        select distinct c.entity_id, c.domain from chained c join foja.domain d using (domain)
        where d.executor and c.sealing
        on conflict do nothing
    )
    select array_agg(coalesce(item.problem, case when c.expected <> c.seq
        then format('wrong_expected_seq: the next number is %s, not %s', c.seq, c.expected) end) order by item.ord)
    from item left join chained c on c.ord = item.ord
$$;

create function foja.append_batch(
    p_entity uuid[], p_domain text[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[],
    p_payload text[], p_salt bytea[], p_hash bytea[], p_key text[], p_expected bigint[],
    p_source text, p_tenant text, p_atomic boolean
) returns setof foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    problems text[];
    wrong text;
begin
    perform foja.check_source(p_source);
    perform foja.lock_entities(p_entity, p_domain, p_tenant);
    problems := foja.record_batch(p_entity, p_domain, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_hash,
        p_key, p_expected, p_source, p_tenant, p_atomic);
    if p_atomic then
        select format('%s (item %s)', problem, ord - 1) into wrong
        from unnest(problems) with ordinality p(problem, ord) where problem is not null order by ord limit 1;
        if found then
            perform foja.refuse(split_part(wrong, ': ', 1), wrong);
        end if;
    end if;
    return query select * from foja.batch_receipts(
        p_entity, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_expected, problems, p_source, p_atomic);
end $$;

-- What became of every item. The stored salt tells whose event it is: ours, or an
-- earlier one under the same id, which must then say the same.
create function foja.batch_receipts(
    p_entity uuid[], p_kind text[], p_v integer[], p_event uuid[], p_actor text[], p_payload text[],
    p_salt bytea[], p_expected bigint[], p_problem text[], p_source text, p_atomic boolean
) returns setof foja.receipt
language plpgsql as $$
declare
    wrong text;
    receipts foja.receipt[];
begin
    select array_agg(row(status, detail, case when status <> 'refused' then seq end, event_id, at, body_hash, sealed)
        ::foja.receipt order by ord) into receipts
    from (
        select i.ord, old.seq, i.event_id, old.at, old.body_hash, old.seq < e.sealed as sealed,
            case when i.problem is not null or old.seq is null or said.otherwise then 'refused'
                when old.salt is null then 'erased'
                when old.salt = i.salt then 'appended' else 'replayed' end as status,
            case when i.problem is not null then i.problem
                when old.seq is null then format('wrong_expected_seq: the next number is not %s', i.expected)
                when said.otherwise then format('idempotency_conflict: it is event %s, a %s', old.seq, old.kind)
            end as detail
        from unnest(p_entity, p_kind, p_v, p_event, p_actor, p_payload, p_salt, p_expected, p_problem)
            with ordinality i(entity_id, kind, v, event_id, actor, payload, salt, expected, problem, ord)
        left join foja.event old on old.entity_id = i.entity_id and old.event_id = i.event_id
        left join foja.entity e on e.entity_id = i.entity_id
        left join lateral (
            select old.kind <> i.kind or old.salt <> i.salt
                and foja.body_hash(old.salt, i.actor, i.payload, p_source, i.v) <> old.body_hash as otherwise
        ) said on true
    ) result;
    if p_atomic then
        select detail into wrong from unnest(receipts) where status = 'refused' limit 1;
        if found then
            perform foja.refuse(split_part(wrong, ': ', 1), wrong);
        end if;
    end if;
    return query select * from unnest(receipts);
end $$;
