import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { run } from '../helpers/run.ts';
import { commandBlocks, documentScript, normalizeOutput, outputsByBlock, readDocument } from './documents.ts';
import { launcher, spawnFile, start } from './program.ts';

const ROOT = new URL('../../', import.meta.url);
const TOPICS = HELP_TOPICS.map(({ name }) => `src/help/${name}.md`);

const DOCUMENTS = ['README.md', ...TOPICS];

function hasCommands(path: string): boolean {
  return commandBlocks(path).some(({ notRun }) => notRun === undefined);
}

/** The manifest of the README, which every topic builds upon. */
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
async function runDocument(path: string, directory: string, sandbox: Sandbox): Promise<void> {
  const blocks = commandBlocks(path);
  const home = join(directory, 'home');
  await mkdir(home);
  const base = { SHELL: '/bin/bash', npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  const isReadme = path === 'README.md';
  // The README opens a sandbox of its own.
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

describe('README.md', () => {
  test('begins with the two commands for a fresh checkout', () => {
    const [first] = commandBlocks('README.md');
    const lines = first?.commands
      .trim()
      .split('\n')
      .map((line) => line.replace(/ *#.*/, ''));
    expect(lines).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  });

  test('has its sections in the order in which people need them, and at most 1,800 words', () => {
    const text = readDocument('README.md');
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
      'Install',
      'First provision',
      'Log in',
      'Provision',
      'Scheduled jobs',
      'Chat',
      'Upload',
      'Scripting and exit codes',
      'Troubleshooting',
    ]);
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(1_800);
  });

  test('links to every help topic', () => {
    const text = readDocument('README.md');
    for (const path of TOPICS) expect(text).toContain(`(${path})`);
  });
});

// At the same time, because the commands also wait: for replies, retries, and time limits.
describe.concurrent.each(DOCUMENTS.filter(hasCommands))('%s', (path) => {
  test('its commands work as written, one after the other, and show what it says', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-test-'));
    const sandbox = await startSandbox();
    try {
      await runDocument(path, directory, sandbox);
    } finally {
      await sandbox.close();
      await rm(directory, { recursive: true, force: true });
    }
  }, 300_000);
});

describe.each(DOCUMENTS)('%s', (path) => {
  test('every block of code is a command block, or the output of one', () => {
    const languages = [...readDocument(path).matchAll(/^ *```(\S+)/gm)].map(([, language]) => language);
    const blocks = commandBlocks(path);
    const outputs = blocks.filter(({ output }) => output !== undefined);
    expect(languages.filter((language) => language === 'sh')).toHaveLength(blocks.length);
    expect(languages.filter((language) => language === 'text')).toHaveLength(outputs.length);
    expect(languages).toHaveLength(blocks.length + outputs.length);
  });

  test('its links lead to files that exist', () => {
    for (const [, target = ''] of readDocument(path).matchAll(/\]\((?!https:)([^)#]+)\)/g)) {
      const file = new URL(target, new URL(path, ROOT));
      expect(existsSync(file), target).toBe(true);
    }
  });
});

test('only commands that need a person, the network, or the checkout are not run', () => {
  const skipped = DOCUMENTS.flatMap((path) =>
    commandBlocks(path).flatMap(({ notRun }) => (notRun === undefined ? [] : [`${path}: ${notRun}`])),
  );
  expect(skipped).toEqual([
    'README.md: installs and tests the checkout itself',
    'README.md: asks for a token and calls a service on the Internet',
    'README.md: needs a database',
    'README.md: needs a terminal',
    'src/help/chat.md: runs until Ctrl-C',
    'src/help/chat.md: needs a terminal',
    'src/help/state.md: needs a database',
    'src/help/state.md: needs a git host',
    'src/help/state.md: calls a service on the Internet',
    'src/help/state.md: needs a database',
    'src/help/state.md: is a workflow of GitHub Actions',
    'src/help/state.md: is a job of GitLab CI',
    'src/help/state.md: is a workflow of GitHub Actions',
    'src/help/profiles.md: asks for a token and calls a service on the Internet',
    'src/help/reliability.md: runs the sweeps and the fault matrix of the checkout',
    'src/help/sandbox.md: runs until Ctrl-C',
    'src/help/development.md: builds, checks, and tests the checkout itself',
  ]);
});

test('the built program has every topic, and needs no network, home, or profile for it', async () => {
  const built = readdirSync(new URL('dist/help/', ROOT)).map((name) => `src/help/${name}`);
  expect(built.sort()).toEqual([...TOPICS].sort());
  const { exitCode, stdout, stderr } = await start(['help', 'exit-codes']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout.split('\n')[0]).toBe(readDocument('src/help/exit-codes.md').split('\n')[0]);
});
