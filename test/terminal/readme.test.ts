import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commandBlocks, readDocument, runReadmeSession, TOPICS } from '../support/documents.ts';
import { start } from '../support/program.ts';

const ROOT = new URL('../../', import.meta.url);

const DOCUMENTS = ['README.md', ...TOPICS];

describe('README.md', () => {
  test('says what the program is, and shows a session that the program reproduces', async () => {
    expect(readDocument('README.md')).toMatch(/^# partnerctl\n\n(?:.+\n)+\n```console\n\$ partnerctl /);
    await runReadmeSession();
  });

  test('has the two commands for a fresh checkout, one line each', () => {
    const lines = commandBlocks('README.md').flatMap(({ commands }) => commands.split('\n'));
    const forCheckout = lines
      .filter((line) => /^npm ci && npm (start|test)/.test(line))
      .map((line) => line.replace(/ *#.*/, ''));
    expect(forCheckout).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  });

  test('links to every help topic', () => {
    const text = readDocument('README.md');
    for (const path of TOPICS) expect(text).toContain(`(${path})`);
  });
});

describe.each(DOCUMENTS)('%s', (path) => {
  test('contains only code blocks with commands, or their output', () => {
    // The session of the README and the YAML of the workflows have tests of their own.
    const languages = [...readDocument(path).matchAll(/^ *```(\S+)/gm)].flatMap(([, language = '']) =>
      language === 'console' || (path === 'src/help/fleet.md' && language === 'yaml') ? [] : [language],
    );
    const blocks = commandBlocks(path);
    const outputs = blocks.filter(({ output }) => output !== undefined);
    expect(languages.filter((language) => language === 'sh')).toHaveLength(blocks.length);
    expect(languages.filter((language) => language === 'text')).toHaveLength(outputs.length);
    expect(languages).toHaveLength(blocks.length + outputs.length);
  });

  test('links to files that exist', () => {
    for (const [, target = ''] of readDocument(path).matchAll(/\]\((?!https:)([^)#]+)\)/g)) {
      const file = new URL(target, new URL(path, ROOT));
      expect(existsSync(file), target).toBe(true);
    }
  });
});

test('the only commands that tests do not run need a person, the network, or the checkout', () => {
  const skipped = DOCUMENTS.flatMap((path) =>
    commandBlocks(path).flatMap(({ notRun }) => (notRun === undefined ? [] : [`${path}: ${notRun}`])),
  );
  expect(skipped).toEqual([
    'README.md: installs the checkout itself',
    'README.md: installs the checkout itself',
    'README.md: publishes the checkout itself',
    'README.md: installs and tests the checkout itself',
    'README.md: asks for a token and calls a service on the Internet',
    'README.md: needs a git host',
    'src/help/chat.md: runs until Ctrl-C',
    'src/help/chat.md: needs a terminal',
    'src/help/fleet.md: needs two services',
    'src/help/fleet.md: is a job of GitLab CI',
    'src/help/sandbox.md: runs until Ctrl-C',
    'src/help/state.md: needs a database',
    'src/help/state.md: needs a git host',
    'src/help/webhooks.md: installs a package from the Internet',
  ]);
});

test('the built program has every topic, and needs no network, home, or profile for it', async () => {
  const built = readdirSync(new URL('dist/help/', ROOT)).map((name) => `src/help/${name}`);
  expect(built.sort()).toEqual([...TOPICS].sort());
  const { exitCode, stdout, stderr } = await start(['help', 'output']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout.split('\n')[0]).toBe(readDocument('src/help/output.md').split('\n')[0]);
});
