-- RFC 8785 for callers that speak only SQL. A vector file proves it equal to
-- `foja.core.canonical`; what has no canonical form is refused here as there.

-- Text whose C order is the UTF-16 order of `key`: U+E000..U+FFFF sort last.
create function foja.utf16_order(key text) returns text
language sql immutable strict parallel safe
return regexp_replace(
    replace(key, U&'\+10FFFF', U&'\+10FFFF\0001'), U&'([\E000-\FFFF])', U&'\+10FFFF\0002\\1', 'g');

-- The fewest digits that read back as this number. PostgreSQL's own output misses a shorter
-- one where it lies exactly between two numbers, as 1e23 does.
create function foja.shortest(number double precision) returns numeric
language plpgsql immutable strict parallel safe
set extra_float_digits = 1 as $$
declare
    printed numeric := number::text::numeric;
    scale integer := 16 - floor(log(printed))::integer;
    shorter numeric;
begin
    for digits in 1 .. 16 loop
        shorter := round(printed, scale - 17 + digits);
        continue when shorter > 1.7976931348623157e308;  -- rounded up, out of range
        if shorter::double precision = number then
            return shorter;
        end if;
    end loop;
    return printed;
end $$;

-- A number as ECMAScript prints it.
create function foja.canonical_float(number double precision) returns text
language plpgsql immutable strict parallel safe as $$
declare
    part text[] := regexp_match(foja.shortest(abs(number))::text, '^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
    sign text := case when number < 0 then '-' else '' end;
    digits text := ltrim(part[1] || coalesce(part[2], ''), '0');
    point integer := length(part[1]) + coalesce(part[3], '0')::integer
        - (length(part[1] || coalesce(part[2], '')) - length(digits));
begin
    digits := rtrim(digits, '0');
    if length(digits) <= point and point <= 21 then
        return sign || rpad(digits, point, '0');
    elsif 0 < point and point <= 21 then
        return sign || left(digits, point) || '.' || substr(digits, point + 1);
    elsif -6 < point and point <= 0 then
        return sign || '0.' || repeat('0', -point) || digits;
    end if;
    return sign || left(digits, 1) || case when length(digits) > 1 then '.' else '' end || substr(digits, 2)
        || 'e' || case when point > 0 then '+' else '-' end || abs(point - 1);
end $$;

-- Between 2^53 and 10^21 a number prints as an integer that few readers keep exactly.
create function foja.canonical_number(value jsonb) returns text
language plpgsql immutable strict parallel safe as $$
declare
    number numeric := value::numeric;
begin
    if number = trunc(number) and abs(number) <= 9007199254740991 then
        return trunc(number)::text;
    elsif abs(number) > 9007199254740991 and abs(number) < 1e21 then
        perform foja.refuse('not_canonical', format('the number %s is not kept exactly by JSON readers', number));
    end if;
    return case when number::double precision = 0 then '0'
        else foja.canonical_float(number::double precision) end;
end $$;

create function foja.canonical(value jsonb, depth integer default 1) returns text
language plpgsql immutable strict parallel safe as $$
declare
    type text := jsonb_typeof(value);
    items text[];
begin
    if type in ('object', 'array') and depth > 64 then
        perform foja.refuse('not_canonical', 'nested over 64 levels deep');
    end if;
    if type = 'object' then
        return (
            select '{' || coalesce(string_agg(
                to_json(member.key)::text || ':' || case jsonb_typeof(member.value)
                    when 'object' then foja.canonical(member.value, depth + 1)
                    when 'array' then foja.canonical(member.value, depth + 1)
                    when 'number' then foja.canonical_number(member.value)
                    else member.value::text end,
                ',' order by case when octet_length(member.key) = length(member.key) then member.key
                    else foja.utf16_order(member.key) end collate "C"), '') || '}'
            from jsonb_each(value) member);
    elsif type = 'array' then
        for place in 0 .. jsonb_array_length(value) - 1 loop
            items := items || foja.canonical(value -> place, depth + 1);
        end loop;
        return '[' || coalesce(array_to_string(items, ','), '') || ']';
    elsif type = 'number' then
        return foja.canonical_number(value);
    end if;
    return value::text;
end $$;
