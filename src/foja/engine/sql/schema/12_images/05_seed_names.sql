-- Galleries under the names of the seed, for programs that know only these names.

-- Append an image to the gallery of a product and return its place. An address that is not ours is kept, never fetched.
create function public.insert_image_with_order(p_product_id uuid, p_image_url text, p_supplier_id uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$  -- also in a session whose first call found no image
declare
    owner text := foja.acting_tenant();
    allowed text := case when owner = current_setting('foja.tenant', true) or foja.may_act_for(owner) then owner end;
    digest text := case when starts_with(p_image_url, 'foja:sha256/') and foja.is_hash(substr(p_image_url, 13))
        then substr(p_image_url, 13) end;
    draft foja.draft := foja.new_draft(p_product_id, 'image', owner, 'image.added', case when digest is null
        then '{"url":' || to_json(p_image_url)::text || '}' else '{"object":"' || digest || '"}' end, 'api');
    supplier uuid;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform foja.check_isolation('insert_image_with_order');
    elsif current_setting('role') <> 'foja_api' then
        perform foja.check_source('api');
    end if;
    if digest is not null then
        -- What needs no number comes before the lock, where callers do not wait for each other: the guard finds it done.
        perform foja.request_renderings(array[row(p_product_id, draft.event_id, owner, draft.event_id::text, 1, false,
            0)::foja.rendering]);
    end if;
    -- The seed's lock: callers wait here for each other, and for programs that take it around statements of their own. Before
    -- all other locks, as every lock of a whole stream.
    perform pg_advisory_xact_lock(hashtext(p_product_id::text));
    -- Not `for key share`: it would be shared with appends.
    select coalesce(p.supplier_id, '00000000-0000-0000-0000-000000000000') into supplier from public.products p
    where p.productid = p_product_id and p.tenant = allowed for no key update;
    if supplier is null then
        perform foja.refuse('unknown_product', format('there is no product %s; insert it into products first', p_product_id));
    elsif p_supplier_id <> supplier then
        perform foja.refuse('wrong_supplier', format('the product %s does not belong to the supplier %s', p_product_id,
            p_supplier_id));
    elsif p_image_url is null then
        perform foja.refuse('bad_payload', 'an image needs a url');
    end if;
    return (foja.append(draft)).result;
end $$;
