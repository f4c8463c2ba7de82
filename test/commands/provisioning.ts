import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { fasterClock, type Ran, type RunOptions, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { type Service, service, write } from '../support/service.ts';

export interface Result {
  readonly source: string;
  readonly external_space_id: string;
  readonly space_id: string | null;
  readonly status: string;
  readonly agents: readonly {
    readonly agent_id: string | null;
    readonly name: string;
    readonly template_id: string;
    readonly status: string;
    readonly source_id: string | null;
  }[];
  readonly differences?: readonly object[];
  readonly error?: { readonly type: string; readonly message: string; readonly status: number | null };
}

/** The output of `provision -o json`. */
export interface Answer {
  readonly results: readonly Result[];
  readonly summary: Readonly<Record<string, number>>;
}

/** A summary without any result. */
export const SUMMARY = { created: 0, reused: 0, unchanged: 0, failed: 0, skipped: 0 };

/** Runs `provision -o json` against a service, which carries out nothing late. */
export function provision(args: readonly string[], { env }: Service, more: RunOptions = {}): Promise<Ran> {
  return run(['provision', ...args, '-o', 'json'], {
    random: tinyRandom,
    clock: fasterClock(),
    ...more,
    env: { ...env, ...more.env },
  });
}

/** Runs a command against a service, which carries out nothing late. */
export const command = ({ env }: Pick<Service, 'env'>, ...argv: string[]): Promise<Ran> =>
  run(argv, { env, clock: fasterClock(), random: tinyRandom });

/** Runs `plan -o json --detailed-exitcode`. */
export const plan = ({ env }: Pick<Service, 'env'>, path: string, ...more: string[]): Promise<Ran> =>
  run(['plan', path, '-o', 'json', '--detailed-exitcode', ...more], { env });

/** Plans a file. @returns the path of the plan */
export async function planned(it: Pick<Service, 'env'>, path: string, ...more: string[]): Promise<string> {
  const out = join(tempDirectory(), 'plan.json');
  const ran = await command(it, 'plan', path, '--out', out, ...more);
  expect(ran.code, ran.stderr).toBe(0);
  return out;
}

/** Provisions a manifest, which is then edited. @returns the service, whose log is empty, and the path of the manifest */
export async function provisioned(text: string, edit: (text: string) => string = (same) => same) {
  const it = await service();
  const path = write('acme.yaml', text);
  expect(await provision([path], it)).toMatchObject({ code: 0, stderr: '' });
  await it.forget();
  writeFileSync(path, edit(text));
  return { it, path };
}
