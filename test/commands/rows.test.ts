import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { propertyRuns } from '../support/properties.ts';
import { partnerctl, type Ran, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

/* Rows and files of variables: where the values of variables come from. */

const TEMPLATE = `external_space_id: \${ID}
space: { name: "\${NAME}", description: "In \${REGION:-nowhere}" }
agents:
  - { template_id: tmpl_support, name: Support }
`;

interface Planned {
  readonly spaces: readonly { readonly source: string; readonly actions: readonly Record<string, unknown>[] }[];
}

/** A template and a table in one directory, and a service. */
async function scene(csv: string | Uint8Array, template = TEMPLATE, tableName = 'customers.csv') {
  const directory = tempDirectory();
  const it = await service();
  const [file, rows] = [write('support.yaml', template, directory), write(tableName, csv, directory)];
  const command = (words: readonly string[], env: Record<string, string> = {}): Promise<Ran> =>
    run([...words, file, '--rows', rows], { env: { ...it.env, ...env }, random: tinyRandom });
  const json = (words: readonly string[], env: Record<string, string> = {}) => command([...words, '-o', 'json'], env);
  return { it, directory, file, rows, command, json };
}

const namesOf = (ran: Ran) => ran.json<Planned>().spaces.map(({ actions }) => actions[0]?.name);

test('A manifest is made with each row, from plan to apply, and the sources name both places', async () => {
  const { it, directory, file, rows, command, json } = await scene('ID,NAME\nacme,Acme\nbeta,"Beta, Inc."\n');
  const plan = join(directory, 'plan.json');
  const planned = await json(['plan', '--out', plan]);
  const places = [`${file}:1 (${rows}:2)`, `${file}:1 (${rows}:3)`];
  expect(planned.json<Planned>().spaces.map(({ source }) => source)).toEqual(places);
  expect(namesOf(planned)).toEqual(['Acme', 'Beta, Inc.']);
  writeFileSync(rows, 'ID,NAME\nacme,Acme\nbeta,Gamma\n');
  const edited = await command(['apply', plan]);
  expect(edited).toMatchObject({ code: 2, stderr: expect.stringContaining('was made of other manifests') });
  writeFileSync(rows, '\uFEFFID,NAME\r\n\r\nbeta,"Beta, Inc."\r\nacme,Acme\r\n');
  const applied = await json(['apply', plan]);
  expect(applied.json()).toMatchObject({ results: places.map((source) => ({ source, status: 'created' })) });
  expect(await it.spaces()).toMatchObject([{ name: 'Acme' }, { name: 'Beta, Inc.' }]);
  expect((await command(['provision'])).stdout).toContain('2 spaces unchanged');
});

test('Any texts come through CSV and NDJSON as they are, with line breaks as line feeds', async () => {
  const text = fc.string({
    unit: fc.constantFrom('a', ',', '"', '\n', '\r\n', ' ', "'", ';', '\\', 'é', '👩‍🚀', '${X}', '#', ': '),
  });
  const values = fc.array(
    text.map((each) => `x${each}`),
    { minLength: 1, maxLength: 5 },
  );
  const quote = (value: string) => `"${value.replaceAll('"', '""')}"`;
  const { it, file } = await scene('');
  await fc.assert(
    fc.asyncProperty(values, fc.constantFrom('\n', '\r\n'), async (names, end) => {
      const expected = names.map((name) => name.replaceAll('\r\n', '\n'));
      const csv = ['NAME,ID', ...names.map((name, index) => `${quote(name)},${index}`)].join(end);
      const ndjson = names.map((NAME, index) => JSON.stringify({ ID: String(index), NAME })).join(end);
      for (const rows of [write('a.csv', csv), write('a.ndjson', ndjson)]) {
        const ran = await run(['plan', file, '--rows', rows, '-o', 'json'], { env: it.env });
        expect(namesOf(ran)).toEqual(rows.endsWith('.csv') ? expected : names);
      }
    }),
    { numRuns: propertyRuns(60, 5) },
  );
});

/** Each mistake in a table or its rows, and what is said of it. `F` is the manifest, and `T` the table. */
const MISTAKES: readonly (readonly [csv: string, message: string, template?: string])[] = [
  ['', 'T:1:1: this table has no row'],
  ['ID,NAME\n', 'T:1:1: this table has no row'],
  ['ID,NAME,ID\na,A,b\n', 'T:1:1: the column "ID" is there twice'],
  ['ID,NAME\na,A\nb\n', 'T:3:1: this row has 1 value, and T:1 has 2: "ID, NAME"'],
  ['ID,NAME\na,A,x\n', 'T:2:1: this row has 3 values, and T:1 has 2: "ID, NAME"'],
  ['ID,NAME\na,A\n"b,B\n', 'T:3:1: invalid CSV: a quote is opened, and not closed'],
  ['ID,NAME\na,A\n"b"b,B\n', 'T:3:1: invalid CSV: a quote is closed, and the value goes on'],
  ['ID,NAME\na,A"A"\n', 'T:2:1: invalid CSV: a quote stands within a value that does not begin with one'],
  ['ID,NAME\na,"A\nA"\n,B\n', 'F:1:20 (T:4): "external_space_id" must not be empty'],
  ['ID,NAME\n\n\n a,A\n', 'F:1:20 (T:4): "external_space_id" must not start or end with white space'],
  ['ID,NAME\na,A\nb,  \n', 'F:2:16 (T:3): "space.name" must not be empty'],
  ['ID\na\n', 'F:2:16 (T:2): the variable NAME is not set'],
  ['ID;NAME\na;A\n', 'F:1:20 (T:2): the variable ID is not set'],
  ['ID,NAME\na,A\nb,B\na,C\n', 'F:1:20 (T:4): the space "a" is described twice, first at F:1 (T:2)'],
  [
    'ID,NAME,ORG\na,A,yes\n',
    'F:2:40 (T:2): "space.is_org_wide" must be true or false, not the value of ORG',
    TEMPLATE.replace('description', 'is_org_wide: "${ORG}", description'),
  ],
  ['ID,NAME\na,A\nb,B\n', 'F:3:1 (T:3): unknown key "agent"', TEMPLATE.replace('agents:', 'agent:')],
  [
    'PARTNER_TOKEN\nx\n',
    'F:1:20 (T:2): PARTNER_TOKEN cannot be used in a file',
    TEMPLATE.replace('ID', 'PARTNER_TOKEN'),
  ],
];

const NOT_A_ROW = 'a row must be a JSON object of texts with the keys of the first one: "ID, NAME"';

/** The same for NDJSON. */
const NDJSON_MISTAKES: readonly (readonly [ndjson: string, message: string])[] = [
  ['{"ID":"a","NAME":7}', `T:1:1: ${NOT_A_ROW}`],
  ['{"ID":"a","NAME":"A"}\n{"ID":"b","NAM":"B"}', `T:2:1: ${NOT_A_ROW}`],
  ['{"ID":"a","NAME":"A"}\n\n{"ID":"b","NAME":"B","ORG":"x"}', `T:3:1: ${NOT_A_ROW}`],
  ['{"ID":"a","NAME":"A"}\n[]', `T:2:1: ${NOT_A_ROW}`],
  ['{"ID":"a","NAME":"A"}\n{"ID":"b"', 'T:2:1: invalid JSON'],
];

describe('A mistake in rows', () => {
  test.each([
    ...MISTAKES.map(([csv, message, template = TEMPLATE]) => ['customers.csv', csv, message, template] as const),
    ...NDJSON_MISTAKES.map(([ndjson, message]) => ['customers.ndjson', ndjson, message, TEMPLATE] as const),
  ])('is named with both places before anything is sent: %s %j', async (name, text, message, template) => {
    const [file, rows] = [write('support.yaml', template), write(name, text)];
    const { baseUrl, requests } = await startFakeService(json([]));
    const ran = await partnerctl(baseUrl, ['provision', file, '--rows', rows]);
    const expected = message.replaceAll(/\b([FT]):/g, (_, letter) => `${letter === 'F' ? file : rows}:`);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(expected)]);
    expect(requests).toEqual([]);
  });

  test('is shown with all others, those of the table first; one of the manifest itself is shown once', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `customer-${index},${index % 100 === 7 ? ' ' : 'A'}`);
    const { rows, file, json } = await scene(`ID,NAME\nragged\n${names.join('\n')}\n`);
    const { problems } = (await json(['plan'])).error().details as { problems: readonly object[] };
    expect(problems).toMatchObject([
      { source: rows, line: 2 },
      ...[10, 110, 210].map((line) => ({ source: file, line: 2, row: `${rows}:${line}` })),
    ]);
    writeFileSync(file, TEMPLATE.replace('template_id', 'template'));
    writeFileSync(rows, `ID,NAME\n${names.join('\n')}\n`);
    const { stderr } = await run(['plan', file, '--rows', rows]);
    expect(stderr).toContain(`${file}:4:7 (${rows}:2 and 299 more rows): unknown key "template"`);
    expect(stderr.match(/unknown key/g)).toHaveLength(1);
  });

  test('is an annotation at the line of the manifest in GitHub Actions, as is what the service refuses', async () => {
    const { it, directory, rows, command } = await scene('ID,NAME\n,A\n');
    const env = { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: directory };
    expect((await command(['provision'], env)).stderr).toContain(
      `::error file=support.yaml,line=1,col=20,title=partnerctl provision::${rows}:2: "external_space_id" must not be empty`,
    );
    writeFileSync(rows, 'ID,NAME\na,A\n');
    await it.faults({ kind: 'status', status: 422, on: 'POST' });
    const refused = await command(['provision'], env);
    expect(refused.stderr).toMatch(/^::error file=support\.yaml,line=\d,title=partnerctl provision::a: /m);
  });
});

