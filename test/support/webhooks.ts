import { EventEmitter, once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished } from 'vitest';
import { startFakeService } from './fake-service.ts';
import { manualSignals, type RunOptions, run } from './run.ts';

export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;

/** Signs as the reference package does. @param at milliseconds since the epoch */
export function sign(id: string, body: string, secret = SECRET, at = Date.now()): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, new Date(at), body),
  };
}

/** Sends a signed delivery. @returns the status of the response */
export async function deliver(url: string, id: string, body: string, secret = SECRET): Promise<number> {
  const response = await fetch(url, { method: 'POST', body, headers: sign(id, body, secret) });
  await response.arrayBuffer();
  return response.status;
}

export interface Received {
  readonly id: string;
  /** Path and query, as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A status; a status with a body; a closed connection; or no response. */
type Answer = number | { readonly status: number; readonly body: string } | 'cut' | 'stall';

/**
 * Starts a receiver of webhooks: of those that the sandbox sends, or that `webhook listen` forwards. It stops when the test ends.
 * @param answers the first responses, of which the last one is repeated; or a function that chooses the response to the n-th request
 */
export async function startReceiver(
  answers: readonly Answer[] | ((received: Received, number: number) => Answer | Promise<Answer>) = [204],
) {
  /** The complete requests, in order of arrival. */
  const received: Received[] = [];
  const arrivals = new EventEmitter();
  const { baseUrl, stop } = await startFakeService(async ({ path, headers, body }, response) => {
    const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const request = { id: own['webhook-id'] ?? '', path, headers: own, body };
    const number = received.push(request);
    arrivals.emit('received');
    const answer =
      typeof answers === 'function'
        ? await answers(request, number)
        : (answers[Math.min(number, answers.length) - 1] ?? 204);
    if (answer === 'cut') response.destroy();
    else if (typeof answer === 'number') response.writeHead(answer).end();
    else if (answer !== 'stall') response.writeHead(answer.status).end(answer.body);
  });
  return {
    url: new URL('/hooks', baseUrl).href,
    received,
    /** Resolves once this many requests have arrived. */
    async arrived(count: number): Promise<void> {
      while (received.length < count) await once(arrivals, 'received');
    },
    close: stop,
  };
}

/** The event, if the reference implementation accepts the delivery. @throws WebhookVerificationError */
export function verify({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, headers);
}

/** Runs `webhook listen -o ndjson` in this process until it listens. It ends with the test at the latest. */
export async function startListening(args: readonly string[], options: RunOptions = {}) {
  const written = new EventEmitter();
  const lines: string[] = [];
  let stderr = '';
  const signals = manualSignals();
  /** Resolves with the exit code. */
  const exited = run(['webhook', 'listen', ...args], {
    ...options,
    env: { PARTNER_OUTPUT: 'ndjson', ...options.env },
    signals,
    onStdout(text) {
      lines.push(...text.trimEnd().split('\n').slice(lines.length));
      written.emit('written');
    },
    onStderr: (text) => {
      stderr = text;
    },
  }).then(({ code }) => code);
  /** Ends it as Ctrl-C does. @returns the exit code */
  const stop = (): Promise<number> => {
    signals.ctrlC();
    return exited;
  };
  onTestFinished(async () => void (await stop()));
  const ended = exited.then(() => true);
  const lineAt = async (index: number): Promise<string> => {
    while (lines[index] === undefined) {
      const isOver = await Promise.race([once(written, 'written').then(() => false), ended]);
      if (isOver && lines[index] === undefined) throw new Error(`It ended: ${stderr}`);
    }
    return lines[index];
  };
  const first = await lineAt(0);
  const url: string = first.startsWith('{') ? JSON.parse(first).url : first;
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
  return {
    url,
    /** The output, by line. */
    lines,
    /** The objects that follow the first one. */
    get events() {
      return lines.slice(1).map((line) => JSON.parse(line));
    },
    stderr: () => stderr,
    /** Resolves with the object at a position, 0 for the first delivery. */
    event: async (index: number) => JSON.parse(await lineAt(index + 1)),
    stop,
    exited,
  };
}
