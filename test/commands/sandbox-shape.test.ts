import { expect, test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { run } from '../support/run.ts';

/** A program that fails unless its sandbox responds in camelCase. */
const EXPECT_CAMEL = `
  const document = await (await fetch(process.env.PARTNER_BASE_URL + '/openapi.json')).json();
  process.exit('spaceId' in document.components.schemas.Space.properties ? 0 : 1);
`;

test('--shape makes the sandbox respond in another convention', async () => {
  const child = [process.execPath, '--input-type=module', '-e', EXPECT_CAMEL];
  expect(await run(['sandbox', 'run', '--shape', 'camel', '--', ...child])).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['sandbox', 'run', '--', ...child])).toMatchObject({ code: 1 });
});

test.each([
  ['jsonapi', 'Did you mean json-api? List the shapes with: partnerctl sandbox shapes'],
  ['nothing-like-it', 'List the shapes with: partnerctl sandbox shapes'],
])('an unknown shape, %s, exits with 2 and a suggestion, and nothing starts', async (name, hint) => {
  const ran = await run(['sandbox', 'run', '--shape', name, '-o', 'json', '--', 'false']);
  expect(ran.code).toBe(2);
  expect(ran.error()).toMatchObject({ type: 'usage', message: `There is no shape "${name}".`, hint });
});

test('sandbox shapes lists every shape with a description', async () => {
  const ran = await run(['sandbox', 'shapes', '-o', 'json']);
  expect(ran.json()).toEqual(SHAPES.map(({ name, description }) => ({ name, description })));
  const lines = (await run(['sandbox', 'shapes'])).stdout.trimEnd().split('\n');
  expect(lines).toEqual(SHAPES.map(({ name, description }) => `${name}\t${description}`));
});
