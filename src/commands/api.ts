import type { FormPart } from '../api/form-body.ts';
import { callRaw, isJobCreationPath, resolveTypedPath } from '../api/raw-call.ts';
import type { StreamedBody } from '../api/streamed-body.ts';
import { type Args, command, SERVICE_EXITS } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { parseTextArgument, readText, refuseTokenOnStdin, type TextSource } from '../cli/input.ts';
import { HTTP_METHODS, type HttpMethod, type RawOperation } from '../contract/operations.ts';
import { InputError, UsageError } from '../errors.ts';
import type { CommandResult } from '../output/command-result.ts';
import { redactHeaders } from '../output/redact.ts';

/** A field of a form, as typed: a text, or the content of a file. */
type FormField = { readonly name: string } & ({ readonly text: string } | { readonly path: string });

interface Input {
  readonly method: HttpMethod;
  readonly path: string;
  readonly data: TextSource | undefined;
  readonly form: readonly FormField[];
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly include: boolean;
  readonly idempotent: boolean;
  readonly unguarded: boolean;
}

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

function isWrite(method: HttpMethod): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method);
}

function parseMethod(typed: string): HttpMethod {
  const method = HTTP_METHODS.find((known) => known === typed.toUpperCase());
  if (method) return method;
  throw new UsageError(`${JSON.stringify(typed)} is not an HTTP method.`, {
    hint: `Use one of: ${HTTP_METHODS.join(', ')}.`,
  });
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
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

function parseFormFlag(typed: string): FormField {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(typed) ?? [];
  if (name === '') throw new UsageError('--form takes <name>=<value> or <name>=@<file>.');
  return value.startsWith('@') ? { name, path: value.slice(1) } : { name, text: value };
}

function parse(args: Args): Input {
  const [typedMethod = '', path = ''] = args.positionals;
  const method = parseMethod(typedMethod);
  const data = args.value('data');
  const form = args.values('form').map(parseFormFlag);
  const headers = parseHeaders(args.values('header'));
  if (data !== undefined && form.length > 0) throw new UsageError('--data and --form cannot be combined.');
  if (!isWrite(method) && (data !== undefined || form.length > 0)) {
    throw new UsageError(`A ${method} request has no body.`, {
      hint: 'Put the values into the query: /path/?name=value',
    });
  }
  if (!isWrite(method) && args.isSet('idempotent')) {
    throw new UsageError('--idempotent is only for writes.', { hint: 'Reads are retried without it.' });
  }
  if (form.length > 0 && 'content-type' in headers) {
    throw new UsageError('--form sets the content type itself.', { hint: 'Omit the header.' });
  }
  return {
    method,
    path,
    data: data === undefined ? undefined : parseTextArgument('--data', data),
    form,
    headers,
    include: args.isSet('include') || method === 'HEAD',
    idempotent: args.isSet('idempotent'),
    unguarded: args.isSet('unguarded'),
  };
}

/** Reads the body. @throws InputError if it cannot be read, or if it is invalid JSON and no header sets another type */
async function readData({ data, headers }: Input, context: Context): Promise<string | undefined> {
  if (data === undefined) return undefined;
  if (data.from === 'stdin') refuseTokenOnStdin(context.flags, 'data');
  const text = await readText(data, 'The data', () => context.io.stdin, context.abortSignal);
  if (!/json/i.test(headers['content-type'] ?? 'json')) return text;
  const { parseJsonText } = await import('../yaml/json-text.ts');
  const parsed = parseJsonText(text.replace(/^\ufeff/, ''));
  if ('value' in parsed) return text;
  const before = text.slice(0, parsed.at).split('\n');
  throw new InputError(
    `The data has ${parsed.message} (line ${before.length}, column ${(before.at(-1) ?? '').length + 1}).`,
    {
      why: 'Nothing was sent.',
      hint: "Correct it, or set its type if it is not JSON: -H 'Content-Type: text/plain'",
    },
  );
}

/** Creates the body of a form. @throws InputError that names a file that cannot be read */
async function readForm(fields: readonly FormField[], signal: AbortSignal): Promise<StreamedBody> {
  const [{ formBody }, { filePart, findFiles }] = await Promise.all([
    import('../api/form-body.ts'),
    import('../upload/files.ts'),
  ]);
  const parts: FormPart[] = [];
  for (const field of fields) {
    if ('text' in field) parts.push(field);
    else {
      const { files } = await findFiles([field.path], { recursive: false, exclude: [] }, signal);
      for (const file of files) parts.push(await filePart(field.name, file));
    }
  }
  return formBody(parts);
}

/** Prevents creating a job without the guard against duplicates. With --unguarded, only warns. @throws UsageError */
async function guardJobs({ method, unguarded }: Input, isJobPath: boolean, context: Context): Promise<void> {
  if (!isJobPath || !isWrite(method) || method === 'DELETE') return;
  const why = 'This call creates a scheduled job without recording it, so the same job could be created twice.';
  if (unguarded) return context.warn(`${why} Record it with: partnerctl cron adopt <cron_job_id>`);
  throw new UsageError('Scheduled jobs are created with `partnerctl cron create`.', {
    why: `${why} Nothing was sent.`,
    hint: 'Use `partnerctl cron create`, which never creates a job twice. To send this call anyway, add --unguarded.',
  });
}

async function run(context: Context, input: Input): Promise<CommandResult> {
  const { method, headers, include, idempotent, form } = input;
  const http = await context.http();
  const path = resolveTypedPath(input.path, http);
  await guardJobs(input, isJobCreationPath(path, http.basePath, http.contract), context);
  const name = `${method} ${path}`;
  const text = await readData(input, context);
  const body = form.length === 0 ? undefined : await readForm(form, context.abortSignal);
  const safety = isWrite(method) ? (idempotent ? 'idempotent' : 'once') : 'safe';
  const operation: RawOperation = { name, safety, request: { method, path, headers, text } };
  context.progress.start(name);
  const { status, headers: received, bytes, json, error } = await callRaw(http, operation, body);
  const head = include ? { head: { status, headers: redactHeaders(received) } } : {};
  return { kind: 'body', bytes, json, ...head, failure: error };
}

export default command<Input>({
  description:
    'Sends any request to the service, with the configured token, and removes secrets from the output. Reads are retried like those of every command; a write is sent once, unless --idempotent says that it may be repeated. A terminal gets indented JSON, a pipe the unchanged body, and -o json prints a JSON document. The body of an error goes to stdout, too. Exit codes: 2 for a path outside the base URL, 3 for 401 and 403, 4 for 404, 6 for 402, 7 for 429, 1 for other refusals, 8 for failures of the service, 9 if a write may or may not have happened.',
  args: [
    { usage: '<method>', description: `${HTTP_METHODS.join(', ')}`, choices: HTTP_METHODS },
    { usage: '<path>', description: 'a path below the base URL, with its query: /automation/spaces/?page=2' },
  ],
  flags: [
    { usage: '-d, --data <json>', description: 'the body: JSON, @<file>, or - for standard input' },
    {
      usage: '-F, --form <name=value>',
      description: 'a field of a multipart form, <name>=@<file> for a file; repeatable',
      repeatable: true,
    },
    {
      usage: '-H, --header <header>',
      description: "a header of the request, 'Name: value'; not Authorization or Host; repeatable",
      repeatable: true,
    },
    { usage: '-i, --include', description: 'also show the status and the headers of the response' },
    { usage: '--idempotent', description: 'retry this write: the service recognizes a repeat' },
    { usage: '--unguarded', description: 'create a scheduled job without the guard against duplicates' },
  ],
  exits: [...SERVICE_EXITS, 'unknown'],
  examples: [
    { line: 'partnerctl api GET /automation/spaces/', does: 'one page of the spaces, as the service sends it' },
    {
      line: 'partnerctl api POST /automation/documents/ -F file=@notes.txt -F name=notes',
      does: 'send a form with a file',
    },
    {
      line: 'partnerctl api POST /integrations/api-chat/message/ --idempotent -d @message.json',
      does: 'a write that may be retried',
    },
  ],
  parse,
  writes: ({ method }) => isWrite(method),
  run,
});
