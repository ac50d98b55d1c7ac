-- The guard of the domain `system`.

-- Of a tenant there is only what was done about its keys, sessions, jobs and webhooks.
create function foja.track_system(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    if exists (select from foja.events_at(p_entity, p_seq) new
            where new.entity_id is distinct from foja.find_system_stream(new.tenant)
                or new.tenant <> 'system' and new.kind not in ('access.changed', 'job.changed', 'webhook.changed')) then
        perform foja.refuse('wrong_entity', 'the stream of domain system has the id of the installation and the tenant system');
    end if;
    return null;
end $$;

update foja.domain set guard = 'track_system' where domain = 'system';
