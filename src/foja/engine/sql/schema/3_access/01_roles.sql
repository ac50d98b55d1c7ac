-- Roles and their rights. Deny by default; every source has a role of the same name. `foja_worker` is what every worker's own
-- role is a member of.

do $$
declare
    name text;
begin
    foreach name in array array['anon', 'authenticated', 'service_role', 'foja_api', 'foja_reader', 'foja_operator', 'foja_sweeper',
        'foja_worker'] loop
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

-- Let only the roles that are named call the functions of this schema, except pure functions of their arguments, so that every
-- role can check hashes. Each step ends with this: what PostgreSQL grants by itself cannot be changed for one schema alone.
create function foja.restrict_functions() returns void
language plpgsql as $$
declare
    each regprocedure;
begin
    for each in select p.oid from pg_proc p
        where p.pronamespace = 'foja'::regnamespace and has_function_privilege('public', p.oid, 'execute')
            and p.proname not in ('canonical', 'canonical_number', 'canonical_float', 'shortest', 'utf16_order', 'refuse',
                'event_id_for', 'erasure_id', 'derived_id')
    loop
        execute format('revoke execute on function %s from public', each);
    end loop;
end $$;

-- Show the rows of a table to roles: to `p_own` those of the tenant that a transaction names in `foja.tenant`, to `p_all` those
-- of all tenants. The owner, as whom our functions run, needs a policy too: row level security is forced. `p_verb` is `all`
-- where grants alone say what else these roles may do. It can be repeated, as after a restore.
create function foja.share_rows(
    p_table regclass, p_own text, p_all text default 'foja_worker, service_role, foja_reader', p_verb text default 'select',
    p_rule text default $rule$tenant = (select nullif(current_setting('foja.tenant', true), ''))$rule$
) returns void
language plpgsql as $$
declare
    old name;
begin
    for old in select p.polname from pg_policy p
        where p.polrelid = p_table and p.polname in ('owner_works', 'all_tenants', 'own_tenant')
    loop
        execute format('drop policy %I on %s', old, p_table);
    end loop;
    execute format('alter table %s enable row level security, force row level security', p_table);
    execute format('create policy owner_works on %s to current_user using (true) with check (true)', p_table);
    execute format('create policy all_tenants on %s for %s to %s using (true)', p_table, p_verb, p_all);
    execute format('grant select on %s to %s', p_table, p_all);
    if p_own <> '' then
        execute format('create policy own_tenant on %s for %s to %s using (%s)', p_table, p_verb, p_own, p_rule);
        execute format('grant select on %s to %s', p_table, p_own);
    end if;
end $$;

grant usage on schema foja
    to authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper, foja_worker;
grant select on foja.migration, foja.installation, foja.domain, foja.source, foja.kind, foja.unsealed, foja.pending, foja.woken,
    foja.log, foja.leaves, foja.leaf_place, foja.leaf, foja.cosignature, foja.cosigner, foja.maintenance
    to foja_worker, service_role, foja_reader;
grant select on foja.id_key to foja_operator;  -- each process reads it at its start
-- Public data. Leaves name the streams of all tenants, so a tenant may not read them.
grant select on foja.migration to foja_api;  -- a process checks at its start that the schema is that of its version
grant select on foja.installation, foja.domain, foja.source, foja.kind, foja.log, foja.cosignature
    to foja_api, authenticated;

grant execute on function
    foja.append, foja.replay, foja.append_drafts, foja.append_event, foja.reserve, foja.extend, foja.fill, foja.void, foja.erase
    to service_role, foja_api;
grant execute on function foja.append, foja.replay, foja.append_drafts, foja.append_event
    to foja_sweeper, foja_worker;
grant execute on function
    foja.expire_slots, foja.seal_ready, foja.open_log, foja.number_pending, foja.halt_log, foja.resume_log,
    foja.record_checkpoint, foja.mark_published, foja.record_cosignature, foja.record_cosigner_fault, foja.restart_log,
    foja.lease_maintenance
    to foja_sweeper;
grant execute on function foja.name_log_v1 to foja_operator;
grant execute on function foja.await_standbys to service_role, foja_api;
grant execute on function foja.acting_tenant to service_role, foja_api, foja_operator, foja_sweeper, foja_worker;
grant execute on function foja.recognise to service_role, foja_api, foja_sweeper, foja_worker;
grant execute on function foja.next_seq to authenticated, service_role, foja_api, foja_reader, foja_worker;
grant execute on function foja.unbundle, foja.leaves_between, foja.find_leaf to service_role, foja_reader;
grant execute on function foja.chain_hash_of, foja.covered_events to service_role, foja_api, foja_reader;

-- The key with which transient events are sealed in notifications: any login can read and send those. Only the
-- roles that send and receive may read it.
create table foja.live_key (
    only_one boolean primary key default true check (only_one),
    key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        check (octet_length(key) = 32)
);
insert into foja.live_key default values;
grant select on foja.live_key to service_role, foja_api;

select foja.share_rows('foja.entity', 'foja_api, authenticated');
select foja.share_rows('foja.event', 'foja_api, authenticated');
select foja.share_rows('foja.slot', 'foja_api, authenticated');
select foja.share_rows('foja.voided', 'foja_api, authenticated');
select foja.share_rows('foja.system_stream', 'foja_api');
select foja.share_rows('foja.checkpoint', 'foja_api, authenticated', p_rule => 'published_at is not null');
select foja.restrict_functions();
