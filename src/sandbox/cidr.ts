import { BlockList, isIP } from 'node:net';

type Family = 'ipv4' | 'ipv6';

interface Range {
  readonly address: string;
  readonly family: Family;
  readonly prefix: number;
}

function parseRange(entry: string): Range | undefined {
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
  return parseRange(entry) !== undefined;
}

/**
 * Makes the test that a token's `allowed_ip_cidrs` stand for (spec §5).
 * @param entries addresses and CIDR ranges; none allows every caller.
 * @returns whether a caller's address may use the token. An IPv4-mapped IPv6 caller counts as IPv4.
 * @throws Error for an entry that is neither an address nor a range.
 */
export function addressTest(entries: readonly string[]): (address: string) => boolean {
  if (entries.length === 0) return () => true;
  const allowed = new BlockList();
  for (const entry of entries) {
    const range = parseRange(entry);
    if (!range) throw new Error(`"${entry}" is neither an IP address nor a CIDR range.`);
    allowed.addSubnet(range.address, range.prefix, range.family);
  }
  return (caller) => {
    const address = caller.split('%')[0] ?? '';
    const version = isIP(address);
    return version !== 0 && allowed.check(address, version === 4 ? 'ipv4' : 'ipv6');
  };
}
