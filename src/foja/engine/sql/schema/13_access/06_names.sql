-- The names of actors, for people who read: those of keys, and those of persons as their issuer gives them.

-- Note the name of a person. A new or another name is recorded.
create function foja.name_person_v1(p_tenant text, p_actor text, p_name text, p_installation boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    perform foja.check_tenant_name(p_tenant), foja.check_size(p_actor, 1024, 'an actor'),
        foja.check_size(p_name, 1024, 'a name');
    insert into foja.person as p values (p_tenant, p_actor, p_name)
    on conflict (tenant, actor) do update set name = excluded.name where p.name <> excluded.name;
    if found then
        perform foja.record_act(case when p_installation then 'system' else p_tenant end, 'access.changed', 'access', p_actor,
            jsonb_build_object('action', 'person.named', 'subject', p_actor, 'name', p_name, 'tenant', p_tenant));
    end if;
end $$;

-- The names of these actors that have one, as a tenant may read them; of all tenants (null) for the installation.
create function foja.find_names_v1(p_tenant text, p_actors text[]) returns table (actor text, name text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    return query
    select distinct on (a.actor) a.actor, coalesce(p.name, k.name) from unnest(p_actors) a (actor)
    left join foja.person p on p.actor = a.actor and (p.tenant = p_tenant or p_tenant is null)
    left join foja.access_key k on a.actor like 'key:%' and k.key_id = substr(a.actor, 5)
        and (k.tenant = p_tenant or k.installation or p_tenant is null)
    where coalesce(p.name, k.name) <> '' order by a.actor, p.tenant;
end $$;
