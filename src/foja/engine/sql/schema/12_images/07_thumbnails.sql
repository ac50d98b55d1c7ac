-- The jobs that make variants, and what is shown of them.

-- What the worker of an image is told. `attempts` are those of earlier jobs, which count for the limit.
create function foja.rendering_payload(p_image uuid, p_again boolean, p_attempts integer) returns jsonb
language sql stable
return jsonb_build_object('image_id', p_image, 'again', p_again, 'attempts', p_attempts);

-- The attempts at an image, after so many tries of a job.
create function foja.rendering_attempts(payload jsonb, p_tries integer) returns integer
language sql immutable
return coalesce((payload -> 'attempts')::integer, 0) + p_tries;

-- What is appended if the worker of an image never ends it.
create function foja.rendering_death(p_image uuid) returns jsonb
language sql stable
return jsonb_build_object('kind', 'image.failed', 'v', 1, 'payload', jsonb_build_object('image_id', p_image,
    'failure_code', 'job_died', 'reason', 'the worker did not finish it'));

-- Ask for the variants of one image, which was attempted so often before. A job for the same content and the same reason
-- is queued once; the newest job of an image is the one that `image_thumbnail_jobs` shows.
create function foja.request_rendering(p_product uuid, p_image uuid, p_tenant text, p_key text, p_priority integer,
    p_again boolean, p_attempts integer) returns void
language plpgsql as $$
declare
    number bigint;
    moment timestamptz := clock_timestamp();
begin
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, priority, payload, max_tries, on_death)
    values ('render_image', p_product, p_product, p_tenant, p_key, p_priority,
        foja.rendering_payload(p_image, p_again, p_attempts), (select least(r.tries, greatest(r.max_attempts - p_attempts, 1))
            from foja.thumbnail_rule r), foja.rendering_death(p_image))
    on conflict (entity_id, type, dedupe_key) do nothing returning job_id into number;
    if number is not null then
        insert into public.image_thumbnail_jobs (id, product_id, product_image_id, status, attempts, created_at, updated_at,
            tenant, job_id)
        values (p_image, p_product, p_image, 'queued', p_attempts, moment, moment, p_tenant, number)
        on conflict (product_image_id) do update set status = 'queued', attempts = excluded.attempts, last_error = null,
            error_code = null, skipped = null, created_at = moment, started_at = null, completed_at = null,
            duration_ms = null, job_id = excluded.job_id, updated_at = moment;
    end if;
end $$;

-- The same for the content of an image that is being added, whose id is new: nothing can be queued for it yet.
create function foja.queue_rendering(p_product uuid, p_image uuid, p_tenant text) returns void
language plpgsql as $$
declare
    number bigint;
begin
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, payload, max_tries, on_death)
    values ('render_image', p_product, p_product, p_tenant, p_image::text, foja.rendering_payload(p_image, false, 0),
        (select r.tries from foja.thumbnail_rule r), foja.rendering_death(p_image)) returning job_id into number;
    insert into public.image_thumbnail_jobs (id, product_id, product_image_id, status, tenant, job_id)
    values (p_image, p_product, p_image, 'queued', p_tenant, number);
end $$;

create function foja.thumbnail_status(p_state text) returns text
language sql immutable
return case p_state when 'queued' then 'queued' when 'running' then 'processing' when 'succeeded' then 'success'
    else 'error' end;

-- The state of the newest job of an image.
create function foja.show_rendering() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    moment timestamptz := clock_timestamp();
begin
    update public.image_thumbnail_jobs t set status = foja.thumbnail_status(new.state), attempts = foja.rendering_attempts(new.payload, new.tries),
        last_error = case when new.state <> 'succeeded' then new.last_error end,
        started_at = case when new.state = 'running' then moment else t.started_at end,
        completed_at = new.finished_at,
        duration_ms = case when new.finished_at is not null
            then 1000 * extract(epoch from new.finished_at - t.started_at) end,
        updated_at = moment
    where t.product_image_id = foja.as_uuid(new.payload ->> 'image_id') and t.job_id = new.job_id;
    return null;
end $$;

create trigger rendering_changed after update on foja.job for each row
    when (new.type = 'render_image'
        and (old.state, old.tries, old.lease_token) is distinct from (new.state, new.tries, new.lease_token))
    execute function foja.show_rendering();

-- What the renderer says of an image: a variant has a reference; a reason is shown.
create function foja.track_rendering(new foja.event, payload jsonb) returns void
language plpgsql as $$
declare
    image uuid := foja.as_uuid(payload ->> 'image_id');
begin
    if new.kind <> 'image.rendered' then
        update public.image_thumbnail_jobs t set error_code = payload ->> 'failure_code',
            skipped = case when new.kind = 'image.skipped' then payload ->> 'reason' end
        where t.product_image_id = image;
    elsif exists (select from foja.image_variant v where v.image_id = image and v.seq = new.seq) then
        perform foja.refer_object(new.entity_id, new.seq, new.tenant, payload ->> 'object', 'variant');
    end if;
end $$;

-- The events whose references an event will end: the content of its image, its variants, or one of them.
create function foja.superseded(new foja.event, payload jsonb) returns bigint[]
language sql stable
return case
    when new.kind in ('image.replaced', 'image.removed') then (
        select i.content_seq || array(select v.seq from foja.image_variant v where v.image_id = i.id)
        from public.product_images i where i.product_id = new.entity_id and i.id = foja.image_of(new, payload))
    when new.kind = 'image.rendered' then array(
        select v.seq from foja.image_variant v join public.product_images i on i.id = v.image_id
        where v.image_id = foja.image_of(new, payload) and v.variant = payload ->> 'variant'
            and i.image_url = 'foja:sha256/' || (payload ->> 'original'))
    end;
