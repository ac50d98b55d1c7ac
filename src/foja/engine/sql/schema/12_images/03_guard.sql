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

-- One more image; refused if the gallery is full.
create function foja.check_room(p_product uuid) returns void
language plpgsql stable as $$
declare
    most integer;
begin
    select r.image_limit into most from foja.gallery_rule r
    where r.image_limit <= (select max(i.image_order) + 1 from public.product_images i where i.product_id = p_product);
    if most is not null then
        perform foja.refuse('gallery_full', format('%s has %s images, the most that a product may have', p_product, most));
    end if;
end $$;

create function foja.track_image(new foja.event) returns void
language plpgsql as $$
declare
    payload jsonb := new.payload;
    ended bigint[] := case when new.kind <> 'image.added' then foja.superseded(new, payload) end;
    number bigint;
    image uuid;
begin
    perform foja.hold_product(new, payload);
    if new.kind in ('image.added', 'image.replaced') and foja.content_problem(payload) is not null then
        perform foja.refuse('bad_payload', foja.content_problem(payload));
    end if;
    if new.kind = 'image.added' then
        perform foja.check_room(new.entity_id);
    elsif new.kind in ('image.replaced', 'image.described') then
        perform foja.check_image_key(new, payload);
    end if;
    perform foja.apply_image_event(new);
    foreach number in array coalesce(ended, '{}') loop
        perform foja.end_references(new.entity_id, number);
    end loop;
    if new.kind in ('image.added', 'image.replaced') then
        if payload ? 'object' then
            perform foja.refer_object(new.entity_id, new.seq, new.tenant, payload ->> 'object', 'original');
        end if;
        -- The first content of an image has its id as key: `insert_image_with_order` queues the job before it has a number.
        image := case new.kind when 'image.added' then new.event_id else foja.image_of(new, payload) end;
        perform foja.request_rendering(new.entity_id, image, new.tenant,
            concat_ws(':', image, case when new.kind = 'image.replaced' then new.seq end), 1, false, 0);
    elsif new.kind in ('image.rendered', 'image.skipped', 'image.failed') then
        perform foja.track_rendering(new, payload);
    end if;
end $$;

-- The guard of galleries: plain additions together, anything else each by itself, in order.
create function foja.track_images(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
declare
    places integer[];
begin
    if not p_at_head then
        perform foja.refuse('bad_reservation', 'a gallery has no reserved numbers; append without a number');
    end if;
    places := foja.add_images(p_entity, p_seq);
    if places is null then
        perform foja.track_image(new) from foja.events_at(p_entity, p_seq) new;
    end if;
    return places;
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
