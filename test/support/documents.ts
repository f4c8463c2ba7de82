import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { launcher, spawnFile } from './program.ts';
import { run } from './run.ts';

/* The README and the help topics: their commands run as written, and show the documented output. */

const ROOT = new URL('../../', import.meta.url);

/** The help topics, from the top of the repository. */
export const TOPICS = readdirSync(new URL('src/help/', ROOT)).map((name) => `src/help/${name}`);

/** A fenced block of shell commands in the README or a help topic. */
interface CommandBlock {
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

function blockScript({ at, commands, exitCode, output }: CommandBlock): string {
  const isShown = output !== undefined;
  // Set in each block: a shell that a block opens runs the blocks after it.
  const start = `echo ${MARK}${at}\nset -e -o pipefail\n${isShown ? 'export PARTNER_OUTPUT=table\n' : ''}`;
  const check = `[ $CODE = ${exitCode} ] || { echo "exit code $CODE, not ${exitCode}"; exit 99; }`;
  const run = exitCode === 0 ? commands : `set +e\n${commands}\nCODE=$?\nset -e\n${check}`;
  return `${start}${run}\nunset PARTNER_OUTPUT`;
}

/** A script for the standard input of `bash` that runs the blocks in order. */
function documentScript(blocks: readonly CommandBlock[]): string {
  const run = blocks.filter(({ notRun }) => notRun === undefined);
  return ['exec 2>&1', ...run.map(blockScript), `echo ${MARK}end`, ''].join('\n');
}

/** Splits the output of the script by block: from `at` to the output of the block. `end` is there if every block ran. */
function outputsByBlock(written: string): Map<string, string> {
  const parts = `\n${written}`.split(`\n${MARK}`).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]));
}

/** Replaces what differs between runs: ids, keys, times, durations, and ports. */
function normalizeOutput(text: string): string {
  return text
    .replace(/\b(spc|agt|src|msg|doc|att|cron)_[0-9a-f]{20}\b/g, '$1_00000000000000000000')
    .replace(/\b[0-9a-f]{24}\b/g, '0'.repeat(24))
    .replace(/\d{4}-\d\d-\d\dT[\d:]{8}/g, '2026-01-01T00:00:00')
    .replace(/(?<=T00:00:00)\.\d{3}Z/g, '.000Z')
    .replace(/(?<=T00:00:00)[+-]\d\d:\d\d/g, '+00:00')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:4310')
    .replace(/\b\d+ ms\b/g, '5 ms')
    .trimEnd();
}

/** The manifest of the README, which every topic builds on. */
function firstManifest(): string {
  const [, text] = /^cat > acme\.yaml <<'YAML'\n(.*?)^YAML$/ms.exec(readDocument('README.md')) ?? [];
  if (text === undefined) throw new Error('The README has no acme.yaml.');
  return text;
}

type Env = Record<string, string>;

/**
 * Runs blocks in order in a fresh home with the program in the PATH, and compares what they write with the text blocks.
 * @param prepare for those who have `acme.yaml` and a sandbox in the environment
 */
async function runBlocks(
  blocks: readonly CommandBlock[],
  prepare?: (env: Env, home: string) => Promise<unknown>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-test-'));
  const sandbox = await startSandbox();
  try {
    const home = join(directory, 'home');
    await mkdir(home);
    const env: Env = { HOME: home, PATH: `${await launcher(directory)}:${process.env.PATH}` };
    if (prepare) {
      await writeFile(join(home, 'acme.yaml'), firstManifest());
      Object.assign(env, {
        PARTNER_BASE_URL: sandbox.baseUrl,
        PARTNER_TOKEN: sandbox.token,
        PARTNER_SANDBOX_URL: sandbox.adminUrl,
        PARTNER_SANDBOX_KEY: sandbox.adminKey,
        PARTNER_STATE: join(directory, 'state.jsonl'),
      });
      await prepare(env, home);
    }
    const ran = await spawnFile('bash', [], { env, input: documentScript(blocks), cwd: home });
    const outputs = outputsByBlock(ran.stdout);
    if (!outputs.has('end') || ran.exitCode !== 0)
      throw new Error(`It ended with ${ran.exitCode}:\n${ran.stdout}${ran.stderr}`);
    for (const { at, output, notRun } of blocks) {
      if (notRun !== undefined) continue;
      const written = outputs.get(at) ?? `${at} was not run`;
      if (output !== undefined) expect(normalizeOutput(written), at).toBe(normalizeOutput(output));
    }
  } finally {
    await sandbox.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs the commands of a topic as written, after the first provision of the README, and compares their output. */
export function runTopic(path: string): Promise<void> {
  return runBlocks(commandBlocks(path), async (env, home) => {
    // The file that `npm install` would put there.
    await symlink(fileURLToPath(new URL('node_modules', ROOT)), join(home, 'node_modules'));
    expect(await run(['provision', join(home, 'acme.yaml')], { env })).toMatchObject({ code: 0 });
  });
}

/** Runs the commands of the README as written, from an installed program on, and compares their output. */
export const runReadme = (): Promise<void> => runBlocks(commandBlocks('README.md'));

/** Runs the session at the top of the README: a command after each `$`, and what it prints. */
export async function runReadmeSession(): Promise<void> {
  const [, session = ''] = /^```console\n(.*?)^```$/ms.exec(readDocument('README.md')) ?? [];
  const blocks = session
    .split(/^\$ /m)
    .slice(1)
    .map((part, index): CommandBlock => {
      const [, commands = '', output = ''] = /^((?:[^\n]*\\\n)*[^\n]*\n)(.*)$/s.exec(part) ?? [];
      return { at: `README.md session ${index + 1}`, commands, exitCode: 0, notRun: undefined, output };
    });
  expect(blocks).not.toEqual([]);
  await runBlocks(blocks, async () => undefined);
}
