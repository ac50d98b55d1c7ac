-- Record an evaluation: the states that are true now and the notices that follow. False if another one came between.
create function foja.record_alerts_v1(p_version bigint, p_states jsonb, p_notices jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.alert_round set version = version + 1, evaluated_at = clock_timestamp() where version = p_version;
    if not found then
        return false;
    end if;
    delete from foja.alert_state;
    insert into foja.alert_state (alert, label, value, since, fired_at)
    select alert, label, value, since, fired_at from jsonb_to_recordset(p_states)
        s (alert text, label text, value double precision, since timestamptz, fired_at timestamptz);
    insert into foja.alert_notice (notice_id, alert, label, event, value, at, channels)
    select notice_id, alert, label, event, value, at, array(select jsonb_array_elements_text(channels))
    from jsonb_to_recordset(p_notices)
        n (notice_id uuid, alert text, label text, event text, value double precision, at timestamptz, channels jsonb);
    delete from foja.alert_notice where at < clock_timestamp() - interval '90 days';
    return true;
end $$;

-- Say that a notice reached a channel, or why it did not; then it is tried again after the pause. Null: never again.
create function foja.settle_notice_v1(p_notice uuid, p_channel text, p_error text, p_pause double precision) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.alert_notice n set
        channels = case when p_error is null or p_pause is null then array_remove(n.channels, p_channel) else n.channels end,
        tries = n.tries + 1, last_error = p_error,
        next_try = case when p_error is null then n.next_try else clock_timestamp() + make_interval(secs => coalesce(p_pause, 0)) end
    where n.notice_id = p_notice;
end $$;

-- Add failures of routes that a web process counted.
create function foja.count_http_failures_v1(p_routes text[], p_counts bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('api');
    insert into foja.http_failure as f (route, hour, count)
    select u.route, date_trunc('hour', clock_timestamp(), 'UTC'), u.count from unnest(p_routes, p_counts) u(route, count)
    where u.count > 0 order by u.route
    on conflict (route, hour) do update set count = f.count + excluded.count;
    with old as (
        delete from foja.http_failure f
        where f.hour < clock_timestamp() - interval '8 days' and f.hour > '-infinity' and f.route = any (p_routes)
        returning f.route, f.count
    )
    insert into foja.http_failure as f (route, hour, count)
    select o.route, '-infinity', sum(o.count) from old o group by o.route
    on conflict (route, hour) do update set count = f.count + excluded.count;
end $$;

-- Remember what the account of a network has.
create function foja.note_balance_v1(p_network text, p_balance numeric, p_price numeric) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into foja.anchor_balance as b (network, balance, price) values (p_network, p_balance, p_price)
    on conflict (network) do update set balance = p_balance, price = p_price, checked_at = clock_timestamp();
end $$;

-- The server as the owner of the schema sees it; sessions of others show their state only to a superuser or `pg_monitor`.
create function foja.database_state_v1() returns table (
    connections bigint, connection_limit integer, idle_seconds double precision, bytes bigint, transaction_age bigint
)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select count(*) filter (where a.backend_type = 'client backend'), current_setting('max_connections')::integer,
        coalesce(max(extract(epoch from clock_timestamp() - a.xact_start))
            filter (where a.state like 'idle in transaction%' and a.datname = current_database()), 0)::double precision,
        pg_database_size(current_database()),
        (select max(age(d.datfrozenxid))::bigint from pg_database d)
    from pg_stat_activity a
$$;

grant execute on function foja.record_alerts_v1, foja.settle_notice_v1, foja.note_balance_v1 to foja_operator;
grant execute on function foja.database_state_v1 to service_role, foja_reader;
grant execute on function foja.count_http_failures_v1 to service_role, foja_api;
grant select on foja.alert_round, foja.alert_state, foja.alert_notice, foja.http_failure, foja.anchor_balance
    to service_role, foja_reader;
