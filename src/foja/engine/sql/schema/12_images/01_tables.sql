-- Galleries. A stream of the domain `image` is the gallery of the product with the same id. The events are the only
-- truth; these tables are written with them, under the lock of the stream. `foja audit` compares both, and `foja images
-- rebuild` writes the rows again from the events.

-- What this installation allows: who may read galleries, and how many images one may have.
create table foja.gallery_rule (
    only_one boolean primary key default true check (only_one),
    read text not null default 'tenant' check (read in ('tenant', 'authenticated', 'public')),
    image_limit integer not null default 1000 check (image_limit > 0)
);
insert into foja.gallery_rule default values;

create table public.products (
    productid uuid primary key default gen_random_uuid(),
    supplier_id uuid,
    tenant text not null default foja.acting_tenant()
);

create index products_tenant on public.products (tenant, productid);

-- The seed's columns and names. The last four are ours.
create table public.product_images (
    id uuid primary key,                       -- of its `image.added`
    product_id uuid not null,
    image_url text not null,                   -- foja:sha256/<digest>, an address elsewhere, or foja:erased/<event id>
    thumbnail_url text,
    thumbnails jsonb,
    image_order integer not null,
    thumbnail_signature text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),  -- at first `created_at`
    tenant text not null,
    alt text,
    content_seq bigint not null,               -- the event with its content: added, or last replaced
    alt_seq bigint,                            -- the event with its alternative text
    constraint chk_image_order_nonneg check (image_order >= 0),
    -- Checked at the end of a statement, so that one statement can move many images.
    constraint uniq_product_image_order unique (product_id, image_order) deferrable,
    constraint product_images_product_id_fkey foreign key (product_id)
        references public.products (productid) on delete cascade
);

-- Later than before, also in the transaction of the insert and after a clock went back.
create function public.set_product_images_updated_at() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    new.updated_at = greatest(clock_timestamp(), old.updated_at + interval '1 microsecond');
    return new;
end $$;

create trigger trg_product_images_updated_at before update on public.product_images
    for each row execute function public.set_product_images_updated_at();

select foja.restore_rows('foja.gallery_rule', 'public.products');

insert into foja.domain (domain, reserved, head_only, guard) values ('image', true, true, 'track_images')
on conflict (domain) do update set guard = excluded.guard;
