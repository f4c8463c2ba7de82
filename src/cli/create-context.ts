import { setMaxListeners } from 'node:events';
import { dirname } from 'node:path';
import type { Transport } from '../api/transport.ts';
import type { Clock } from '../clock.ts';
import {
  configDirectory,
  isReadableByOthers,
  NO_PROFILES,
  type Profiles,
  readProfiles,
  writeProfiles,
} from '../config/profiles.ts';
import { type GlobalFlags, namesServiceAndToken, resolveBaseUrl } from '../config/settings.ts';
import { EXIT, InterruptedError, LocalError } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import type { Progress } from '../output/progress.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { Context, Signals } from './context.ts';
import type { Environment, Io } from './io.ts';
import { connect, findService, type ServiceParts } from './service.ts';

/** What the process (or a test) supplies. */
export interface RuntimeDeps {
  readonly io: Io;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  readonly platform: NodeJS.Platform;
  /** The home directory. */
  readonly home: string;
  readonly version: string;
  readonly nodeVersion: string;
  /** How this program is started: node and the script. */
  readonly selfCommand: readonly string[];
  /** The terminal itself, for the spinner and for questions: stderr. */
  readonly terminal: NodeJS.WritableStream;
}

export interface ContextParts {
  readonly progress: Progress;
  readonly addSecret: (text: string) => void;
  /** Takes every kept secret out of a text. */
  readonly redact: (text: string) => string;
}

/** What a question is asked on. */
interface Answering {
  readonly input: Io['stdin'];
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** A timer that is set for longer goes off at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const TIME_UP = { hint: 'Allow more time with --timeout.' };

function userAgent({ version, nodeVersion, platform }: RuntimeDeps): string {
  return `partnerctl/${version} (node ${nodeVersion}; ${platform})`;
}

/** Puts a context together. Nothing is read or connected before it is asked for. */
export function createContext(
  surroundings: RuntimeDeps,
  flags: GlobalFlags,
  { progress, addSecret, redact }: ContextParts,
): Context & { close(): Promise<void> } {
  const { io, env, clock, random, signals, platform, home } = surroundings;
  const deadline = flags.timeoutMs === undefined ? undefined : clock.now() + flags.timeoutMs;
  const timeUp = new AbortController();
  const timer = setTimeout(
    () => timeUp.abort(new LocalError('The time for the command was up.', TIME_UP)),
    Math.min(flags.timeoutMs ?? 0, LONGEST_TIMER_MS),
  );
  if (deadline === undefined) clearTimeout(timer);
  const ended = AbortSignal.any([signals.interrupt, timeUp.signal]);
  // As many things wait under it as run at a time; Node takes more than ten for a leak and says so.
  setMaxListeners(0, ended);
  const transports: Transport[] = [];
  let profiles: Promise<Profiles> | undefined;

  /** One line, whatever file names and services put into it. */
  async function say(text: string): Promise<void> {
    await progress.pauseDuring(() => io.stderr.write(`${sanitizeLine(text)}\n`));
  }

  const parts: ServiceParts = {
    flags,
    env,
    io,
    clock,
    random,
    interrupt: signals.interrupt,
    ended,
    userAgent: userAgent(surroundings),
    deadline,
    redact,
    say,
    show({ lines, progress: doing }) {
      if (doing !== undefined) progress.detail(doing);
      for (const line of lines) void say(line);
    },
  };

  const directory = configDirectory(env, platform, home);

  async function readProfilesOnce(): Promise<Profiles> {
    const stored = await readProfiles(directory);
    const tokens = Object.values(stored.profiles).flatMap(({ token }) => token ?? []);
    for (const token of tokens) addSecret(token);
    if (tokens.length > 0 && (await isReadableByOthers(directory, platform))) {
      await context.warn('the profiles hold tokens and others may read them; `chmod 600` the config file.');
    }
    return stored;
  }

  /** Asks on the terminal; Ctrl-C there is an interruption like any other. */
  async function answered<Value>(ask: (answering: Answering) => Promise<Value>): Promise<Value> {
    try {
      return await progress.pauseDuring(() =>
        ask({ input: io.stdin, output: surroundings.terminal, signal: signals.interrupt }),
      );
    } catch (error) {
      throw new InterruptedError('Interrupted.', EXIT.interrupted, { cause: error });
    }
  }

  const context: Context = {
    io,
    env,
    clock,
    random,
    signals,
    abortSignal: ended,
    flags,
    progress,
    addSecret,
    selfCommand: surroundings.selfCommand,
    get isInteractive() {
      return flags.input && io.stderr.isTTY && !env.CI && io.stdin.isTTY === true;
    },
    notice: async (text) => {
      if (!flags.quiet) await say(text);
    },
    warn: (text) => say(`warning: ${text}`),
    async askSecret(question) {
      const { default: password } = await import('@inquirer/password');
      return answered((answering) => password({ message: question, mask: true }, answering));
    },
    async confirm(question) {
      const { default: confirm } = await import('@inquirer/confirm');
      return answered((answering) => confirm({ message: sanitizeLine(question), default: false }, answering));
    },
    async openPrompt(options) {
      const { openPromptLine } = await import('../output/prompt-line.ts');
      const prompt = openPromptLine({ ...options, input: io.stdin, output: surroundings.terminal });
      return { ...prompt, above: (text) => prompt.above(redact(text)) };
    },
    get hasColor() {
      return shouldUseColor(flags.color, env, io.stderr);
    },
    config: {
      directory,
      read() {
        profiles ??= readProfilesOnce();
        return profiles;
      },
      async write(changed) {
        await writeProfiles(directory, changed);
        profiles = Promise.resolve(changed);
      },
    },
    async baseUrl() {
      return resolveBaseUrl(flags, env, await context.config.read());
    },
    async http() {
      // With -v it is said what the profiles would have named, too.
      const alone = namesServiceAndToken(flags, env) && !flags.verbose && !flags.debug;
      const { baseUrl, token } = await findService(alone ? NO_PROFILES : await context.config.read(), parts);
      return context.httpTo(baseUrl, token);
    },
    async httpTo(baseUrl, token) {
      addSecret(token);
      const { http, transport } = connect(baseUrl, token, parts);
      transports.push(transport);
      return http;
    },
    async privateDirectory() {
      const { stateLocation } = await import('../state/location.ts');
      const usual = stateLocation({ flag: undefined, env: { ...env, PARTNER_STATE: undefined }, platform, home });
      return dirname(usual.path);
    },
    async stateLocation() {
      const { stateLocation } = await import('../state/location.ts');
      return stateLocation({ flag: flags.state, env, platform, home });
    },
    async statePath() {
      return (await context.stateLocation()).path;
    },
  };
  return Object.assign(context, {
    async close() {
      clearTimeout(timer);
      progress.stop();
      await Promise.all(transports.map((transport) => transport.close()));
    },
  });
}
