import * as v from 'valibot';
import { expect, test } from 'vitest';
import { readYaml } from '../../../src/yaml/check.ts';

const schema = v.array(
  v.strictObject({
    name: v.string(),
    every: v.pipe(v.number(), v.minValue(1, 'must be at least 1')),
    on: v.exactOptional(v.boolean()),
  }),
);

const readList = (text: string) =>
  readYaml([{ name: 'list.yaml', text }], {
    schema,
    lookup: (name) => ({ ON: 'true' })[name],
    other: { key: 'other', hint: '' },
  });

test('a schema with a list at the top level accepts a valid document, and reports all problems of another', () => {
  expect(readList('- name: a\n  every: 2.5\n  on: ${ON}\n- {name: b, every: 3}\n')).toMatchObject({
    documents: [{ source: 'list.yaml:1', value: [{ name: 'a', every: 2.5, on: true }, { name: 'b' }] }],
    problems: [],
  });
  const { problems } = readList(
    '- name: a\n  evry: 2\n- {name: b, every: 0}\n- {name: c, every: x, on: 1}\n---\na: b\n',
  );
  expect(problems.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
    '2:3 unknown key "evry"',
    '3:20 "[1].every" must be at least 1',
    '4:20 "[2].every" must be a number, not "x"',
    '4:27 "[2].on" must be true or false, not 1',
    '6:1 this document must be a list, not a mapping',
  ]);
});
