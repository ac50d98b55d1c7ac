-- What a search finds: the words of a document's name, and the digest of what was added, as `#` and its digits. Written
-- with `document.added`, in its transaction and under the lock of its stream; `erase` empties it.
create table foja.document_word (
    entity_id uuid not null,
    word text collate "C" not null,
    tenant text not null,
    added_at timestamptz not null,
    primary key (entity_id, word)
);

create index document_words on foja.document_word (tenant, word, added_at, entity_id);

-- The words of a name: in lower case, without accents, each once, at most 32.
create function foja.words_of(p_name text) returns setof text
language sql immutable
begin atomic
    select distinct left(w, 64) from regexp_split_to_table(translate(lower(p_name),
        'ÁÀÄÂÃÉÈËÊÍÌÏÎÓÒÖÔÕÚÙÜÛÑÇáàäâãéèëêíìïîóòöôõúùüûñç', 'aaaaaeeeeiiiiooooouuuuncaaaaaeeeeiiiiooooouuuunc'),
        '[[:space:][:punct:]]+') w where w <> '' limit 32;
end;

-- Write the words of a document that was added.
create function foja.index_document(p_entity uuid, p_tenant text, p_at timestamptz, p_name text, p_sha256 text) returns void
language sql
begin atomic
    insert into foja.document_word (entity_id, word, tenant, added_at)
    select p_entity, w, p_tenant, p_at from (select foja.words_of(p_name) union select '#' || p_sha256) found (w)
    on conflict do nothing;
end;

grant select on foja.document_word to foja_worker, service_role, foja_api, foja_reader;
revoke execute on function foja.words_of, foja.index_document from public;
grant execute on function foja.words_of to foja_worker, service_role, foja_api, foja_reader;

alter table foja.document_word enable row level security, force row level security;

create policy owner_works on foja.document_word to current_user using (true) with check (true);
create policy installation_reads on foja.document_word for select to foja_worker, service_role, foja_reader using (true);
create policy tenant_reads on foja.document_word for select to foja_api using (tenant = (select nullif(current_setting('foja.tenant', true), '')));
