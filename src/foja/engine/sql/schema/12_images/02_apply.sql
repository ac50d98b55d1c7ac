-- The rows of a gallery after one more event. The same in Python: images/model/gallery.py.

create function foja.image_url(p_event uuid, payload jsonb) returns text
language sql immutable parallel safe
return case when payload is null then 'foja:erased/' || p_event
    when payload ? 'object' then 'foja:sha256/' || (payload ->> 'object') else payload ->> 'url' end;

-- An adopted row has its time of creation, written in UTC.
create function foja.adopted_at(adopted jsonb) returns timestamptz
language sql stable
return case when adopted ->> 'created_at' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$'
    then foja.moment_of(adopted ->> 'created_at') end;

-- `image.added`: after the images that are there, in the order given; returns the places, and what else is done about them.
create function foja.insert_images(
    p_product uuid[], p_seq bigint[], out places integer[], out images uuid[], out digests text[], out tenants text[]
)
language plpgsql as $$
begin
    with given as materialized (
        select v.event_id, v.entity_id, v.seq, v.at, v.tenant, w.payload, w.adopted, (select coalesce(max(i.image_order) + 1, 0)
                from public.product_images i where i.product_id = u.product)
            + case when u.number = 1 then 0 else cardinality(array_positions(p_product[:u.number - 1], u.product)) end as place
        from unnest(p_product, p_seq) with ordinality u(product, seq, number)
        cross join lateral (select * from foja.event e where e.entity_id = u.product and e.seq = u.seq offset 0) v
        cross join lateral (select p, case when jsonb_typeof(p -> 'adopted') = 'object' then p -> 'adopted' end
            from (select v.payload::jsonb as p offset 0) body offset 0) w(payload, adopted)
    ), added as (
        insert into public.product_images (id, product_id, image_url, thumbnail_url, thumbnails, image_order,
            thumbnail_signature, created_at, updated_at, tenant, alt, content_seq, alt_seq)
        select g.event_id, g.entity_id, foja.image_url(g.event_id, g.payload), g.adopted ->> 'thumbnail_url',
            case when jsonb_typeof(g.adopted -> 'thumbnails') = 'object' then nullif(g.adopted -> 'thumbnails', '{}') end,
            g.place, g.adopted ->> 'thumbnail_signature', born.at, born.at, g.tenant, nullif(g.payload ->> 'alt', ''), g.seq,
            case when g.payload ->> 'alt' <> '' then g.seq end
        from given g cross join lateral (select coalesce(foja.adopted_at(g.adopted), g.at)) born(at)
    )
    select array_agg(g.place), array_agg(g.event_id), array_agg(g.payload ->> 'object'), array_agg(g.tenant)
    into places, images, digests, tenants from given g;
end $$;

-- `image.moved`: everything between the two places makes room.
create function foja.move_image(p_product uuid, p_image uuid, p_from integer, p_to integer) returns void
language sql as $$
    update public.product_images i set image_order = case when i.id = p_image then p_to
        when p_to < p_from then i.image_order + 1 else i.image_order - 1 end
    where i.product_id = p_product and p_from <> p_to
        and i.image_order between least(p_from, p_to) and greatest(p_from, p_to);
$$;

-- `image.removed`: everything after it moves up.
create function foja.remove_image(p_product uuid, p_image uuid, p_from integer) returns void
language sql as $$
    delete from public.product_images i where i.id = p_image;
    delete from foja.image_variant v where v.image_id = p_image;
    delete from public.image_thumbnail_jobs t where t.product_image_id = p_image;
    update public.product_images i set image_order = i.image_order - 1
    where i.product_id = p_product and i.image_order > p_from;
$$;

-- `image.replaced`: another content at the same place. Its variants are made anew.
create function foja.replace_image(new foja.event, payload jsonb, p_image uuid) returns void
language sql as $$
    update public.product_images i set image_url = foja.image_url(new.event_id, payload), content_seq = new.seq,
        thumbnail_url = null, thumbnails = null, thumbnail_signature = null
    where i.id = p_image;
    delete from foja.image_variant v where v.image_id = p_image;
$$;

