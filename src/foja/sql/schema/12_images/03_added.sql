-- Many `image.added` at once: what `track_image` does for each of them, in one statement for each table.

-- The rows of new images, after those that are there; refused if a gallery is full then.
create function foja.add_rows(p_product uuid[], p_seq bigint[], p_image uuid[], p_tenant text, p_sha256 text[],
    p_at timestamptz[]) returns void
language plpgsql as $$
declare
    most integer;
begin
    insert into public.product_images (id, product_id, image_url, image_order, created_at, tenant, content_seq)
    select u.image, u.product, 'foja:sha256/' || u.sha256,
        (select coalesce(max(i.image_order) + 1, 0) from public.product_images i where i.product_id = u.product)
            + case when u.place = 1 then 0 else cardinality(array_positions(p_product[:u.place - 1], u.product)) end,
        u.at, p_tenant, u.seq
    from unnest(p_product, p_seq, p_image, p_sha256, p_at) with ordinality u(product, seq, image, sha256, at, place);
    select r.image_limit into most from foja.gallery_rule r;
    if exists (select from unnest(p_product) u(product) where most <= (
            select max(i.image_order) from public.product_images i where i.product_id = u.product)) then
        perform foja.check_room(u.product) from unnest(p_product) u(product);
    end if;
end $$;

-- Add the images of these events; false, with nothing done, if one of them is not plain: the guard then looks at each by
-- itself, and says what it refuses. Plain is a stored object of one tenant for a product that is there, and nothing else.
create function foja.add_images(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql as $$
declare
    images uuid[];
    digests text[];
    moments timestamptz[];
    owner text;
    plain boolean;
    held bigint;
begin
    select array_agg(o.event_id), array_agg(o.at), array_agg(o.payload ->> 'object'), min(o.tenant),
        bool_and(o.kind = 'image.added' and o.payload ? 'object' and not o.payload ?| '{url,alt,supplier_id,adopted}')
            and min(o.tenant) = max(o.tenant)
    into images, moments, digests, owner, plain from (
        select v.event_id, v.at, v.kind, v.tenant, v.payload::jsonb as payload
        from unnest(p_entity, p_seq) with ordinality u(entity_id, seq, place)
        join foja.event v using (entity_id, seq) order by u.place offset 0) o;
    if not plain then
        return false;
    end if;
    perform from public.products p where p.productid = any (p_entity) and p.tenant = owner for key share nowait;
    get diagnostics held = row_count;
    if held < (select count(distinct id) from unnest(p_entity) id)
            or not foja.refer_many(p_entity, p_seq, array_fill(owner, array[cardinality(p_seq)]), digests, 'original') then
        return false;
    end if;
    perform foja.add_rows(p_entity, p_seq, images, owner, digests, moments);
    perform foja.request_renderings(p_entity, images, p_seq, owner);
    return true;
end $$;
