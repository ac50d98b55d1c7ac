-- Approvals. What was asked and decided is in the events, and nowhere else; here is only
-- what the sweeper has to look at again, so that it need not read them all.

create table foja.approval_due (
    entity_id uuid not null,
    event_id uuid not null,       -- the id the decision will have
    approval_id text not null,
    due timestamptz not null,
    tenant text not null,
    primary key (entity_id, event_id)
);

create index approval_due_order on foja.approval_due (due);

-- Where the approvals of a conversation are, so that nobody reads the rest of it for them. Not an
-- index and not a trigger: every other event would pay for not being one.
create table foja.approval_event (
    entity_id uuid not null,
    seq bigint not null,
    primary key (entity_id, seq)
);

update foja.domain set guard = 'track_approval' where domain = 'conversation';

-- A moment as RFC 3339 writes it, in UTC if it has no offset; null if it is none.
create function foja.moment_of(words text) returns timestamptz
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
begin
    if words ~* '^\d{4}-\d\d-\d\d[t ]([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(z|[+-](0\d|1[0-4]):?[0-5]\d)?$' then
        return words::timestamptz;
    end if;
    return null;
exception when data_exception then
    return null;
end $$;

-- The same. What is plainly one, with its offset and a day that every month has, is read at once: the planner
-- inlines this, and the one above costs a subtransaction.
create function foja.moment(words text) returns timestamptz
language sql stable parallel safe
return case when words ~ '^[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?(Z|[+-](0\d|1[0-4]):[0-5]\d)$'
    then words::timestamptz else foja.moment_of(words) end;

-- The first decision wins because every decision has the same id; so nothing else may be one.
create function foja.track_approval(new foja.event, p_at_head boolean) returns void
language plpgsql as $$
declare
    approval text := new.payload ->> 'approval_id';
    key text := 'approval:' || approval;
    decision uuid := foja.event_id_for(new.entity_id, key);
    due timestamptz;
begin
    insert into foja.approval_event values (new.entity_id, new.seq);
    if new.kind = 'approval_requested' then
        due := foja.moment(new.payload ->> 'expires_at');
        if due is not null and not exists (
                select from foja.event e where e.entity_id = new.entity_id and e.event_id = decision) then
            insert into foja.approval_due values (new.entity_id, decision, approval, due, new.tenant)
            on conflict do nothing;
        end if;
    elsif new.event_id <> decision or new.idempotency_key is distinct from key then
        perform foja.refuse('bad_payload', format('the idempotency key of this decision is %s, and its id comes from it', key));
    elsif new.payload ->> 'decision' not in ('approved', 'denied', 'expired') then
        perform foja.refuse('bad_payload', 'a decision is approved, denied or expired');
    else
        delete from foja.approval_due d where d.entity_id = new.entity_id and d.event_id = decision;
    end if;
end $$;

-- Write down that nobody decided in time; false if somebody did.
create function foja.expire_approval(p_entity uuid, p_event uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    late foja.approval_due;
begin
    perform foja.check_source('sweeper');
    select * into late from foja.approval_due d
    where d.entity_id = p_entity and d.event_id = p_event and d.due <= clock_timestamp();
    if not found then
        return false;
    end if;
    perform foja.append_event(p_entity, 'conversation', 'approval_completed',
        jsonb_build_object('approval_id', late.approval_id, 'decision', 'expired', 'reason', null),
        'sweeper', tenant => late.tenant);
    return true;
end $$;

revoke execute on function foja.moment, foja.moment_of, foja.track_approval, foja.expire_approval from public;
grant select on foja.approval_due, foja.approval_event to service_role, foja_api, foja_sweeper;
grant execute on function foja.expire_approval to foja_sweeper;
