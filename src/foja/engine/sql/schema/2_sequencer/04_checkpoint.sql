-- What a checkpoint has to be. Nothing of it is believed: a false one could not be removed, and no proof would pass any more.

-- The edge of the tree of so many leaves, from an earlier edge and the leaves after it: its size and the roots of its
-- complete subtrees, widest first.
create function foja.grow_tree(p_origin integer, p_edge bytea, p_size bigint) returns bytea
language plpgsql stable as $$
declare
    first bigint := ('x' || encode(substring(p_edge for 8), 'hex'))::bit(64)::bigint;
    size bigint := p_size;
    old bytea := substring(p_edge from 9);
    peaks bytea := '';
    level bytea;
    nodes integer;
begin
    select coalesce(string_agg(sha256('\x0004'::bytea || uuid_send(l.entity_id) || int8send(l.seq) || l.chain_hash), ''), '')
    into level from foja.leaves_between(p_origin, first, p_size) l;
    if octet_length(level) <> 32 * (p_size - first) then
        perform foja.refuse('bad_payload', format('log %s has no %s leaves', p_origin, p_size));
    end if;
    while size > 0 loop
        if first % 2 = 1 then
            level := substring(old from octet_length(old) - 31) || level;
            old := substring(old for octet_length(old) - 32);
        end if;
        nodes := octet_length(level) / 32;
        if nodes % 2 = 1 then
            peaks := substring(level from 32 * nodes - 31) || peaks;
        end if;
        select coalesce(string_agg(sha256('\x01'::bytea || substring(level from 64 * n + 1 for 64)), '' order by n), '')
        into level from generate_series(0, nodes / 2 - 1) n;
        first := div(first, 2);
        size := div(size, 2);
    end loop;
    return int8send(p_size) || peaks;
end $$;

-- The root of the tree with this edge.
create function foja.tree_root(p_edge bytea) returns bytea
language plpgsql immutable as $$
declare
    place integer := octet_length(p_edge) - 31;
    root bytea := substring(p_edge from place);
begin
    if octet_length(p_edge) = 8 then
        return sha256('');
    end if;
    while place > 9 loop
        place := place - 32;
        root := sha256('\x01'::bytea || substring(p_edge from place for 32) || root);
    end loop;
    return root;
end $$;

create function foja.base64(data bytea) returns text
language sql immutable
return translate(encode(data, 'base64'), E'\n', '');

-- The signature in the last line of a note, without the id of its key; null if the line is not of this key.
create function foja.signature_of(p_line text, p_name text, p_kind bytea, p_key bytea) returns bytea
language sql immutable
return (select case when foja.base64(x.data) = s.parts[2] and s.parts[1] = p_name
            and substring(x.data for 4) = substring(sha256(convert_to(p_name || E'\n', 'UTF8') || p_kind || p_key) for 4)
        then substring(x.data from 5) end
    from regexp_match(p_line, '^— ([^ +\n]+) ([A-Za-z0-9+/]+={0,2})\n$') s(parts)
    cross join lateral (select decode(case when length(s.parts[2]) % 4 = 0 then s.parts[2] end, 'base64')) x(data));

-- Refuse a checkpoint unless its root is that of the leaves, and its note says so and is signed by the log's key.
create function foja.check_checkpoint(p_origin integer, p_size bigint, p_root bytea, p_edge bytea, p_note text) returns void
language plpgsql stable as $$
declare
    home foja.installation;
    edge bytea;
    text_of text;
    signature bytea;
begin
    select * into home from foja.installation;
    select c.frontier into edge from foja.checkpoint c
    where c.origin = p_origin and c.size < p_size order by c.size desc limit 1;
    edge := foja.grow_tree(p_origin, coalesce(edge, int8send(0)), p_size);
    select format(E'%s\n%s\n%s\n', l.name, p_size, foja.base64(foja.tree_root(edge))) into text_of
    from foja.log l where l.origin = p_origin;
    if (p_edge, p_root) is distinct from (edge, foja.tree_root(edge)) or not starts_with(p_note, text_of || E'\n') then
        perform foja.refuse('bad_payload', format('the checkpoint of %s leaves is not that of log %s', p_size, p_origin));
    end if;
    signature := foja.signature_of(substr(p_note, length(text_of) + 2), home.log_name, '\x01', home.log_key);
    if signature is null or not foja.is_signed(home.log_key, convert_to(text_of, 'UTF8'), signature) then
        perform foja.refuse('bad_payload', format('the key of %s did not sign the checkpoint of %s leaves', home.log_name, p_size));
    end if;
end $$;

-- Refuse the public key of a cosigner unless its text (C2SP) names this key, and a name that readers of a note accept: no
-- white space, no plus, no control character, at most 255 bytes. A line with another name would spoil every proof.
create function foja.check_cosigner_key(p_vkey text, p_key bytea) returns void
language plpgsql immutable as $$
declare
    name text := split_part(p_vkey, '+', 1);
    kind bytea := case when octet_length(p_key) = 1312 then '\x06'::bytea else '\x04' end;
begin
    if name !~ '^[^\u0001-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$' or octet_length(name) > 255
            or p_vkey is distinct from format('%s+%s+%s', name,
                encode(substring(sha256(convert_to(name || E'\n', 'UTF8') || kind || p_key) for 4), 'hex'),
                foja.base64(kind || p_key)) then
        perform foja.refuse('bad_payload', 'this is not the public key of a cosigner: a name, its id and the key as one text');
    end if;
end $$;

-- Refuse a cosignature unless its key signed the checkpoint at the time that it says, and more than any log has: readers
-- refuse a note with too many. PostgreSQL cannot check ML-DSA-44 (kind 6): of such a line only the key and the size are
-- compared; whoever asked for it has checked it, and `foja fsck` does.
create function foja.check_cosignature(p_origin integer, p_size bigint, p_key bytea, p_vkey text, p_line text) returns void
language plpgsql stable as $$
declare
    name text := split_part(p_vkey, '+', 1);
    quantum_safe boolean := octet_length(p_key) = 1312;
    kind bytea := case when quantum_safe then '\x06'::bytea else '\x04' end;
    signature bytea := foja.signature_of(p_line, name, kind, p_key);
    signed text;
begin
    perform foja.check_cosigner_key(p_vkey, p_key);
    select format(E'cosignature/v1\ntime %s\n%s\n', ('x' || encode(substring(signature for 8), 'hex'))::bit(64)::bigint,
        split_part(c.note, E'\n\n', 1)) into signed from foja.checkpoint c where c.origin = p_origin and c.size = p_size;
    if octet_length(signature) is distinct from (case when quantum_safe then 2428 else 72 end)
            or not (quantum_safe or foja.is_signed(p_key, convert_to(signed, 'UTF8'), substring(signature from 9))) then
        perform foja.refuse('bad_payload', format('%s did not sign the checkpoint of %s leaves', name, p_size));
    elsif (select count(*) from foja.cosignature c where c.origin = p_origin and c.size = p_size) >= 32 then
        perform foja.refuse('bad_payload', format('the checkpoint of %s leaves has 32 cosignatures', p_size));
    end if;
end $$;

-- Say which name and key the log of this installation has. Only the role of operators does; that of the sequencer, which is
-- a member of it, is refused.
create function foja.name_log_v1(p_name text, p_key bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('api');
    update foja.installation set log_name = p_name, log_key = p_key
    where (log_name, log_key) is distinct from (p_name, p_key);
end $$;