-- `image.rendered`: one more variant, if it was made from the content that the image has now.
create function foja.show_variant(new foja.event, payload jsonb, p_image uuid) returns void
language sql as $$
    insert into foja.image_variant (image_id, variant, spec, product_id, seq)
    select i.id, payload ->> 'variant', payload ->> 'spec', i.product_id, new.seq from public.product_images i
    where i.id = p_image and i.image_url = 'foja:sha256/' || (payload ->> 'original')
    on conflict (image_id, variant) do update set spec = excluded.spec, seq = excluded.seq;
    update public.product_images i set
        thumbnails = coalesce(i.thumbnails, '{}') || shown.variant,
        thumbnail_url = coalesce(i.thumbnails, '{}') || shown.variant ->> 'desktop',
        thumbnail_signature = payload ->> 'original'
    from (select jsonb_build_object(payload ->> 'variant', 'foja:sha256/' || (payload ->> 'object'))) shown (variant)
    where i.id = p_image and i.image_url = 'foja:sha256/' || (payload ->> 'original');
$$;

-- The image that an event is about. Where its body was erased, its key names the image.
create function foja.image_of(new foja.event, payload jsonb) returns uuid
language sql immutable
return foja.as_uuid(case when payload is null then split_part(new.idempotency_key, ':', 1) else payload ->> 'image_id' end);

-- A place in a gallery, or null.
create function foja.as_place(payload jsonb, p_count integer) returns integer
language sql immutable
return case when payload ->> 'to' ~ '^\d{1,9}$' and (payload ->> 'to')::integer < p_count then (payload ->> 'to')::integer end;

-- An event about an image that is there; refused if it is not.
create function foja.change_image(new foja.event, payload jsonb) returns void
language plpgsql as $$
declare
    image uuid := foja.image_of(new, payload);
    place integer;
    size integer;
begin
    select i.image_order into place from public.product_images i where i.product_id = new.entity_id and i.id = image;
    if place is null then
        perform foja.refuse('unknown_image', format('%s has no image %s', new.entity_id,
            coalesce(image::text, payload ->> 'image_id')));
    end if;
    case new.kind
        when 'image.moved' then
            select max(i.image_order) + 1 into size from public.product_images i where i.product_id = new.entity_id;
            if foja.as_place(payload, size) is null then
                perform foja.refuse('bad_place', format('%s is not a place in a gallery of %s images: expected 0 to %s',
                    payload ->> 'to', size, size - 1));
            end if;
            perform foja.move_image(new.entity_id, image, place, foja.as_place(payload, size));
        when 'image.removed' then perform foja.remove_image(new.entity_id, image, place);
        when 'image.replaced' then perform foja.replace_image(new, payload, image);
        when 'image.described' then
            update public.product_images i set alt = nullif(payload ->> 'alt', ''),
                alt_seq = case when payload is not null then new.seq end where i.id = image;
        when 'image.rendered' then perform foja.show_variant(new, payload, image);
        else null;  -- skipped, failed: nothing is shown
    end case;
end $$;

create function foja.apply_image_event(new foja.event) returns void
language plpgsql as $$
begin
    if new.kind = 'image.added' then
        perform foja.insert_images(array[new.entity_id], array[new.seq]);
    else
        perform foja.change_image(new, new.payload::jsonb);
    end if;
end $$;

-- When a body is erased, its content, its variants and its text go from here, too. The place in the order stays.
create function foja.forget_image() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    number bigint;
begin
    for number in delete from foja.image_variant v using public.product_images i
        where i.product_id = new.entity_id and i.content_seq = new.seq and v.image_id = i.id returning v.seq
    loop
        perform foja.end_references(new.entity_id, number);
    end loop;
    update public.product_images i set image_url = foja.image_url(new.event_id, null), thumbnail_url = null, thumbnails = null,
        thumbnail_signature = null
    where i.product_id = new.entity_id and i.content_seq = new.seq;
    update public.product_images i set alt = null, alt_seq = null
    where i.product_id = new.entity_id and i.alt_seq = new.seq;
    return null;
end $$;

create trigger image_erased after update on foja.event for each row
    when (new.kind like 'image.%' and new.payload is null) execute function foja.forget_image();
alter table foja.event enable always trigger image_erased;
