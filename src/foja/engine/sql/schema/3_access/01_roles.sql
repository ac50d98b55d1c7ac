-- Roles and their rights. Deny by default; every source has a role of the same name.

do $$
declare
    name text;
begin
    foreach name in array array['anon', 'authenticated', 'service_role', 'foja_api', 'foja_reader', 'foja_operator', 'foja_sweeper'] loop
        begin
            execute format('create role %I nologin', name);
        exception when duplicate_object or unique_violation then
            null;  -- roles belong to the whole server: another database created it
        end;
    end loop;
    begin  -- who does more reads as well: a process that has the one role has those below it
        if not pg_has_role('foja_operator', 'foja_reader', 'member') then
            grant foja_reader to foja_operator;
        end if;
        if not pg_has_role('foja_sweeper', 'foja_operator', 'member') then
            grant foja_operator to foja_sweeper;
        end if;
    exception when unique_violation then
        null;  -- granted at the same moment, for another database
    end;
end $$;

revoke all on all tables in schema foja from public;
revoke execute on all functions in schema foja from public;

grant usage on schema foja to authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper;
grant select on all tables in schema foja to service_role, foja_reader;
revoke select on foja.kept, foja.id_key from service_role, foja_reader;
grant select on foja.id_key to foja_operator;  -- each process reads it at its start
grant select on foja.entity, foja.event, foja.slot, foja.voided to foja_api, authenticated;
-- Public data. Leaves name the streams of all tenants, so a tenant may not read them.
grant select on foja.migration to foja_api;  -- a process checks at its start that the schema is that of its version
grant select on foja.installation, foja.domain, foja.source, foja.kind, foja.log, foja.checkpoint,
    foja.cosignature to foja_api, authenticated;

grant execute on function
    foja.append, foja.replay, foja.append_drafts, foja.append_event, foja.reserve, foja.extend, foja.fill, foja.void, foja.erase
    to service_role, foja_api;
grant execute on function foja.append, foja.replay, foja.append_drafts, foja.append_event
    to foja_sweeper;
grant execute on function
    foja.expire_slots, foja.seal_ready, foja.open_log, foja.number_pending, foja.halt_log, foja.resume_log,
    foja.record_checkpoint, foja.mark_published, foja.record_cosignature, foja.record_cosigner_fault, foja.restart_log,
    foja.lease_maintenance
    to foja_sweeper;
grant execute on function foja.name_log_v1 to foja_operator;
grant execute on function foja.await_standbys to service_role, foja_api;
grant execute on function foja.recognise to service_role, foja_api, foja_sweeper;
grant execute on function foja.next_seq to authenticated, service_role, foja_api, foja_reader;
grant execute on function foja.unbundle, foja.leaves_between, foja.find_leaf to service_role, foja_reader;
grant execute on function foja.chain_hash_of, foja.covered_events to service_role, foja_api, foja_reader;
-- Pure functions of their arguments, so that every role can check hashes.
grant execute on function
    foja.canonical, foja.canonical_number, foja.canonical_float, foja.shortest, foja.utf16_order, foja.refuse,
    foja.event_id_for, foja.erasure_id, foja.derived_id
    to public;

-- The key with which transient events are sealed in notifications: any login can read and send those. Only the
-- roles that send and receive may read it.
create table foja.live_key (
    only_one boolean primary key default true check (only_one),
    key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        check (octet_length(key) = 32)
);
insert into foja.live_key default values;
revoke all on foja.live_key from public, foja_reader;
grant select on foja.live_key to service_role, foja_api;

-- Rows of a tenant are read by transactions that name it in `foja.tenant`, and by roles that work for all tenants. The
-- owner, as whom our functions run, needs a policy too: row level security is forced.
alter table foja.entity enable row level security, force row level security;
create policy owner_works on foja.entity to current_user using (true) with check (true);
create policy installation_reads on foja.entity for select to service_role, foja_reader using (true);
create policy tenant_reads on foja.entity for select to foja_api, authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

alter table foja.event enable row level security, force row level security;
create policy owner_works on foja.event to current_user using (true) with check (true);
create policy installation_reads on foja.event for select to service_role, foja_reader using (true);
create policy tenant_reads on foja.event for select to foja_api, authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

alter table foja.slot enable row level security, force row level security;
create policy owner_works on foja.slot to current_user using (true) with check (true);
create policy installation_reads on foja.slot for select to service_role, foja_reader using (true);
create policy tenant_reads on foja.slot for select to foja_api, authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

alter table foja.voided enable row level security, force row level security;
create policy owner_works on foja.voided to current_user using (true) with check (true);
create policy installation_reads on foja.voided for select to service_role, foja_reader using (true);
create policy tenant_reads on foja.voided for select to foja_api, authenticated
    using (tenant = (select nullif(current_setting('foja.tenant', true), '')));

alter table foja.checkpoint enable row level security, force row level security;
create policy owner_works on foja.checkpoint to current_user using (true) with check (true);
create policy installation_reads on foja.checkpoint for select to service_role, foja_reader using (true);
create policy published_reads on foja.checkpoint for select to foja_api, authenticated using (published_at is not null);
