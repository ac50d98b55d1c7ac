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

-- Make a stream that is new; refuse one that is somebody else's.
create function foja.make_entity(p_entity uuid, p_domain text, p_tenant text) returns void
language plpgsql as $$
begin
    insert into foja.entity (entity_id, domain, tenant, head)
    values (p_entity, p_domain, p_tenant, foja.genesis(p_domain, p_entity))
    on conflict do nothing;
    if not exists (
        select from foja.entity where entity_id = p_entity and domain = p_domain and tenant = p_tenant
    ) then
        perform foja.refuse('wrong_entity', format('%s is not a %s of this tenant', p_entity, p_domain));
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
    p_entity uuid, p_kind text, p_v integer, p_event uuid, p_actor text, p_source text, p_payload text
) returns foja.receipt
language plpgsql stable as $$
declare
    old foja.event;
begin
    select * into old from foja.event where entity_id = p_entity and event_id = p_event;
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

create function foja.append(
    p_entity uuid, p_domain text, p_tenant text, p_kind text, p_v integer, p_event uuid, p_actor text,
    p_source text, p_payload text, p_salt bytea, p_hash bytea, p_key text, p_expected bigint
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    rule foja.kind;
    problem text;
    e record;
    moment timestamptz;
    link bytea;
    stored foja.receipt;
begin
    perform foja.check_source(p_source);
    select * into rule from foja.kind k where k.domain = p_domain and k.kind = p_kind and k.v = p_v;
    problem := foja.body_problem(rule, p_source, p_actor, p_payload, p_salt, p_hash);
    if problem is not null then
        perform foja.refuse(split_part(problem, ': ', 1), problem);
    end if;
    select next_seq, sealed, head, last_at into e from foja.entity
    where entity_id = p_entity and domain = p_domain and tenant = p_tenant for no key update;
    if e.next_seq is null then
        perform foja.make_entity(p_entity, p_domain, p_tenant);
        return foja.append(p_entity, p_domain, p_tenant, p_kind, p_v, p_event, p_actor, p_source, p_payload, p_salt,
            p_hash, p_key, p_expected);
    end if;
    if p_expected is null or p_expected = e.next_seq then
        moment := greatest(clock_timestamp(), e.last_at);
        insert into foja.event values (
            p_entity, e.next_seq, p_event, p_kind, p_v, moment, p_actor, p_source, p_payload::json, p_salt,
            p_hash, p_key, p_tenant)
        on conflict (entity_id, event_id) do nothing;
        if found then
            if e.sealed = e.next_seq then
                link := foja.chain_step(e.head, p_entity, e.next_seq, p_event, p_kind, moment, p_hash);
                insert into foja.pending (entity_id, seq, chain_hash) values (p_entity, e.next_seq, link);
                update foja.entity set next_seq = e.next_seq + 1, sealed = e.next_seq + 1, head = link, last_at = moment
                where entity_id = p_entity;
                if rule.wakes then
                    insert into foja.wakeup (entity_id, domain) values (p_entity, p_domain) on conflict do nothing;
                end if;
            else
                insert into foja.unsealed values (p_entity, e.next_seq);
                update foja.entity set next_seq = e.next_seq + 1, last_at = moment where entity_id = p_entity;
            end if;
            return row('appended', null, e.next_seq, p_event, moment, p_hash, link is not null)::foja.receipt;
        end if;
    end if;
    stored := foja.find_replay(p_entity, p_kind, p_v, p_event, p_actor, p_source, p_payload);
    if stored is null then
        perform foja.refuse('wrong_expected_seq', format('the next number is %s, not %s', e.next_seq, p_expected));
    elsif stored.detail is not null then
        perform foja.refuse('idempotency_conflict', stored.detail);
    end if;
    return stored;
end $$;
