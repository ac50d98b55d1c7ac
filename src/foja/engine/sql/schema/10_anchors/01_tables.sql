-- Anchors: batches of digests that were sent to a network, once each. Only the functions below write here.

create table foja.anchor_network (
    network text primary key,
    flushed_at timestamptz not null default '-infinity',  -- what was requested before this waits for no other digest
    held text,                                            -- why no new batch is made, or null
    held_at timestamptz,
    checkpoint_origin integer,                            -- the log and the size of the last checkpoint that was
    checkpoint_size bigint,                               -- requested to be anchored, and when
    checkpoint_at timestamptz
);

insert into foja.anchor_network (network) values ('polygon'), ('bitcoin'), ('rekor');

-- What pays for batches. One draft at a time: the lease says whose. Networks without accounts have one row, named ''.
create table foja.anchor_account (
    network text not null references foja.anchor_network,
    account text not null,
    next_nonce bigint check (next_nonce >= 0),  -- null where the network has none
    renew boolean not null default false,       -- whether the next draft takes the nonce again from what the nodes agree on
    lease_token uuid,
    lease_until timestamptz,
    primary key (network, account)
);

-- drafted → sent → confirmed | refused; confirmed → reorged → sent. `told` counts the members whose stream has the event
-- about a confirmation, a refusal or a reorganisation; null: all of them have it.
create table foja.anchor_batch (
    batch_id uuid primary key,
    network text not null references foja.anchor_network,
    account text not null,
    nonce bigint,
    root bytea not null check (octet_length(root) = 32),
    size integer not null check (size between 1 and 10000),
    leaves bytea not null,
    salts bytea not null,
    state jsonb not null,                     -- what the network must remember
    status text not null default 'drafted' check (status in ('drafted', 'sent', 'confirmed', 'reorged', 'refused')),
    told integer,
    untold integer[] not null default '{}',   -- members that were left out because another session held their stream
    outcome jsonb not null default '{}',      -- the fields of that event which are the same for all
    trust text[] not null default '{}',       -- what our own nodes confirmed, as `foja verify --trust` takes it
    max_fee numeric not null,                 -- in the smallest unit of the network
    fee numeric,
    spent boolean not null default true,      -- whether the nonce is used up
    detail text,                              -- what it waits for
    created_at timestamptz not null default clock_timestamp(),
    confirmed_at timestamptz,
    next_look timestamptz,                    -- null: it is not looked at any more
    lease_token uuid,
    lease_until timestamptz,
    check (octet_length(leaves) = size * 32 and octet_length(salts) = size * 16)
);

create index anchor_due on foja.anchor_batch (network, next_look) where next_look is not null;
create index anchor_newest on foja.anchor_batch (created_at, batch_id);
-- No nonce is used twice; that of a refused batch which did not use it goes to the next draft.
create unique index anchor_nonce on foja.anchor_batch (network, account, nonce) where status <> 'refused' or spent;

-- The digests of a batch, in the order of its leaves.
create table foja.anchor_member (
    batch_id uuid not null references foja.anchor_batch,
    index integer not null,
    network text not null,
    entity_id uuid not null,
    witness_hash text not null,
    attempt integer not null,                 -- the first one; a later one uses the same batch. 0: a checkpoint
    tenant text not null,
    primary key (batch_id, index)
);

create index anchor_membership on foja.anchor_member (entity_id, network, witness_hash);

select foja.restore_rows('foja.anchor_network', 'foja.anchor_account', 'foja.anchor_batch', 'foja.anchor_member');
