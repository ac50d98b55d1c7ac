-- Which history this is.

-- Return the epoch, renewed if this is not the server or timeline it was. Called at every start.
create function foja.recognise() returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    server bigint := (select system_identifier from pg_control_system());
    line integer := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
    known foja.installation;
begin
    select * into known from foja.installation;
    if (known.system_identifier, known.timeline) = (server, line) then
        return known.epoch;
    end if;
    insert into foja.installation (system_identifier, timeline) values (server, line)
    on conflict (only_one) do update
    set epoch = excluded.epoch, system_identifier = excluded.system_identifier, timeline = excluded.timeline
    where (installation.system_identifier, installation.timeline)
        <> (excluded.system_identifier, excluded.timeline);
    return (select epoch from foja.installation);
end $$;
