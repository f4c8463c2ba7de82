import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { run } from '../support/run.ts';
import { PROVISION, provisionBody, service } from '../support/service.ts';

/** Colors, a title, a link, C1 controls, line ends, bidi controls, and what a terminal draws wider or narrower than its length. */
const NAME =
  '\u001b[31mred\u001b[0m \u001b]0;owned\u0007 \u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\ \u009b31m \u001b[2J\u001b[H two\nlines \r \t abc\b\b \u202efdp \u2066abc\u2069 \u2028\u2029 \u0000 株式会社 👩‍👩‍👧‍👦 e\u0301\u0323';

// What a terminal acts on, except the line feeds and tabs of the output format.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u;

test('A hostile name of the service is escaped in tables and exact for scripts', async () => {
  const { env, partner } = await service();
  const space = { name: NAME, description: NAME };
  const agents = [{ template_id: 'tmpl_support', name: NAME }];
  expect((await partner('POST', PROVISION, { body: provisionBody('acme', { space, agents }) })).status).toBe(201);
  for (const args of [
    ['spaces', 'list'],
    ['agents', 'list', 'ext:acme'],
  ]) {
    const print = async (format: string, columns = 120): Promise<string> => {
      const ran = await run([...args, '-o', format, '--color', 'never'], { env, columns });
      expect(ran.code).toBe(0);
      expect(ran.stdout).not.toMatch(CONTROLS);
      return ran.stdout;
    };
    for (const columns of [120, 30]) expect(await print('table', columns)).not.toContain('\t');
    const rows = (await print('tsv')).split('\n');
    expect(rows).toHaveLength(2);
    expect(rows[0]?.split('\t')).toHaveLength(args[0] === 'spaces' ? 5 : 3);
    expect(JSON.parse(await print('json'))).toMatchObject([{ name: NAME }]);
    expect(JSON.parse(await print('ndjson'))).toMatchObject({ name: NAME });
    expect(parseYaml(await print('yaml'))).toMatchObject([{ name: NAME }]);
  }
  const debug = await run(['agents', 'list', 'name:nobody', '--debug'], { env });
  expect(debug).toMatchObject({ code: 4, stderr: expect.not.stringMatching(CONTROLS) });
});

test('Hostile file names, flags, and errors of the service are shown escaped', async () => {
  const { env } = await service();
  for (const [args, code] of [
    [['provision', '/nowhere/\u001b[2J\u202eacme.yaml'], 2],
    [['spaces', 'list', '--\u001b[2Jflag'], 2],
    [['agents', 'list', '\u001b[2J\u009b31m\u202e'], 4],
  ] as const) {
    expect(await run(args, { env })).toMatchObject({ code, stderr: expect.not.stringMatching(CONTROLS) });
  }
});
