-- What workers, callers and maintenance do with renderings.

-- The content of an image now, and the variants that it has.
create function foja.rendering_target_v1(p_product uuid, p_image uuid) returns table (image_url text, specs text[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('render-image');
    return query select i.image_url, array(select v.spec from foja.image_variant v where v.image_id = i.id)
    from public.product_images i where i.id = p_image and i.product_id = p_product;
end $$;

-- Render one image of a tenant again, or all of a product or of the tenant whose last job failed or was skipped; returns how
-- many. What failed as often as allowed needs force, which counts from 0 again. What waits for its next try is not asked for.
create function foja.render_again_v1(p_tenant text, p_product uuid, p_image uuid, p_force boolean, p_key text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    most integer := (select r.max_attempts from foja.thumbnail_rule r);
    spent integer;
begin
    perform foja.check_source('api');
    select t.attempts into spent from public.image_thumbnail_jobs t
    where t.product_image_id = p_image and t.tenant = p_tenant and foja.may_act_for(p_tenant)
        and t.status = 'error' and t.attempts >= most and not p_force;
    if spent is not null then
        perform foja.refuse('attempts_spent', format('the image %s was tried %s times and failed, and %s are allowed; '
            'force it to try again', p_image, spent, most));
    end if;
    return foja.request_renderings(array_agg(row(i.product_id, i.id, i.tenant, concat_ws(':', i.id, i.content_seq, p_key), 1,
        p_image is not null, case when t.status = 'error' and not p_force then t.attempts else 0 end)::foja.rendering))
    from public.product_images i left join public.image_thumbnail_jobs t on t.product_image_id = i.id
    where i.tenant = p_tenant and foja.may_act_for(p_tenant) and (p_product is null or i.product_id = p_product)
        and (i.id = p_image or p_image is null and i.image_url like 'foja:sha256/%' and (t.skipped is not null
            or t.status = 'error' and t.completed_at is not null and (p_force or t.attempts < most)));
end $$;

-- Ask for what images lack of a set of variants, from image to image, while fewer than `p_most` such jobs wait.
create function foja.sweep_variants_v1(p_set text, p_specs text[], p_most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    sweep foja.variant_sweep;
    room bigint;
    last uuid;
    wanted foja.rendering[];
    image record;
begin
    perform foja.check_source('sweeper');
    insert into foja.variant_sweep (set_digest) values (p_set) on conflict do nothing;
    select * into sweep from foja.variant_sweep s where s.set_digest = p_set for update skip locked;
    room := p_most - (select count(*) from foja.job j where j.type = 'render_image' and j.priority = 2
        and j.state in ('queued', 'running', 'retry_scheduled'));
    if sweep.set_digest is null or sweep.finished_at is not null or room <= 0 then
        return 0;
    end if;
    for image in select i.id, i.product_id, i.tenant, i.content_seq, i.image_url,
            p_specs <@ array(select v.spec from foja.image_variant v where v.image_id = i.id)
                or t.status <> 'success' as complete  -- what failed or is not done yet is not tried more often by this
        from public.product_images i left join public.image_thumbnail_jobs t on t.product_image_id = i.id
        where sweep.after is null or i.id > sweep.after order by i.id limit 1000
    loop
        last := image.id;
        if image.image_url like 'foja:sha256/%' and not image.complete then
            wanted := wanted || row(image.product_id, image.id, image.tenant,
                concat_ws(':', image.id, image.content_seq, p_set), 2, false, 0)::foja.rendering;
            exit when cardinality(wanted) >= room;
        end if;
    end loop;
    update foja.variant_sweep s set after = coalesce(last, s.after),
        finished_at = case when last is null then clock_timestamp() end
    where s.set_digest = p_set;
    return foja.request_renderings(wanted);
end $$;

-- Seven days in a row on which images were rendered and none failed allow more than one retry.
create function foja.arm_retries_v1() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    update foja.thumbnail_rule r set armed_at = clock_timestamp()
    where r.armed_at is null and r.retries = 'auto' and (
        select count(distinct j.finished_at::date) = 7 and not bool_or(j.state = 'dead')
        from foja.job j where j.type = 'render_image'
            and j.finished_at >= current_date - 7 and j.finished_at < current_date);
    return found;
end $$;

-- Set how often a job is tried; null keeps what is set.
create function foja.set_thumbnail_rule_v1(p_max_attempts integer, p_retries text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.thumbnail_rule r set max_attempts = coalesce(p_max_attempts, r.max_attempts),
        retries = coalesce(p_retries, r.retries)
    where (r.max_attempts, r.retries) <> (coalesce(p_max_attempts, r.max_attempts), coalesce(p_retries, r.retries));
end $$;

-- Derive the last jobs of a gallery's images again. When a job was started is in no event: a row that is right keeps it.
create function foja.rebuild_thumbnail_jobs(p_product uuid) returns void
language sql as $$
    delete from public.image_thumbnail_jobs t where t.product_id = p_product and not exists (select
        from public.product_images i join foja.job j on j.entity_id = i.product_id and j.type = 'render_image'
            and j.payload ->> 'image_id' = i.id::text where i.id = t.product_image_id);
    insert into public.image_thumbnail_jobs as t (id, product_id, product_image_id, status, attempts, last_error, created_at,
        completed_at, error_code, skipped, tenant, job_id)
    select distinct on (i.id) i.id, i.product_id, i.id, foja.thumbnail_status(j.state),
        foja.rendering_attempts(j.payload, j.tries),
        case when j.state <> 'succeeded' then j.last_error end, j.created_at, j.finished_at,
        told.payload ->> 'failure_code', case when told.kind = 'image.skipped' then told.payload ->> 'reason' end,
        i.tenant, j.job_id
    from public.product_images i
    join foja.job j on j.entity_id = i.product_id and j.type = 'render_image' and j.payload ->> 'image_id' = i.id::text
    left join lateral (
        select v.kind, v.payload::jsonb as payload from foja.event v where v.entity_id = i.product_id and v.seq > i.content_seq
            and v.kind in ('image.skipped', 'image.failed', 'image.rendered')
            and v.payload::jsonb ->> 'image_id' = i.id::text order by v.seq desc limit 1
    ) told on j.finished_at is not null
    where i.product_id = p_product order by i.id, j.job_id desc
    on conflict (product_image_id) do update set product_id = excluded.product_id, status = excluded.status,
        attempts = excluded.attempts, last_error = excluded.last_error, created_at = excluded.created_at,
        completed_at = excluded.completed_at, error_code = excluded.error_code, skipped = excluded.skipped,
        tenant = excluded.tenant, job_id = excluded.job_id,
        started_at = case when t.job_id = excluded.job_id then t.started_at end,
        duration_ms = case when (t.job_id, t.status) = (excluded.job_id, excluded.status) then t.duration_ms end;
$$;

grant execute on function foja.unrendered_images to service_role, foja_reader;
grant execute on function foja.rendering_target_v1 to foja_worker;
grant execute on function foja.render_again_v1 to service_role, foja_api;
grant execute on function foja.set_thumbnail_rule_v1 to service_role, foja_operator;
grant execute on function foja.sweep_variants_v1, foja.arm_retries_v1 to foja_sweeper;
grant select on foja.thumbnail_rule, foja.image_variant, foja.variant_sweep
    to foja_worker, service_role, foja_reader;
grant select on foja.thumbnail_rule to foja_api;
select foja.share_rows('public.image_thumbnail_jobs', 'foja_api, authenticated');

-- Galleries that were written before this step.
select foja.rebuild_gallery(e.entity_id) from foja.entity e where e.domain = 'image';

-- Their jobs as they were before the way back, with the times that no event tells.
update public.image_thumbnail_jobs t set created_at = k.created_at, updated_at = k.updated_at, started_at = k.started_at,
    completed_at = k.completed_at, duration_ms = k.duration_ms
from foja.kept, jsonb_populate_record(null::public.image_thumbnail_jobs, content) k
where relation = 'public.image_thumbnail_jobs' and (t.id, t.job_id, t.status) = (k.id, k.job_id, k.status);
delete from foja.kept where relation = 'public.image_thumbnail_jobs';
