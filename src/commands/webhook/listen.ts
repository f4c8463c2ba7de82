import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readContractLayers } from '../../config/contract-file.ts';
import { proxyFor } from '../../config/proxy.ts';
import { readWebhookSecrets } from '../../config/webhook-secret.ts';
import { Contract } from '../../contract/contract.ts';
import { UsageError } from '../../errors.ts';
import type { StreamEvent } from '../../output/command-result.ts';
import { idHeaderOf, type Scheme } from '../../webhook/scheme.ts';
import { parseTarget, Target } from '../../webhook/target.ts';
import { parseScheme, SCHEME_FLAGS } from './shared/scheme-flags.ts';

interface Input {
  readonly port: number;
  readonly path: string | undefined;
  readonly target: URL | undefined;
  readonly scheme: Scheme;
  readonly secretFile: string | undefined;
  readonly directory: string | undefined;
  readonly exitAfter: number | undefined;
}

/** Reads the secrets to verify with. @throws UsageError if the scheme needs a secret and none is given */
async function readSecrets(context: Context, { scheme, secretFile }: Input): Promise<readonly string[]> {
  const { env, io, flags, abortSignal, addSecret, warn } = context;
  if (scheme.kind === 'none') {
    if (env.PARTNER_WEBHOOK_SECRET) {
      await warn('PARTNER_WEBHOOK_SECRET is set, but nothing is verified without --verify.');
    }
    return [];
  }
  if (secretFile === '-' && flags.tokenFile === '-') {
    throw new UsageError('Standard input cannot be both the webhook secret and the token.');
  }
  const found = await readWebhookSecrets({ secretFile, env, stdin: () => io.stdin, signal: abortSignal });
  if (!found) {
    throw new UsageError(`--verify ${scheme.kind} needs the secret of the webhook.`, {
      hint: 'Set PARTNER_WEBHOOK_SECRET, or give --secret-file <path>.',
    });
  }
  for (const secret of found.secrets) addSecret(secret);
  return found.secrets;
}

/** Reads the contract of the configured service, or the defaults. */
async function readContract({ config, baseUrl, contractKey }: Context): Promise<Contract> {
  if ((await baseUrl()) === undefined) return new Contract();
  return new Contract(await readContractLayers(config.directory, await contractKey()));
}

async function* eventsOf(context: Context, input: Input): AsyncGenerator<StreamEvent, void, void> {
  const [{ listen }, { createVerifier }, { toDeliveryEvent }] = await Promise.all([
    import('../../webhook/listen.ts'),
    import('../../webhook/verify.ts'),
    import('./shared/delivery-view.ts'),
  ]);
  const { clock, env, abortSignal: signal, addSecret, redact, notice, warn } = context;
  const { scheme, target: url } = input;
  // Deliveries that carry the token are shown and forwarded without it.
  if (env.PARTNER_TOKEN) addSecret(env.PARTNER_TOKEN);
  const verifier = await createVerifier(scheme, await readSecrets(context, input));
  const contract = await readContract(context);
  const events = listen(
    { clock, signal, notice, warn, hasSecret: (text) => redact(text) !== text },
    {
      ...input,
      verifier,
      mustVerify: scheme.kind !== 'none',
      idHeader: idHeaderOf(scheme),
      target: url && new Target(url, proxyFor(url.href, env), clock),
    },
  );
  for await (const event of events) {
    if (event.kind === 'delivery') yield toDeliveryEvent(event, contract);
    else {
      await notice('Listening for webhooks. Stop with Ctrl-C.');
      yield { json: { url: event.url }, text: event.url };
    }
  }
}

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
  if (target?.protocol === 'http:' && port !== 0 && Number(target.port || 80) === port) {
    throw new UsageError(`--forward-to and --port use the same port: ${port}.`, {
      hint: 'Use another port for your program, or omit --port.',
    });
  }
  return target;
}

export default command<Input>({
  description:
    'Receives webhooks on a loopback address of this machine, and shows each delivery once. It can verify them, save them, and forward them to a program; the sender repeats what the program does not accept. Stop it with Ctrl-C.',
  flags: [
    { usage: '--port <n>', description: 'the port to listen on', defaultText: 'a free one' },
    {
      usage: '--path <url-path>',
      description: 'the path to listen on',
      defaultText: 'a random one that nobody can guess',
    },
    {
      usage: '--forward-to <url>',
      description:
        'send each delivery on once, with its bytes and headers, and answer the sender with the status of the response, so that the sender repeats what failed: https, or http on this machine',
    },
    ...SCHEME_FLAGS,
    { usage: '--save <dir>', description: 'save each delivery in this directory before responding' },
    { usage: '--exit-after <n>', description: 'exit after n deliveries; exit 11 if fewer come within --timeout' },
  ],
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
    const directory = args.nonEmpty('save');
    const limit = args.count('exit-after', { min: 1, max: 1_000_000, fallback: 1 });
    return {
      port,
      path: parsePath(args),
      target: parseTargetOf(args, port),
      scheme,
      secretFile: args.value('secret-file'),
      directory,
      exitAfter: args.value('exit-after') === undefined ? undefined : limit,
    };
  },
  run: async (context, input) => ({ kind: 'stream', events: eventsOf(context, input) }),
});
