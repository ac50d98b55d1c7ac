-- For administrators: create, change, switch, rotate, remove. Each act is an event of the tenant's own stream.

create function foja.matches_kind(p_kinds text[], p_kind text) returns boolean
language sql immutable parallel safe
return exists (select from unnest(p_kinds) each
    where each = p_kind or right(each, 1) = '*' and starts_with(p_kind, left(each, -1)));

-- Lock a webhook of a tenant, or refuse: one of another tenant is unknown.
create function foja.lock_webhook(p_tenant text, p_webhook uuid) returns foja.webhook
language plpgsql as $$
declare
    w foja.webhook;
begin
    select * into w from foja.webhook x where x.webhook_id = p_webhook and x.tenant = p_tenant for update;
    if not found or not foja.may_act_for(p_tenant) then
        perform foja.refuse('unknown_webhook', format('there is no webhook %s; `foja webhooks list` shows them', p_webhook));
    end if;
    return w;
end $$;

-- Record an act. The event names the server alone: a path or a query may be an access key.
create function foja.record_webhook(w foja.webhook, p_change text, p_source text, p_actor text, p_reason text default null)
returns void
language plpgsql as $$
begin
    perform foja.record_act(w.tenant, 'webhook.changed', p_source, p_actor, jsonb_build_object(
        'webhook_id', w.webhook_id, 'change', p_change, 'of_tenant', w.tenant,
        'server', substring(w.url from '^[a-z]+://[^/?#]+'), 'kinds', to_jsonb(w.kinds), 'reason', p_reason));
end $$;

create function foja.check_kinds(p_kinds text[]) returns void
language plpgsql stable as $$
declare
    wrong text := (select each from unnest(p_kinds) each
        where not exists (select from foja.kind k where foja.matches_kind(array[each], k.kind)) limit 1);
begin
    if coalesce(cardinality(p_kinds), 0) not between 1 and 100 then
        perform foja.refuse('bad_payload', 'a webhook names 1 to 100 kinds');
    elsif wrong is not null then
        perform foja.refuse('unknown_kind', format('no registered kind is %s; write a kind, or its beginning and a star, '
            'as in document.*', wrong));
    end if;
end $$;

