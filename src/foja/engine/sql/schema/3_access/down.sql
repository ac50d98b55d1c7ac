-- Return to a schema that only its owner can use. The roles stay: they belong to the
-- whole server, and another database may need them.

do $$
declare
    each record;
begin
    for each in select p.polname, p.polrelid::regclass as relation from pg_policy p
        join pg_class c on c.oid = p.polrelid and c.relnamespace = 'foja'::regnamespace
    loop
        execute format('drop policy %I on %s', each.polname, each.relation);
        execute format('alter table %s disable row level security, no force row level security', each.relation);
    end loop;
end $$;

revoke all on all tables in schema foja
    from authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper, foja_worker;
revoke all on all functions in schema foja
    from authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper, foja_worker;
revoke usage on schema foja
    from authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper, foja_worker;
grant execute on all functions in schema foja to public;
