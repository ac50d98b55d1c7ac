-- The jobs that make variants, and what is shown of them.

-- The attempts at an image, after so many tries of a job.
create function foja.rendering_attempts(payload jsonb, p_tries integer) returns integer
language sql immutable
return coalesce((payload -> 'attempts')::integer, 0) + p_tries;

-- Ask for the variants of these images; returns how many were asked for. A job for the same content and the same reason is
-- queued once; the newest job of an image is the one that `image_thumbnail_jobs` shows.
create function foja.request_renderings(p_wanted foja.rendering[]) returns bigint
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    insert into public.image_thumbnail_jobs (id, product_id, product_image_id, status, attempts, created_at, updated_at,
        tenant, job_id)
    select i.id, j.entity_id, i.id, 'queued', foja.rendering_attempts(j.payload, 0), moment, moment, j.tenant, j.job_id
    from foja.write_jobs(
        array(select row('render_image', w.product_id, w.tenant, w.key, format('{"image_id": "%s", "again": %s, "attempts": %s}',
                w.image_id, to_json(w.again), w.attempts), 0, w.priority,
            -- If its worker never ends it.
            format('{"kind": "image.failed", "v": 1, "payload": {"image_id": "%s", "failure_code": "job_died", '
                '"reason": "the worker did not finish it"}}', w.image_id), null)::foja.new_job from unnest(p_wanted) w),
        array(select least(r.tries, greatest(r.max_attempts - w.attempts, 1))
            from unnest(p_wanted) w cross join foja.thumbnail_rule r)) j
    cross join lateral (select (j.payload ->> 'image_id')::uuid) i(id)
    on conflict (product_image_id) do update set status = 'queued', attempts = excluded.attempts, last_error = null,
        error_code = null, skipped = null, created_at = moment, started_at = null, completed_at = null,
        duration_ms = null, job_id = excluded.job_id, updated_at = moment;
    return coalesce(cardinality(p_wanted), 0);
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
        perform foja.refer_objects(array[new.entity_id], array[new.seq], array[new.tenant], array[payload ->> 'object'],
            array['variant']);
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
