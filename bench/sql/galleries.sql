-- name: make_seed_gallery
-- The tables and the function of seed 003, as it wrote them.
create table products (productid uuid primary key);
create table product_images (
    id uuid primary key default gen_random_uuid(),
    product_id uuid not null references products (productid) on delete cascade,
    image_url text not null,
    thumbnail_url text,
    thumbnails jsonb,
    image_order integer not null check (image_order >= 0),
    thumbnail_signature text,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    unique (product_id, image_order)
);
create function insert_image_with_order(p_product_id uuid, p_image_url text, p_supplier_id uuid) returns integer as $$
declare
    v_next integer;
begin
    perform pg_advisory_xact_lock(hashtext(p_product_id::text));
    select coalesce(max(image_order), -1) + 1 into v_next from product_images where product_id = p_product_id;
    insert into product_images (product_id, image_url, image_order) values (p_product_id, p_image_url, v_next);
    return v_next;
end;
$$ language plpgsql security definer;

-- name: make_product
-- One product.
insert into products (productid) values (%(product)s);

-- name: make_gallery_objects
-- Stored objects with the digests of the numbers below a limit.
insert into foja.object (sha256, generation, state, size, tenant)
select encode(sha256(n::text::bytea), 'hex'), 0, 'live', 1000, 'default' from generate_series(0, %(count)s::integer - 1) n;

-- name: lift_gallery_limit
-- Galleries larger than anyone's.
select foja.set_gallery_rule_v1(null, 1000000);

-- name: add_in_order
-- One more image, at the end.
select insert_image_with_order(%s, %s, null);

-- name: count_images
-- Count the images; a gap or a duplicate counts as minus one.
select case when bool_and(places = images and last = images - 1) then sum(images) else -1 end
from (select count(*) as images, count(distinct image_order) as places, max(image_order) as last from product_images
    group by product_id) g;
