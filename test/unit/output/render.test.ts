import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/errors.ts';
import {
  type CommandResult,
  listResult,
  OUTPUT_FORMATS,
  objectResult,
  reportResult,
} from '../../../src/output/command-result.ts';
import { compileQuery } from '../../../src/output/query.ts';
import { type RenderOptions, render } from '../../../src/output/render.ts';
import { Paged } from '../../../src/platform/paged.ts';
import { memorySink } from '../../support/sinks.ts';

interface Space {
  space_id: string;
  name: string;
  tags?: string[];
}

const SPACES: Space[] = [
  { space_id: 'sp_1', name: 'Acme' },
  { space_id: 'sp_2', name: 'Bar\tbaz', tags: ['x'] },
];

const COLUMNS = [
  { header: 'ID', value: ({ space_id }: Space) => space_id },
  { header: 'NAME', value: ({ name }: Space) => name },
];

const spaces = (items: Iterable<Space> = SPACES) =>
  listResult(items, COLUMNS, { empty: 'No spaces.', summary: () => 'That was all.' });

async function rendered(result: CommandResult, options: Partial<RenderOptions> = {}, isTTY = false) {
  const stdout = memorySink({ isTTY });
  const stderr = memorySink({ isTTY });
  await render(result, { format: 'table', color: false, quiet: false, ...options }, { stdout, stderr });
  return { out: stdout.text(), err: stderr.text() };
}

const [space] = SPACES;
const object = objectResult(space, [{ header: 'NAME', value: () => 'Acme' }]);
const report = () => listResult(SPACES, COLUMNS, { empty: '', report: () => [{ indent: 0, text: 'Two spaces.' }] });
const shown = async (result: CommandResult, isTTY: boolean) => (await rendered(result, { format: 'auto' }, isTTY)).out;

it('without a format a pipe gets rows from lists, and the text of a terminal from reports and from what is about one thing', async () => {
  expect(await shown(spaces(), false)).toBe('sp_1\tAcme\nsp_2\tBar\\tbaz\n');
  expect(await shown(spaces(), true)).toBe('ID    NAME\nsp_1  Acme\nsp_2  Bar\\tbaz\n');
  for (const isTTY of [true, false]) {
    expect(await shown(object, isTTY)).toBe('NAME: Acme\n');
    expect(await shown(report(), isTTY)).toBe('Two spaces.\n');
  }
});

async function* failing(): AsyncGenerator<Space> {
  yield* SPACES;
  throw new Error('page 2 failed');
}

describe('render', () => {
  it('says in a terminal what a table leaves out, except with --wide and --quiet', async () => {
    const columns = [...COLUMNS, { header: 'HASH', value: () => 'f'.repeat(80), isOptional: true }];
    const noteOf = async (more: Partial<RenderOptions> = {}, isTTY = true) =>
      (await rendered(listResult(SPACES, columns, { empty: '' }), more, isTTY)).err;
    expect(await noteOf()).toBe('Some values are shortened or left out: --wide shows them.\n');
    for (const more of [{ wide: true }, { quiet: true }]) expect(await noteOf(more)).toBe('');
    expect(await noteOf({}, false)).toBe('');
  });

  it('shows the summary after a table, and a notice if there are no rows', async () => {
    expect(await rendered(spaces())).toEqual({
      out: 'ID    NAME\nsp_1  Acme\nsp_2  Bar\\tbaz\n',
      err: 'That was all.\n',
    });
    expect(await rendered(spaces([]))).toEqual({ out: '', err: 'No spaces.\nThat was all.\n' });
    for (const more of [{ quiet: true }, { format: 'json' }, { format: 'tsv' }] as const)
      expect((await rendered(spaces([]), more)).err).toBe('');
  });

  it.each([
    ['json', 0],
    ['yaml', 0],
    ['table', 0],
    ['ndjson', 2],
    ['tsv', 2],
  ] as const)('%s: has written %i rows of a list when it fails', async (format, count) => {
    const io = { stdout: memorySink(), stderr: memorySink() };
    const options = { format, color: false, quiet: false };
    await expect(render(listResult(failing(), COLUMNS, { empty: '' }), options, io)).rejects.toThrow('page 2 failed');
    expect(io.stdout.writes).toHaveLength(count);
  });
});

