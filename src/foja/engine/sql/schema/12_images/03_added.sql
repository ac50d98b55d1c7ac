-- Plain additions, of a stored object to a product that is there: what `track_image` does, in fewer steps. Many at once in
-- two statements for all; one by itself in a statement for each table, which costs less than one statement for all of them.

-- Write what these images lead to: a reference, a row after those that are there, a job, and what is shown of it. Returns
-- their places; null, with nothing written, if one of the objects is a candidate for deletion. The rows of the products and
-- of the objects are locked.
create function foja.insert_images(p_product uuid[], p_seq bigint[], p_image uuid[], p_at timestamptz[], p_tenant text,
    p_sha256 text[], p_generation integer[], p_alt text[]) returns integer[]
language plpgsql as $$
declare
    places integer[];
    is_full boolean;
begin
    with given as materialized (
        select u.*, nextval('foja.job_job_id_seq') as job_id, (select coalesce(max(i.image_order) + 1, 0)
                from public.product_images i where i.product_id = u.product)
            + case when u.number = 1 then 0 else cardinality(array_positions(p_product[:u.number - 1], u.product)) end as place
        from unnest(p_product, p_seq, p_image, p_at, p_sha256, p_generation, p_alt)
            with ordinality u(product, seq, image, at, sha256, generation, alt, number)
        where not exists (select from public.image_orphan_candidates c where c.path = any (array(
            select 'objects/' || o.sha256 || '/' || o.generation from unnest(p_sha256, p_generation) o(sha256, generation))))
    ), referred as (
        insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant)
        select g.product, g.seq, g.sha256, g.generation, 'original', p_tenant from given g
    ), added as (
        insert into public.product_images (id, product_id, image_url, image_order, created_at, updated_at, tenant, alt,
            content_seq, alt_seq)
        select g.image, g.product, 'foja:sha256/' || g.sha256, g.place, g.at, g.at, p_tenant, g.alt, g.seq,
            case when g.alt is not null then g.seq end from given g
    ), queued as (
        insert into foja.job (job_id, type, entity_id, correlation_id, tenant, dedupe_key, payload, max_tries, on_death)
        overriding system value
        select g.job_id, 'render_image', g.product, g.product, p_tenant, g.image::text,
            foja.rendering_payload(g.image, false, 0), (select r.tries from foja.thumbnail_rule r), foja.rendering_death(g.image)
        from given g
    ), shown as (
        insert into public.image_thumbnail_jobs (id, product_id, product_image_id, status, tenant, job_id)
        select g.image, g.product, g.image, 'queued', p_tenant, g.job_id from given g
    )
    select array_agg(g.place), max(g.place) >= (select r.image_limit from foja.gallery_rule r) into places, is_full from given g;
    if is_full then
        perform foja.check_room(u.product) from unnest(p_product) u(product);
    end if;
    return places;
end $$;

-- Add the images of these events and return their places; null, with nothing done, if one of them is not plain: the guard
-- then looks at each by itself, and says what it refuses. Plain is a stored object of one tenant for a product that is there.
create function foja.add_images(p_entity uuid[], p_seq bigint[]) returns integer[]
language plpgsql as $$
declare
    images uuid[];
    moments timestamptz[];
    digests text[];
    generations integer[];
    alts text[];
    owner text;
    plain boolean;
    galleries bigint;
    owners text[];
begin
    select array_agg(v.event_id), array_agg(v.at), array_agg(v.payload ->> 'object'), array_agg(o.generation),
        array_agg(nullif(v.payload ->> 'alt', '')), min(v.tenant),
        bool_and(v.kind = 'image.added' and o.generation is not null and not v.payload ?| '{url,supplier_id,adopted}')
            and min(v.tenant) = max(v.tenant),
        -- Not `distinct` of this query: that would sort it, and the arrays with it.
        (select count(distinct id) from unnest(p_entity) id), (select array_agg(held.tenant) from (
            select p.tenant from public.products p where p.productid = any (p_entity) for key share nowait) held)
    into images, moments, digests, generations, alts, owner, plain, galleries, owners
    from (select e.event_id, e.at, e.kind, e.tenant, e.payload::jsonb as payload
        from foja.events_at(p_entity, p_seq) e offset 0) v
    left join lateral (select s.generation from foja.object s
        where s.sha256 = v.payload ->> 'object' and s.state = 'live' and foja.may_refer(s, v.tenant) for share offset 0) o on true;
    if not plain or cardinality(owners) is distinct from galleries or owner <> all (owners) then
        return null;
    end if;
    return foja.insert_images(p_entity, p_seq, images, moments, owner, digests, generations, alts);
end $$;

-- Record one `image.added` whose body was checked, with what it leads to apart from its job, and return its place. Galleries
-- are written at their heads alone and have no executor, so that this is shorter than `append`. If the object is not there, or
-- is a candidate for deletion, the guard does the rest and says what it refuses. The row of the product is locked.
create function foja.record_image(d foja.draft, p_sha256 text) returns integer
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    e record;
    live integer;
    place integer;
    is_full boolean;
begin
    loop
        update foja.entity set next_seq = next_seq + 1, sealed = sealed + 1, last_at = greatest(moment, last_at),
            head = foja.chain_step(head, d.entity_id, next_seq, d.event_id, d.kind, greatest(moment, last_at), d.body_hash)
        where entity_id = d.entity_id and domain = d.domain and tenant = d.tenant
        returning next_seq - 1 as seq, last_at as at, head into e;
        exit when found;
        perform foja.create_entity(d.entity_id, d.domain, d.tenant);
    end loop;
    insert into foja.event values (d.entity_id, e.seq, d.event_id, d.kind, d.v, e.at, d.actor, d.source,
        d.payload::json, d.salt, d.body_hash, d.idempotency_key, d.tenant);
    insert into foja.pending (entity_id, seq, chain_hash) values (array[d.entity_id], array[e.seq], array[e.head]);
    insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant)
    select d.entity_id, e.seq, o.sha256, o.generation, 'original', d.tenant
    from foja.object o where o.sha256 = p_sha256 and o.state = 'live' and foja.may_refer(o, d.tenant) for share returning generation into live;
    insert into public.product_images (id, product_id, image_url, image_order, created_at, updated_at, tenant, content_seq)
    select d.event_id, d.entity_id, 'foja:sha256/' || p_sha256, (select coalesce(max(i.image_order) + 1, 0)
        from public.product_images i where i.product_id = d.entity_id), e.at, e.at, d.tenant, e.seq
    where live is not null and not exists (select from public.image_orphan_candidates c
        where c.path = 'objects/' || p_sha256 || '/' || live)
    returning image_order, image_order >= (select r.image_limit from foja.gallery_rule r) into place, is_full;
    if place is null then
        perform foja.track(d.domain, array[d.entity_id], array[e.seq]);
        select i.image_order into place from public.product_images i where i.id = d.event_id;
    elsif is_full then
        perform foja.check_room(d.entity_id);
    end if;
    return place;
end $$;
