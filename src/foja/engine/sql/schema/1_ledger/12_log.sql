-- The log: every sealed event of every stream in one gapless order, and its tree.

create table foja.log (
    origin integer primary key,
    name text not null unique,           -- the checkpoint's origin line
    next_idx bigint not null default 0,
    closed_size bigint,                  -- null while open; leaves above it were never proven
    halted text,                         -- why numbering and signing stopped, or null
    opened_at timestamptz not null default clock_timestamp()
);

create unique index log_open on foja.log ((true)) where closed_size is null;

-- The leaves, in bundles of at most 256: a row each would cost as much as the events they stand for. Leaves that
-- follow each other in the bundle and in their stream are a run; only the first of them is described.
create table foja.leaves (
    origin integer not null,
    idx bigint not null,                 -- of the first leaf; the others follow
    place integer[] not null,            -- where each run begins in the bundle: at 0, then ascending
    entity_id uuid[] not null,           -- the stream of each run
    seq bigint[] not null,               -- the first number of each run
    chain_hash bytea not null,           -- 32 bytes for each leaf
    primary key (origin, idx)
);

-- Hashes cannot be compressed; stored as they are, one of them is read without the others.
alter table foja.leaves alter chain_hash set storage external;

-- Which bundle to open for an event: the one where its stream continues at the last number up to its own.
create table foja.leaf_place (
    entity_id uuid not null,
    origin integer not null,
    seq bigint not null,
    idx bigint not null,                 -- of the bundle
    primary key (entity_id, origin, seq)
);

-- The leaves of a bundle, each by itself.
create function foja.unbundle(b foja.leaves) returns table (idx bigint, entity_id uuid, seq bigint, chain_hash bytea)
language sql stable parallel safe as $$
    select b.idx + n, run.entity_id, run.seq + n - run.place, substring(whole.hashes from 32 * n + 1 for 32)
    from (select b.chain_hash || ''::bytea as hashes offset 0) whole  -- a copy: fetched once, not once for each leaf
    cross join lateral (
        select u.*, lead(u.place, 1, octet_length(whole.hashes) / 32) over (order by u.place) as until
        from unnest(b.place, b.entity_id, b.seq) u(place, entity_id, seq)
    ) run
    cross join lateral generate_series(run.place, run.until - 1) n
$$;

-- Every leaf by itself.
create view foja.leaf with (security_invoker = true) as
select b.origin, l.idx, l.entity_id, l.seq, l.chain_hash from foja.leaves b cross join lateral foja.unbundle(b) l;

-- A run of leaves: the bundle that holds the first of them, and those after it.
create function foja.leaves_between(p_origin integer, p_low bigint, p_high bigint) returns setof foja.leaf
language sql stable parallel safe as $$
    select b.origin, l.idx, l.entity_id, l.seq, l.chain_hash
    from foja.leaves b cross join lateral foja.unbundle(b) l
    where b.origin = p_origin and b.idx < p_high and l.idx between p_low and p_high - 1
      and b.idx >= coalesce((select max(o.idx) from foja.leaves o where o.origin = p_origin and o.idx <= p_low), 0)
    order by l.idx
$$;

-- Where an event stands in a log: its leaf, or nothing. First its place, then its bundle: joined, a planner that knows no
-- sizes would read all bundles.
create function foja.find_leaf(p_origin integer, p_entity uuid, p_seq bigint) returns setof foja.leaf
language sql stable parallel safe as $$
    select b.origin, b.idx + l.place, p_entity, p_seq, substring(b.chain_hash from 32 * l.place + 1 for 32)
    from (select p.idx from foja.leaf_place p
        where p.entity_id = p_entity and p.origin = p_origin and p.seq <= p_seq order by p.seq desc limit 1) bundle
    cross join lateral (select * from foja.leaves o where o.origin = p_origin and o.idx = bundle.idx offset 0) b
    cross join lateral (
        select run.number, run.place + (p_seq - run.seq)::integer as place
        from unnest(b.place, b.entity_id, b.seq) with ordinality run(place, entity_id, seq, number)
        where run.entity_id = p_entity and p_seq - run.seq between 0 and 255 order by run.seq desc limit 1
    ) l
    where l.place < octet_length(b.chain_hash) / 32 and width_bucket(l.place, b.place) = l.number  -- not beyond its run
$$;

