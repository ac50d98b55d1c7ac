-- Access keys, sessions of people, and the streams that record what was done about them. Secrets are stored as hashes only.

create table foja.access_key (
    key_id text primary key check (key_id ~ '^[a-z0-9]{12}$'),
    tenant text not null check (tenant not in ('', 'system')),
    name text not null,
    scopes text[] not null check (cardinality(scopes) > 0
        and scopes <@ array['read', 'write', 'approve', 'operate', 'cleanup', 'purge', 'retry', 'admin']),
    installation boolean not null,
    created_at timestamptz not null default clock_timestamp(),
    created_by text,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
create index on foja.access_key (tenant, created_at);

-- A key has one secret, or two while it rotates.
create table foja.access_secret (
    key_id text not null references foja.access_key,
    secret_hash bytea not null check (octet_length(secret_hash) = 32),
    created_at timestamptz not null default clock_timestamp(),
    ends_at timestamptz,
    primary key (key_id, secret_hash)
);

create table foja.access_session (
    session_id uuid primary key default gen_random_uuid(),
    cookie_hash bytea not null unique check (octet_length(cookie_hash) = 32),
    tenant text not null check (tenant not in ('', 'system')),
    actor text not null,
    scopes text[] not null,
    installation boolean not null,
    key_id text references foja.access_key,  -- it was opened with this key, and ends with it
    created_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    idle interval not null,
    ends_at timestamptz not null,
    revoked_at timestamptz
);
create index on foja.access_session (tenant, created_at);
create index on foja.access_session (ends_at);

-- The name of each person as the issuer of their tokens gives it. Events name the actor; the name is for those who read.
create table foja.person (
    tenant text not null check (tenant not in ('', 'system')),
    actor text not null,
    name text not null check (name <> ''),
    primary key (tenant, actor)
);

-- One more for every change that ends a key or a session: processes that remember some compare it every second.
create table foja.access_version (
    only_one boolean primary key default true check (only_one),
    version bigint not null default 0,
    has_keys boolean not null default false
);
insert into foja.access_version default values;

select foja.restore_rows('foja.access_key', 'foja.access_secret', 'foja.access_session', 'foja.access_version',
    'foja.person');
