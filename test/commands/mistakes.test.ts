import { describe, expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

interface Problem {
  source: string;
  line: number;
  column: number;
  message: string;
  excerpt: string;
}

const GOOD = (id: string): string => `external_space_id: ${id}
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
`;

/** Each makes one mistake in a valid document. */
const MISTAKES: Readonly<Record<string, (text: string) => string>> = {
  'an unknown key': (text) => `${text}color: red\n`,
  'a near miss of a key': (text) => text.replace('template_id', 'templateid'),
  'an unknown key in the space': (text) => text.replace('is_org_wide', 'org_wide'),
  'no external_space_id': (text) => text.replace(/^external_space_id.*\n/, ''),
  'an external_space_id that is a number': (text) => text.replace(/^external_space_id: .*/, 'external_space_id: 7'),
  'an empty external_space_id': (text) => text.replace(/^external_space_id: .*/, 'external_space_id: ""'),
  'no space': (text) => text.replace(/^space.*\n/m, ''),
  'a space that is a text': (text) => text.replace(/^space.*$/m, 'space: Acme'),
  'no name': (text) => text.replace('name: Acme, ', ''),
  'a flag that is a text': (text) => text.replace('is_org_wide: false', 'is_org_wide: "false"'),
  'a flag that is a boolean only in YAML 1.1': (text) => text.replace('is_org_wide: false', 'is_org_wide: no'),
  'an empty list of agents': (text) => text.replace(/^agents:.*/ms, 'agents: []\n'),
  'no list of agents': (text) => text.replace(/^agents:.*/ms, ''),
  'an agent that is a text': (text) => text.replace(/^agents:.*/ms, 'agents: [Support]\n'),
  'an unknown routing mode': (text) => text.replace('session_workflow', 'session_workflows'),
  'a duplicate key': (text) => text.replace('    name: Support', '    name: Support\n    name: Again'),
  'two equal agents': (text) => `${text}  - { template_id: tmpl_support, name: Support }\n`,
  'the external_space_id of another document': (text) =>
    text.replace(/^external_space_id: .*/, 'external_space_id: twin'),
  'a variable that is not set': (text) => text.replace('Support for Acme', '${NOWHERE}'),
  'a tab for indentation': (text) => text.replace('    name: Support', '\tname: Support'),
  'a bracket left open': (text) => text.replace('is_org_wide: false }', 'is_org_wide: false'),
  'a quote left open': (text) => text.replace('name: Acme', 'name: "Acme'),
  'an undefined alias': (text) => text.replace('name: Support', 'name: *nowhere'),
  'an unknown tag': (text) => text.replace('name: Support', 'name: !secret Support'),
  'a list instead of the document': () => '- just\n- a list\n',
  'a text instead of the document': () => 'just a text\n',
  'nesting that is too deep': (text) => text.replace('Support for Acme', '['.repeat(1000)),
  'a control character in an id': (text) => text.replace('tmpl_support', '"tmpl\\a"'),
};

describe.each(Object.entries(MISTAKES))('a manifest with %s', (_, spoil) => {
  test.each([
    ['first', 0],
    ['last', 6],
  ])('in the %s document exits with 2, and sends nothing', async (_, position) => {
    const { env, received } = await service();
    const good = ['twin', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => GOOD(id));
    const other = position === 0 ? good.toReversed() : good;
    const documents = other.with(position, spoil(GOOD('spoilt')));
    const inOne = write('all.yaml', documents.join('---\n'));
    const ran = await run(['provision', inOne, '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error().type).toBe('invalid_input');
    const { problems } = ran.error().details as { problems: Problem[] };
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) {
      expect(problem).toMatchObject({
        source: inOne,
        line: expect.any(Number),
        column: expect.any(Number),
        excerpt: expect.stringMatching(/\n *\| *\^/),
      });
      expect(problem.line).toBeGreaterThan(position * 8);
    }
    const files = documents.map((text, index) => write(`${index}.yaml`, text));
    expect(await run(['provision', ...files, '--dry-run'], { env })).toMatchObject({ code: 2, stdout: '' });
    expect(await run(['provision', ...files], { env })).toMatchObject({ code: 2, stdout: '' });
    expect(await received()).toEqual([]);
  });
});

describe('provision', () => {
  test.each([
    ['a missing file', () => ['/nowhere/acme.yaml']],
    ['a directory without YAML', () => [write('x.txt', '').slice(0, -6)]],
    ['bytes that are not UTF-8', () => [write('latin.yaml', Buffer.from([0x61, 0x3a, 0xff, 0xfe]))]],
    ['a file beyond the limit', () => [write('big.yaml', `# ${'x'.repeat(13 * 1024 * 1024)}\n`)]],
  ])('exits with 2 for %s among valid files, names it, and sends nothing', async (_, createBad) => {
    const { env, received } = await service();
    const [bad = ''] = createBad();
    const ran = await run(['provision', write('a.yaml', manifest('a')), bad], { env });
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(bad) });
    expect(await received()).toEqual([]);
  });

  test('says how to save a file of another encoding, such as the UTF-16 that PowerShell writes', async () => {
    const path = write('acme.yaml', Buffer.from(`\ufeff${manifest('acme')}`, 'utf16le'));
    const ran = await run(['provision', path, '--check']);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('it is not UTF-8 text; save it as UTF-8') });
  });

  test('reports the same with --check as without', async () => {
    const path = write('a.yaml', GOOD('a').replace('session_workflow', 'sessions'));
    const check = await run(['provision', path, '--check']);
    expect(check).toMatchObject({ code: 2, stdout: '' });
    expect((await run(['provision', path])).stderr).toBe(check.stderr);
  });

  test('repeats the number of many mistakes at the end', async () => {
    const text = Array.from({ length: 6 }, (_, index) => manifest(`s${index}`).replace('name:', 'nam:')).join('---\n');
    const ran = await run(['provision', write('many.yaml', text), '--check']);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/\nhint: Correct all of the \d+ mistakes above\.\n$/);
  });

  test('reports all mistakes in all files at once', async () => {
    const { env } = await service();
    const first = write('first.yaml', `${GOOD('a').replace('name: Acme, ', '')}color: red\n`);
    const second = write('second.yaml', GOOD('b').replace('session_workflow', 'sessions'));
    const { stderr } = await run(['provision', first, second], { env });
    expect(stderr).toContain('The input has 3 mistakes; nothing was sent.');
    expect(stderr).toContain(`${first}:8:1: `);
    expect(stderr).toContain(`${second}:7:28: `);
    expect(stderr).toMatch(/\n +7 \| +api_chat_routing_mode: sessions\n +\| +\^{8}\n/);
  });

  test('reports every space as a duplicate if a file is given twice', async () => {
    const { env, received } = await service();
    const path = write('a.yaml', manifest('a'));
    expect(await run(['provision', path, path], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('twice'),
    });
    expect(await received()).toEqual([]);
  });

  test('rejects standard input as both the manifest and the token, or as two manifests', async () => {
    const { env, received } = await service();
    const both = await run(['provision', '-', '--token-file', '-'], { env, stdin: manifest('a') });
    expect(both.code).toBe(2);
    expect(both.stderr).toContain('both the manifest and the token');
    const twice = await run(['provision', '-', '-'], { env, stdin: manifest('a') });
    expect(twice).toMatchObject({ code: 2, stdout: '' });
    expect(twice.stderr).not.toContain('This is a bug');
    expect(await received()).toEqual([]);
  });
});
