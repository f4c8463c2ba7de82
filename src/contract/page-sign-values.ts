import { namesNextPage } from './page-sign-roles.ts';
import { isPagingName, toWords } from './paging-names.ts';

/** Removes the vendor prefix from the name of a header: `nomad-nexttoken`, `pw-total`. */
export function withoutVendor(name: string): string {
  const rest = name.replace(/^[a-z0-9]+-/, '');
  const words = toWords(rest);
  if (isPagingName(toWords(name)) || !isPagingName(words)) return name;
  const isTotal = /^total(-(count|items|records|results|pages))?$/.test(rest);
  return isTotal || (words.length > 1 && namesNextPage(words)) ? rest : name;
}

/** Returns the boolean that a value is or spells; undefined for anything else. */
export function toBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === 'True' || value === 'yes') return true;
  return value === 'false' || value === 'False' || value === 'no' ? false : undefined;
}

/** Returns the integer that a value is or spells; undefined for anything else. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** Parses JSON; undefined for any other text. */
export function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a Content-Range (RFC 9110 §14.4): `items 0-1/5`; undefined total for `*`. */
export function readRange(header: string | undefined): { readonly start: number; readonly total?: number } | undefined {
  const [, start = '0', , total = '*'] = /^\s*[\w-]*[\s=]*(?:(\d+)-(\d+)|\*)\/(\d+|\*)\s*$/.exec(header ?? '') ?? [];
  if (header === undefined) return undefined;
  return total === '*' ? { start: Number(start) } : { start: Number(start), total: Number(total) };
}
