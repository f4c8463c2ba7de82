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
  expect(failed.error().hint).toContain('The job was not sent');
  expect(service.posts()).toEqual([]);
  expect((await readJobLog(state)).records).toEqual([]);
});

it('a list of jobs that was read before does not count as absent after 404', async () => {
  const service = await startFakeService({ 'GET *': json([]), 'POST *': json({ id: 'c1' }, 201) });
  const state = newState();
  const run = (args: readonly string[]) => partnerctl(service.baseUrl, [...args, '--state', state]);
  expect((await run(createArgs('a1', 'daily'))).code).toBe(0);
  service.respond(json({ message: 'No.' }, 404));
  const failed = await run(createArgs('a1', 'weekly'));
  expect(failed.code).toBe(8);
  expect(failed.error().message).toBe('Cannot read the list of jobs (404), but it was read before.');
  expect(failed.error().hint).toContain('check the base URL');
  expect((await run(createArgs('a1', 'daily', '--ensure'))).json()).toMatchObject({ status: 'exists' });
  expect((await run(['cron', 'reconcile', '-o', 'json'])).code).toBe(0);
  expect(service.posts()).toHaveLength(1);
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
