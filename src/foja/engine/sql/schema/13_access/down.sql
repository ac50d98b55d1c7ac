-- Back to a schema without keys. They are kept for the way up, and what was recorded about them stays in its streams.

select foja.keep_rows('foja.access_key', 'foja.access_secret', 'foja.access_session', 'foja.access_version',
    'foja.system_stream', 'foja.person');

create or replace function foja.track_system(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    if exists (select from foja.events_at(p_entity, p_seq) new
            where new.tenant <> 'system' or new.entity_id is distinct from (select i.installation_id from foja.installation i)) then
        perform foja.refuse('wrong_entity', 'the stream of domain system has the id of the installation and the tenant system');
    end if;
    return null;
end $$;

create or replace function foja.is_own_stream(p_entity uuid, p_domain text, p_tenant text) returns boolean
language sql stable
return case when (select i.installation_id = p_entity from foja.installation i) then p_domain = 'system' and p_tenant = 'system'
    else p_domain <> 'system' and p_tenant <> 'system' end;

drop function foja.find_names_v1, foja.name_person_v1, foja.switch_jobs_v1, foja.change_jobs_v1, foja.note_use_v1, foja.list_sessions_v1, foja.end_session_v1,
    foja.find_session_v1, foja.open_session_v1, foja.record_session, foja.list_keys_v1, foja.find_key_v1, foja.rotate_key_v1,
    foja.revoke_key_v1, foja.create_key_v1, foja.lock_key, foja.record_key, foja.announce_access, foja.record_act,
    foja.find_system_stream;
drop table foja.person, foja.system_stream, foja.access_version, foja.access_session, foja.access_secret, foja.access_key;
