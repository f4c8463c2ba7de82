import { BlockList, isIP } from 'node:net';

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** @throws Error when an entry is neither an address nor a CIDR range */
function createAddressList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of ranges) {
    const [, address = '', prefix] = /^([^/%]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(entry) ?? [];
    const family = familyOf(address);
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whether the text is an IPv4 or IPv6 address, or a range of them in CIDR notation. */
export function isAddressRange(entry: string): boolean {
  try {
    return createAddressList([entry]) instanceof BlockList;
  } catch {
    return false;
  }
}

/**
 * Whether a caller may use a token with these `allowed_ip_cidrs` (spec §5).
 * @param ranges addresses and CIDR ranges; none allows every caller
 * @param caller an address; an IPv4-mapped IPv6 address counts as IPv4
 */
export function isAddressAllowed(ranges: readonly string[], caller: string): boolean {
  if (ranges.length === 0) return true;
  const [address = ''] = caller.split('%');
  return isIP(address) !== 0 && createAddressList(ranges).check(address, familyOf(address));
}
