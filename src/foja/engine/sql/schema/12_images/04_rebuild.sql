-- Write the rows of a gallery and its references to objects again from its events.

-- The references that the galleries lead to: the contents that their images have now, and the variants of these.
create function foja.image_references()
returns table (entity_id uuid, seq bigint, sha256 text, role text, tenant text, built_from uuid, size bigint, at timestamptz)
language sql stable
begin atomic
    select i.product_id, i.content_seq, v.payload ->> 'object', 'original', v.tenant, null::uuid,
        foja.whole_number((v.payload -> 'size')::jsonb), v.at
    from public.product_images i join foja.event v on v.entity_id = i.product_id and v.seq = i.content_seq
    where v.payload ->> 'object' is not null
    union all
    select i.product_id, i.seq, v.payload ->> 'object', 'variant', v.tenant, null::uuid,
        foja.whole_number((v.payload -> 'size')::jsonb), v.at
    from foja.image_variant i join foja.event v on v.entity_id = i.product_id and v.seq = i.seq;
end;

-- Objects that have no row are taken for stored.
create function foja.refer_images(p_product uuid) returns void
language sql as $$
    delete from foja.object_reference r where r.entity_id = p_product and not exists (
        select from foja.image_references() x where x.entity_id = p_product and (x.seq, x.sha256, x.role) = (r.seq, r.sha256, r.role));
    insert into foja.object (sha256, generation, state, size, created_at, changed_at, tenant)
    select distinct on (x.sha256) x.sha256, 0, 'live', x.size, x.at, x.at, x.tenant from foja.image_references() x
    where x.entity_id = p_product and not exists (select from foja.object o where o.sha256 = x.sha256)
    order by x.sha256, x.size, x.at on conflict do nothing;
    insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant, built_from, referred_at)
    select x.entity_id, x.seq, x.sha256, o.generation, x.role, x.tenant, x.built_from, x.at
    from foja.image_references() x join foja.object o on o.sha256 = x.sha256 and o.state = 'live'
    where x.entity_id = p_product on conflict do nothing;
$$;

-- What is kept beside the events of a gallery, as one value.
create function foja.gallery_rows(p_product uuid) returns jsonb
language sql stable
return jsonb_build_array(
    (select jsonb_agg(to_jsonb(i) - 'updated_at' order by i.image_order) from public.product_images i
        where i.product_id = p_product),
    (select jsonb_agg(to_jsonb(v) order by v.image_id, v.variant) from foja.image_variant v where v.product_id = p_product),
    (select jsonb_agg(array[t.product_image_id::text, t.status, t.attempts::text, t.last_error, t.error_code, t.skipped]
        order by t.product_image_id) from public.image_thumbnail_jobs t where t.product_id = p_product),
    (select jsonb_agg(array[r.seq::text, r.sha256, r.role] order by r.seq, r.role, r.sha256) from foja.object_reference r
        where r.entity_id = p_product));

-- Images that wait for their variants while no job is there to make them.
create function foja.unrendered_images() returns setof public.product_images
language sql stable
begin atomic
    select i.* from public.product_images i left join public.image_thumbnail_jobs t on t.product_image_id = i.id
    where i.image_url like 'foja:sha256/%' and coalesce(t.status, 'queued') in ('queued', 'processing')
        and not exists (select from foja.job j where j.job_id = t.job_id)
        and not exists (select from foja.image_variant v where v.image_id = i.id)
        and not exists (select from foja.event v where v.entity_id = i.product_id and v.seq > i.content_seq
            and v.kind in ('image.skipped', 'image.failed') and v.payload ->> 'image_id' = i.id::text);
end;

-- A product whose row is gone although its gallery is not empty gets it back: a deletion would have emptied the gallery.
create function foja.replay_gallery(p_product uuid) returns void
language plpgsql as $$
declare
    old foja.event;
    lost boolean := not exists (select from public.products p where p.productid = p_product);
begin
    delete from public.product_images i where i.product_id = p_product;
    delete from foja.image_variant v where v.product_id = p_product;
    if lost then
        insert into public.products (productid, supplier_id, tenant)
        select e.entity_id, foja.as_uuid(v.payload ->> 'supplier_id'), e.tenant
        from foja.entity e join foja.event v on v.entity_id = e.entity_id and v.seq = 0
        where e.entity_id = p_product and e.domain = 'image';
    end if;
    for old in select v.* from foja.entity e join foja.event v using (entity_id)
        where e.entity_id = p_product and e.domain = 'image' and v.kind like 'image.%' order by v.seq
    loop
        perform foja.apply_image_event(old);
    end loop;
    perform foja.refer_images(p_product);
    perform foja.rebuild_thumbnail_jobs(p_product);
    delete from public.products p where lost and p.productid = p_product
        and not exists (select from public.product_images i where i.product_id = p_product);
end $$;

-- Under the locks of the product and the stream; returns whether anything changed. If not, nothing is written.
create function foja.rebuild_gallery(p_product uuid) returns boolean
language plpgsql as $$
declare
    before jsonb;
    asked bigint;
begin
    perform from public.products p where p.productid = p_product for key share;
    perform from foja.entity e where e.entity_id = p_product for no key update;
    before := foja.gallery_rows(p_product);
    perform foja.replay_gallery(p_product);
    asked := foja.request_renderings(array_agg(row(p_product, i.id, i.tenant, concat_ws(':', i.id, i.content_seq, 'lost'), 1,
        false, coalesce(t.attempts, 0))::foja.rendering))
    from foja.unrendered_images() i left join public.image_thumbnail_jobs t on t.product_image_id = i.id
    where i.product_id = p_product;
    if asked = 0 and before is not distinct from foja.gallery_rows(p_product) then
        raise exception using errcode = 'FJ004', message = 'unchanged';
    end if;
    return true;
exception when sqlstate 'FJ004' then
    return false;
end $$;

-- The same for many galleries; returns those that changed.
create function foja.rebuild_galleries_v1(p_products uuid[]) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('api');
    perform foja.check_isolation('rebuilding a gallery');
    return query select each.product from (select unnest(p_products) as product order by 1 offset 0) each
    where foja.may_act_for(coalesce((select e.tenant from foja.entity e where e.entity_id = each.product),
        (select p.tenant from public.products p where p.productid = each.product))) and foja.rebuild_gallery(each.product);
end $$;
