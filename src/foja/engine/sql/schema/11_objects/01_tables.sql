-- Objects: bytes in the store under `objects/<sha256>/<generation>`. A row is written before the bytes, so no bytes are
-- there without a row, except those of an upload that the database lost or that came too late.

-- A scan reads both tables in the order of digests, by their indexes alone: by their rows, it would read a page of the
-- disk for each object of a large store.
--
-- intent: the bytes may be on their way. live: they are there. quarantined: nothing refers to them and nothing may; they
-- can be restored. deleted: they are gone, and this generation is never used again.
create table foja.object (
    sha256 text not null check (foja.is_hash(sha256)),
    generation integer not null check (generation >= 0),
    state text not null check (state in ('intent', 'live', 'quarantined', 'deleted')),
    size bigint,                             -- null: an older event did not name it
    created_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),  -- when it got its state
    released_at timestamptz,                 -- when a reference to it ended last
    claimed_at timestamptz,                  -- its bytes are being deleted: it cannot be restored any more
    tenant text,                             -- who stored it first; null: a scan found its bytes
    primary key (sha256, generation) include (state, changed_at)
) with (fillfactor = 90);

-- The generation of a digest that uploads write and that references name: at most one.
create unique index object_open on foja.object (sha256) where state in ('intent', 'live');
create index object_quarantined on foja.object (changed_at) where state = 'quarantined';

-- Which event of which stream needs which object: derived from events, and compared with them by `foja audit`.
create table foja.object_reference (
    entity_id uuid not null,
    seq bigint not null,
    sha256 text not null,
    generation integer not null,
    role text not null check (role in
        ('document', 'transcript', 'excerpt', 'artifact', 'renewal', 'proof', 'original', 'variant')),
    tenant text not null,
    built_from uuid,                         -- the stream whose events the object holds, if it is a copy of them
    referred_at timestamptz not null default clock_timestamp(),
    primary key (entity_id, seq, sha256, role)
);

create index object_reference_names on foja.object_reference (sha256, tenant) include (generation);
create index object_reference_sources on foja.object_reference (built_from) where built_from is not null;

-- Which other tenants stored the same bytes.
create table foja.object_upload (
    sha256 text not null,
    tenant text not null,
    generation integer not null,
    primary key (sha256, tenant, generation)
);

-- Objects that nothing refers to: candidates until they are purged or referred to again. The name and the columns are the
-- seed's; `path` is the key in the store.
create table public.image_orphan_candidates (
    path text primary key,
    detected_at timestamptz default now(),
    confirmed_deleted_at timestamptz,
    last_seen_reference timestamptz
);

create index orphan_candidates_due on public.image_orphan_candidates (detected_at) where confirmed_deleted_at is null;

-- Candidates that something refers to after all, until the next scan records them as events. `false_positive`: the
-- reference is older than the candidate, so it should never have been one.
create table foja.unstaged (
    path text not null,
    detected_at timestamptz not null,
    unstaged_at timestamptz not null default clock_timestamp(),
    false_positive boolean not null,
    primary key (path, detected_at)
);

select foja.restore_rows('foja.object', 'foja.unstaged', 'public.image_orphan_candidates');
