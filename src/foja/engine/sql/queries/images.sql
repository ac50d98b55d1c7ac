-- name: gallery
-- The next number of a gallery and its images in order, each with the body that holds its content.
select e.entity_id as product, i.id, i.image_order as "order", i.image_url as url, i.alt, i.created_at, i.content_seq, i.alt_seq,
    v.payload as body, i.thumbnails, i.thumbnail_url, i.thumbnail_signature as signature, e.next_seq
from foja.entity e left join public.product_images i on i.product_id = e.entity_id
left join foja.event v on v.entity_id = i.product_id and v.seq = i.content_seq
where e.entity_id = %(entity)s and e.tenant = %(tenant)s and e.domain = 'image' order by i.image_order;

-- name: gallery_images
-- Some images, each with its product and the body that holds its content. The ids are hidden from the planner, which
-- would otherwise plan every call for its number of them: that costs more than the answer.
select i.product_id as product, i.id, i.image_order as "order", i.image_url as url, i.alt, i.created_at, i.content_seq, i.alt_seq,
    v.payload as body, i.thumbnails, i.thumbnail_url, i.thumbnail_signature as signature
from public.product_images i left join foja.event v on v.entity_id = i.product_id and v.seq = i.content_seq
where i.id = any (array(select unnest(%(images)s::uuid[]))) and i.tenant = %(tenant)s;

-- name: gallery_facts
-- The first events of a gallery.
select v.seq, v.event_id as id, v.kind, v.at, v.idempotency_key as key, v.payload from foja.event v
where v.entity_id = %(entity)s and v.tenant = %(tenant)s and v.seq < %(length)s order by v.seq;

-- name: product_ids
-- A page of all products of this tenant, by id; also of those whose row is gone.
select product from (
    (select entity_id as product from foja.entity where tenant = %(tenant)s and domain = 'image'
        and (%(after)s::uuid is null or entity_id > %(after)s) order by entity_id limit %(limit)s)
    union
    (select productid from public.products where tenant = %(tenant)s
        and (%(after)s::uuid is null or productid > %(after)s) order by productid limit %(limit)s)
) known order by product limit %(limit)s;

-- name: product_counts
-- The newest products of this tenant, each with the number of its images and its supplier.
select p.productid, (select count(*) from public.product_images i where i.product_id = p.productid), p.supplier_id
from public.products p where p.tenant = %(tenant)s order by p.productid desc limit %(limit)s;

-- name: count_products
-- How many products this tenant has.
select count(*) from public.products where tenant = %(tenant)s;

-- name: gallery_limit
-- How many images a gallery may have.
select image_limit from foja.gallery_rule;

-- name: rebuild_galleries
-- Write the rows of galleries again from their events; returns those that were wrong.
select foja.rebuild_galleries_v1(%(products)s);

-- name: set_gallery_rule
-- Who may read galleries, and how many images one may have; null keeps what is set.
select foja.set_gallery_rule_v1(%(read)s, %(limit)s);

-- name: create_product
-- A product of this tenant, unless it exists.
insert into public.products (productid, supplier_id, tenant) values (%(product)s, %(supplier)s, %(tenant)s)
on conflict do nothing returning productid;

-- name: delete_product
-- Delete a product of this tenant with its images; returns how many it had.
select foja.delete_product_v1(%(tenant)s, %(entity)s, %(reason)s, %(actor)s);

-- name: foreign_columns
-- The columns of a table of another program.
select a.attname from pg_attribute a
where a.attrelid = to_regclass(format('%%I.%%I', %(schema)s::text, %(table)s::text)) and a.attnum > 0 and not a.attisdropped;

-- name: foreign_cascade
-- Whether images of another program go with their product.
select exists (select from pg_constraint c where c.confdeltype = 'c'
    and c.conrelid = to_regclass(format('%%I.product_images', %(schema)s::text))
    and c.confrelid = to_regclass(format('%%I.products', %(schema)s::text)));

-- name: foreign_count
-- How many products of another program there are, roughly.
select count(*) from {schema}.products;

-- name: foreign_images
-- Every product of another program with its images, each as a whole; also images without a product.
select coalesce(p.product ->> 'productid', i.image ->> 'product_id'), p.product ->> 'supplier_id', p.product is not null,
    i.image::text
from (select to_jsonb(x) from {schema}.products x) p (product)
full join (select to_jsonb(x) from {schema}.product_images x) i (image)
    on i.image ->> 'product_id' = p.product ->> 'productid'
order by 1, 3 desc;

-- name: insert_image_with_order
-- The call of the seed.
select public.insert_image_with_order(%(product)s, %(url)s, null);

-- name: gallery_faults
-- Galleries with a gap, a duplicate place or no main image.
select product_id, count(*), min(image_order), max(image_order), count(distinct image_order) from public.product_images
group by product_id having (count(*), 0, count(*)) <> (max(image_order) + 1, min(image_order), count(distinct image_order));

-- name: rendering_target
-- The content of an image now, and the specifications of the variants that it has.
select image_url, specs from foja.rendering_target_v1(%(product)s, %(image)s);

-- name: render_again
-- Render one image of this tenant again, or all of a product or of the tenant whose last job failed or was skipped.
select foja.render_again_v1(%(tenant)s, %(product)s, %(image)s, %(force)s, %(key)s);

-- name: sweep_variants
-- Ask for what images lack of the variants that are set, a few at a time.
select foja.sweep_variants_v1(%(set)s, %(specs)s, %(most)s);

-- name: arm_retries
-- Allow more than one automatic retry after seven good days.
select foja.arm_retries_v1();

-- name: set_thumbnail_rule
-- How often a job is tried; null keeps what is set.
select foja.set_thumbnail_rule_v1(%(attempts)s, %(retries)s);

-- name: thumbnail_job
-- The last job of an image.
select t.status, t.attempts, t.last_error, t.duration_ms, t.error_code, t.skipped,
    t.status = 'error' and t.attempts >= r.max_attempts as spent
from public.image_thumbnail_jobs t, foja.thumbnail_rule r
where product_image_id = %(image)s and tenant = %(tenant)s;

-- name: gallery_renderings
-- How far the variants of each image of a gallery are.
select t.product_image_id, t.status, t.attempts, t.last_error, t.duration_ms, t.error_code, t.skipped,
    t.status = 'error' and t.attempts >= r.max_attempts
from public.image_thumbnail_jobs t, foja.thumbnail_rule r
where product_id = %(product)s and tenant = %(tenant)s and product_image_id is not null;

-- name: gallery_thumbhashes
-- The newest thumbhash of each image of a gallery.
select distinct on (v.payload ->> 'image_id') (v.payload ->> 'image_id')::uuid, v.payload ->> 'thumbhash' from foja.event v
where v.entity_id = %(product)s and v.tenant = %(tenant)s and v.kind = 'image.rendered' and v.payload ->> 'thumbhash' is not null
order by v.payload ->> 'image_id', v.seq desc;

-- name: product_page
-- A page of products, newest first, each with the number of its images and its main image.
select p.productid as product_id, (select count(*) from public.product_images i where i.product_id = p.productid) as images,
    m.id as main_id, m.alt as main_alt, m.thumbnails as main_variants
from (select x.productid from public.products x where x.tenant = %(tenant)s and x.productid < %(before)s
    order by x.productid desc limit %(limit)s) p
left join public.product_images m on m.product_id = p.productid and m.image_order = 0
order by p.productid desc;
