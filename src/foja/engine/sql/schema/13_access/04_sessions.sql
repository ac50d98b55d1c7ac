-- Sessions of people. The cookie has the secret, the database its hash.

create function foja.record_session(s foja.access_session, p_action text, p_actor text) returns void
language plpgsql as $$
begin
    perform foja.record_act(case when s.installation then 'system' else s.tenant end, 'access.changed', 'access', p_actor,
        jsonb_build_object('action', p_action, 'session_id', s.session_id, 'subject', s.actor, 'tenant', s.tenant,
            'key_id', s.key_id));
end $$;

create function foja.open_session_v1(
    p_hash bytea, p_tenant text, p_actor text, p_scopes text[], p_installation boolean, p_key text, p_idle double precision,
    p_seconds double precision
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    s foja.access_session;
begin
    perform foja.check_source('access');
    perform foja.check_tenant_name(p_tenant), foja.check_size(p_actor, 1024, 'an actor');
    delete from foja.access_session x where x.session_id in (select o.session_id from foja.access_session o
        where o.ends_at < clock_timestamp() - interval '30 days' order by o.ends_at limit 100 for update skip locked);
    insert into foja.access_session (cookie_hash, tenant, actor, scopes, installation, key_id, idle, ends_at)
    values (p_hash, p_tenant, p_actor, p_scopes, p_installation, p_key, make_interval(secs => p_idle),
        clock_timestamp() + make_interval(secs => p_seconds)) returning * into s;
    perform foja.record_session(s, 'session.opened', p_actor);
    return s.session_id;
end $$;

-- A session that is valid now, with the seconds until it ends and the seconds it may be idle. A session that was opened
-- with a key ends with it.
create function foja.find_session_v1(p_hash bytea)
returns table (session_id uuid, tenant text, actor text, scopes text[], installation boolean, seconds double precision,
    idle double precision, name text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    return query
    select s.session_id, s.tenant, s.actor, s.scopes, s.installation,
        extract(epoch from least(s.ends_at, k.expires_at) - clock_timestamp())::double precision,
        extract(epoch from s.seen_at + s.idle - clock_timestamp())::double precision,
        (select n.name from foja.find_names_v1(s.tenant, array[s.actor]) n)
    from foja.access_session s left join foja.access_key k on k.key_id = s.key_id
    where s.cookie_hash = p_hash and s.revoked_at is null and s.ends_at > clock_timestamp()
        and s.seen_at + s.idle > clock_timestamp() and k.revoked_at is null
        and coalesce(k.expires_at, 'infinity') > clock_timestamp();
end $$;

-- End a session by its cookie (its own person logs out), or by its id (an administrator revokes it). Ending again
-- changes nothing.
create function foja.end_session_v1(p_hash bytea, p_session uuid, p_tenant text, p_actor text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    s foja.access_session;
begin
    perform foja.check_source('access');
    select * into s from foja.access_session x where (x.cookie_hash = p_hash or x.session_id = p_session)
        and (p_tenant is null or x.tenant = p_tenant and not x.installation) for update;
    if s.session_id is null then
        perform foja.refuse('unknown_entity', 'there is no such session; list the sessions again');
    elsif s.revoked_at is not null then
        return false;
    end if;
    update foja.access_session x set revoked_at = clock_timestamp() where x.session_id = s.session_id;
    perform foja.record_session(s, case when p_session is null then 'session.ended' else 'session.revoked' end, p_actor);
    perform foja.announce_access();
    return true;
end $$;

-- The sessions of a tenant, or of all (null), that are not over, newest first.
create function foja.list_sessions_v1(p_tenant text, p_limit integer)
returns table (session_id uuid, tenant text, actor text, scopes text[], installation boolean, key_id text,
    created_at timestamptz, seen_at timestamptz, ends_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    return query
    select s.session_id, s.tenant, s.actor, s.scopes, s.installation, s.key_id, s.created_at, s.seen_at, s.ends_at
    from foja.access_session s left join foja.access_key k on k.key_id = s.key_id
    where (p_tenant is null or s.tenant = p_tenant and not s.installation) and s.revoked_at is null and k.revoked_at is null
        and s.ends_at > clock_timestamp() and s.seen_at + s.idle > clock_timestamp()
    order by s.created_at desc limit p_limit;
end $$;

-- Note that keys and sessions were used; at most once a minute each.
create function foja.note_use_v1(p_keys text[], p_sessions uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('access');
    update foja.access_key k set last_used_at = clock_timestamp()
    where k.key_id = any (array(select x.key_id from foja.access_key x where x.key_id = any (p_keys)
        and coalesce(x.last_used_at, '-infinity') < clock_timestamp() - interval '1 minute' order by 1 for no key update));
    update foja.access_session s set seen_at = clock_timestamp()
    where s.session_id = any (array(select x.session_id from foja.access_session x where x.session_id = any (p_sessions)
        and x.seen_at < clock_timestamp() - least(x.idle / 4, interval '1 minute') order by 1 for no key update));
end $$;
