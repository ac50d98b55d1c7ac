-- Webhooks: addresses that are told of events. The log is their queue: each webhook has a cursor in it, and rows exist
-- only for what is being delivered and for what was delivered of late.

create table foja.webhook (
    webhook_id uuid primary key,
    tenant text not null,
    url text not null,                        -- may contain an access key: shown to administrators, never recorded
    kinds text[] not null,                    -- kinds, or beginnings of kinds with a star
    include_payload boolean not null default false,
    description text not null default '',
    state text not null default 'on' check (state in ('on', 'off')),
    off_reason text,                          -- why it is off; null while it is on
    origin integer not null,                  -- of the log that it is read from,
    idx bigint not null,                      -- and the next leaf to look at there
    failures integer not null default 0,      -- attempts that failed since the last that did not
    failing_since timestamptz,
    created_at timestamptz not null default clock_timestamp()
);

create index webhook_tenants on foja.webhook (tenant, webhook_id);
create index webhook_cursors on foja.webhook (origin, idx) where state = 'on';

-- The keys that sign; two of them during a rotation. No role reads this table.
create table foja.webhook_secret (
    webhook_id uuid not null references foja.webhook on delete cascade,
    secret bytea not null check (octet_length(secret) between 24 and 64),
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,                   -- null: the newest
    primary key (webhook_id, secret)
);

create table foja.webhook_delivery (
    delivery_id bigint generated always as identity primary key,
    webhook_id uuid not null references foja.webhook on delete cascade,
    tenant text not null,
    entity_id uuid not null,
    seq bigint not null,
    kind text not null,
    batch uuid not null,                      -- the job that delivers it has this key
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
    attempts integer not null default 0,      -- since it was planned or replayed
    created_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    unique (webhook_id, entity_id, seq)       -- one event, one delivery: a restarted log plans nothing twice
);

create index webhook_delivery_lists on foja.webhook_delivery (webhook_id, delivery_id);
create index webhook_delivery_waiting on foja.webhook_delivery (webhook_id) where state = 'waiting';
create index webhook_delivery_batches on foja.webhook_delivery (batch) where state = 'waiting';
create index webhook_delivery_ends on foja.webhook_delivery (ended_at) where state <> 'waiting';

create table foja.webhook_attempt (
    attempt_id uuid primary key,              -- given by the worker: what is recorded twice is stored once
    delivery_id bigint not null references foja.webhook_delivery on delete cascade,
    tenant text not null,
    at timestamptz not null default clock_timestamp(),
    status integer,                           -- of the answer; null: there was none
    error text,                               -- null: it was delivered
    seconds double precision not null
);

create index webhook_attempt_lists on foja.webhook_attempt (delivery_id, at);

select foja.restore_rows('foja.webhook', 'foja.webhook_secret', 'foja.webhook_delivery', 'foja.webhook_attempt');