describe('render a stream', () => {
  const stream = (): CommandResult => ({
    kind: 'stream',
    events: (async function* () {
      yield { json: { role: 'user', text: 'hi' }, cells: ['user', 'hi'], text: 'you: hi' };
      yield { json: { role: 'assistant', text: 'a\nb' }, cells: ['assistant', 'a\nb'], text: 'them: a\n      b\n' };
    })(),
  });

  it.each([
    ['table', 'you: hi\nthem: a\n      b\n'],
    ['tsv', 'user\thi\nassistant\ta\\nb\n'],
    ['ndjson', '{"role":"user","text":"hi"}\n{"role":"assistant","text":"a\\nb"}\n'],
    ['yaml', '---\nrole: user\ntext: hi\n---\nrole: assistant\ntext: |-\n  a\n  b\n'],
  ] as const)('writes event by event as %s', async (format, out) => {
    expect((await rendered(stream(), { format })).out).toBe(out);
  });

  it('applies the query to each event', async () => {
    const query = "role == 'user' && text || null";
    expect((await rendered(stream(), { query })).out).toBe('hi\n');
    expect((await rendered(stream(), { query: 'text', format: 'json' })).out).toBe('"hi"\n"a\\nb"\n');
    for (const row of ['[role, text]', '{role: role, text: text}']) {
      expect((await rendered(stream(), { query: row, format: 'tsv' })).out).toBe('user\thi\nassistant\ta\\nb\n');
    }
  });

  it('refuses a query that applies to no event before the first one, and ends at the first one that it does not apply to', async () => {
    const never = { ...stream(), events: (async function* () {})(), sample: { role: '1', text: '1' } };
    const refused = (query: string) => expect(rendered(never, { query })).rejects;
    await refused('sum(text)').toMatchObject({ exitCode: 2, info: { why: expect.stringContaining('sum() expected') } });
    // What else events have is not known.
    for (const query of ['length(raw.id)', 'text']) expect((await rendered(never, { query })).out).toBe('');
    const late = rendered(stream(), { query: "role == 'user' && text || sum(text)" });
    await expect(late).rejects.toMatchObject({ exitCode: 1, info: { why: expect.stringContaining('sum() expected') } });
  });
});

/** One result of each kind, and of each way to have it. */
const RESULTS: Readonly<Record<Exclude<CommandResult['kind'], 'none'>, () => readonly CommandResult[]>> = {
  list: () => [spaces(), { ...spaces(), report: () => [{ indent: 0, text: 'Acme' }] }],
  object: () => [
    objectResult(SPACES[0], [{ header: 'NAME', value: () => 'Acme' }]),
    { ...objectResult(SPACES[0], []), text: 'Acme\n' },
    reportResult(SPACES[0], [{ indent: 0, text: 'Acme' }]),
  ],
  stream: () => [
    { kind: 'stream', events: Paged.of([{ json: SPACES[0], text: 'Acme' }]) },
    { kind: 'stream', events: Paged.of([{ json: SPACES[0], text: 'Acme', cells: ['Acme'] }]) },
  ],
  body: () => [{ kind: 'body', bytes: Buffer.from('{"name":"Acme"}'), json: { value: { name: 'Acme' } } }],
  text: () => [{ kind: 'text', text: 'Acme\n' }],
};

it.each(['auto', ...OUTPUT_FORMATS] as const)(
  '%s: shows what each kind of result has, in a pipe and in a terminal',
  async (format) => {
    for (const [kind, make] of Object.entries(RESULTS)) {
      for (const isTTY of [true, false]) {
        for (const result of make()) {
          expect((await rendered(result, { format }, isTTY)).out, kind).toContain('Acme');
        }
      }
    }
  },
);

describe('render with --query', () => {
  it.each([
    ['[].name', 'Acme\nBar\\tbaz\n'],
    ['[].[space_id, name]', 'sp_1\tAcme\nsp_2\tBar\\tbaz\n'],
    ['[1]', 'sp_2\tBar\\tbaz\t["x"]\n'],
    ['[[0].name, tags, `{"a":1}`]', 'Acme\n\n{"a":1}\n'],
  ])('shows %s as rows in a pipe', async (query, out) => {
    expect((await rendered(spaces(), { query, format: 'auto' })).out).toBe(out);
  });

  it('turns the keys of all objects into columns', async () => {
    expect(await rendered(spaces(), { query: '@' })).toEqual({
      out: 'space_id  name      tags\nsp_1      Acme\nsp_2      Bar\\tbaz  ["x"]\n',
      err: '',
    });
    expect((await rendered(spaces(), { query: '[0]' })).out).toBe('space_id: sp_1\nname:     Acme\n');
  });

  it.each([
    ['unfinished', '[].', 'Syntax error'],
    ['with an unknown function', '[?shout(name)]', 'Unknown function shout()'],
  ])('rejects an expression that is %s before the command runs', async (_name, expression, why) => {
    const error = await compileQuery(expression).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ info: { why: expect.stringContaining(why) } });
  });

  it('puts the result into the error if the query does not apply to it', async () => {
    const error = await rendered(spaces(), { query: 'length(`1`)' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ exitCode: 1, info: { details: { answer: [{}, {}] } } });
    expect(error).toMatchObject({ info: { hint: expect.stringMatching(/itself succeeded.*space_id/s) } });
    const many = listResult(
      Array.from({ length: 1000 }, () => ({ space_id: 'sp_1' })),
      [],
    );
    const long = await rendered(many, { query: 'length(`1`)' }).catch((thrown: unknown) => thrown);
    expect(long).toMatchObject({ info: { hint: 'The command itself succeeded.' } });
  });
});
