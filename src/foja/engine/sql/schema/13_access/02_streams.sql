-- The domain `system` has the installation's own stream, and one of each tenant for what was done there.

create function foja.find_system_stream(p_tenant text) returns uuid
language sql stable
return case p_tenant when 'system' then (select i.installation_id from foja.installation i)
    else (select s.entity_id from foja.system_stream s where s.tenant = p_tenant) end;

create or replace function foja.is_own_stream(p_entity uuid, p_domain text, p_tenant text) returns boolean
language sql stable
return case when p_domain = 'system' then p_entity is not distinct from foja.find_system_stream(p_tenant)
    else p_tenant <> 'system' and not exists (select from foja.installation i where i.installation_id = p_entity)
        and not exists (select from foja.system_stream s where s.entity_id = p_entity) end;

-- Of a tenant there is only what was done about its keys, sessions, jobs and webhooks.
create or replace function foja.track_system(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    if exists (select from foja.events_at(p_entity, p_seq) new
            where new.entity_id is distinct from foja.find_system_stream(new.tenant)
                or new.tenant <> 'system' and new.kind not in ('access.changed', 'job.changed', 'webhook.changed')) then
        perform foja.refuse('wrong_entity', 'the stream of domain system has the id of the installation and the tenant system');
    end if;
    return null;
end $$;

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
