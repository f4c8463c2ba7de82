import { once } from 'node:events';
import { command } from '../../cli/command.ts';
import { parseSandboxOptions, SANDBOX_FLAGS, type SandboxInput, startFromOptions } from '../../cli/sandbox-options.ts';
import type { StreamEvent } from '../../output/command-result.ts';

export default command<SandboxInput>({
  description:
    'Runs the whole service on a loopback address of this machine, with its own token and admin API. Stop it with Ctrl-C.',
  flags: [...SANDBOX_FLAGS, { usage: '--port <n>', description: 'the port to listen on', defaultText: 'a free one' }],
  exits: [],
  examples: [
    { line: 'partnerctl sandbox start', does: 'in memory, on a free port; prints the variables to set' },
    {
      line: 'partnerctl sandbox start --port 4310 --data ./sandbox',
      does: 'with its data on disk, always on the same port',
    },
    { line: 'partnerctl sandbox start --script replies.yaml', does: 'with scripted replies' },
    {
      line: 'partnerctl sandbox start --webhook http://127.0.0.1:4000/hooks',
      does: 'deliver replies to a receiver',
    },
  ],
  parse: parseSandboxOptions,
  async run(context, input) {
    const { sandbox, generatedSecret } = await startFromOptions(input, context);
    const token = sandbox.token;
    context.revealSecret(token);
    async function* events(): AsyncGenerator<StreamEvent> {
      try {
        const { baseUrl, adminUrl, adminKey } = sandbox;
        yield {
          json: {
            base_url: baseUrl,
            token,
            admin_url: adminUrl,
            admin_key: adminKey,
            ...(generatedSecret !== undefined && { webhook_secret: generatedSecret }),
          },
          text: [
            `export PARTNER_BASE_URL=${baseUrl}`,
            `export PARTNER_TOKEN=${token}`,
            `export PARTNER_SANDBOX_URL=${adminUrl}`,
            `export PARTNER_SANDBOX_KEY=${adminKey}`,
            ...(generatedSecret === undefined ? [] : [`export PARTNER_WEBHOOK_SECRET=${generatedSecret}`]),
          ].join('\n'),
        };
        await context.notice('The sandbox is listening. Stop it with Ctrl-C.');
        const { abortSignal, signals } = context;
        if (!abortSignal.aborted) await once(abortSignal, 'abort');
        if (!signals.interrupt.aborted) throw abortSignal.reason;
      } finally {
        await sandbox.close();
      }
    }
    return { kind: 'stream', events: events() };
  },
});
