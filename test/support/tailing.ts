import type { HistoryServer } from './history-server.ts';
import { fastClock, manualSignals, type Ran, type RunOptions, run, TOKEN, tempDirectory, tinyRandom } from './run.ts';

/** What a tail of the session `s` showed. */
export interface Tailed extends Ran {
  readonly ids: readonly string[];
}

/** The ids of the messages in the output of a tail, in order. */
export function idsOf(stdout: string): string[] {
  const lines = stdout.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line).message_id);
}

async function tail({ baseUrl }: HistoryServer, flags: readonly string[], options: RunOptions): Promise<Tailed> {
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN, HOME: tempDirectory() };
  const args = ['chat', 'tail', '--source', 'src', '--session', 's', '-o', 'json', '-q', ...flags];
  const ran = await run(args, { env, clock: fastClock(), random: tinyRandom, ...options });
  return { ...ran, ids: idsOf(ran.stdout) };
}

/** Reads the history of the session `s` to its end. @param flags where to start: `--from-start`, `--after <id>`, `--tail <n>` */
export function readAll(server: HistoryServer, ...flags: readonly string[]): Promise<Tailed> {
  return tail(server, [...flags, '--no-follow'], {});
}

/**
 * Follows the session `s` until `isOver`, as with Ctrl-C. A tail that loses a message ends after two hours of its clock, which
 * take a moment.
 */
export function tailUntil(
  server: HistoryServer,
  flags: readonly string[],
  isOver: (shown: { readonly ids: readonly string[]; readonly stderr: string }) => boolean,
  options: RunOptions = {},
): Promise<Tailed> {
  const signals = manualSignals();
  const shown = { ids: [] as readonly string[], stderr: '' };
  const look = (change: Partial<typeof shown>): void => {
    if (isOver(Object.assign(shown, change))) signals.ctrlC();
  };
  return tail(server, flags.includes('--timeout') ? flags : [...flags, '--timeout', '2h'], {
    signals,
    onStdout: (text) => look({ ids: idsOf(text) }),
    onStderr: (stderr) => look({ stderr }),
    ...options,
  });
}

/** The ids of consecutive messages of the session `s`. */
export function idsFrom(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `s-${first + index}`);
}
