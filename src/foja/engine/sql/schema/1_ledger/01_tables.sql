-- The truth. One row per event; nothing here is ever rewritten, except the
-- counters in `entity` and the small working tables beside it.

create schema if not exists foja;

-- No checks on the columns that every append writes: PostgreSQL would prepare them anew each time.
-- Only our functions write there, and they look.
create domain foja.lane as text check (value in ('postgres', 'redis'));
create domain foja.slot_state as text check (value in ('open', 'filled', 'voided'));

-- One incarnation of this history. `epoch` is in every cursor: it is renewed when
-- the database turns out to be another one than last time.
create table foja.installation (
    only_one boolean primary key default true check (only_one),
    installation_id uuid not null default gen_random_uuid(),
    epoch text not null default encode(substring(uuid_send(gen_random_uuid()) for 6), 'hex'),
    system_identifier bigint not null,
    timeline integer not null,
    installed_at timestamptz not null default clock_timestamp(),
    log_name text,                            -- what the log is called, and who signs it: said at each start
    log_key bytea check (octet_length(log_key) = 32)
);

-- The key of the ids that are derived from what others could guess: a digest, a name. Who has it can compute which ids
-- every tenant has, so no role of a tenant reads it. It stays as long as there are events.
create table foja.id_key (
    only_one boolean primary key default true check (only_one),
    key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
        check (octet_length(key) = 32)
);

insert into foja.id_key default values;

-- A family of streams. The schema makes the reserved ones; `foja.register_domain` adds those of users, and gives
-- every domain its kinds and job types.
create table foja.domain (
    domain text primary key,
    reserved boolean not null default false,   -- part of Foja: a user cannot register or change it
    executor text,                             -- the job type that decides for its streams, if any
    head_only boolean not null default false,  -- written at the head alone: no reserved numbers, no lane in Redis
    guard text                                 -- the function in this schema that checks events of its `tracked` kinds
);

insert into foja.domain (domain, reserved, head_only) values
    ('conversation', true, false), ('document', true, true), ('request', true, false), ('system', true, true),
    ('thread', true, false);

-- Who records events for a domain: one database role each. `api` and `sweeper` belong to every domain.
create table foja.source (
    source text primary key,
    domain text not null references foja.domain,
    role text not null generated always as ('foja_' || replace(source, '-', '_')) stored
);

-- A predicate that is true of bodies with these keys, each of one of its types.
create function foja.shape_of(required jsonb) returns jsonpath
language sql immutable parallel safe
return (select 'strict $.type() == "object"' || coalesce(string_agg(' && (' || types.words || ')', ''), '')
    from jsonb_each(required) need cross join lateral (
        select string_agg(case each when 'any' then format('exists ($.%s)', to_json(need.key))
            else format('$.%s.type() == %s', to_json(need.key), to_json(each)) end, ' || ')
        from jsonb_array_elements_text(need.value) each
    ) types(words))::jsonpath;

-- The closed registry of kinds: fields, version and sources of each. `required` maps each
-- required key to the JSON types it may have.
create table foja.kind (
    domain text not null references foja.domain,
    kind text not null,
    v integer not null check (v > 0),
    sources text[] not null,
    required jsonb not null,
    erasable boolean not null default false,
    wakes boolean not null default false,     -- does the domain's executor want to know?
    tracked boolean not null default false,   -- is anything kept beside its events? then it is kept with them
    reserved boolean not null default false,  -- written by the ledger itself, never by a caller
    retired boolean not null default false,   -- refused for new events; old ones stay readable
    keyed_by text[],                          -- a word and a field: the idempotency key is always `word:field`
    client_checks jsonb not null default '{}', -- optional fields and the like: checked by clients only
    shape jsonpath generated always as (foja.shape_of(required)) stored,
    primary key (domain, kind, v)
);

create table foja.entity (
    entity_id uuid primary key,
    domain text not null references foja.domain,
    tenant text not null,
    lane foja.lane not null default 'postgres',
    fence uuid,
    run_id text,
    moved_at timestamptz,                     -- when the lane last moved; null: never
    next_seq bigint not null default 0,  -- the next number to hand out
    sealed bigint not null default 0,    -- every seq below it is filled and chained
    head bytea not null,                -- chain hash at sealed - 1
    last_at timestamptz not null default '-infinity',
    awake bigint                              -- the number that woke the executor; null: it has seen everything
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- For lists; it costs an append nothing, since none of its columns ever changes.
create index entity_names on foja.entity (tenant, domain, entity_id);

-- The stream of the domain `system` of each tenant: what was done there. Its id is made by chance, so that nothing else can
-- take it before.
create table foja.system_stream (
    tenant text primary key check (tenant not in ('', 'system')),
    entity_id uuid not null unique
);

-- No foreign key to `entity`: only the functions below insert here, under its lock.
create table foja.event (
    entity_id uuid not null,
    seq bigint not null,
    event_id uuid not null,
    kind text not null,
    v integer not null,
    at timestamptz not null,
    actor text,
    source text not null,
    payload json,                        -- json, not jsonb: it keeps the canonical bytes
    salt bytea,
    body_hash bytea not null,
    idempotency_key text,
    tenant text not null,
    primary key (entity_id, seq) with (fillfactor = 100),  -- numbers ascend: no room is needed between them
    -- Ids nearly do. The id comes first: two indexes that begin with the stream cost the same while the table is empty,
    -- and a plan made then could read a whole stream for one number of it.
    constraint event_id_key unique (event_id, entity_id) with (fillfactor = 97)
);

-- Numbers that were given and never used: one row for each `slot.voided`, for counting. A partial index of `event` would do
-- the same, and every append would pay for not being in it.
create table foja.voided (
    entity_id uuid not null,
    seq bigint not null,
    tenant text not null,
    primary key (entity_id, seq)
);

create table foja.slot (
    entity_id uuid not null,
    seq bigint not null check (seq >= 0),
    token uuid not null,
    deadline timestamptz not null,
    intent json,
    state foja.slot_state not null default 'open',
    tenant text not null,
    primary key (entity_id, seq)
);

create index slot_deadlines on foja.slot (deadline) where state = 'open';

-- Events recorded above a hole, for the sequencer to seal once the hole is gone. Every number that a caller names
-- is recorded here with its event, so this check covers them; `append` numbers by itself and does not pay for it.
create table foja.unsealed (
    entity_id uuid not null,
    seq bigint not null check (seq >= 0),
    primary key (entity_id, seq)
);

-- The outbox: sealed events that have no place in the log yet, a row for all of one append.
-- `id` is drawn under the locks of its streams, so its order agrees with every stream's own.
create table foja.pending (
    id bigint generated always as identity primary key,
    entity_id uuid[] not null,
    seq bigint[] not null,
    chain_hash bytea[] not null
) with (autovacuum_vacuum_scale_factor = 0.05);

-- Streams whose executor must look again, one row for all streams of one append. The next claim queues the
-- executors, so that an append does not have to.
create table foja.woken (
    id bigint generated always as identity primary key,
    entity_id uuid[] not null,
    at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.05);
