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

create table foja.leaf (
    origin integer not null,
    idx bigint not null,
    entity_id uuid not null,
    seq bigint not null,
    chain_hash bytea not null,
    primary key (origin, idx)
);

create index leaf_event on foja.leaf (entity_id, seq);

create table foja.checkpoint (
    origin integer not null references foja.log,
    size bigint not null,
    root bytea not null,
    frontier bytea not null,             -- the tree's edge, so that a restart need not read every leaf
    note text not null,
    signed_at timestamptz not null default clock_timestamp(),
    published_at timestamptz,            -- proofs are given out against published ones only
    primary key (origin, size)
);

create trigger leaf_change before update or delete on foja.leaf for each row execute function foja.forbid_change();
create trigger leaf_truncate before truncate on foja.leaf for each statement execute function foja.forbid_change();
create trigger checkpoint_delete before delete on foja.checkpoint
    for each row execute function foja.forbid_change();
create trigger checkpoint_truncate before truncate on foja.checkpoint
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

alter table foja.leaf enable always trigger leaf_change, enable always trigger leaf_truncate;
alter table foja.checkpoint enable always trigger checkpoint_delete, enable always trigger checkpoint_truncate,
    enable always trigger checkpoint_update;
