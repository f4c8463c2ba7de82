import { BlockList, isIP } from 'node:net';

interface AddressRange {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly prefix: number;
}

function parseAddressRange(entry: string): AddressRange | undefined {
  const [address = '', prefixText, ...rest] = entry.split('/');
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 0 || rest.length > 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  if (prefixText !== undefined && !/^(0|[1-9]\d{0,2})$/.test(prefixText)) return undefined;
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  if (prefix > bits) return undefined;
  return { address, family: version === 4 ? 'ipv4' : 'ipv6', prefix };
}

/** Whether the text is an IPv4 or IPv6 address, or a range of them in CIDR notation. */
export function isAddressRange(entry: string): boolean {
  return parseAddressRange(entry) !== undefined;
}

/**
 * Whether a caller may use a token with these `allowed_ip_cidrs` (spec §5).
 * @param ranges addresses and CIDR ranges; none allows every caller
 * @param caller an address; an IPv4-mapped IPv6 address counts as IPv4
 */
export function isAddressAllowed(ranges: readonly string[], caller: string): boolean {
  if (ranges.length === 0) return true;
  const allowed = new BlockList();
  for (const entry of ranges) {
    const range = parseAddressRange(entry);
    if (range) allowed.addSubnet(range.address, range.prefix, range.family);
  }
  const address = caller.split('%')[0] ?? '';
  const version = isIP(address);
  return version !== 0 && allowed.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
