-- Who may do what with keys and sessions: only the role `foja_access`, through these functions. No role reads the tables.

revoke execute on function
    foja.find_system_stream, foja.record_act, foja.announce_access, foja.record_key, foja.lock_key, foja.create_key_v1,
    foja.revoke_key_v1, foja.rotate_key_v1, foja.find_key_v1, foja.list_keys_v1, foja.record_session, foja.open_session_v1,
    foja.find_session_v1, foja.end_session_v1, foja.list_sessions_v1, foja.note_use_v1, foja.change_jobs_v1, foja.switch_jobs_v1,
    foja.name_person_v1, foja.find_names_v1
    from public;
-- Also from roles that earlier steps let read all tables: a restore runs those grants again.
revoke all on foja.access_key, foja.access_secret, foja.access_session, foja.access_version, foja.system_stream,
    foja.person from public, service_role, foja_api, foja_reader, foja_worker;

-- Each of them also asks for the source `access`, whose role is a member of `foja_worker` alone.
grant execute on function
    foja.create_key_v1, foja.revoke_key_v1, foja.rotate_key_v1, foja.find_key_v1, foja.list_keys_v1, foja.open_session_v1,
    foja.find_session_v1, foja.end_session_v1, foja.list_sessions_v1, foja.note_use_v1,
    foja.name_person_v1, foja.find_names_v1
    to foja_worker;
grant select on foja.access_version to foja_worker;
grant select on foja.system_stream to foja_worker, service_role, foja_api, foja_reader;
grant execute on function foja.change_jobs_v1 to service_role, foja_api, foja_operator;
grant execute on function foja.switch_jobs_v1 to service_role, foja_operator;

alter table foja.system_stream enable row level security, force row level security;
create policy owner_works on foja.system_stream to current_user using (true) with check (true);
create policy installation_reads on foja.system_stream for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.system_stream for select to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
