-- The queue. Events decide what is to be done; these tables say who does it, and when.

-- A type belongs to one domain and one source: only the role of that source may claim and settle its jobs.
create table foja.job_type (
    type text primary key,
    domain text not null references foja.domain,
    source text not null,
    role text not null generated always as ('foja_' || replace(source, '-', '_')) stored,
    lease interval not null default '30 seconds' check (lease > interval '0'),
    max_tries integer not null default 5 check (max_tries > 0),
    backoff interval not null default '2 seconds',       -- before the second try; doubled before each one after
    backoff_most interval not null default '1 hour',
    serial boolean not null default false,               -- one job of a stream at a time, in order
    level boolean not null default false,                -- one job per stream, queued again whenever it grows
    asked_by text,                                       -- the kind whose event asks for it; the key is its number
    paused boolean not null default false,
    paused_at timestamptz,                               -- since then
    check (not (serial and level))
);

select foja.restore_rows('foja.job_type');

alter table foja.domain add foreign key (executor) references foja.job_type;

-- No checks: every step of every job writes here, and only the functions below may.
create table foja.job (
    job_id bigint generated always as identity primary key,
    type text not null,
    entity_id uuid not null,                  -- the stream; of a batch or a tick its own id
    correlation_id uuid not null,             -- the same; a worker that is handed another one corrects it
    tenant text not null,
    dedupe_key text not null,                 -- kept for ever: what was requested once is done once
    state text not null default 'queued',     -- queued, running, succeeded, retry_scheduled, dead, cancelled
    serial boolean not null default false,
    head boolean not null default true,       -- first in its line; only heads are claimed
    priority smallint not null default 1,     -- 0 before 1 before 2
    run_at timestamptz not null default clock_timestamp(),
    payload jsonb not null default '{}',
    tries integer not null default 0,
    max_tries integer not null,
    lease_token uuid,                         -- kept after the end, so that a repeated settlement is recognised
    lease_until timestamptz,
    worker text,
    alone boolean not null default false,     -- claimed by itself: if its worker dies, this job is the cause
    corrected boolean not null default false, -- it came with another correlation
    last_error text,
    on_death jsonb,                           -- the event {kind, v, payload} appended when it dies
    silent boolean not null default false,    -- that event was appended, or is not needed any more
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    unique (entity_id, type, dedupe_key)      -- the same key of another stream, tenant or type is another job
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create index job_runnable on foja.job (type, priority, run_at, job_id)
    where head and state in ('queued', 'retry_scheduled');
create index job_leases on foja.job (type, lease_until) where state = 'running';
create index job_lines on foja.job (entity_id, type, head desc, job_id)
    where serial and state in ('queued', 'running', 'retry_scheduled');
create index job_dead on foja.job (job_id) where state = 'dead';
create index job_cancelled on foja.job (job_id) where state = 'cancelled';
create index job_unsaid on foja.job (job_id) where state = 'cancelled' and on_death is not null and not silent;

-- Periodic work: one job per interval.
create table foja.tick (
    name text primary key,
    type text not null references foja.job_type,
    every interval not null check (every >= interval '1 second'),
    due timestamptz not null default clock_timestamp(),
    payload jsonb not null default '{}',
    tenant text not null default 'default'
);

select foja.restore_rows('foja.job', 'foja.tick');
