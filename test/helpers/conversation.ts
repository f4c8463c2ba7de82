import { expect } from 'vitest';
import { start } from '../e2e/program.ts';
import { type Chat, createChat } from '../sandbox/chat.ts';
import type { Service } from './service.ts';

/*
 * Sessions in which replies come while they are followed, at a service that fails and tells its history oddly.
 */

/** A line that `chat tail -o json` wrote. */
export interface Line {
  readonly message_id: string;
  readonly session_id: string;
  readonly text: string;
  readonly role: string;
}

export interface Talking {
  readonly it: Service;
  readonly chat: Chat;
  readonly sessions: readonly string[];
  /** The words that follow all the sessions. */
  readonly words: readonly string[];
}

const HISTORY = 'GET /integrations/api-chat/history/';

/** Sessions named `s1` and so on, of one source. */
export async function conversations(it: Service, count: number): Promise<Talking> {
  const chat = await createChat(it);
  const sessions = Array.from({ length: count }, (_, index) => `s${index + 1}`);
  const named = sessions.flatMap((session) => ['--session', session]);
  return { it, chat, sessions, words: ['chat', 'tail', '--source', chat.source_id, ...named, '-o', 'json'] };
}

/** Makes about a third of the polls meet a failure or an oddity. */
export async function badHistory(it: Service, seed: number): Promise<void> {
  const rules = [
    { kind: 'reset', rate: 0.03 },
    { kind: 'reset', stage: 'after', rate: 0.03 },
    { kind: 'cut', rate: 0.03 },
    { kind: 'status', status: 503, rate: 0.03 },
    { kind: 'html', rate: 0.02 },
    { kind: 'status', status: 429, retry_after: 0.05, rate: 0.02 },
    { kind: 'stall', rate: 1, times: 1, skip: 20 },
    { kind: 'repeat', rate: 0.08, messages: 3 },
    { kind: 'reorder', rate: 0.08 },
    { kind: 'short_page', rate: 0.08 },
  ].map((rule) => ({ ...rule, on: HISTORY }));
  expect((await it.admin('PUT', '/faults', { rules, seed })).status).toBe(200);
}

/** Puts replies into every session in turn, some at a time, until each has so many. */
export async function reply({ it, chat, sessions }: Talking, each: number, pauseMs = 0): Promise<void> {
  for (let done = 0, size = 1; done < each; done += size, size = (size * 3) % 37) {
    const count = Math.min(size, each - done);
    for (const session_id of sessions) {
      const body = { source_id: chat.source_id, session_id, role: 'assistant', text: 'reply', count };
      expect((await it.admin('POST', '/messages', body)).status).toBe(201);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** The whole lines of an output; the last one of a process that was killed may be cut. */
export function linesOf(stdout: string): Line[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Every session's ids, in the order in which they came to be. */
export async function truth({ chat, sessions }: Talking): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>();
  for (const session_id of sessions) {
    const entries = await chat.history({ session_id, page_size: '1000' });
    ids.set(
      session_id,
      entries.map(({ message_id }) => message_id),
    );
  }
  return ids;
}

/** What was shown, by session, in the order of the lines. */
export function shown({ sessions }: Talking, lines: readonly Line[]): Map<string, string[]> {
  return new Map(
    sessions.map((session) => [
      session,
      lines.filter(({ session_id }) => session_id === session).map(({ message_id }) => message_id),
    ]),
  );
}

/** Follows until so many lines are out, then ends it. @returns the lines and how it ended */
export async function followTo(
  { it, words }: Talking,
  more: readonly string[],
  count: number,
  signal: 'SIGINT' | 'SIGKILL',
): Promise<{ lines: Line[]; exitCode: number | undefined; stderr: string }> {
  const child = start([...words, ...more], { env: it.env });
  let seen = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 0x0a) seen += 1;
    if (seen >= count) child.kill(signal);
  });
  if (count === 0) child.kill(signal);
  const { stdout, exitCode, stderr } = await child;
  return { lines: linesOf(stdout), exitCode, stderr };
}

/**
 * The lines of runs of which all but the last were killed, without those that came again: a line may do so only if it
 * was the very last of a run that was killed, because that run may not have noted it any more.
 */
export function joined(runs: readonly (readonly Line[])[]): Line[] {
  const lines: Line[] = [];
  const seen = new Set<string>();
  const unnoted = new Set<string>();
  for (const run of runs) {
    for (const line of run) {
      if (seen.has(line.message_id)) expect(unnoted.delete(line.message_id)).toBe(true);
      else lines.push(line);
      seen.add(line.message_id);
    }
    const last = run.at(-1);
    if (last) unnoted.add(last.message_id);
  }
  return lines;
}

/**
 * Sends one message under an external id, kills the program so long after its start, and sends it again to the end.
 * @returns the texts that are in the session
 */
export async function sendKilledAndRepeated(
  { it, chat }: Talking,
  session: string,
  kill: { readonly afterMs: number } | { readonly onceReceived: true },
): Promise<{ texts: string[]; created: boolean; killed: boolean }> {
  const ids = ['--source', chat.source_id, '--session', session, '--external-id', `id-${session}`];
  const words = ['chat', 'send', ...ids, `text of ${session}`, '-o', 'json'];
  const before = (await it.posts()).length;
  // The body of one that is stalled before it is carried out is never read.
  const isThere = async (): Promise<boolean> =>
    (await it.posts())
      .slice(before)
      .some(({ body, fault }) => fault === 'stall/before' || JSON.stringify(body).includes(session));
  const child = start(words, { env: it.env });
  if ('afterMs' in kill) await new Promise((resolve) => setTimeout(resolve, kill.afterMs));
  else while (!(await isThere())) await new Promise(setImmediate);
  child.kill('SIGKILL');
  const killed = (await child).signal === 'SIGKILL';
  const again = await start(words, { env: it.env });
  expect(again.exitCode, again.stderr).toBe(0);
  const said = (await chat.history({ session_id: session })).filter(({ role }) => role === 'user');
  return { texts: said.map(({ text }) => text), created: JSON.parse(again.stdout).created, killed };
}
