import { expect } from 'vitest';
import { start } from '../e2e/program.ts';
import { manifest, type Service } from './service.ts';

/*
 * One roll-out of many spaces against a service that fails in every way it can, and installs agents again on every POST.
 */

const AGENTS = ['Support', 'Sales'];

/** The documents `s1` to `s<count>`, each with two agents. */
export function rolloutManifest(count: number): string {
  return Array.from({ length: count }, (_, index) => manifest(`s${index + 1}`, AGENTS)).join('---\n');
}

/** Failures before and after the request was processed; about a fifth of all requests meet one. */
function weather(seed: number): object {
  const rates = [
    { kind: 'status', status: 503, rate: 0.04 },
    { kind: 'status', status: 503, stage: 'after', rate: 0.04 },
    { kind: 'status', status: 429, retry_after: 0.05, rate: 0.03 },
    { kind: 'reset', rate: 0.04 },
    { kind: 'reset', stage: 'after', rate: 0.04 },
    { kind: 'cut', rate: 0.03 },
    { kind: 'html', stage: 'after', rate: 0.02 },
  ];
  return { rules: rates, seed };
}

/** Makes a service that installs agents again on every repeat, with bad weather. */
export async function badService(it: Service, seed: number): Promise<void> {
  await it.set({ agents_on_repeat: 'install' });
  const set = await it.admin('PUT', '/faults', weather(seed));
  expect(set.status).toBe(200);
}

/** Every space is there once, and every agent once in it. */
export async function expectWhole(it: Service, count: number): Promise<void> {
  await it.faults();
  const spaces = await it.spaces();
  expect(spaces.map(({ external_space_id }) => external_space_id).toSorted()).toEqual(
    Array.from({ length: count }, (_, index) => `s${index + 1}`).toSorted(),
  );
  const installed = await Promise.all(
    spaces.map(async ({ external_space_id, space_id }) => ({
      space: external_space_id,
      agents: (await it.agents(space_id)).map(({ name }) => name).toSorted(),
    })),
  );
  expect(installed).toEqual(
    spaces.map(({ external_space_id }) => ({ space: external_space_id, agents: AGENTS.toSorted() })),
  );
}

interface Ran {
  readonly exitCode: number | undefined;
  readonly summary: Record<string, number>;
  /** The results that hold an error, so that a failed run tells why. */
  readonly failures: readonly object[];
  readonly stderr: string;
}

/** One run of the program to its end. */
export async function rollOut(it: Service, path: string): Promise<Ran> {
  const { exitCode, stdout, stderr } = await start(['provision', path, '-o', 'json'], { env: it.env });
  if (stdout === '') return { exitCode, stderr, summary: {}, failures: [] };
  const { results, summary }: { results: { error?: object }[]; summary: Record<string, number> } = JSON.parse(stdout);
  return { exitCode, stderr, summary, failures: results.flatMap(({ error }) => error ?? []) };
}

/** Runs it again in good weather: nothing is left to do, and nothing is written. */
export async function expectSettled(it: Service, path: string, count: number): Promise<void> {
  await it.forget();
  const again = await rollOut(it, path);
  expect(again).toMatchObject({ exitCode: 0, stderr: '', summary: { unchanged: count, created: 0, reused: 0 } });
  expect(await it.posts()).toEqual([]);
}

/**
 * Starts a run and ends it with SIGKILL once the service has received so many requests.
 * @returns whether it was still running
 */
export async function killAfter(it: Service, path: string, requests: number): Promise<boolean> {
  await it.forget();
  const child = start(['provision', path, '-o', 'json'], { env: it.env });
  let ended = false;
  void child.then(() => {
    ended = true;
  });
  while (!ended && (await it.received()).length < requests) await new Promise(setImmediate);
  child.kill('SIGKILL');
  return (await child).signal === 'SIGKILL';
}
