-- Back to a schema without keys. What was recorded about them stays, in the streams of the domain `system`.

-- Domains are registered at the newest step only. Kinds and domains that streams were written with stay; their jobs go,
-- since no process could do them.
update foja.kind set tracked = false, wakes = false where tracked or wakes;
update foja.domain set executor = null where executor is not null;
update foja.entity set awake = null where awake is not null;
delete from foja.woken;
delete from foja.tick;
delete from foja.job;
delete from foja.job_type;
delete from foja.source;
delete from foja.kind k where not exists (select from foja.entity e where e.domain = k.domain);
delete from foja.domain d where not d.reserved and not exists (select from foja.entity e where e.domain = d.domain);

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

drop function foja.switch_jobs_v1, foja.change_jobs_v1, foja.note_use_v1, foja.list_sessions_v1, foja.end_session_v1,
    foja.find_session_v1, foja.open_session_v1, foja.record_session, foja.list_keys_v1, foja.find_key_v1, foja.rotate_key_v1,
    foja.revoke_key_v1, foja.create_key_v1, foja.lock_key, foja.record_key, foja.announce_access, foja.record_act,
    foja.find_system_stream;
drop table foja.system_stream, foja.access_version, foja.access_session, foja.access_secret, foja.access_key;
