-- Conversations under the table names of the seed, for programs that use those names.

-- The committed events. A reserved number has the type `slot.open`, so that the highest number is the last one given.
-- No join and no condition inside the union, so that the planner finds the maximum of a session by index alone.
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

-- Whether this number has a slot or an event: then only a fill, or its replay, may name it.
create function foja.is_given(p_entity uuid, p_tenant text, p_seq bigint) returns boolean
language sql stable
return exists (select from foja.slot where entity_id = p_entity and tenant = p_tenant and seq = p_seq)
    or exists (select from foja.event where entity_id = p_entity and tenant = p_tenant and seq = p_seq);

-- An insert appends. A given number must be the next one, or a reserved one whose token is in `foja.slot_token`.
create function foja.insert_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    own_tenant text := foja.acting_tenant();
    slot_token uuid := nullif(current_setting('foja.slot_token', true), '')::uuid;
    stored foja.receipt;
begin
    if new.session_id is null or new.event_type is null or new.data is null then
        perform foja.refuse('bad_payload', 'a message needs session_id, event_type and data');
    end if;
    -- PostgreSQL ignores the clause on a view. With an id or a number, a repeated insert is a replay or refused.
    if new.id is null and new.sequence_number is null and current_query() ilike '%conflict%'
            and regexp_replace(current_query(), $q$'[^']*'$q$, '', 'g') ~* '\mon\s+conflict\M' then
        perform foja.refuse('bad_payload', 'on conflict has no effect on this view and the message would be recorded '
            'again; give the insert an id instead, and repeat it with the same one');
    end if;
    perform foja.check_tenant(own_tenant, new.session_id, 'conversation');
    new.event_type := case new.event_type when 'message' then 'agent_message_sent' else new.event_type end;
    if slot_token is not null and foja.is_given(new.session_id, own_tenant, new.sequence_number) then
        stored := foja.fill_event(new.session_id, 'conversation', new.sequence_number, slot_token, new.event_type,
            new.data, tenant => own_tenant, event_id => new.id);
    elsif exists (select from foja.slot where entity_id = new.session_id and tenant = own_tenant
            and seq = new.sequence_number and state = 'open') then
        perform foja.refuse('wrong_expected_seq', format(
            'number %s is reserved; set foja.slot_token to its token, or leave the number out', new.sequence_number));
    else
        stored := foja.append_event(new.session_id, 'conversation', new.event_type, new.data,
            expected_seq => new.sequence_number, tenant => own_tenant, event_id => new.id);
    end if;
    if stored.status = 'refused' then
        perform foja.refuse_for(stored.detail);
    elsif stored.seq <> new.sequence_number then
        perform foja.refuse('idempotency_conflict',
            format('id %s is already event %s and cannot be event %s', stored.event_id, stored.seq, new.sequence_number));
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

-- Reserve numbers for later events. Set `foja.slot_token` to `token` when inserting them.
create function public.reserve_sequence_batch(session_id uuid, count integer, ttl interval default '30 seconds')
returns table (start_sequence bigint, sequences bigint[], token uuid, deadline timestamptz)
language sql volatile set search_path = pg_catalog, pg_temp
begin atomic
    select r.first_seq, array(select generate_series(r.first_seq, r.first_seq + count - 1)), r.token, r.deadline
    from foja.reserve(session_id, 'conversation', foja.acting_tenant(), 'api', coalesce(count, 0),
        coalesce(ttl, '30 seconds'), null) r;
end;

-- The next number of every conversation. On the Redis lane the row of the stream does not hold it.
create view public.sequence_counters with (security_invoker = true) as
select e.entity_id as session_id, case e.lane when 'postgres' then e.next_seq::bigint else greatest(e.next_seq,
    (select max(v.seq) from foja.event v where v.entity_id = e.entity_id) + 1,
    (select max(s.seq) from foja.slot s where s.entity_id = e.entity_id) + 1) end as next_number
from foja.entity e where e.domain = 'conversation';

create trigger counter_change instead of insert or update or delete on public.sequence_counters
    for each row execute function foja.forbid_change();

revoke execute on function public.reserve_sequence_batch from public;
grant execute on function public.reserve_sequence_batch to service_role, foja_api;
grant select on public.message_events, public.sequence_counters
    to authenticated, service_role, foja_api, foja_reader;
grant insert on public.message_events to service_role, foja_api;
select foja.restrict_functions();
