import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkLeaf } from '../../../../src/contract/check-leaf.ts';
import { Contract } from '../../../../src/contract/contract.ts';
import { type Exchange, readExchange } from '../../../../src/contract/learn/exchange.ts';
import { proposeFromTrace } from '../../../../src/contract/learn/propose.ts';
import { pathsIn, replaceAt } from '../../../support/json-paths.ts';
import { propertyRuns } from '../../../support/property-runs.ts';
import '../../../support/seed.ts';

const SERVICE = { origin: 'http://127.0.0.1:9', basePath: '/v1' };
const SESSION = { source: 'src_1', conversation: 's-1' };

/** The requests and responses of a service with its own conventions. */
const RECORDS: readonly Record<string, unknown>[] = [
  {
    path: '/v1/automation/spaces/',
    response_body: { rows: [{ ref: 's1', customerRef: 'acme', title: 'Acme' }], cursor: 'c2' },
  },
  {
    path: '/v1/automation/spaces/',
    query: { cursor: 'c2' },
    response_headers: { Link: '</v1/automation/spaces/?page=2>; rel="next"' },
    response_body: { rows: [{ ref: 's2', customerRef: 'beta', title: 'Beta' }], cursor: null },
  },
  { path: '/v1/automation/spaces/s1/agents/', response_body: [{ uuid: 'a1', templateId: 't1', name: 'Helper' }] },
  {
    method: 'POST',
    path: '/v1/integrations/api-chat/message/',
    request_body: { ...SESSION, content: 'Hello' },
    response_body: { data: { id: 'm1' } },
  },
  {
    path: '/v1/integrations/api-chat/history/',
    query: SESSION,
    response_body: { messages: [{ id: 'm1', by: 'visitor', content: 'Hello', conversation: 's-1', ts: 1 }] },
  },
  { path: '/v1/automation/partner-cron-jobs/', response_body: { jobs: [{ _id: 'c1', label: 'Daily', agent: 'a1' }] } },
  { method: 'POST', path: '/v1/automation/documents/', request_form: ['upload'], response_body: { key: 'd1' } },
].map((record) => ({ method: 'GET', origin: SERVICE.origin, status: 200, query: {}, response_headers: {}, ...record }));

/** Records and bodies as parsed JSON has them, in which `__proto__` is a key like any other. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e300, '', [], [[]], {}, 'GET', '/v1/', '/v1/%00/..//', '\u001b[2J'),
  fc
    .constantFrom(
      '{"__proto__": {"id": 1}}',
      '{"constructor": [{"id": "x"}]}',
      '[{"id": {"id": {}}}]',
      '{"toString": 1}',
    )
    .map(JSON.parse),
  fc.array(
    fc.dictionary(fc.constantFrom('id', 'name', 'a.b', 'a|b', 'x,y', ':', 'next', ' '), fc.jsonValue(), {
      noNullPrototype: true,
    }),
    {
      maxLength: 3,
    },
  ),
  fc.jsonValue(),
);

function readAll(records: unknown): readonly Exchange[] {
  return (Array.isArray(records) ? records : []).flatMap((record: unknown, index) => {
    const read = readExchange(record, index + 1, SERVICE, {});
    return read.kind === 'exchange' ? [read.exchange] : [];
  });
}

function expectValid(exchanges: readonly Exchange[]): void {
  const { proposals, ambiguous } = proposeFromTrace(exchanges, new Contract(), SERVICE);
  const candidates = ambiguous.flatMap(({ leaf, candidates: found }) => found.map(({ value }) => ({ leaf, value })));
  for (const { leaf, value } of [...proposals, ...candidates]) expect(() => checkLeaf(leaf, value)).not.toThrow();
}

test('recorded traffic yields leaves', () => {
  const { proposals } = proposeFromTrace(readAll(RECORDS), new Contract(), SERVICE);
  expect(proposals.map(({ leaf }) => leaf)).toEqual(expect.arrayContaining(['space.id', 'spaces.list.next']));
});

test('modified traffic yields valid values of leaves, and never an error', () => {
  const paths = pathsIn(RECORDS);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), odd), { minLength: 1, maxLength: 6 }), (replacements) => {
      let changed: unknown = RECORDS;
      for (const [index, by] of replacements) changed = replaceAt(changed, paths[index % paths.length] ?? [], by);
      expectValid(readAll(changed));
    }),
    { numRuns: propertyRuns(25) },
  );
});

test('traffic with arbitrary names yields valid values of leaves, and never an error', () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom('__proto__', 'toString', 'a.b', '$', 'auto'),
  );
  fc.assert(
    fc.property(name, name, name, (list, id, next) => {
      const path = '/v1/automation/spaces/';
      const page = (item: string, token: unknown): unknown =>
        JSON.parse(
          `{${JSON.stringify(list)}: [{${JSON.stringify(id)}: "${item}"}], ${JSON.stringify(next)}: ${token}}`,
        );
      const record = { method: 'GET', origin: SERVICE.origin, path, status: 200, response_headers: {} };
      expectValid(
        readAll([
          { ...record, query: {}, response_body: page('s1', '"c2"') },
          { ...record, query: { [next]: 'c2' }, response_body: page('s2', null) },
        ]),
      );
    }),
    { numRuns: propertyRuns(20) },
  );
});
