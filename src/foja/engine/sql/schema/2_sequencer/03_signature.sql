-- Ed25519 (RFC 8032), so that the database need not believe a signature that it stores: a wrong one under a checkpoint could
-- not be removed. About 15 ms for each, and there is one for each checkpoint.

-- An integer from bytes, the least significant first.
create function foja.little_number(data bytea) returns numeric
language plpgsql immutable parallel safe as $$
declare
    result numeric := 0;
begin
    for n in reverse octet_length(data) - 1 .. 0 loop
        result := result * 256 + get_byte(data, n);
    end loop;
    return result;
end $$;

-- 2^255 - 19: the field of the curve is that of the integers below it.
create function foja.field_prime() returns numeric
language sql immutable parallel safe
return 57896044618658097711785492504343953926634992332820282019728792003956564819949;

-- A power in the field of the curve.
create function foja.field_power(base numeric, exponent numeric) returns numeric
language plpgsql immutable parallel safe as $$
declare
    prime constant numeric := foja.field_prime();
    result numeric := 1;
begin
    while exponent > 0 loop
        if exponent % 2 = 1 then
            result := result * base % prime;
        end if;
        base := base * base % prime;
        exponent := div(exponent, 2);
    end loop;
    return result;
end $$;

-- A point of the curve as (X, Y, Z, T), from its 32 bytes; null if they are none.
create function foja.curve_point(data bytea) returns numeric[]
language plpgsql immutable parallel safe as $$
declare
    prime constant numeric := foja.field_prime();
    d constant numeric := 37095705934669439343138083508754565189542113879843219016388785533085940283555;
    sign integer := get_bit(data, 255);
    y numeric := foja.little_number(set_bit(data, 255, 0));
    u numeric := (y * y + prime - 1) % prime;
    v numeric := (d * (y * y % prime) + 1) % prime;
    v3 numeric := v * v % prime * v % prime;
    x numeric := u * v3 % prime * foja.field_power(u * v3 % prime * v3 % prime * v % prime, div(prime - 5, 8)) % prime;
begin
    if v * (x * x % prime) % prime = prime - u then
        x := x * foja.field_power(2, div(prime - 1, 4)) % prime;
    end if;
    if y >= prime or v * (x * x % prime) % prime <> u or x = 0 and sign = 1 then
        return null;
    elsif x % 2 <> sign then
        x := prime - x;
    end if;
    return array[x, y, 1, x * y % prime];
end $$;

create function foja.add_points(a numeric[], b numeric[]) returns numeric[]
language plpgsql immutable parallel safe as $$
declare
    prime constant numeric := foja.field_prime();
    twice_d constant numeric := 16295367250680780974490674513165176452449235426866156013048779062215315747161;
    low numeric := (a[2] - a[1] + prime) * (b[2] - b[1] + prime) % prime;
    high numeric := (a[2] + a[1]) * (b[2] + b[1]) % prime;
    c numeric := a[4] * twice_d % prime * b[4] % prime;
    z numeric := 2 * a[3] * b[3] % prime;
    e numeric := high - low + prime;
    f numeric := z - c + prime;
    g numeric := z + c;
    h numeric := high + low;
begin
    return array[e * f % prime, g * h % prime, f * g % prime, e * h % prime];
end $$;

-- Did this key sign this message?
create function foja.is_signed(p_key bytea, message bytea, signature bytea) returns boolean
language plpgsql immutable parallel safe as $$
declare
    prime constant numeric := foja.field_prime();
    group_order constant numeric := 7237005577332262213973186563042994240857116359379907606001950938285454250989;
    base constant numeric[] := foja.curve_point('\x5866666666666666666666666666666666666666666666666666666666666666');
    scalar bytea := substring(signature from 33);
    challenge numeric := foja.little_number(sha512(substring(signature for 32) || p_key || message)) % group_order;
    point numeric[] := foja.curve_point(p_key);
    joined numeric[];
    total numeric[] := array[0, 1, 1, 0];
    bits boolean[];
    inverse numeric;
begin
    if octet_length(signature) is distinct from 64 or point is null or foja.little_number(scalar) >= group_order then
        return false;
    end if;
    point := array[prime - point[1], point[2], 1, prime - point[4]];  -- total = scalar * base - challenge * key
    joined := foja.add_points(base, point);
    for n in 0 .. 252 loop
        bits[n] := challenge % 2 = 1;
        challenge := div(challenge, 2);
    end loop;
    for n in reverse 252 .. 0 loop
        total := foja.add_points(total, total);
        if get_bit(scalar, n) = 1 then
            total := foja.add_points(total, case when bits[n] then joined else base end);
        elsif bits[n] then
            total := foja.add_points(total, point);
        end if;
    end loop;
    inverse := foja.field_power(total[3], prime - 2);
    return foja.little_number(set_bit(substring(signature for 32), 255, 0)) = total[2] * inverse % prime
        and get_bit(signature, 255) = total[1] * inverse % prime % 2;
end $$;
