-- Approvals. Requests and decisions are only in the events. These tables are indexes for the
-- sweeper and for readers, so that they need not read all events.

create table foja.approval_due (
    entity_id uuid not null,
    event_id uuid not null,       -- the id of the decision to come
    approval_id text not null,
    due timestamptz not null,
    tenant text not null,
    primary key (entity_id, event_id)
);

create index approval_due_order on foja.approval_due (due);

-- The numbers of the approval events of a conversation, so that a reader can skip the others. Not an
-- index and not a trigger: those would cost time for every other event.
create table foja.approval_event (
    entity_id uuid not null,
    seq bigint not null,
    tenant text not null,
    asks uuid,                    -- of a request: the id of the decision to come
    primary key (entity_id, seq)
);

create index approval_event_requests on foja.approval_event (entity_id, asks, seq) where asks is not null;

update foja.domain set guard = 'track_approvals' where domain = 'conversation';

-- Parse an RFC 3339 time, in UTC if it has no offset. Null if it is not valid.
create function foja.moment_of(value text) returns timestamptz
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
begin
    if value ~* '^\d{4}-\d\d-\d\d[t ]([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(z|[+-](0\d|1[0-4]):?[0-5]\d)?$' then
        return value::timestamptz;
    end if;
    return null;
exception when data_exception then
    return null;
end $$;

-- The same, but fast for a time with an offset and a day up to 28: the planner inlines this function, while the
-- one above costs a subtransaction.
create function foja.moment(value text) returns timestamptz
language sql stable parallel safe
return case when value ~ '^[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?(Z|[+-](0\d|1[0-4]):[0-5]\d)$'
    then value::timestamptz else foja.moment_of(value) end;

-- The first request of an approval, as its decision names it. None if its body was erased.
create function foja.request_of(p_entity uuid, p_approval text, out request_seq bigint, out tool_name text, out args_sha256 text,
    out policy text) returns setof record
language sql stable
begin atomic
    select e.seq, e.payload ->> 'tool_name', encode(sha256(convert_to((e.payload -> 'tool_args')::text, 'UTF8')), 'hex'),
        e.payload ->> 'policy'
    from foja.approval_event a join foja.event e using (entity_id, seq)
    where a.entity_id = p_entity and a.asks = foja.event_id_for(p_entity, 'approval:' || p_approval)
        and e.payload ->> 'approval_id' = p_approval
    order by a.seq limit 1;
end;

-- The first decision wins because all decisions of an approval have the same id; so one with another id is refused.
create function foja.track_approval(new foja.event) returns void
language plpgsql as $$
declare
    approval text := new.payload ->> 'approval_id';
    key text := 'approval:' || approval;
    decision uuid := foja.event_id_for(new.entity_id, key);
    due timestamptz;
begin
    insert into foja.approval_event
    values (new.entity_id, new.seq, new.tenant, case new.kind when 'approval_requested' then decision end);
    if new.kind = 'approval_requested' then
        if octet_length(key) > 1024 then  -- no decision could be recorded
            perform foja.refuse('too_large', 'an approval_id may have 1,015 bytes');
        end if;
        due := foja.moment(new.payload ->> 'expires_at');
        if due is not null and not exists (
                select from foja.event e where e.entity_id = new.entity_id and e.event_id = decision) then
            insert into foja.approval_due values (new.entity_id, decision, approval, due, new.tenant)
            on conflict do nothing;
        end if;
    elsif new.event_id <> decision or new.idempotency_key is distinct from key then
        perform foja.refuse('bad_payload',
            format('a decision of this approval needs the idempotency key %s and the id derived from it', key));
    elsif new.payload ->> 'decision' not in ('approved', 'denied', 'expired') then
        perform foja.refuse('bad_payload', 'not a valid decision: expected approved, denied or expired');
    elsif new.v > 1 and not exists (
            select from foja.request_of(new.entity_id, approval) r
            where (r.request_seq::text, r.tool_name, r.args_sha256)
                = (new.payload ->> 'request_seq', new.payload ->> 'tool_name', new.payload ->> 'args_sha256')) then
        perform foja.refuse('bad_payload',
            'request_seq, tool_name and args_sha256 are not those of the first request of this approval');
    else
        delete from foja.approval_due d where d.entity_id = new.entity_id and d.event_id = decision;
    end if;
end $$;

create function foja.track_approvals(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    perform foja.track_approval(new) from foja.events_at(p_entity, p_seq) new;
    return null;
end $$;

-- Record that an approval has expired. False if it was decided, or is not due.
create function foja.expire_approval(p_entity uuid, p_event uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    late foja.approval_due;
    request record;  -- none if its body was erased: then it expires as in version 1
begin
    perform foja.check_source('sweeper');
    select * into late from foja.approval_due d
    where d.entity_id = p_entity and d.event_id = p_event and d.due <= clock_timestamp();
    if not found then
        return false;
    end if;
    select * into request from foja.request_of(p_entity, late.approval_id);
    perform foja.append_event(p_entity, 'conversation', 'approval_completed',
        jsonb_build_object('approval_id', late.approval_id, 'decision', 'expired', 'reason', null)
        || case when request.request_seq is null then '{}' else jsonb_strip_nulls(to_jsonb(request)) end,
        'sweeper', v => case when request.request_seq is null then 1 else 2 end, tenant => late.tenant);
    return true;
end $$;

grant execute on function foja.expire_approval to foja_sweeper;
select foja.share_rows('foja.approval_due', '');
select foja.share_rows('foja.approval_event', 'foja_api');
select foja.restrict_functions();

-- Approvals that were asked for before this step.
select foja.track_approval(old) from foja.entity e join foja.event old using (entity_id)
where e.domain = 'conversation' and old.kind in ('approval_requested', 'approval_completed') order by old.entity_id, old.seq;