-- The chain hash of a sealed event: in the newest log that has it, else in the outbox.
create function foja.chain_hash_of(p_entity uuid, p_seq bigint) returns bytea
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select coalesce(
        (select l.chain_hash from foja.log o cross join lateral foja.find_leaf(o.origin, p_entity, p_seq) l
         where o.closed_size is null or l.idx < o.closed_size order by o.origin desc limit 1),
        (select u.chain_hash from foja.pending p
         cross join lateral unnest(p.entity_id, p.seq, p.chain_hash) u(entity_id, seq, chain_hash)
         where u.entity_id = p_entity and u.seq = p_seq limit 1))
    from foja.entity e where e.entity_id = p_entity and foja.may_act_for(e.tenant)
$$;

create table foja.checkpoint (
    origin integer not null references foja.log,
    size bigint not null check (size between 1 and 9007199254740991),
    root bytea not null check (octet_length(root) = 32),
    frontier bytea not null,             -- the tree's edge, so that a restart need not read every leaf
    note text not null,
    signed_at timestamptz not null default clock_timestamp(),
    published_at timestamptz,            -- proofs are given out against published ones only
    primary key (origin, size)
);

-- The signatures of others under published checkpoints, as lines of their notes. They are only added.
create table foja.cosignature (
    origin integer not null,
    size bigint not null,
    public_key bytea not null check (octet_length(public_key) in (32, 1312)),
    line text not null check (line ~ '^— [^\n]+\n$'),
    recorded_at timestamptz not null default clock_timestamp(),
    primary key (origin, size, public_key)   -- a key counts once, under whatever name
);

-- What is known of each cosigner of a log: the largest size that it signed, and its fault if it has one.
create table foja.cosigner (
    origin integer not null references foja.log,
    public_key bytea not null check (octet_length(public_key) in (32, 1312)),
    vkey text not null,
    seen bigint not null default 0,
    fault text check (fault in ('away', 'refused', 'invalid', 'another history', 'forgot')),  -- null: none
    detail text,
    since timestamptz not null default clock_timestamp(),
    primary key (origin, public_key)
);

create trigger leaf_change before update or delete on foja.leaves for each row execute function foja.forbid_change();
create trigger leaf_truncate before truncate on foja.leaves for each statement execute function foja.forbid_change();
create trigger leaf_place_change before update or delete on foja.leaf_place
    for each row execute function foja.forbid_change();
create trigger leaf_place_truncate before truncate on foja.leaf_place
    for each statement execute function foja.forbid_change();
create trigger checkpoint_delete before delete on foja.checkpoint
    for each row execute function foja.forbid_change();
create trigger checkpoint_truncate before truncate on foja.checkpoint
    for each statement execute function foja.forbid_change();

create trigger cosignature_change before update or delete on foja.cosignature
    for each row execute function foja.forbid_change();
create trigger cosignature_truncate before truncate on foja.cosignature
    for each statement execute function foja.forbid_change();

-- A checkpoint changes once: when it has been published.
create function foja.allow_publication() returns trigger
language plpgsql as $$
begin
    if old.published_at is null and new.published_at is not null
        and (new.origin, new.size, new.root, new.frontier, new.note, new.signed_at)
          = (old.origin, old.size, old.root, old.frontier, old.note, old.signed_at) then
        return new;
    end if;
    raise exception using errcode = 'FJ002', message = 'append_only',
        detail = format('checkpoint %s of log %s cannot be changed', old.size, old.origin);
end $$;

create trigger checkpoint_update before update on foja.checkpoint
    for each row execute function foja.allow_publication();

alter table foja.leaves enable always trigger leaf_change, enable always trigger leaf_truncate;
alter table foja.leaf_place
    enable always trigger leaf_place_change, enable always trigger leaf_place_truncate;
alter table foja.checkpoint enable always trigger checkpoint_delete, enable always trigger checkpoint_truncate,
    enable always trigger checkpoint_update;
alter table foja.cosignature
    enable always trigger cosignature_change, enable always trigger cosignature_truncate;

-- How many events of a stream, from the first on, are covered by a published checkpoint.
create function foja.covered_events(p_entity uuid) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select coalesce(max(l.seq) + 1, 0)
    from foja.entity e
    join foja.leaf_place p on p.entity_id = e.entity_id
    join foja.log o on o.origin = p.origin
    join foja.leaves b on b.origin = p.origin and b.idx = p.idx
    cross join lateral foja.unbundle(b) l
    where e.entity_id = p_entity and foja.may_act_for(e.tenant) and l.entity_id = p.entity_id
        and (o.closed_size is null or l.idx < o.closed_size)
        and exists (select from foja.checkpoint c
            where c.origin = p.origin and c.size > l.idx and c.published_at is not null)
$$;