-- Create a webhook; it is told of what is recorded from now on, or of everything from the beginning of the log.
create function foja.create_webhook_v1(
    p_webhook uuid, p_tenant text, p_url text, p_kinds text[], p_payload boolean, p_description text, p_secret bytea,
    p_from_start boolean, p_actor text
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook;
begin
    perform foja.check_source('api');
    if not foja.may_act_for(p_tenant) then
        perform foja.refuse('not_allowed', 'a webhook belongs to the tenant of the request');
    end if;
    perform foja.check_kinds(p_kinds);
    perform foja.check_size(p_url, 2048, 'the address of a webhook');
    perform foja.check_size(p_description, 1024, 'the description of a webhook');
    if (select count(*) from foja.webhook x where x.tenant = p_tenant) >= 100 then
        perform foja.refuse('bad_payload', 'a tenant has at most 100 webhooks; remove one');
    end if;
    insert into foja.webhook (webhook_id, tenant, url, kinds, include_payload, description, origin, idx)
    select p_webhook, p_tenant, p_url, p_kinds, p_payload, p_description, coalesce(l.origin, 1), coalesce(l.next_idx, 0)
    from (select) one left join lateral (
        select o.origin, case when p_from_start then 0 else o.next_idx end as next_idx from foja.log o
        where p_from_start or o.closed_size is null order by o.origin limit 1
    ) l on true
    returning * into w;
    insert into foja.webhook_secret (webhook_id, secret) values (p_webhook, p_secret);
    perform foja.record_webhook(w, 'created', 'api', p_actor);
end $$;

-- Change what is given; null leaves a value as it is.
create function foja.change_webhook_v1(
    p_tenant text, p_webhook uuid, p_url text, p_kinds text[], p_payload boolean, p_description text, p_actor text
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook := foja.lock_webhook(p_tenant, p_webhook);
begin
    perform foja.check_source('api');
    if p_kinds is not null then
        perform foja.check_kinds(p_kinds);
    end if;
    perform foja.check_size(p_url, 2048, 'the address of a webhook');
    perform foja.check_size(p_description, 1024, 'the description of a webhook');
    update foja.webhook x set url = coalesce(p_url, x.url), kinds = coalesce(p_kinds, x.kinds),
        include_payload = coalesce(p_payload, x.include_payload), description = coalesce(p_description, x.description)
    where x.webhook_id = p_webhook returning * into w;
    perform foja.record_webhook(w, 'changed', 'api', p_actor);
end $$;

-- Switch a webhook on or off. What waited meanwhile is delivered once it is on again.
create function foja.switch_webhook_v1(p_tenant text, p_webhook uuid, p_on boolean, p_reason text, p_actor text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook := foja.lock_webhook(p_tenant, p_webhook);
begin
    perform foja.check_source('api');
    if p_on = (w.state = 'on') then
        return;
    end if;
    update foja.webhook x set state = case when p_on then 'on' else 'off' end, failures = 0, failing_since = null,
        off_reason = case when not p_on then coalesce(p_reason, 'switched off by hand') end
    where x.webhook_id = p_webhook returning * into w;
    if p_on then
        perform foja.batch_deliveries(p_webhook, array(select d.delivery_id from foja.webhook_delivery d
            where d.webhook_id = p_webhook and d.state = 'waiting' order by d.delivery_id));
    end if;
    perform foja.record_webhook(w, case when p_on then 'switched_on' else 'switched_off' end, 'api', p_actor, w.off_reason);
end $$;

-- Sign with a new secret, and with the old ones as well for so many seconds.
create function foja.rotate_webhook_v1(p_tenant text, p_webhook uuid, p_secret bytea, p_overlap double precision, p_actor text)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook := foja.lock_webhook(p_tenant, p_webhook);
    ends timestamptz := clock_timestamp() + make_interval(secs => p_overlap);
begin
    perform foja.check_source('api');
    delete from foja.webhook_secret s where s.webhook_id = p_webhook and s.expires_at <= clock_timestamp();
    if p_overlap = 0 then
        delete from foja.webhook_secret s where s.webhook_id = p_webhook;
    end if;
    update foja.webhook_secret s set expires_at = least(s.expires_at, ends) where s.webhook_id = p_webhook;
    insert into foja.webhook_secret (webhook_id, secret) values (p_webhook, p_secret);
    perform foja.record_webhook(w, 'rotated', 'api', p_actor);
end $$;

-- Remove a webhook with its deliveries and their log.
create function foja.remove_webhook_v1(p_tenant text, p_webhook uuid, p_actor text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook := foja.lock_webhook(p_tenant, p_webhook);
begin
    perform foja.check_source('api');
    delete from foja.webhook x where x.webhook_id = p_webhook;
    perform foja.record_webhook(w, 'removed', 'api', p_actor);
end $$;

-- Deliver again what was planned before: one delivery, or all of a range of numbers or times. Returns how many.
create function foja.replay_deliveries_v1(
    p_tenant text, p_webhook uuid, p_first bigint, p_last bigint, p_since timestamptz, p_until timestamptz, p_failed boolean,
    p_actor text
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    w foja.webhook := foja.lock_webhook(p_tenant, p_webhook);
    again bigint[];
begin
    perform foja.check_source('api');
    if w.state = 'off' then
        perform foja.refuse('out_of_turn', format('the webhook %s is off; switch it on first', p_webhook));
    end if;
    with chosen as (
        update foja.webhook_delivery d set state = 'waiting', attempts = 0, ended_at = null
        where d.webhook_id = p_webhook and d.delivery_id between coalesce(p_first, 0) and coalesce(p_last, 9223372036854775807)
            and d.created_at >= coalesce(p_since, '-infinity') and d.created_at < coalesce(p_until, 'infinity')
            and (not p_failed or d.state = 'failed')
        returning d.delivery_id
    )
    select array_agg(c.delivery_id order by c.delivery_id) into again from chosen c;
    if again is null then
        return 0;
    end if;
    perform foja.batch_deliveries(p_webhook, again);
    perform foja.record_webhook(w, 'replayed', 'api', p_actor, format('%s deliveries', cardinality(again)));
    return cardinality(again);
end $$;
