import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** Creates a directory that is removed when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sandbox-test-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Bundles `child.ts` into one JavaScript file, because Node 20 does not run TypeScript. */
async function bundleChild(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, 'child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // CommonJS libraries load Node's own modules with `require`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
}

export interface ChildSandbox {
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly adminKey: string;
  readonly token: string;
  readonly pid: number;
  /** Ends the process with SIGKILL, then resolves. */
  kill(): Promise<void>;
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('The child has no stdout.');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('The child ended before it listened.');
}

interface ChildOptions {
  /** `ulimit` commands of the shell that starts it. */
  readonly limits?: string;
  /** The point at which it kills itself; see `killAt`. */
  readonly killPoint?: string;
}

async function startChild(
  bundle: string,
  dataDir: string,
  { limits = ':', killPoint }: ChildOptions = {},
): Promise<ChildSandbox> {
  const script = `${limits} && exec "$0" "$@"`;
  const args = [bundle, dataDir, ...(killPoint === undefined ? [] : [killPoint])];
  const child = spawn('/bin/sh', ['-c', script, process.execPath, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  try {
    return { ...JSON.parse(await firstLine(child)), pid: child.pid, kill };
  } catch (error) {
    await ended;
    throw error;
  }
}

/**
 * Bundles the child before the first test of a file.
 * @returns a function that starts it on a data directory
 */
export function prepareChildSandboxes(): (dataDir: string, options?: ChildOptions) => Promise<ChildSandbox> {
  let bundleDirectory = '';
  const bundlePath = (): string => join(bundleDirectory, 'child.mjs');
  beforeAll(async () => {
    bundleDirectory = await mkdtemp(join(tmpdir(), 'sandbox-bundle-'));
    await bundleChild(bundlePath());
  });
  afterAll(() => rm(bundleDirectory, { recursive: true, force: true }));
  return (dataDir, options) => startChild(bundlePath(), dataDir, options);
}
