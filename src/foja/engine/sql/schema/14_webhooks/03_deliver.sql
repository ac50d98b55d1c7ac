-- Delivery: the log is read in order, once for all webhooks; batches of deliveries become jobs; attempts are recorded.

-- Give these deliveries, in order, to new jobs of a hundred.
create function foja.batch_deliveries(p_webhook uuid, p_deliveries bigint[]) returns void
language plpgsql as $$
declare
    wanted foja.new_job[];
begin
    with placed as (
        select u.delivery_id, (u.place - 1) / 100 as part from unnest(p_deliveries) with ordinality u(delivery_id, place)
    ), parts as materialized (
        select p.part, gen_random_uuid() as batch from placed p group by p.part
    ), given as (
        update foja.webhook_delivery d set batch = s.batch from placed p join parts s on s.part = p.part
        where d.delivery_id = p.delivery_id and d.webhook_id = p_webhook returning d.batch, d.tenant
    )
    select array_agg(row('deliver_webhook', p_webhook, g.tenant, g.batch::text, '{}', 0, 1, null, null)::foja.new_job)
    into wanted from (select distinct batch, tenant from given) g;
    if wanted is not null then
        perform foja.insert_jobs(wanted);
    end if;
end $$;

-- Deliveries of webhooks that are on which wait for a job that is not there.
create function foja.lost_deliveries() returns setof foja.webhook_delivery
language sql stable
begin atomic
    select d.* from foja.webhook_delivery d join foja.webhook w on w.webhook_id = d.webhook_id and w.state = 'on'
    where d.state = 'waiting' and not exists (select from foja.job j where j.entity_id = d.webhook_id
        and j.type = 'deliver_webhook' and j.dedupe_key = d.batch::text and j.state in ('queued', 'running', 'retry_scheduled'));
end;

-- Give them to new jobs; returns how many they were.
create function foja.queue_lost_deliveries_v1() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    hook uuid;
    lost bigint[];
    total bigint := 0;
begin
    perform foja.check_source('sweeper');
    for hook in select w.webhook_id from foja.webhook w where w.state = 'on' order by w.webhook_id for no key update loop
        lost := array(select d.delivery_id from foja.lost_deliveries() d where d.webhook_id = hook order by d.delivery_id);
        perform foja.batch_deliveries(hook, lost);
        total := total + cardinality(lost);
    end loop;
    return total;
end $$;

