-- Append-only, also for the owner of the table.

create function foja.forbid_change() returns trigger
language plpgsql as $$
begin
    raise exception using errcode = 'FJ002', message = 'append_only',
        detail = format('%s on %s.%s is refused: what is recorded stays', tg_op, tg_table_schema, tg_table_name);
end $$;

-- The id of the event that records an erasure: there can be only one for each event.
create function foja.erasure_id(entity_id uuid, seq bigint) returns uuid
language sql immutable strict parallel safe
return foja.derived_id('foja/erasure/v1'::bytea, uuid_send(entity_id), int8send(seq));

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
create function foja.erase(
    p_entity uuid, p_domain text, p_tenant text, p_seq bigint, p_source text, p_actor text, p_reason text
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    e foja.entity;
    old foja.event;
    notice foja.receipt;
begin
    perform foja.check_source(p_source);
    if p_reason is null then
        perform foja.refuse('bad_payload', 'say why: a reason is needed');
    end if;
    perform foja.check_size(p_reason, 1048576, 'a reason');
    perform foja.check_size(p_actor, 1024, 'an actor');
    if not foja.may_act_for(p_tenant) then
        perform foja.refuse('unknown_entity', format('%s has no event %s', p_entity, p_seq));
    end if;
    perform foja.claim_lanes(array[p_entity]);
    select * into e from foja.entity where entity_id = p_entity and tenant = p_tenant for no key update;
    if e.domain <> p_domain then
        perform foja.refuse('wrong_entity', format('%s is not a %s of this tenant', p_entity, p_domain));
    elsif e.lane = 'redis' then
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
        perform foja.await_standbys();
        select 'replayed', null, w.seq, w.event_id, w.at, w.body_hash, null, null into notice from foja.event w
        where w.entity_id = p_entity and w.event_id = foja.erasure_id(p_entity, p_seq);
        return notice;
    end if;
    update foja.entity set next_seq = e.next_seq + 1 where entity_id = p_entity;
    notice := foja.record_at(
        foja.new_draft(p_entity, e.domain, p_tenant, 'body.erased',
            foja.canonical(jsonb_build_object('seq', p_seq, 'reason', p_reason)), p_source, p_actor,
            foja.erasure_id(p_entity, p_seq)),
        e.next_seq, greatest(clock_timestamp(), e.last_at));
    update foja.event set payload = null, salt = null, actor = null
    where entity_id = p_entity and seq = p_seq;
    update foja.slot set intent = null where entity_id = p_entity and seq = p_seq;
    perform foja.seal(p_entity, 1000);
    return notice;
end $$;
