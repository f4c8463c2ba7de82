import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { partnerctl, tempDirectory } from '../support/run.ts';
import { manifest } from '../support/service.ts';
import { readJobLog } from '../support/state-file.ts';

const newState = () => join(tempDirectory(), 'state.jsonl');

it.each([
  [402, 6],
  [429, 7],
])('a list of jobs that fails with %i stops a creation before anything is written', async (status, code) => {
  const [state, service] = [newState(), await startFakeService(json({ message: 'No.' }, status))];
  const failed = await partnerctl(service.baseUrl, [...createArgs('a1', 'daily'), '--state', state]);
  expect(failed).toMatchObject({ code, stdout: '' });
  expect(failed.stderr).toContain('the list of jobs');
  expect(failed.error().hint).toContain('was not sent');
  expect(service.posts()).toEqual([]);
  expect((await readJobLog(state)).records).toEqual([]);
});

it('provision sends nothing if a later page is denied', async () => {
  const first = { results: [{ space_id: 's9', external_space_id: 'other' }], next: '?page=2' };
  const service = await startFakeService((request, response) =>
    request.query.has('page') ? sendJson(response, { message: 'No.' }, 403) : sendJson(response, first),
  );
  const ran = await partnerctl(service.baseUrl, ['provision', '-', '-o', 'json'], { stdin: manifest('acme') });
  expect(ran.code).toBe(8);
  expect(ran.error().message).toContain('the list of spaces (403)');
  expect(service.posts()).toEqual([]);
});
