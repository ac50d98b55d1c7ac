-- For callers that use SQL only: record an event at a reserved number.

-- A repeated fill is a replay. Without `event_id`, the id is derived as in Python.
create function foja.fill_event(
    entity_id uuid, domain text, seq bigint, token uuid, kind text, payload jsonb, source text default 'api',
    actor text default null, v integer default 1,
    tenant text default foja.acting_tenant(), event_id uuid default null
) returns foja.receipt
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    forced text := foja.forced_key(domain, kind, v, payload);
    key text := coalesce(forced, case when event_id is null then format('slot:%s:%s', token, seq) end);
begin
    return foja.fill(foja.new_draft(entity_id, domain, tenant, kind, foja.canonical(payload), source, actor,
        case when key is null then event_id end, key, null, v), seq, token);
end $$;

grant execute on function foja.fill_event to service_role, foja_api;
