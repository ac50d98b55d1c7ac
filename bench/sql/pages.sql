-- name: load_quietly
-- No trigger and no foreign key: what is loaded here only has the shape of real rows, and no one is told of it.
set session_replication_role = replica;

-- name: make_shape
-- One row for each document, with an id that grows with its number, as real ids do, and a digest.
create temp table shape as
select n, (lpad(to_hex(n), 12, '0') || '7000800000000000000d')::uuid as document,
    (lpad(to_hex(n), 12, '0') || '7000800000000000000c')::uuid as conversation,
    (lpad(to_hex(n), 12, '0') || '7000800000000000000f')::uuid as product,
    encode(sha256(n::text::bytea), 'hex') as sha256,
    now() - (%(count)s - n) * interval '1 second' as at
from generate_series(1, %(count)s::bigint) n;

-- name: load_document_streams
-- The stream of each document.
insert into foja.entity (entity_id, domain, tenant, next_seq, sealed, head, last_at)
select document, 'document', 'default', 1, 1, '\x00', at from shape;

-- name: load_document_events
-- What was added: a name and a digest.
insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, salt, body_hash, tenant)
select document, 0, document, 'document.added', 1, at, 'api',
    json_build_object('name', 'contract ' || n || '.pdf', 'sha256', sha256, 'custody', 'hosted', 'size', 1000),
    '\x00', '\x00', 'default' from shape;

-- name: load_documents
-- What guards read. One of twenty was given up, one of twenty waits; the others are final.
insert into foja.document (entity_id, tenant, added_seq, witness_hash, witness_status, required_evidence, requested_seq, finalized)
select document, 'default', 0, sha256, 'ready', '{tsa}', 0, n %% 20 > 1 from shape;

-- name: load_attempts
-- One attempt at a timestamp of each. One of ten failed at first; half of these was given up.
insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, tenant)
select document, 'tsa', sha256, attempt, 0, at, case when attempt = 1 and n %% 10 = 0 then 'failed'
    when n %% 20 = 0 then 'failed' when n %% 20 = 1 then 'open' else 'confirmed' end, 'default'
from shape cross join generate_series(1, 2) attempt where attempt = 1 or n %% 10 = 0;

-- name: load_words
-- What a search finds: a word that all names have, and the digest.
insert into foja.document_word (entity_id, word, tenant, added_at)
select document, word, 'default', at from shape cross join lateral (values ('contract'), ('#' || sha256)) found (word);

-- name: load_conversation_streams
-- One conversation for ten documents.
insert into foja.entity (entity_id, domain, tenant, next_seq, sealed, head, last_at)
select conversation, 'conversation', 'default', 10, 10, '\x00', at from shape where n %% 10 = 0;

-- name: load_messages
-- Ten messages in each.
insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, salt, body_hash, tenant)
select conversation, seq, gen_random_uuid(), 'user_message_sent', 1, at, 'api',
    json_build_object('content', 'message ' || seq), '\x00', '\x00', 'default'
from shape cross join generate_series(0, 9) seq where n %% 10 = 0;

-- name: load_jobs
-- One job for each document: one of twenty in each other state, so that a page is full also with few, and the others
-- succeeded. One of 10,000 is of a rare type.
insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries, run_at, finished_at, last_error)
select case when n %% 10000 = 5 then 'renew_artifacts' else 'run_tsa' end, document, document, 'default', 'bench',
    case n %% 20 when 0 then 'dead' when 1 then 'queued' when 2 then 'running' when 3 then 'retry_scheduled'
        when 4 then 'cancelled' else 'succeeded' end,
    5, at, case when n %% 20 in (1, 2, 3) then null else at + interval '1 second' end,
    case when n %% 20 in (0, 3) then 'the authority did not answer' end from shape;

-- name: load_products
-- One gallery for ten documents.
insert into public.products (productid, tenant) select product, 'default' from shape where n %% 10 = 0;

-- name: load_images
-- Ten images in each.
insert into public.product_images (id, product_id, image_url, image_order, tenant, content_seq)
select gen_random_uuid(), product, 'foja:sha256/' || sha256, place, 'default', place
from shape cross join generate_series(0, 9) place where n %% 10 = 0;

-- name: load_objects
-- The object of each document.
insert into foja.object (sha256, generation, state, size, created_at, changed_at) select sha256, 0, 'live', 1000, at, at from shape;

-- name: load_references
-- The reference of each document to its object, except one of twenty.
insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant, referred_at)
select document, 0, sha256, 0, 'document', 'default', at from shape where n %% 20 > 0;

-- name: load_candidates
-- Objects that nothing refers to.
insert into public.image_orphan_candidates (path, detected_at)
select 'objects/' || sha256 || '/0', at from shape where n %% 20 = 0;

-- name: load_closed_log
-- A log that was closed: its checkpoints are listed, and no process compares them with its key.
insert into foja.log (origin, name, closed_size) values (-1, 'bench', 0);

-- name: load_checkpoints
-- One published checkpoint for twenty documents.
insert into foja.checkpoint (origin, size, root, frontier, note, published_at)
select -1, n, sha256(n::text::bytea), '\x00', 'bench', at from shape where n %% 20 = 0;

-- name: load_summaries
-- What lists show. The state follows the attempts above.
insert into foja.document_summary (entity_id, tenant, state, pipeline, lifecycle_status, witness_hash, length, began_at, failed)
select document, 'default', case when n %% 20 > 1 then 'final' else 'none' end, case when n %% 20 = 1 then 'awaiting_tsa' end,
    'needs_witness', sha256, 1, at, n %% 20 = 0 from shape;

-- name: middle_of_shape
-- A document in the middle, and its digest.
select document, sha256 from shape where n = %(place)s;
