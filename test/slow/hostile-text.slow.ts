import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { run, tempDirectory } from '../support/run.ts';
import { PROVISION, provisionBody, service, write } from '../support/service.ts';

const NAMES = {
  'a color': '\u001b[31mred\u001b[0m',
  'a title': '\u001b]0;owned\u0007title',
  'a link': '\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\',
  'a C1 control': '\u009b31mred',
  'a clear screen': 'before\u001b[2J\u001b[Hafter',
  'a line feed': 'two\nlines',
  'a carriage return': 'good\rEVIL',
  'a tab': 'two\tcells',
  'a backspace': 'abc\b\b\bxyz',
  'a bidi override': 'abc\u202efdp.exe',
  'a bidi isolate': '\u2066abc\u2069',
  'a line separator': 'two\u2028lines\u2029more',
  'a null': 'nul\u0000byte',
  'wide characters': '株式会社アクメ',
  'an emoji of several parts': '👩‍👩‍👧‍👦 family',
  'combining marks': 'e\u0301\u0323 Z̸̢͝',
};

// What a terminal acts on, except the line feeds and tabs of the output format.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u;

test.each(Object.entries(NAMES))('%s in a name is escaped in tables and exact for scripts', async (_, name) => {
  const { env, partner } = await service();
  const space = { name, description: name };
  const agents = [{ template_id: 'tmpl_support', name }];
  const made = await partner('POST', PROVISION, { body: provisionBody('acme', { space, agents }) });
  expect(made.status).toBe(201);
  for (const args of [
    ['spaces', 'list'],
    ['agents', 'list', 'ext:acme'],
  ]) {
    for (const columns of [120, 30]) {
      const table = await run([...args, '-o', 'table', '--color', 'never'], { env, columns });
      expect(table.code).toBe(0);
      expect(table.stdout).not.toMatch(CONTROLS);
      expect(table.stdout).not.toContain('\t');
    }
    const tsv = await run([...args, '-o', 'tsv'], { env });
    expect(tsv.code).toBe(0);
    expect(tsv.stdout).not.toMatch(CONTROLS);
    const rows = tsv.stdout.split('\n');
    expect(rows).toHaveLength(2);
    expect(rows[0]?.split('\t')).toHaveLength(args[0] === 'spaces' ? 5 : 3);
    const json = await run([...args, '-o', 'json'], { env });
    expect(json.json()).toMatchObject([{ name }]);
    expect(json.stdout).not.toMatch(CONTROLS);
    const ndjson = await run([...args, '-o', 'ndjson'], { env });
    expect(JSON.parse(ndjson.stdout).name).toBe(name);
    const yaml = await run([...args, '-o', 'yaml'], { env });
    expect(parseYaml(yaml.stdout)).toMatchObject([{ name }]);
    expect(yaml.stdout).not.toMatch(CONTROLS);
    const query = await run([...args, '--query', '[0].name'], { env });
    expect(query.stdout).not.toMatch(CONTROLS);
  }
  const candidates = await run(['agents', 'list', 'name:nobody'], { env });
  expect(candidates.code).toBe(4);
  expect(candidates.stderr).not.toMatch(CONTROLS);
  const debug = await run(['spaces', 'list', '--debug'], { env });
  expect(debug.stderr).not.toMatch(CONTROLS);
});

test.each(Object.entries(NAMES))('%s in a manifest is sent unchanged and shown escaped', async (_, name) => {
  const { env, partner } = await service();
  const made = JSON.stringify({
    external_space_id: 'acme',
    space: { name },
    agents: [{ template_id: 'tmpl_x', name }],
  });
  const path = write('acme.yaml', made);
  const refused = await run(['provision', path, '-o', 'table'], { env, columns: 100 });
  expect(refused.code).toBe(1);
  expect(refused.stdout.replaceAll(/\u001b\[\d+m/g, '')).not.toMatch(CONTROLS);
  expect(refused.stderr.replaceAll(/\u001b\[\d+m/g, '')).not.toMatch(CONTROLS);
  const good = write('good.yaml', made.replace('tmpl_x', 'tmpl_support'));
  const ran = await run(['provision', good, '-o', 'json'], { env });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.json()).toMatchObject({ results: [{ agents: [{ name }] }] });
  const listed = await partner('GET', '/automation/spaces/');
  expect(listed.json.results[0].name).toBe(name);
});

test('escape sequences in a file name are escaped in the error', async () => {
  const ran = await run(['provision', '/nowhere/\u001b[2J\u202eacme.yaml']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).not.toMatch(CONTROLS);
  const flag = await run(['spaces', 'list', '--\u001b[2Jflag']);
  expect(flag.stderr).not.toMatch(CONTROLS);
});

test('escape sequences in an error of the service are escaped', async () => {
  const { env } = await service();
  const ran = await run(['agents', 'list', '\u001b[2J\u009b31m\u202e'], { env });
  expect(ran.code).toBe(4);
  expect(ran.stderr).not.toMatch(CONTROLS);
  expect(
    JSON.parse((await run(['agents', 'list', '\u001b[2J', '-o', 'json'], { env })).stderr).error.details.message,
  ).toContain('[2J');
});

test('a warning is one line, even if the path contains line feeds', async () => {
  const state = write('state\nerror: forged.jsonl', 'broken\n', tempDirectory());
  const shown = await run(['state', 'show', '--state', state], { env: {} });
  expect(shown.stderr).toContain('warning: ');
  expect(shown.stderr).toContain('state\\nerror: forged.jsonl:1 cannot be used');
  expect(shown.stderr).not.toMatch(/^error: /m);
});
