-- For callers that speak only SQL: an event at a number they reserved.

-- The same fill again replays; its id is made as Python makes it, unless one is given.
create function foja.fill_event(
    entity_id uuid, domain text, seq bigint, token uuid, kind text, payload jsonb, source text default 'api',
    actor text default null, v integer default 1, tenant text default 'default', event_id uuid default null
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    bytes text := foja.canonical(payload);
    salt bytea := foja.new_salt();
    forced text := foja.forced_key(domain, kind, v, payload);
    key text := coalesce(forced, case when event_id is null then format('slot:%s:%s', token, seq) end);
begin
    return foja.fill(entity_id, domain, tenant, seq, token, kind, v,
        case when key is null then event_id else foja.event_id_for(entity_id, key) end,
        actor, source, bytes, salt, foja.body_hash(salt, actor, bytes, source, v), key);
end $$;

revoke execute on function foja.fill_event from public;
grant execute on function foja.fill_event to service_role, foja_api;

-- Conversations as the tables of the seed, for programs that know its names and nothing of ours.

-- What is committed; a reserved number reads as `slot.open`, so that the highest number is the last one given.
-- No join, and no condition inside the union: then the planner finds a session's maximum by index alone.
create view public.message_events with (security_invoker = true) as
select id, session_id, event_type, sequence_number, "timestamp", data
from (
    select event_id as id, entity_id as session_id, kind as event_type, seq::bigint as sequence_number,
        at as "timestamp", payload::jsonb as data, 'event' as state
    from foja.event
    union all
    select null, entity_id, 'slot.open', seq::bigint, null,
        jsonb_build_object('intent', intent, 'deadline', deadline), state::text
    from foja.slot
) message
where state in ('event', 'open')
    and (select e.domain = 'conversation' from foja.entity e where e.entity_id = session_id);

create function foja.acting_tenant() returns text
language sql stable parallel safe
return coalesce(nullif(current_setting('foja.tenant', true), ''), 'default');

-- Is this a number that only its reservation, or a replay of it, may name?
create function foja.is_given(p_entity uuid, p_tenant text, p_seq bigint) returns boolean
language sql stable
return exists (select from foja.slot where entity_id = p_entity and tenant = p_tenant and seq = p_seq)
    or exists (select from foja.event where entity_id = p_entity and tenant = p_tenant and seq = p_seq);

-- An insert appends. A number must be the next one, or a reserved one whose token is in `foja.slot_token`.
create function foja.insert_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    here text := foja.acting_tenant();
    ticket uuid := nullif(current_setting('foja.slot_token', true), '')::uuid;
    stored foja.receipt;
begin
    if new.session_id is null or new.event_type is null or new.data is null then
        perform foja.refuse('bad_payload', 'a message needs session_id, event_type and data');
    end if;
    new.event_type := case new.event_type when 'message' then 'agent_message_sent' else new.event_type end;
    if ticket is not null and foja.is_given(new.session_id, here, new.sequence_number) then
        stored := foja.fill_event(new.session_id, 'conversation', new.sequence_number, ticket, new.event_type,
            new.data, tenant => here, event_id => new.id);
    elsif exists (select from foja.slot where entity_id = new.session_id and tenant = here
            and seq = new.sequence_number and state = 'open') then
        perform foja.refuse('wrong_expected_seq', format(
            'number %s is reserved; set foja.slot_token to its token, or leave the number out', new.sequence_number));
    else
        stored := foja.append_event(new.session_id, 'conversation', new.event_type, new.data,
            expected_seq => new.sequence_number, tenant => here, event_id => new.id);
    end if;
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.seq <> new.sequence_number then
        perform foja.refuse('idempotency_conflict',
            format('%s is event %s already, and cannot be %s too', stored.event_id, stored.seq, new.sequence_number));
    end if;
    new.id := stored.event_id;
    new.sequence_number := stored.seq;
    new."timestamp" := stored.at;
    new.data := case when stored.status <> 'erased' then foja.canonical(new.data)::jsonb end;
    return new;
end $$;

create trigger message_insert instead of insert on public.message_events
    for each row execute function foja.insert_message();
create trigger message_change instead of update or delete on public.message_events
    for each row execute function foja.forbid_change();

-- Numbers for events that do not exist yet; `token` goes into `foja.slot_token` when they are inserted.
create function public.reserve_sequence_batch(session_id uuid, count integer, ttl interval default '30 seconds')
returns table (start_sequence bigint, sequences bigint[], token uuid, deadline timestamptz)
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
    select r.first_seq, array(select generate_series(r.first_seq, r.first_seq + count - 1)), r.token, r.deadline
    from foja.reserve(session_id, 'conversation', foja.acting_tenant(), 'api', coalesce(count, 0),
        coalesce(ttl, '30 seconds'), null) r;
end;

-- The next number of every conversation. On the Redis lane the stream's row does not count along.
create view public.sequence_counters with (security_invoker = true) as
select e.entity_id as session_id, case e.lane when 'postgres' then e.next_seq::bigint else greatest(e.next_seq,
    (select max(v.seq) from foja.event v where v.entity_id = e.entity_id) + 1,
    (select max(s.seq) from foja.slot s where s.entity_id = e.entity_id) + 1) end as next_number
from foja.entity e where e.domain = 'conversation';

create trigger counter_change instead of insert or update or delete on public.sequence_counters
    for each row execute function foja.forbid_change();

revoke execute on function foja.acting_tenant, foja.is_given, foja.insert_message, public.reserve_sequence_batch
    from public;
grant execute on function foja.acting_tenant, public.reserve_sequence_batch to service_role, foja_api;
grant select on public.message_events, public.sequence_counters
    to authenticated, service_role, foja_api, foja_sweeper;
grant insert on public.message_events to service_role, foja_api;
