import { expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { stateFile } from '../support/job-service.ts';

it.each([
  [{ code: 'conflict', message: 'A job named "daily" already exists.' }, 5, 'duplicate'],
  [{ code: 'DUPLICATE_NAME', message: 'Choose another.' }, 5, 'duplicate'],
  [{ code: 'conflict', message: 'Name must be unique.' }, 5, 'duplicate'],
  [{ code: 'conflict', message: 'Not now.' }, 1, 'refused'],
  [{ code: 'conflict', message: 'The agent does not exist.' }, 1, 'refused'],
])('a 409 to a creation with %j exits with %i, and its name is not blocked', async (body, code, type) => {
  const service = await startFakeService({ 'GET *': json([]), 'POST *': [json(body, 409), json({ id: 'c1' }, 201)] });
  const { run } = stateFile();
  const failed = await run(service, createArgs('a1', 'daily'));
  expect(failed.code).toBe(code);
  expect(failed.error()).toMatchObject({
    type,
    status: 409,
    hint: expect.stringContaining('The job was not created.'),
  });
  expect((await run(service, createArgs('a1', 'daily'))).code).toBe(0);
});
