import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { commandBlocks, documentScript, normalizeOutput, outputsByBlock, readDocument } from './documents.ts';
import { PROGRAM, spawnFile, start } from './program.ts';

const ROOT = new URL('../../', import.meta.url);
const TOPICS = HELP_TOPICS.map(({ name }) => `src/help/${name}.md`);

const DOCUMENTS = ['README.md', ...TOPICS];

function hasCommands(path: string): boolean {
  return commandBlocks(path).some(({ notRun }) => notRun === undefined);
}

/** What every topic builds upon: the README's manifest, and its space in the sandbox. */
function firstProvision() {
  const blocks = commandBlocks('README.md');
  const first = blocks.findIndex(({ commands }) => commands.startsWith('cat > acme.yaml'));
  return blocks.slice(first, first + 1).map((block) => ({
    ...block,
    commands: `${block.commands}partnerctl provision acme.yaml\n`,
    output: undefined,
  }));
}

/** Runs the blocks of a document, and compares what they write with the text blocks. */
async function runDocument(path: string, home: string): Promise<void> {
  const isReadme = path === 'README.md';
  const blocks = [...(isReadme ? [] : firstProvision()), ...commandBlocks(path)];
  const settings = {
    env: { HOME: home, SHELL: '/bin/bash', npm_config_offline: 'true', npm_config_update_notifier: 'false' },
    input: documentScript(blocks),
    cwd: isReadme ? fileURLToPath(ROOT) : home,
  };
  // The README opens a sandbox of its own.
  const ran = isReadme
    ? await spawnFile('bash', [], settings)
    : await spawnFile(process.execPath, [PROGRAM, 'sandbox', 'run', '--', 'bash'], settings);
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
    const home = await mkdtemp(join(tmpdir(), 'partnerctl-test-'));
    try {
      await runDocument(path, home);
    } finally {
      await rm(home, { recursive: true, force: true });
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
    'README.md: needs a terminal',
    'src/help/chat.md: runs until Ctrl-C',
    'src/help/chat.md: needs a terminal',
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
