import { expect } from 'vitest';
import { type Chat, createChat } from './chat.ts';
import type { Service } from './service.ts';

/*
 * Chat sessions that get replies while they are followed, on a service that fails and is late.
 */

/** A line that `chat tail -o json` wrote. */
export interface Line {
  readonly message_id: string;
  readonly session_id: string;
  readonly text: string;
  readonly role: string;
}

interface Conversations {
  readonly service: Service;
  readonly chat: Chat;
  readonly sessions: readonly string[];
  /** The arguments of a `chat tail` of all sessions. */
  readonly tailArgs: readonly string[];
}

/** Sessions named `s1` and so on, of one source. */
export async function startConversations(service: Service, count: number): Promise<Conversations> {
  const chat = await createChat(service);
  const sessions = Array.from({ length: count }, (_, index) => `s${index + 1}`);
  const named = sessions.flatMap((session) => ['--session', session]);
  return { service, chat, sessions, tailArgs: ['chat', 'tail', '--source', chat.source_id, ...named, '-o', 'json'] };
}

/** Adds replies to the sessions in turn, some at a time, until each has `each` of them. */
export async function addReplies({ service, chat, sessions }: Conversations, each: number, pauseMs = 0): Promise<void> {
  for (let done = 0, size = 1; done < each; done += size, size = (size * 3) % 37) {
    const count = Math.min(size, each - done);
    for (const session_id of sessions) {
      const body = { source_id: chat.source_id, session_id, role: 'assistant', text: 'reply', count };
      expect((await service.admin('POST', '/messages', body)).status).toBe(201);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Parses the complete lines of an output. The last line of a killed process may be truncated. */
export function parseLines(stdout: string): Line[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1);
  return whole.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
}

/** The ids of all messages by session, in the order of the service. */
export async function messageIds({ chat, sessions }: Conversations): Promise<Map<string, string[]>> {
  const idsOf = async (session_id: string) => {
    const entries = await chat.history({ session_id, page_size: '1000' });
    return [session_id, entries.map(({ message_id }) => message_id)] as const;
  };
  return new Map(await Promise.all(sessions.map(idsOf)));
}

/** The ids in lines of output by session, in the order of the lines. */
export function shownIds({ sessions }: Conversations, lines: readonly Line[]): Map<string, string[]> {
  const idsOf = (session: string) => lines.flatMap((line) => (line.session_id === session ? line.message_id : []));
  return new Map(sessions.map((session) => [session, idsOf(session)]));
}

/**
 * Joins the lines of runs of which all but the last were killed, without repeats. Only the last line of a killed run may be
 * repeated, because that run may not have saved its place.
 */
export function joinRuns(runs: readonly (readonly Line[])[]): Line[] {
  const lines: Line[] = [];
  const seen = new Set<string>();
  const unsaved = new Set<string>();
  for (const run of runs) {
    for (const line of run) {
      if (seen.has(line.message_id)) expect(unsaved.delete(line.message_id)).toBe(true);
      else lines.push(line);
      seen.add(line.message_id);
    }
    const last = run.at(-1);
    if (last) unsaved.add(last.message_id);
  }
  return lines;
}
