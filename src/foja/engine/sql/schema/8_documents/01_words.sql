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

select foja.share_rows('foja.document_word', 'foja_api');
grant execute on function foja.words_of to foja_worker, service_role, foja_api, foja_reader;