-- Plan deliveries of the next leaves of the log, at most `p_limit`, in one transaction with the cursors: a crash loses
-- and repeats nothing. A webhook with `p_open` waiting deliveries is left where it is; the log keeps what it needs.
-- Returns how far the cursors moved; 0: every webhook has seen everything.
create function foja.plan_deliveries_v1(p_limit integer, p_open integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    ready uuid[];
    source foja.log;
    low bigint;
    high bigint;
    hook record;
begin
    perform foja.check_source('sweeper');
    ready := array(select w.webhook_id from foja.webhook w where w.state = 'on'
            and (w.origin, w.idx) < (select o.origin, o.next_idx from foja.log o where o.closed_size is null)
            and (select count(*) from (select from foja.webhook_delivery d
                where d.webhook_id = w.webhook_id and d.state = 'waiting' limit p_open) open) < p_open
        for no key update skip locked);
    if ready = '{}' then
        return 0;
    end if;
    select w.origin, w.idx into source.origin, low from foja.webhook w where w.webhook_id = any (ready)
    order by w.origin, w.idx limit 1;
    select * into source from foja.log o where o.origin = source.origin;
    high := least(coalesce(source.closed_size, source.next_idx), low + p_limit);
    if high <= low then  -- a closed log: its other leaves are in the next one
        update foja.webhook w set origin = source.origin + 1, idx = 0
        where w.webhook_id = any (ready) and w.origin = source.origin and w.idx >= high;
        return 1;
    end if;
    with told as (
        insert into foja.webhook_delivery (webhook_id, tenant, entity_id, seq, kind, batch)
        select w.webhook_id, w.tenant, e.entity_id, e.seq, e.kind, gen_random_uuid()
        from foja.leaves_between(source.origin, low, high) l
        cross join lateral (select * from foja.event x where x.entity_id = l.entity_id and x.seq = l.seq offset 0) e
        join foja.webhook w on w.tenant = e.tenant and w.origin = source.origin and w.idx <= l.idx
            and w.webhook_id = any (ready) and foja.matches_kind(w.kinds, e.kind)
            and (e.kind <> 'webhook.changed' or e.kind = any (w.kinds))  -- a star does not stand for changes of webhooks
        order by l.idx, w.webhook_id
        on conflict (webhook_id, entity_id, seq) do nothing
        returning webhook_id, delivery_id
    )
    select array_agg(t.webhook_id order by t.delivery_id) as webhooks, array_agg(t.delivery_id order by t.delivery_id) as deliveries
    into hook from told t;
    perform foja.batch_deliveries(g.webhook_id, g.deliveries) from (
        select u.webhook_id, array_agg(u.delivery_id order by u.delivery_id) as deliveries
        from unnest(hook.webhooks, hook.deliveries) u(webhook_id, delivery_id) group by u.webhook_id) g;
    update foja.webhook w set idx = high where w.webhook_id = any (ready) and w.origin = source.origin and w.idx < high;
    return high - low;
end $$;

-- What is still to be sent of these batches, with what signs it. Nothing of a webhook that is off.
create function foja.open_deliveries_v1(p_batches uuid[]) returns table (
    batch uuid, delivery_id bigint, webhook_id uuid, url text, secrets bytea[], attempts integer, tenant text, entity_id uuid,
    seq bigint, event_id uuid, kind text, v integer, at timestamptz, actor text, source text, include_payload boolean, payload json
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('webhooks');
    return query
    select d.batch, d.delivery_id, w.webhook_id, w.url, array(select s.secret from foja.webhook_secret s
            where s.webhook_id = w.webhook_id and coalesce(s.expires_at > clock_timestamp(), true)
            order by s.expires_at desc nulls first),
        d.attempts, d.tenant, e.entity_id, e.seq, e.event_id, e.kind, e.v, e.at, e.actor, e.source, w.include_payload,
        case when w.include_payload then e.payload end
    from foja.webhook_delivery d join foja.webhook w on w.webhook_id = d.webhook_id and w.state = 'on'
    join foja.event e on e.entity_id = d.entity_id and e.seq = d.seq
    where d.batch = any (p_batches) and d.state = 'waiting' order by d.delivery_id;
end $$;

-- Record attempts of one webhook, in order: [{id, delivery, status?, error?, seconds, gone?}]. What was recorded before is
-- not recorded again. A delivery fails after `p_attempts`; the webhook is switched off when it is gone, or after
-- `p_failures` attempts without a success in `p_seconds`.
create function foja.record_attempts_v1(
    p_webhook uuid, p_made jsonb, p_attempts integer, p_failures integer, p_seconds double precision
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook;
    made record;
    fresh boolean;
    reason text;
begin
    perform foja.check_source('webhooks');
    select * into w from foja.webhook x where x.webhook_id = p_webhook for update;
    for made in select * from jsonb_to_recordset(p_made)
        as m(id uuid, delivery bigint, status integer, error text, seconds double precision, gone boolean)
    loop
        insert into foja.webhook_attempt (attempt_id, delivery_id, tenant, status, error, seconds)
        select made.id, d.delivery_id, d.tenant, made.status, made.error, made.seconds from foja.webhook_delivery d
        where d.delivery_id = made.delivery and d.webhook_id = p_webhook on conflict do nothing;
        get diagnostics fresh = row_count;
        continue when not fresh;
        update foja.webhook_delivery d set attempts = d.attempts + 1,
            state = case when made.error is null then 'delivered' when d.attempts + 1 >= p_attempts then 'failed' else d.state end,
            ended_at = case when made.error is null or d.attempts + 1 >= p_attempts then clock_timestamp() end
        where d.delivery_id = made.delivery and d.state = 'waiting';
        w.failures := case when made.error is null then 0 else w.failures + 1 end;
        w.failing_since := case when made.error is not null then coalesce(w.failing_since, clock_timestamp()) end;
        reason := case when made.gone then 'its server answered 410: it is gone' else reason end;
    end loop;
    if reason is null and w.failures >= p_failures and w.failing_since <= clock_timestamp() - make_interval(secs => p_seconds) then
        reason := format('%s attempts failed in a row', w.failures);
    end if;
    update foja.webhook x set failures = w.failures, failing_since = w.failing_since where x.webhook_id = p_webhook;
    if reason is not null and w.state = 'on' then
        update foja.webhook x set state = 'off', off_reason = reason where x.webhook_id = p_webhook;
        perform foja.record_webhook(w, 'switched_off', 'webhooks', null, reason);
    end if;
end $$;

-- Forget deliveries that ended long ago, with their attempts; returns how many.
create function foja.forget_deliveries_v1(p_seconds double precision, p_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    forgotten bigint;
begin
    perform foja.check_source('sweeper');
    with old as (
        select d.delivery_id from foja.webhook_delivery d
        where d.state <> 'waiting' and d.ended_at < clock_timestamp() - make_interval(secs => p_seconds)
        order by d.ended_at limit p_limit for update skip locked
    )
    delete from foja.webhook_delivery d using old where d.delivery_id = old.delivery_id;
    get diagnostics forgotten = row_count;
    return forgotten;
end $$;
