/** What `ApiResponse` puts in place of a secret. It is never an id. */
export const REDACTED = '[redacted]';

/** Returns an id as text; undefined for null, empty texts, booleans, fractions, and objects. */
export function asId(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' || value.includes(REDACTED) ? undefined : value;
  return typeof value === 'bigint' || Number.isInteger(value) ? String(value) : undefined;
}

/** Whether a value is a text, a number, or a boolean. */
export function isScalar(value: unknown): value is string | number | bigint | boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

/** Whether a value may be an id, or a text: a number counts, an empty text does not. */
export function isTextOrNumber(value: unknown): value is string | number | bigint {
  return isScalar(value) && typeof value !== 'boolean' && value !== '';
}

/** Compares JSON values. A number equals its digits as a string. */
export function isSame(one: unknown, other: unknown): boolean {
  const [left, right] = [one, other].map((value) =>
    JSON.stringify(value, (_, inner: unknown) => (isScalar(inner) ? String(inner) : inner)),
  );
  return left === right;
}

/** An id as it is compared: services spell a UUID in either case, without hyphens, or in braces. */
export function canonicalId(id: string): string {
  const digits = id
    .replace(/^\{(.*)\}$/, '$1')
    .replaceAll('-', '')
    .toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(digits)) return id;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** An agent's id as it is compared: services may list the address of an agent as its id. */
export function comparableAgent(agentId: string): string {
  return canonicalId(agentId.split('/').findLast((segment) => segment !== '') ?? agentId);
}
