-- Variants of images: the job that makes them, how often it is tried, and what was made.

-- How often a job is tried. One retry is automatic; more are allowed after seven good days, or by hand.
create table foja.thumbnail_rule (
    only_one boolean primary key default true check (only_one),
    max_attempts integer not null default 5 check (max_attempts > 0),
    retries text not null default 'auto' check (retries in ('auto', 'armed', 'single')),
    armed_at timestamptz,                      -- when seven good days were seen
    tries integer not null generated always as (case when retries = 'armed' or retries = 'auto' and armed_at is not null
        then max_attempts else least(2, max_attempts) end) stored
);
insert into foja.thumbnail_rule default values;

-- The variants of an image's present content.
create table foja.image_variant (
    image_id uuid not null,
    variant text not null,
    spec text not null,
    product_id uuid not null,
    seq bigint not null,                       -- of its `image.rendered`
    primary key (image_id, variant)
);

create index image_variant_product on foja.image_variant (product_id);

-- How far the images were looked at for variants of another set.
create table foja.variant_sweep (
    set_digest text primary key,
    after uuid,                                -- the last image that was looked at
    finished_at timestamptz
);

-- The variants of an image, asked for. `attempts` are those of earlier jobs, which count for the limit.
create type foja.rendering as (
    product_id uuid, image_id uuid, tenant text, key text, priority integer, again boolean, attempts integer
);

-- The seed's columns and names: one row per image, its last job. `foja.job` and the events decide.
create table public.image_thumbnail_jobs (
    id uuid primary key default gen_random_uuid(),  -- of its image
    product_id uuid not null,
    product_image_id uuid unique,
    status text not null check (status in ('queued', 'processing', 'success', 'error')),
    attempts integer not null default 0,
    last_error text,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    started_at timestamptz,
    completed_at timestamptz,
    duration_ms integer,
    error_code text,
    skipped text,                              -- why nothing was rendered
    tenant text not null,
    job_id bigint
);

create index idx_image_thumbnail_jobs_status on public.image_thumbnail_jobs (status);
create index idx_image_thumbnail_jobs_product on public.image_thumbnail_jobs (product_id);

select foja.restore_rows('foja.thumbnail_rule', 'foja.variant_sweep');
