import { describeFileError, InputError, LocalError, UsageError } from '../errors.ts';
import type { FaultPlan, Sandbox, SandboxOptions, Script } from '../sandbox/sandbox.ts';
import type { Args, FlagSpec } from './command.ts';
import type { Context } from './context.ts';
import { decodeText, MAX_TEXT_MIB, readFileChunks } from './input.ts';

/** The options of `sandbox start` and `sandbox run`. */
export interface SandboxInput {
  readonly dataDir: string | undefined;
  readonly faultsFile: string | undefined;
  readonly scriptFile: string | undefined;
  readonly shape: string | undefined;
  /** A bundle of `doctor --bundle` whose responses the sandbox replays. */
  readonly replayFile: string | undefined;
  /** The URL to deliver completed messages of every source to. */
  readonly webhook: string | undefined;
  readonly secretFile: string | undefined;
  readonly port: number;
}

/** A running sandbox. */
export interface StartedSandbox {
  readonly sandbox: Sandbox;
  /** The secret of its webhook, if the user gave none. Show it. */
  readonly generatedSecret: string | undefined;
  /** The directory of profiles that clients need for a replay. */
  readonly configDirectory: string | undefined;
  /** Stops the sandbox, and removes its temporary files. */
  close(): Promise<void>;
}

export const SANDBOX_FLAGS: readonly FlagSpec[] = [
  { usage: '--data <dir>', description: 'store the data in this directory', defaultText: 'in memory' },
  {
    usage: '--faults <file>',
    description: 'a JSON file of faults to inject: {"rules":[{"kind":"status","status":503,"rate":0.1}]}',
  },
  {
    usage: '--script <file>',
    description: 'a YAML or JSON file that says how agents reply: [{"pattern":"hello","replies":[{"text":"Hi!"}]}]',
    defaultText: 'an echo',
  },
  {
    usage: '--shape <name>',
    description: 'respond in another dialect; `partnerctl sandbox shapes` lists them',
    default: 'plain',
  },
  {
    usage: '--replay <bundle>',
    description: 'replay the responses in a file of `partnerctl doctor --bundle`, and nothing else',
  },
  {
    usage: '--webhook <url>',
    description: 'deliver each completed assistant message of every source to this URL of this machine',
  },
  {
    usage: '--secret-file <path>',
    description:
      'read the secret that signs the deliveries from a file, or from standard input with - (PARTNER_WEBHOOK_SECRET holds the secret itself)',
    defaultText: 'a new one, which is shown',
  },
];

/** The flags without effect on a replay. */
const NOT_REPLAYED = ['data', 'faults', 'script', 'shape', 'webhook'];

/** @throws UsageError for a flag that --replay excludes */
function refuseWithReplay(args: Args): void {
  const other = NOT_REPLAYED.find((flag) => args.value(flag) !== undefined);
  if (args.value('replay') === undefined || other === undefined) return;
  throw new UsageError(`--${other} has no effect with --replay, which only replays recorded responses.`, {
    hint: 'Omit one of them.',
  });
}

/** Parses SANDBOX_FLAGS and --port. @throws UsageError for flags that cannot be combined, or an invalid port */
export function parseSandboxOptions(args: Args): SandboxInput {
  const webhook = args.value('webhook');
  const secretFile = args.value('secret-file');
  if (secretFile !== undefined && webhook === undefined) {
    throw new UsageError('--secret-file needs --webhook.', {
      hint: 'Add --webhook http://127.0.0.1:<port>/<path>, or omit --secret-file.',
    });
  }
  refuseWithReplay(args);
  return {
    replayFile: args.nonEmpty('replay'),
    dataDir: args.nonEmpty('data'),
    faultsFile: args.nonEmpty('faults'),
    scriptFile: args.nonEmpty('script'),
    shape: args.value('shape'),
    webhook,
    secretFile,
    port: args.count('port', { min: 0, max: 65_535, fallback: 0 }),
  };
}

interface OptionFile<T> {
  /** What the file contains: `script`. */
  readonly content: string;
  readonly hint: string;
  readonly parse: (text: string) => T;
}

/**
 * Reads and parses a file that a flag names.
 * @throws InputError if it cannot be read or is invalid; the signal's reason
 */
async function readOptionFile<T>(path: string, signal: AbortSignal, file: OptionFile<T>): Promise<T> {
  try {
    return file.parse(await decodeText(readFileChunks(path, signal), MAX_TEXT_MIB));
  } catch (error) {
    signal.throwIfAborted();
    throw new InputError(`Cannot use the ${file.content} in ${path}.`, {
      why: describeFileError(error),
      hint: file.hint,
      cause: error,
    });
  }
}

async function readFaults(path: string, signal: AbortSignal): Promise<FaultPlan> {
  const { parseFaultPlan } = await import('../sandbox/faults.ts');
  return readOptionFile(path, signal, {
    content: 'faults',
    hint: 'Write a plan such as {"rules":[{"kind":"status","status":503,"times":1}]}; see: partnerctl help faults',
    parse: (text) => parseFaultPlan(JSON.parse(text)),
  });
}

async function readScript(path: string, signal: AbortSignal): Promise<Script> {
  const { parseScript } = await import('../sandbox/agents/reply-script.ts');
  return readOptionFile(path, signal, {
    content: 'script',
    hint: 'Write a list of rules such as [{"pattern":"hello","replies":[{"text":"Hi!","delay_ms":500}]}]; see: partnerctl help sandbox',
    parse: parseScript,
  });
}

