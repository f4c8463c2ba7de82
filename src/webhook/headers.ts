/** The headers of a request, in the order of arrival. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Returns every value of a header, in order. @param name in any case */
export function headerValues(headers: HeaderList, name: string): readonly string[] {
  const lowerCase = name.toLowerCase();
  return headers.flatMap(([key, value]) => (key.toLowerCase() === lowerCase ? [value] : []));
}

/** Returns the value of a header, or undefined if it is missing or empty. Several values are joined as HTTP does. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  return headerValues(headers, name).join(', ') || undefined;
}

/** Headers of one connection (RFC 9110, section 7.6.1), and headers that the HTTP client sets itself. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
]);

/** Returns the headers to forward: all except those of the connection. */
export function forwardedHeaders(headers: HeaderList): HeaderList {
  const named = headerValues(headers, 'connection').flatMap((value) => value.toLowerCase().split(/[\s,]+/));
  const dropped = new Set([...HOP_BY_HOP, ...named]);
  return headers.filter(([name]) => !dropped.has(name.toLowerCase()));
}
