-- Access keys. Every change is recorded with its actor in the same transaction.

-- The stream that records changes of a key: the tenant's, or the installation's for a key that covers all tenants.
create function foja.record_key(k foja.access_key, p_action text, p_actor text, p_more jsonb default '{}') returns void
language plpgsql as $$
begin
    perform foja.record_act(case when k.installation then 'system' else k.tenant end, 'access.changed', 'access', p_actor,
        jsonb_build_object('action', p_action, 'key_id', k.key_id, 'name', nullif(k.name, ''), 'tenant', k.tenant) || p_more);
    perform foja.announce_access();
end $$;

-- Lock a key that this tenant, or the installation (null), may change; another tenant's is unknown.
create function foja.lock_key(p_key text, p_tenant text) returns foja.access_key
language plpgsql as $$
declare
    k foja.access_key;
begin
    select * into k from foja.access_key x
    where x.key_id = p_key and (p_tenant is null or x.tenant = p_tenant and not x.installation) for update;
    if k.key_id is null then
        perform foja.refuse('unknown_entity', format('there is no key %s; `foja access list` shows them', left(p_key, 20)));
    end if;
    return k;
end $$;

create function foja.create_key_v1(
    p_key text, p_hash bytea, p_tenant text, p_name text, p_scopes text[], p_installation boolean, p_expires timestamptz, p_actor text
) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    k foja.access_key;
begin
    perform foja.check_source('access');
    perform foja.check_tenant_name(p_tenant), foja.check_size(p_name, 255, 'the name of a key');
    if p_expires <= clock_timestamp() then
        perform foja.refuse('bad_payload', 'the key would have expired already; choose a later time');
    end if;
    insert into foja.access_key (key_id, tenant, name, scopes, installation, expires_at, created_by)
    values (p_key, p_tenant, p_name, p_scopes, p_installation, p_expires, p_actor) returning * into k;
    insert into foja.access_secret (key_id, secret_hash) values (p_key, p_hash);
    update foja.access_version set has_keys = true where not has_keys;
    perform foja.record_key(k, 'key.created', p_actor, jsonb_build_object('scopes', to_jsonb(p_scopes),
        'installation', p_installation, 'expires_at', p_expires));
    return k.created_at;
end $$;

-- Revoke a key and the sessions that were opened with it. Revoking again changes nothing.
create function foja.revoke_key_v1(p_key text, p_tenant text, p_actor text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    k foja.access_key;
begin
    perform foja.check_source('access');
    k := foja.lock_key(p_key, p_tenant);
    if k.revoked_at is not null then
        return false;
    end if;
    update foja.access_key x set revoked_at = clock_timestamp() where x.key_id = p_key;
    perform foja.record_key(k, 'key.revoked', p_actor);
    return true;
end $$;

-- Give a key a new secret; the one before is valid until the overlap is over. Returns when that is.
create function foja.rotate_key_v1(p_key text, p_hash bytea, p_overlap interval, p_tenant text, p_actor text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    k foja.access_key;
    until timestamptz := clock_timestamp() + p_overlap;
begin
    perform foja.check_source('access');
    k := foja.lock_key(p_key, p_tenant);
    if k.revoked_at is not null or k.expires_at <= clock_timestamp() then
        perform foja.refuse('key_is_over', format('the key %s is revoked or expired; make a new one', p_key));
    end if;
    delete from foja.access_secret s where s.key_id = p_key and s.ends_at is not null;  -- at most two are valid
    update foja.access_secret s set ends_at = until where s.key_id = p_key;
    insert into foja.access_secret (key_id, secret_hash) values (p_key, p_hash);
    perform foja.record_key(k, 'key.rotated', p_actor, jsonb_build_object('overlap_until', until));
    return until;
end $$;

-- The valid secrets of a key with what it may do; no row: unknown, revoked or expired.
create function foja.find_key_v1(p_key text)
returns table (secret_hash bytea, tenant text, name text, scopes text[], installation boolean, seconds double precision)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    return query
    select s.secret_hash, k.tenant, k.name, k.scopes, k.installation,
        extract(epoch from least(k.expires_at, s.ends_at) - clock_timestamp())::double precision
    from foja.access_key k join foja.access_secret s on s.key_id = k.key_id
    where k.key_id = p_key and k.revoked_at is null and coalesce(k.expires_at, 'infinity') > clock_timestamp()
        and coalesce(s.ends_at, 'infinity') > clock_timestamp();
end $$;

-- The keys of a tenant, or of all (null), newest first.
create function foja.list_keys_v1(p_tenant text, p_limit integer) returns setof foja.access_key
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    return query select * from foja.access_key k where p_tenant is null or k.tenant = p_tenant and not k.installation
    order by k.created_at desc limit p_limit;
end $$;
