import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** The help topics, from the top of the repository. */
export const TOPICS = readdirSync(new URL('src/help/', ROOT)).map((name) => `src/help/${name}`);

/** A fenced block of shell commands in the README or a help topic. */
export interface CommandBlock {
  /** `README.md:40`. */
  readonly at: string;
  readonly commands: string;
  /** The exit code of the last command, from the info string: ```sh exit=5 */
  readonly exitCode: number;
  /** Why the block is not run, from the info string: ```sh not-run="asks for a token" */
  readonly notRun: string | undefined;
  /** The terminal output of the commands, from the text block after them. */
  readonly output: string | undefined;
}

/** @param path from the top of the repository */
export function readDocument(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The command blocks of a document, in order. `exit` in a block ends the shell that an earlier block opened. */
export function commandBlocks(path: string): CommandBlock[] {
  const text = readDocument(path);
  const fences = /^```sh([^\n]*)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?/gms;
  return [...text.matchAll(fences)].map(({ index, 1: info = '', 2: commands = '', 3: output }) => ({
    at: `${path}:${text.slice(0, index).split('\n').length}`,
    commands,
    exitCode: Number(/\bexit=(\d+)/.exec(info)?.[1] ?? 0),
    notRun: /\bnot-run="([^"]*)"/.exec(info)?.[1],
    output,
  }));
}

/** The script writes it before each block. */
const MARK = '@@@ ';

function blockScript({ at, commands, exitCode, output }: CommandBlock): string[] {
  // Set in each block: a shell that a block opens runs the blocks after it.
  const start = [
    `echo ${MARK}${at}`,
    'set -e -o pipefail',
    ...(output === undefined ? [] : ['export PARTNER_OUTPUT=table']),
  ];
  const end = ['unset PARTNER_OUTPUT'];
  if (exitCode === 0) return [...start, commands, ...end];
  const complaint = `echo "exit code $CODE, not ${exitCode}"; exit 99`;
  return [...start, 'set +e', commands, 'CODE=$?', 'set -e', `[ $CODE = ${exitCode} ] || { ${complaint}; }`, ...end];
}

/** A script for the standard input of `bash` that runs the blocks in order. */
export function documentScript(blocks: readonly CommandBlock[]): string {
  const run = blocks.filter(({ notRun }) => notRun === undefined);
  return ['exec 2>&1', ...run.flatMap(blockScript), `echo ${MARK}end`, ''].join('\n');
}

/** Splits the output of the script by block: from `at` to the output of the block. `end` is there if every block ran. */
export function outputsByBlock(written: string): Map<string, string> {
  const parts = `\n${written}`.split(`\n${MARK}`).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]));
}

/** Replaces what differs between runs: ids, keys, times, durations, and ports. */
export function normalizeOutput(text: string): string {
  return text
    .replace(/\b(spc|agt|src|msg|doc|att|cron)_[0-9a-f]{20}\b/g, '$1_00000000000000000000')
    .replace(/\b[0-9a-f]{24}\b/g, '0'.repeat(24))
    .replace(/\d{4}-\d\d-\d\dT[\d:]{8}/g, '2026-01-01T00:00:00')
    .replace(/(?<=T00:00:00)\.\d{3}Z/g, '.000Z')
    .replace(/(?<=T00:00:00)[+-]\d\d:\d\d/g, '+00:00')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:4310')
    .replace(/\b\d+ ms\b/g, '5 ms')
    .replace(/\breq-[0-9a-f]{12}-/g, 'req-000000000000-')
    .trimEnd();
}
