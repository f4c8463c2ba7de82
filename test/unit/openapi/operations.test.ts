import { describe, expect, test } from 'vitest';
import { compareProposals } from '../../../src/openapi/import.ts';
import { proposeFromOpenApi } from '../../../src/openapi/propose.ts';
import { publishedAt } from '../../../src/openapi/source.ts';
import { type Data, list, object, openApi, operation, write } from '../../support/openapi-documents.ts';

const spaces = { get: operation(list(object('space_id', 'external_space_id', 'name'))) };
const jobs = { post: write(object('agent_id', 'name'), object('id')) };

/** The operations that a document states, those of them that contradict the specification, and what it leaves open. */
async function operations(paths: Data, server = 'https://api.example.com/v1', basePath = '/v1') {
  const document = openApi(paths, {}, { servers: [{ url: server }] });
  const { proposals, questions } = await proposeFromOpenApi(document, basePath);
  const { changes } = compareProposals(proposals, {}, true);
  const found = proposals.filter(({ value }) => /^(GET|POST|PUT) /.test(value));
  return {
    found: found.map(({ leaf, value }) => `${leaf} ${value}`),
    conflicts: changes.filter(({ status }) => status === 'conflict').map(({ new: value }) => value),
    questions: questions.map(({ message }) => message),
  };
}

describe('An operation is found by the path of the specification', () => {
  test.each([
    ['as it is', '/automation/spaces/', 'https://api.example.com/v1', '/v1'],
    ['with the version in the path', '/v1/automation/spaces/', 'https://api.example.com', '/v1'],
    ['behind a prefix that may be the base', '/internal/automation/spaces/', '/', '/v1'],
  ])('%s', async (_, path, server, basePath) => {
    const found = ['spaces.list GET /automation/spaces/'];
    expect(await operations({ [path]: spaces }, server, basePath)).toEqual({ found, conflicts: [], questions: [] });
  });

  test('where a missing trailing slash is no conflict, and a path below the base that the specification lacks is one', async () => {
    expect(await operations({ '/automation/spaces': spaces, '/automation/partner-cron-jobs': jobs })).toMatchObject({
      found: ['spaces.list GET /automation/spaces', 'cron_jobs.create POST /automation/partner-cron-jobs'],
      conflicts: [],
    });
    const value = 'GET /tenant/automation/spaces/';
    expect(await operations({ '/tenant/automation/spaces/': spaces })).toMatchObject({ conflicts: [value] });
    const both = { '/tenant/automation/spaces/': spaces, '/automation/spaces/': spaces };
    expect(await operations(both)).toMatchObject({ found: ['spaces.list GET /automation/spaces/'], conflicts: [] });
  });

  test('and nothing is taken of two prefixes, or by a name, a tag, or parameters', async () => {
    expect(await operations({ '/a/automation/spaces': spaces, '/b/automation/spaces': spaces }, '/')).toEqual({
      found: [],
      conflicts: [],
      questions: ['the document has several paths for spaces.list, behind different prefixes'],
    });
    const create = { ...jobs.post, operationId: 'createCronJob', tags: ['cron_jobs'] };
    const paths = { '/spaces': spaces, '/cron_jobs': { post: create }, '/automation/spaces/{id}': spaces };
    expect(await operations(paths)).toMatchObject({ found: [] });
  });
});

test.each([
  ['https://a.example/v1', ['/v1', '/latest', '']],
  ['https://a.example/api/latest', ['/api/latest', '/api/v1', '/api']],
])('The document of %s is looked for below the versioned base, the alias, and the root', (address, bases) => {
  const expected = bases.flatMap((base) => [`${base}/openapi.json`, `${base}/openapi.yaml`]);
  expect(publishedAt(new URL(address))?.map(({ pathname }) => pathname)).toEqual(expected);
  expect(publishedAt(new URL('https://a.example/docs?v=1'))).toBeUndefined();
});
