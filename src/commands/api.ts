import { Argument } from '@commander-js/extra-typings';
import { deferred, defineCommand } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { CONFIRM, collect } from '../cli/options.ts';
import { HTTP_METHODS } from '../contract/operations.ts';
import { InputError, SERVICE_EXITS, UsageError } from '../errors.ts';
import type { TextSource } from '../platform/input.ts';

async function readData(data: TextSource, type: string, context: Context): Promise<string> {
  const { readText } = await import('../cli/input.ts');
  const { parseJsonText } = await import('../yaml/text.ts');
  const text = await readText(context, data, 'data');
  if (!/json/i.test(type)) return text;
  const parsed = parseJsonText(text.replace(/^\ufeff/, ''));
  if ('value' in parsed) return text;
  throw new InputError(`The data has ${parsed.message}.`, {
    why: 'Nothing was sent.',
    hint: "Correct it, or set its type if it is not JSON: -H 'Content-Type: text/plain'",
  });
}

async function guardJob(isUnguarded: boolean, context: Context): Promise<void> {
  const why = 'This call creates a scheduled job without recording it, so the same job could be created twice.';
  if (isUnguarded) return context.warn(`${why} Record it with: partnerctl cron adopt <cron_job_id>`);
  throw new UsageError('Scheduled jobs are created with `partnerctl cron create`.', {
    why: `${why} Nothing was sent.`,
    hint: 'Use `partnerctl cron create`, which never creates a job twice. To send this call anyway, add --unguarded.',
  });
}

export const api = () =>
  defineCommand('api', 'Make any call of the service', {
    description:
      'Sends any request to the service, with the configured token, and removes secrets from the output. Reads are retried like those of every command; a write is sent once, unless --idempotent says that it may be repeated. A terminal gets indented JSON, a pipe the unchanged body, and -o json prints a JSON document. The body of an error goes to stdout, too. Exit codes: 2 for a path outside the base URL, 3 for 401 and 403, 4 for 404, 6 for 402, 7 for 429, 1 for other refusals, 8 for failures of the service, 9 if a write may or may not have happened.',
    exits: [...SERVICE_EXITS, 'unknown'],
    examples: [
      'partnerctl api GET /automation/spaces/  # one page of the spaces, as the service sends it',
      "partnerctl api GET '/automation/spaces/?page=1' --query 'keys(@)'  # the fields of a page",
      'partnerctl api POST /integrations/api-chat/message/ --idempotent -d @message.json  # a write that may be retried',
    ],
  })
    .addArgument(new Argument('<method>', 'the HTTP method').choices(HTTP_METHODS))
    .argument('<api-path>', 'a path below the base URL, with its query: /automation/spaces/?page=2')
    .option('-d, --data <json>', 'the body: JSON, @<file>, or - for standard input')
    .option('-H, --header <header>', "'Name: value'; not Authorization or Host; repeatable", collect, [])
    .option('--idempotent', 'retry this write: the service recognizes a repeat')
    .option('--unguarded', 'create a scheduled job without the guard against duplicates')
    .option(...CONFIRM)
    .action(
      deferred(async (context, method, typedPath, { data, idempotent = false, unguarded = false, ...options }) => {
        const { callRaw, checkRead, isJobCreationPath, isWrite, parseHeaders, resolveTypedPath, safetyOf } =
          await import('../api/raw-call.ts');
        const { parseTextArgument } = await import('../cli/input.ts');
        const headers = parseHeaders(options.header);
        if (!isWrite(method)) checkRead(method, data, idempotent);
        const source = data === undefined ? undefined : parseTextArgument(data);

        const http = await context.http();
        const path = resolveTypedPath(typedPath, http);
        const mayCreate = isWrite(method) && method !== 'DELETE';
        if (mayCreate && isJobCreationPath(path, http.basePath, http.contract)) await guardJob(unguarded, context);
        const name = `${method} ${path}`;
        const text = source && (await readData(source, headers['content-type'] ?? 'json', context));
        if (isWrite(method)) await context.prompts.confirmWrite(options.confirm);
        const operation = { name, safety: safetyOf(method, idempotent), request: { method, path, headers, text } };
        context.progress.start(name);
        return { kind: 'body', ...(await callRaw(http, operation)) };
      }),
    );
