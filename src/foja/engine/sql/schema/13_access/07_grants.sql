-- Who may do what with keys and sessions: only the role `foja_access`, through these functions. No role reads the tables.

-- Each of them also asks for the source `access`, whose role is a member of `foja_worker` alone.
grant execute on function
    foja.create_key_v1, foja.revoke_key_v1, foja.rotate_key_v1, foja.find_key_v1, foja.list_keys_v1, foja.open_session_v1,
    foja.find_session_v1, foja.end_session_v1, foja.list_sessions_v1, foja.note_use_v1,
    foja.name_person_v1, foja.find_names_v1
    to foja_worker;
grant select on foja.access_version to foja_worker;
grant execute on function foja.change_jobs_v1 to service_role, foja_api, foja_operator;
grant execute on function foja.switch_jobs_v1 to service_role, foja_operator;
select foja.restrict_functions();
