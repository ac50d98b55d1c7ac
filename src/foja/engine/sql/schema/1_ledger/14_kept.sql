-- What the way back takes away and events cannot tell: the rows of the tables that a later step makes. Its `down.sql`
-- keeps them here, and the step puts them back when it is applied again. No role reads this: secrets are among them.
create table foja.kept (
    relation text not null,
    content jsonb not null
);

create index kept_relations on foja.kept (relation);

-- Keep the rows of tables that are about to be dropped.
create function foja.keep_rows(variadic p_relations text[]) returns void
language plpgsql as $$
declare
    each text;
begin
    foreach each in array p_relations loop
        execute format('insert into foja.kept (relation, content) select %L, to_jsonb(t) from %s t', each,
            each::regclass);
    end loop;
end $$;

-- Put back the rows that were kept, instead of those that tables were made with. Its own numbers go on above them.
create function foja.restore_rows(variadic p_relations text[]) returns void
language plpgsql as $$
declare
    each text;
    columns text;
    number text;
begin
    foreach each in array p_relations loop
        continue when not exists (select from foja.kept k where k.relation = each);
        select string_agg(quote_ident(a.attname), ', ' order by a.attnum) filter (where a.attgenerated = ''),
            max(quote_ident(a.attname)) filter (where a.attidentity <> '')
        into columns, number from pg_attribute a
        where a.attrelid = each::regclass and a.attnum > 0 and not a.attisdropped;
        execute format('delete from %s', each::regclass);
        execute format('insert into %1$s (%2$s) overriding system value select %2$s from (select r.* from foja.kept k '
            'cross join lateral jsonb_populate_record(null::%1$s, k.content) r where k.relation = %3$L) kept',
            each::regclass, columns, each);
        if number is not null then
            execute format('select setval(pg_get_serial_sequence(%L, %L), max(%s)) from %s', each, number, number,
                each::regclass);
        end if;
        delete from foja.kept k where k.relation = each;
    end loop;
end $$;
