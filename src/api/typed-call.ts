import { HTTP_METHODS, type HttpMethod } from '../contract/operations.ts';
import { UsageError } from '../errors.ts';

/** A field of a form, as typed: a text, or the content of a file. */
export type TypedField = { readonly name: string } & ({ readonly text: string } | { readonly path: string });

/** Headers that the client sets. Another value would break the request, or leak the token. */
const OWN_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'x-request-id',
]);

/** Whether a call may change something at the service. */
export function isWrite(method: HttpMethod): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method);
}

/** Parses a method, in lower or upper case. @throws UsageError */
export function parseMethod(typed: string): HttpMethod {
  const method = HTTP_METHODS.find((known) => known === typed.toUpperCase());
  if (method) return method;
  throw new UsageError(`${JSON.stringify(typed)} is not an HTTP method.`, {
    hint: `Use one of: ${HTTP_METHODS.join(', ')}.`,
  });
}

/** Parses lines such as `Accept: text/csv`. @returns the values by name in lower case @throws UsageError */
export function parseHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e]*)$/.exec(line) ?? [];
    const key = name.toLowerCase();
    if (key === '') {
      throw new UsageError('--header takes a name and a value in printable ASCII.', { hint: "-H 'Accept: text/csv'" });
    }
    if (OWN_HEADERS.has(key)) {
      throw new UsageError(`--header cannot set ${name}.`, {
        why: 'partnerctl sets this header itself.',
        ...(key === 'authorization' && {
          hint: 'The token comes from PARTNER_TOKEN, --token-file, or a profile.',
        }),
      });
    }
    if (headers.has(key)) throw new UsageError(`--header sets ${name} twice.`, { hint: 'Set it once.' });
    headers.set(key, value.trim());
  }
  return Object.fromEntries(headers);
}

/** Parses `<name>=<value>` or `<name>=@<file>`. @throws UsageError */
export function parseField(typed: string): TypedField {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(typed) ?? [];
  if (name === '') throw new UsageError('--form takes <name>=<value> or <name>=@<file>.');
  return value.startsWith('@') ? { name, path: value.slice(1) } : { name, text: value };
}

/** Checks that the parts of a call fit together. @throws UsageError */
export function checkCall(
  method: HttpMethod,
  {
    data,
    form,
    headers,
    idempotent,
  }: {
    readonly data: string | undefined;
    readonly form: readonly TypedField[];
    readonly headers: Readonly<Record<string, string>>;
    readonly idempotent: boolean;
  },
): void {
  if (data !== undefined && form.length > 0) throw new UsageError('--data and --form cannot be combined.');
  if (!isWrite(method) && (data !== undefined || form.length > 0)) {
    throw new UsageError(`A ${method} request has no body.`, {
      hint: 'Put the values into the query: /path/?name=value',
    });
  }
  if (!isWrite(method) && idempotent) {
    throw new UsageError('--idempotent is only for writes.', { hint: 'Reads are retried without it.' });
  }
  if (form.length > 0 && 'content-type' in headers) {
    throw new UsageError('--form sets the content type itself.', { hint: 'Omit the header.' });
  }
}
