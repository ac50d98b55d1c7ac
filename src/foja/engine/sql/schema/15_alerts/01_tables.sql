-- Alerts that are evaluated by a worker, for those without Prometheus; and what they need to know of all processes.
-- Only the functions below write here.

-- One row: an evaluation is recorded only if no other one came between.
create table foja.alert_round (
    only_one boolean primary key default true check (only_one),
    version bigint not null default 0,
    evaluated_at timestamptz
);
insert into foja.alert_round default values;

-- Alerts whose condition is true now.
create table foja.alert_state (
    alert text not null,
    label text not null,                      -- of the series: a job type, a network; '' if there is one series
    value double precision not null,
    since timestamptz not null,               -- the condition is true since then
    fired_at timestamptz,                     -- null: not for long enough
    primary key (alert, label)
);

-- What is said, once when an alert fires and once when it clears.
create table foja.alert_notice (
    notice_id uuid primary key,
    alert text not null,
    label text not null,
    event text not null check (event in ('fired', 'cleared')),
    value double precision,
    at timestamptz not null,
    channels text[] not null,                 -- that it did not reach yet
    tries integer not null default 0,
    next_try timestamptz not null default clock_timestamp(),
    last_error text
);

create index alert_notice_due on foja.alert_notice (next_try, at) where channels <> '{}';
create index alert_notice_newest on foja.alert_notice (at);

-- Answers with a status of 500 or more, of all web processes. Old hours are added to the row of the hour '-infinity'.
create table foja.http_failure (
    route text not null,
    hour timestamptz not null,
    count bigint not null,
    primary key (route, hour)
);

-- What the account of a network had when it was asked last, and what one batch costs at most.
create table foja.anchor_balance (
    network text primary key references foja.anchor_network,
    balance numeric not null,
    price numeric not null check (price > 0),
    checked_at timestamptz not null default clock_timestamp()
);

select foja.restore_rows('foja.alert_round', 'foja.alert_state', 'foja.alert_notice', 'foja.http_failure',
    'foja.anchor_balance');
