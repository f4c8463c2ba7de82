import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import { commandBlocks, documentScript, normalizeOutput, outputsByBlock } from './documents.ts';
import { launcher, spawnFile } from './program.ts';
import { run } from './run.ts';

const ROOT = new URL('../../', import.meta.url);

/** Whether a document has commands that a test can run. */
export function hasCommands(path: string): boolean {
  return commandBlocks(path).some(({ notRun }) => notRun === undefined);
}

/** The manifest of the README, which every topic builds on. */
function firstManifest(): string {
  const texts = commandBlocks('README.md').map(({ commands }) => commands);
  const [, text] =
    texts.map((commands) => /^cat > acme\.yaml <<'YAML'\n(.*)^YAML$/ms.exec(commands)).find(Boolean) ?? [];
  if (text === undefined) throw new Error('The README has no acme.yaml.');
  return text;
}

/** Does for a topic what the README does for its own commands: `sandbox run`, and the first provision. */
async function prepareTopic(directory: string, home: string, sandbox: Sandbox): Promise<Record<string, string>> {
  await writeFile(join(home, 'acme.yaml'), firstManifest());
  // The file that `npm install` would put there.
  await symlink(fileURLToPath(new URL('node_modules', ROOT)), join(home, 'node_modules'));
  const env = {
    HOME: home,
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: await sandbox.createToken(),
    PARTNER_SANDBOX_URL: sandbox.adminUrl,
    PARTNER_SANDBOX_KEY: sandbox.adminKey,
    PARTNER_STATE: join(directory, 'state.jsonl'),
  };
  expect(await run(['provision', join(home, 'acme.yaml')], { env })).toMatchObject({ code: 0 });
  return { ...env, PATH: `${await launcher(directory)}:${process.env.PATH}` };
}

/** Runs the blocks of a document, and compares what they write with the text blocks. */
async function runBlocks(path: string, directory: string, sandbox: Sandbox): Promise<void> {
  const blocks = commandBlocks(path);
  const home = join(directory, 'home');
  await mkdir(home);
  const base = { SHELL: '/bin/bash', npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  const isReadme = path === 'README.md';
  // The README opens its own sandbox.
  const env = isReadme ? { HOME: home } : await prepareTopic(directory, home, sandbox);
  const ran = await spawnFile('bash', [], {
    env: { ...base, ...env },
    input: documentScript(blocks),
    cwd: isReadme ? fileURLToPath(ROOT) : home,
  });
  const outputs = outputsByBlock(ran.stdout);
  if (!outputs.has('end') || ran.exitCode !== 0)
    throw new Error(`It ended with ${ran.exitCode}:\n${ran.stdout}${ran.stderr}`);
  for (const { at, output, notRun } of blocks) {
    if (notRun !== undefined) continue;
    const written = outputs.get(at) ?? `${at} was not run`;
    if (output !== undefined) expect(normalizeOutput(written), at).toBe(normalizeOutput(output));
  }
}

/** Runs the commands of a document as written, in order, in a fresh home, and compares their output. */
export async function runDocument(path: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-test-'));
  const sandbox = await startSandbox();
  try {
    await runBlocks(path, directory, sandbox);
  } finally {
    await sandbox.close();
    await rm(directory, { recursive: true, force: true });
  }
}
