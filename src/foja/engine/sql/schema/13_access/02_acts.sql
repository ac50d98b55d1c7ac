-- What was done about keys, sessions, jobs and webhooks is recorded in the streams of the domain `system`.

-- Record what someone did, in the stream of its tenant or of the installation.
create function foja.record_act(p_tenant text, p_kind text, p_source text, p_actor text, p_payload jsonb) returns void
language plpgsql as $$
declare
    bound text := current_setting('foja.tenant', true);
begin
    perform set_config('foja.tenant', p_tenant, true);  -- the act may concern all tenants: its caller was checked
    if p_tenant <> 'system' then
        insert into foja.system_stream (tenant, entity_id) values (p_tenant, foja.new_id()) on conflict do nothing;
    end if;
    perform foja.append_event(foja.find_system_stream(p_tenant), 'system', p_kind, jsonb_strip_nulls(p_payload), p_source,
        p_actor, tenant => p_tenant);
    perform set_config('foja.tenant', coalesce(bound, ''), true);
end $$;

-- Let every process look again: the notification reaches them now, the number within a second.
create function foja.announce_access() returns void
language plpgsql as $$
begin
    update foja.access_version set version = version + 1;
    perform pg_notify('foja', foja.derived_id('foja/notification/v1'::bytea, '', uuid_send(i.installation_id))::text)
        from foja.installation i;
end $$;