/** @throws UsageError, with a suggestion if a shape has a similar name */
async function requireShape(name: string): Promise<void> {
  const { findShape, SHAPES } = await import('../sandbox/shapes/shapes.ts');
  if (findShape(name)) return;
  const { suggest } = await import('../yaml/suggest.ts');
  const names = SHAPES.map((shape) => shape.name);
  const near = suggest(name, names);
  throw new UsageError(`There is no shape ${JSON.stringify(name)}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}List the shapes with: partnerctl sandbox shapes`,
  });
}

/** @throws UsageError unless the sandbox may deliver to the address */
async function requireWebhookUrl(url: string): Promise<void> {
  const { webhookUrlProblem } = await import('../sandbox/webhooks/webhook.ts');
  const problem = webhookUrlProblem(url);
  if (problem === undefined) return;
  // The URL may contain a password.
  const bareUrl = URL.canParse(url) ? Object.assign(new URL(url), { username: '', password: '' }).href : url;
  throw new UsageError(`The sandbox cannot deliver to ${bareUrl}.`, {
    why: `The address ${problem}.`,
    hint: 'Receive deliveries on this machine with: partnerctl webhook listen. It can forward them.',
  });
}

/** Reads the webhook secrets that the user gave. @throws UsageError for one that cannot sign */
async function readSecrets({ secretFile }: SandboxInput, context: Context): Promise<readonly string[] | undefined> {
  const { env, io, abortSignal } = context;
  const { readWebhookSecrets } = await import('../config/webhook-secret.ts');
  const given = await readWebhookSecrets({ secretFile, env, stdin: () => io.stdin, signal: abortSignal });
  if (!given) return undefined;
  for (const secret of given.secrets) context.addSecret(secret);
  const { isWebhookSecret } = await import('../sandbox/webhooks/secret.ts');
  if (given.secrets.every(isWebhookSecret)) return given.secrets;
  throw new UsageError(`The webhook secret from ${given.from} is not a Standard Webhooks secret.`, {
    why: 'The sandbox signs by Standard Webhooks: a secret is whsec_ and 24 to 64 bytes in Base64.',
    hint: 'Use such a secret, or give none to let the sandbox generate one.',
  });
}

/**
 * Starts a sandbox with the options from the flags.
 * @throws UsageError for an unknown shape or an invalid webhook, InputError for an invalid file, LocalError if the sandbox
 * cannot start, the reason of the context's signal
 */
export async function startFromOptions(input: SandboxInput, context: Context): Promise<StartedSandbox> {
  const { dataDir, faultsFile, scriptFile, shape, webhook, port, replayFile } = input;
  const { abortSignal } = context;
  if (shape !== undefined) await requireShape(shape);
  if (webhook !== undefined) await requireWebhookUrl(webhook);
  const secrets = webhook === undefined ? undefined : await readSecrets(input, context);
  const faults = faultsFile === undefined ? undefined : await readFaults(faultsFile, abortSignal);
  const script = scriptFile === undefined ? undefined : await readScript(scriptFile, abortSignal);
  const options = {
    port,
    ...(dataDir !== undefined && { dataDir }),
    ...(faults && { faults }),
    ...(script && { script }),
    ...(shape !== undefined && { shape }),
    ...(webhook !== undefined && { webhook: { url: webhook, ...(secrets && { secrets }) } }),
  };
  if (replayFile !== undefined) return startReplay(replayFile, options, context);
  const sandbox = await start(options);
  const generatedSecret = secrets ? undefined : sandbox.webhookSecrets[0];
  return { sandbox, generatedSecret, configDirectory: undefined, close: () => sandbox.close() };
}

/** @throws LocalError */
async function start(options: SandboxOptions): Promise<Sandbox> {
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  try {
    return await startSandbox(options);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const isPort = cause instanceof Error && 'syscall' in cause && cause.syscall === 'listen';
    throw new LocalError('The sandbox cannot start.', {
      why: describeFileError(error),
      hint: isPort ? 'Give another --port, or none for a free one.' : 'Name another directory with --data.',
      cause: error,
    });
  }
}

async function startReplay(path: string, options: SandboxOptions, context: Context): Promise<StartedSandbox> {
  const { readReplay, writeReplayConfig } = await import('./replay-options.ts');
  const replay = await readReplay(path, context.abortSignal);
  const sandbox = await start({ ...options, replay });
  try {
    const configDirectory = await writeReplayConfig(replay, sandbox.baseUrl, context);
    const count = replay.exchanges.length;
    await context.notice(`The sandbox replays ${count} recorded ${count === 1 ? 'request' : 'requests'} from ${path}.`);
    return {
      sandbox,
      generatedSecret: undefined,
      configDirectory,
      async close() {
        const { rm } = await import('node:fs/promises');
        await rm(configDirectory, { recursive: true, force: true });
        await sandbox.close();
      },
    };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** Tells the user at a terminal that `file` runs against a sandbox, because a program such as `bash` does not show it. */
export async function announceSandbox(
  { io, flags, notice }: Context,
  { dataDir }: SandboxInput,
  { sandbox }: StartedSandbox,
  file: string,
) {
  if (!io.stderr.isTTY) return;
  const kept = [dataDir && `its data (${dataDir})`, flags.state && `the state (${flags.state})`].filter(Boolean);
  const end =
    kept.length === 0
      ? 'everything in the sandbox is gone'
      : `${kept.join(' and ')} ${kept.length === 1 ? 'stays' : 'stay'}, and nothing else`;
  await notice(`Sandbox: the service is ${sandbox.baseUrl}, not the real one. When ${file} ends, ${end}.`);
}
