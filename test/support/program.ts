import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { onTestFinished } from 'vitest';

export const PROGRAM = fileURLToPath(new URL('../../bin/partnerctl.js', import.meta.url));

interface Settings {
  readonly env?: Record<string, string>;
  /** `ignore` by default. */
  readonly stdin?: 'ignore' | 'pipe';
  /** The complete standard input. */
  readonly input?: string;
  readonly cwd?: string;
}

/** A home that not even root can create. */
const NO_HOME = '/dev/null/home';

/** Starts a program with its own environment. The caller must end it. */
export function spawnFile(file: string, args: readonly string[], settings: Settings = {}) {
  const { env, stdin = 'ignore', input, cwd } = settings;
  const child = execa(file, args, {
    reject: false,
    extendEnv: false,
    stripFinalNewline: false,
    stdin: input === undefined ? stdin : 'pipe',
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env.PATH ?? '', HOME: NO_HOME, ...env },
  });
  if (input !== undefined) child.stdin?.end(input);
  return child;
}

/** Starts a program with its own environment. It is killed when the test ends. */
export function startFile(file: string, args: readonly string[], settings: Settings = {}) {
  const child = spawnFile(file, args, settings);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await child;
  });
  return child;
}

export type Running = ReturnType<typeof startFile>;

/**
 * Starts a server program, and waits until a line that it writes to stderr contains `ready`.
 * @returns a function that sends it a signal, and waits for its end
 */
export async function startDaemon(
  file: string,
  args: readonly string[],
  ready: string,
  user: { readonly uid?: number; readonly gid?: number } = {},
) {
  const child = spawn(file, args, { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: child.stderr })) if (line.includes(ready)) break;
  child.stderr.resume();
  if (child.exitCode !== null) throw new Error(`${file} does not start.`);
  return async (signal: NodeJS.Signals): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
}

/** Starts the built program. */
export function start(args: readonly string[], settings?: Settings): Running {
  return startFile(process.execPath, [PROGRAM, ...args], settings);
}

/** Runs a line of bash in which `partnerctl` is the built program. */
export function shell(line: string, settings?: Settings): Running {
  const program = `partnerctl() { '${process.execPath}' '${PROGRAM}' "$@"; }`;
  return startFile('bash', ['-o', 'pipefail', '-c', `${program}\n${line}`], settings);
}

/** Writes a `partnerctl` script that starts the built program. @returns its directory, for the PATH */
export async function launcher(directory: string): Promise<string> {
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`;
  await writeFile(join(bin, 'partnerctl'), script, { mode: 0o755 });
  return bin;
}

/** Resolves with all output so far as soon as it matches. Rejects if the stream ends before. */
export async function until(stream: NodeJS.ReadableStream | null | undefined, wanted: RegExp): Promise<string> {
  if (!stream) throw new Error('There is nothing to read from.');
  return new Promise((resolve, reject) => {
    let text = '';
    stream.on('data', (chunk: unknown) => {
      text += String(chunk);
      if (wanted.test(text)) resolve(text);
    });
    stream.once('end', () => reject(new Error(`It ended without ${wanted}: ${text}`)));
  });
}
