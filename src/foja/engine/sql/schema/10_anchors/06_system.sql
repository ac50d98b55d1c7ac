-- The domain `system`: the installation's own stream. It has the id of the installation and the tenant `system`, and no
-- other stream has either.

create function foja.track_system(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    if exists (select from foja.events_at(p_entity, p_seq) new
            where new.tenant <> 'system' or new.entity_id is distinct from (select i.installation_id from foja.installation i)) then
        perform foja.refuse('wrong_entity', 'the stream of domain system has the id of the installation and the tenant system');
    end if;
    return null;
end $$;

update foja.domain set guard = 'track_system' where domain = 'system';
revoke execute on function foja.track_system from public;
