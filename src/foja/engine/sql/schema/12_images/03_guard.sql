-- What is refused in a gallery. The order of locks is product, then stream. `insert_image_with_order` and a deletion take
-- them in that order. An append has its stream already, so it takes the product only if that is free: while the product is
-- being deleted, the append is `Locked` and repeated, and nothing can wait in a circle.

-- Take the product's row against deletion; the first image of an unknown product creates it.
create function foja.hold_product(new foja.event, payload jsonb) returns void
language plpgsql as $$
declare
    held public.products;
    supplier uuid := foja.as_uuid(payload ->> 'supplier_id');
begin
    select * into held from public.products p where p.productid = new.entity_id for key share nowait;
    if held.productid is null and new.seq = 0 and new.kind = 'image.added' then
        insert into public.products values (new.entity_id, supplier, new.tenant) on conflict do nothing;
        select * into held from public.products p where p.productid = new.entity_id for key share nowait;
    end if;
    if held.productid is null then
        perform foja.refuse(case when new.seq > 0 then 'product_deleted' else 'unknown_product' end, format(
            case when new.seq > 0 then 'the product %s was deleted' else 'there is no product %s' end, new.entity_id));
    elsif held.tenant <> new.tenant then
        perform foja.refuse('wrong_entity', format('%s is not a product of this tenant', new.entity_id));
    elsif payload ? 'supplier_id' and held.supplier_id is distinct from supplier then
        perform foja.refuse('wrong_supplier', format('the product %s does not belong to this supplier', new.entity_id));
    end if;
end $$;

-- Why this payload has no content, or null.
create function foja.content_problem(payload jsonb) returns text
language sql immutable
return case when num_nonnulls(payload ->> 'object', payload ->> 'url') <> 1 then 'an image has either an object or a url'
    when payload ? 'object' and not foja.is_hash(payload ->> 'object') then 'object must be a SHA-256 digest: 64 hexadecimal digits in lower case'
    when payload ->> 'url' = '' or octet_length(payload ->> 'url') > 8192 then 'url must have 1 to 8,192 bytes'
    when payload ->> 'url' like 'foja:%' then 'a url that begins with foja: names an object of this installation; give the object'
    when translate(payload ->> 'url', E'\t\n\r', '') ~* '^[\u0001-\u0020]*((?!https?://)[a-z][a-z0-9+.-]*:|[/\\]{2})'
        then 'a url is a path, or begins with https:// or http://; an address of another form is not kept'
    end;

-- An event whose body can be erased names its image in its key, too: the key stays.
create function foja.check_image_key(new foja.event, payload jsonb) returns void
language plpgsql immutable as $$
begin
    if new.idempotency_key is null or split_part(new.idempotency_key, ':', 1) <> payload ->> 'image_id' then
        perform foja.refuse('bad_payload', format('%s needs an idempotency key that begins with the id of its image, '
            'as in %s:1', new.kind, payload ->> 'image_id'));
    end if;
end $$;

-- What is kept of these `image.added`, or why one is refused; returns the places of the images.
create function foja.add_images(p_product uuid[], p_seq bigint[]) returns integer[]
language plpgsql as $$
declare
    problem text;
    added record;
    most integer;
begin
    -- The first one of each gallery holds its product for the others.
    select min(foja.content_problem(w.payload)), count(case when u.number = 1 or w.payload ? 'supplier_id'
            or array_position(p_product[:u.number - 1], u.product) is null then foja.hold_product(w.new, w.payload) end)
    into problem from unnest(p_product, p_seq) with ordinality u(product, seq, number)
    cross join lateral (select e as new, e.payload::jsonb as payload from foja.event e
        where e.entity_id = u.product and e.seq = u.seq offset 0) w;
    if problem is not null then
        perform foja.refuse('bad_payload', problem);
    end if;
    select * into added from foja.insert_images(p_product, p_seq);
    select r.image_limit into most from foja.gallery_rule r where r.image_limit <= any (added.places);
    if most is not null then
        perform foja.refuse('gallery_full', format('%s has %s images, the most that a product may have', p_product[(select u.number
            from unnest(added.places) with ordinality u(place, number) where u.place >= most limit 1)], most));
    end if;
    perform foja.show_contents(p_product, p_seq, added.tenants, added.digests, added.images, added.images::text[]);
    return added.places;
end $$;

-- These events give images new contents: the objects are referred to, and their variants are asked for, unless a job has the
-- key. The first content of an image has its id as key: `insert_image_with_order` queues the job before it has a number.
create function foja.show_contents(
    p_product uuid[], p_seq bigint[], p_tenant text[], p_sha256 text[], p_image uuid[], p_key text[]
) returns void
language plpgsql as $$
declare
    wanted foja.rendering[];
begin
    perform foja.refer_objects(p_product, p_seq, p_tenant, p_sha256, array_fill('original'::text, array[cardinality(p_seq)]));
    wanted := array(select row(u.product, u.image, u.tenant, u.key, 1, false, 0)::foja.rendering
        from unnest(p_product, p_image, p_tenant, p_key) u(product, image, tenant, key)
        where (select j.job_id from foja.job j where j.entity_id = u.product and j.type = 'render_image'
            and j.dedupe_key = u.key) is null);
    if wanted <> '{}' then
        perform foja.request_renderings(wanted);
    end if;
end $$;

-- Any other event about an image.
create function foja.track_image(new foja.event) returns void
language plpgsql as $$
declare
    payload jsonb := new.payload;
    ended bigint[] := foja.superseded(new, payload);
    number bigint;
begin
    perform foja.hold_product(new, payload);
    if new.kind = 'image.replaced' and foja.content_problem(payload) is not null then
        perform foja.refuse('bad_payload', foja.content_problem(payload));
    elsif new.kind in ('image.replaced', 'image.described') then
        perform foja.check_image_key(new, payload);
    end if;
    perform foja.change_image(new, payload);
    foreach number in array coalesce(ended, '{}') loop
        perform foja.end_references(new.entity_id, number);
    end loop;
    if new.kind = 'image.replaced' then
        perform foja.show_contents(array[new.entity_id], array[new.seq], array[new.tenant], array[payload ->> 'object'],
            array[foja.image_of(new, payload)], array[concat_ws(':', foja.image_of(new, payload), new.seq)]);
    elsif new.kind in ('image.rendered', 'image.skipped', 'image.failed') then
        perform foja.track_rendering(new, payload);
    end if;
end $$;

-- The guard of galleries: additions together, if they are alone, anything else each by itself, in order. Returns the places of
-- images that were added together.
create function foja.track_images(p_product uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
declare
    new foja.event;
begin
    if not p_at_head then
        perform foja.refuse('bad_reservation', 'a gallery has no reserved numbers; append without a number');
    elsif (select bool_and(e.kind = 'image.added') from foja.events_at(p_product, p_seq) e) then
        return foja.add_images(p_product, p_seq);
    end if;
    for new in select * from foja.events_at(p_product, p_seq) loop
        if new.kind = 'image.added' then
            perform foja.add_images(array[new.entity_id], array[new.seq]);
        else
            perform foja.track_image(new);
        end if;
    end loop;
    return null;
end $$;

-- A snapshot that is older than the lock would number by what it does not see.
create function foja.check_isolation(what text) returns void
language plpgsql stable as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform foja.refuse('wrong_isolation', format('%s needs a transaction with isolation level read committed, not %s',
            what, current_setting('transaction_isolation')));
    end if;
end $$;