describe('The value of a variable', () => {
  test('is that of --var, else of the row, else of --var-file, else of the environment', async () => {
    const { directory, json } = await scene('ID,NAME\na,row\n');
    const file = write('prod.yaml', 'NAME: file\nREGION: file\n', directory);
    const of = async (...more: string[]) => {
      const ran = await json(['plan', ...more], { REGION: 'environment', NAME: 'environment' });
      const { name, description } = ran.json<Planned>().spaces[0]?.actions[0] ?? {};
      return `${name}, ${description}`;
    };
    expect(await of()).toBe('row, In environment');
    expect(await of('--var-file', file)).toBe('row, In file');
    expect(await of('--var-file', file, '--var', 'NAME=a=b', '--var=REGION=flag')).toBe('a=b, In flag');
  });

  test('that no manifest uses is one warning for each file, and no error', async () => {
    const { directory, rows, command } = await scene('ID,NAME,,OWNER,NOTE\na,A,,x,y\n');
    const file = write('prod.yaml', 'REGION: eu\nZONE: 1a\n', directory);
    const ran = await command(['provision', '--check', '--var-file', file]);
    expect([ran.code, ran.stderr]).toEqual([
      0,
      `warning: No manifest uses these variables in ${file}: ZONE\nwarning: No manifest uses these columns of ${rows}: OWNER, NOTE\n`,
    ]);
  });

  test('from a file for another service is refused, and the file is checked like a manifest', async () => {
    const { it, directory, command } = await scene('ID,NAME\na,A\n');
    const file = write('prod.yaml', 'service: https://api.example.com/v1/\nREGION: eu\n', directory);
    const { code, stderr } = await command(['provision', '--var-file', file]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${file} are for https://api.example.com/v1, not for ${it.env.PARTNER_BASE_URL}`);
    writeFileSync(file, `service: ${it.env.PARTNER_BASE_URL}\nREGION: eu\n`);
    expect((await command(['plan', '--var-file', file])).code).toBe(0);
    writeFileSync(file, 'REGION: 7\nZONE: [a]\n');
    const wrong = await command(['plan', '--var-file', file]);
    expect(wrong.stderr).toContain(`${file}:1:9: "REGION" must be text, not 7`);
    expect(wrong.stderr).toContain(`${file}:2:7: "ZONE" must be text, not a list`);
    expect(await it.posts()).toEqual([]);
  });
});

test('chat test takes rows for its manifests, and a file of variables for its conversations', async () => {
  const { it, directory, file, rows, command } = await scene('ID,NAME\na,A\nb,B\n');
  expect((await command(['provision', '--quiet'])).code).toBe(0);
  for (const id of ['a', 'b']) await run(['chat', 'setup', `ext:${id}`, 'name:Support'], { env: it.env });
  const talk = write('talk.yaml', 'turns: [{ say: "Hello ${WHO}", expect: [{ contains: hello ada }] }]\n', directory);
  const variables = write('prod.yaml', 'WHO: Ada\n', directory);
  const words = ['chat', 'test', talk, '--var-file', variables, '--agent', 'name:Support', '--dry-run'];
  const ran = await run([...words, '--manifests', file, '--rows', rows, '-o', 'json'], { env: it.env });
  expect([ran.stderr, ran.json()]).toEqual(['', { conversations: 1, spaces: 2, sessions: 2 }]);
  const alone = await run([...words, '--space', 'ext:a', '--rows', rows], { env: it.env });
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--rows needs --manifests.') });
});

test('export reads existing files with a file of variables', async () => {
  const { it, directory } = await scene('');
  const customers = join(directory, 'support.yaml');
  writeFileSync(customers, TEMPLATE);
  const variables = write('prod.txt', 'ID: a\nNAME: A\nREGION: eu\n', directory);
  const env = it.env;
  expect((await run(['provision', customers, '--var-file', variables], { env, random: tinyRandom })).code).toBe(0);
  const ran = await run(['export', '--out', directory, '--var-file', variables, '-o', 'json'], { env });
  expect(ran.json()).toMatchObject([{ file: customers, status: 'unchanged' }]);
  expect(readFileSync(customers, 'utf8')).toBe(TEMPLATE);
});

test('A variable that is empty in the environment or in --var is refused where it has no default: it would name another customer', async () => {
  const { env, posts } = await service();
  const path = write('a.yaml', manifest('acme-${REGION}'));
  const unset = await run(['provision', path], { env: { ...env, REGION: '' } });
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('the variable REGION is not set') });
  const empty = await run(['provision', path, '--var', 'REGION='], { env });
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('--var REGION is empty.') });
  expect(await posts()).toEqual([]);
  const optional = write('b.yaml', manifest('acme${REGION:-}'));
  expect((await run(['plan', optional, '-o', 'json'], { env: { ...env, REGION: '' } })).json()).toMatchObject({
    spaces: [{ external_space_id: 'acme' }],
  });
});
