import { once } from 'node:events';
import { deferred } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { integer } from '../../cli/options.ts';
import type { StreamEvent } from '../../output/command-result.ts';
import { shellQuote } from '../../platform/text.ts';
import { sandboxLeaf } from './shared/options.ts';
import type { startSandbox } from './shared/start-sandbox.ts';

async function* serve(
  { sandbox, generatedSecret }: Awaited<ReturnType<typeof startSandbox>>,
  context: Context,
  dataDir: string | undefined,
): AsyncGenerator<StreamEvent> {
  const { makeLauncherDirectory, sandboxVariables } = await import('./shared/child.ts');
  const { abortSignal, notice, signals } = context;
  const { baseUrl: base_url, token, adminUrl: admin_url, adminKey: admin_key } = sandbox;
  const directory = dataDir ?? (await makeLauncherDirectory(context));
  const variables = await sandboxVariables(sandbox, context, directory, generatedSecret);
  const { PARTNER_STATE: state, PARTNER_CONFIG_DIR: config_dir } = variables;
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellQuote(value)}`);
  yield {
    json: {
      ...{ base_url, token, admin_url, admin_key, state, config_dir },
      ...(generatedSecret && { webhook_secret: generatedSecret }),
    },
    text: ['unset PARTNER_PROFILE', ...lines].join('\n'),
  };
  await notice('The sandbox is listening. Paste these lines into another terminal to use it. Stop it with Ctrl-C.');
  if (!abortSignal.aborted) await once(abortSignal, 'abort');
  if (!signals.interrupt.aborted) throw abortSignal.reason;
}

export const start = () =>
  sandboxLeaf('start', 'Run the service on a loopback address of this machine', {
    json: '{base_url, token, admin_url, admin_key, state, config_dir, webhook_secret?}',
    examples: [
      'partnerctl sandbox start  # in memory, on a free port; prints the variables to set',
      'partnerctl sandbox start --port 4310 --data ./sandbox  # with its data on disk, always on the same port',
      'partnerctl sandbox start --webhook http://127.0.0.1:4000/hooks  # deliver replies to a receiver',
    ],
  })
    .option('--port <n>', 'the port to listen on (default: a free one)', integer(0, 65_535))
    .action(
      deferred(async (context, options) => {
        const { startSandbox } = await import('./shared/start-sandbox.ts');
        const started = await startSandbox(options, context);
        context.redactor.remove(started.sandbox.token);
        return { kind: 'stream', events: serve(started, context, options.data) };
      }),
    );
