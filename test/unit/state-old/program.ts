import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';

/** Builds the child program into a directory. @returns the path to run with node. */
export async function builtChild(directory: string): Promise<string> {
  const outfile = join(directory, 'child.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  return outfile;
}

export interface Running {
  readonly process: ChildProcessByStdio<null, Readable, null>;
  /** The lines of its output. */
  readonly lines: AsyncIterable<string>;
}

export function started(command: string, args: readonly string[], options: SpawnOptions = {}): Running {
  const process = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  return { process, lines: createInterface({ input: process.stdout }) };
}

/** Runs a program to its end. @returns the lines it wrote. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<string[]> {
  const { process, lines } = started(command, args, options);
  const closed = once(process, 'close');
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  await closed;
  return all;
}
