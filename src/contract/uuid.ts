const UUID = /^\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i;

/**
 * An id as it is compared: services accept a UUID in either case, without hyphens, and in braces. What is sent stays as typed.
 * @returns a UUID in lower case with hyphens; any other id unchanged
 */
export function canonicalId(id: string): string {
  const [, ...parts] = UUID.exec(id) ?? [];
  return parts.length === 0 ? id : parts.join('-').toLowerCase();
}
