import { type Args, command } from '../../cli/command.ts';
import { UsageError } from '../../errors.ts';
import type { ListenInput } from '../../webhook/listen-setup.ts';
import { parseScheme, SCHEME_FLAGS } from '../../webhook/scheme.ts';
import { parseTarget } from '../../webhook/target.ts';

function parsePath(args: Args): string | undefined {
  const path = args.value('path');
  if (path === undefined || /^\/[\w.~!$&'()*+,;=:@%/-]*$/.test(path)) return path;
  throw new UsageError(`--path must begin with a slash, without a query: ${JSON.stringify(path)}.`, {
    hint: 'For example: --path /webhooks',
  });
}

function parseTargetOf(args: Args, port: number): URL | undefined {
  const text = args.value('forward-to');
  const target = text === undefined ? undefined : parseTarget(text);
  if (!target && args.isSet('relay-status')) throw new UsageError('--relay-status needs --forward-to.');
  if (target?.protocol === 'http:' && port !== 0 && Number(target.port || 80) === port) {
    throw new UsageError(`--forward-to and --port use the same port: ${port}.`, {
      hint: 'Use another port for your program, or omit --port.',
    });
  }
  return target;
}

export default command<ListenInput>({
  description:
    'Receives webhooks on a loopback address of this machine, and shows each delivery once. It can verify them, save them, and forward them to a program. Stop it with Ctrl-C.',
  flags: [
    { usage: '--port <n>', description: 'the port to listen on', defaultText: 'a free one' },
    {
      usage: '--path <url-path>',
      description: 'the path to listen on',
      defaultText: 'a random one that nobody can guess',
    },
    {
      usage: '--forward-to <url>',
      description: 'send each delivery on, with its bytes and headers, until a 2xx: https, or http on this machine',
    },
    {
      usage: '--relay-status',
      description:
        "respond to the sender with the target's response, so that the sender retries (default: 2xx at once)",
    },
    ...SCHEME_FLAGS,
    { usage: '--print-secret', description: 'show the secret with the address; creates one if none is given' },
    { usage: '--save <dir>', description: 'save each delivery in this directory before responding' },
    { usage: '--exit-after <n>', description: 'exit after n deliveries; exit 11 if fewer come within --timeout' },
  ],
  output: async () => (await import('../../output-schemas/webhooks.ts')).WEBHOOK_LISTEN,
  exits: ['service', 'noReply'],
  examples: [
    { line: 'partnerctl webhook listen', does: 'shows the address to configure, then what arrives there' },
    {
      line: 'partnerctl webhook listen --verify standard-webhooks --secret-file hook.key --forward-to http://localhost:3000/hooks',
      does: 'a program on this machine gets what is verified',
    },
    {
      line: "partnerctl webhook listen --verify hmac --header X-Hub-Signature-256 --prefix 'sha256=' --save ./deliveries",
      does: 'another signature; `webhook replay` sends the saved deliveries again',
    },
    { line: 'partnerctl webhook listen --exit-after 1 --timeout 30s -o json', does: 'one delivery, for a script' },
  ],
  parse(args) {
    const port = args.count('port', { min: 0, max: 65_535, fallback: 0 });
    const scheme = parseScheme(args);
    const printsSecret = args.isSet('print-secret');
    if (printsSecret && scheme.kind === 'none') throw new UsageError('--print-secret needs --verify.');
    const directory = args.nonEmpty('save');
    const limit = args.count('exit-after', { min: 1, max: 1_000_000, fallback: 1 });
    return {
      port,
      path: parsePath(args),
      target: parseTargetOf(args, port),
      relaysStatus: args.isSet('relay-status'),
      scheme,
      secretFile: args.value('secret-file'),
      printsSecret,
      directory,
      exitAfter: args.value('exit-after') === undefined ? undefined : limit,
    };
  },
  async run(context, input) {
    const { listenForWebhooks } = await import('../../webhook/listen.ts');
    return { kind: 'stream', events: await listenForWebhooks(context, input) };
  },
});
