import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createGate, type Handler, json } from '../support/fake-service.ts';
import { fasterClock, manualSignals, type Ran, type RunOptions } from '../support/run.ts';
import { write } from '../support/service.ts';
import { accept, completed, sendId, smallFile, startUploads, statusesOf } from '../support/uploads.ts';

/* What the state records of uploads guards them between runs, and between processes. */

it('The record of an upload stands until --force has made another, whatever becomes of that', async () => {
  let during = '';
  const { service, upload, state } = await startUploads([
    accept,
    (request, response, count) => {
      during = readFileSync(state, 'utf8');
      return json({}, 422)(request, response, count);
    },
    accept,
  ]);
  const path = smallFile();
  await upload([path]);
  expect((await upload([path, '--force'])).code).toBe(1);
  const after = readFileSync(state, 'utf8');
  for (const text of [during, after]) {
    writeFileSync(state, text);
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'skipped' }]);
  }
  expect((await upload([path, '--force'])).json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
  expect((await upload([path])).json()).toMatchObject([{ id: 'att_3', status: 'skipped' }]);
  expect(service.requests).toHaveLength(3);
});

describe('A file that another process is uploading', () => {
  /** A clock whose waits are counted by `onSleep`. */
  function watchSleep(onSleep: (count: number) => void): RunOptions['clock'] & {} {
    const clock = fasterClock(1);
    let count = 0;
    return {
      ...clock,
      sleep: (ms, signal) => {
        count += 1;
        onSleep(count);
        return clock.sleep(ms, signal);
      },
    };
  }

  it('is waited for with --force, too, and then sent once', async () => {
    const gate = createGate();
    // The first response arrives only after the second process has checked several times.
    const clock = watchSleep((count) => count === 4 && gate.open());
    let second: Promise<Ran> | undefined;
    const first: Handler = async (_, response) => {
      second = upload([path, '--force'], { clock });
      await gate.pass();
      sendId(response, 'att_1');
    };
    const { service, upload } = await startUploads([first, accept]);
    const path = smallFile();
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
    expect((await second)?.json()).toMatchObject([{ id: 'att_2', status: 'uploaded' }]);
    expect(completed(service)).toEqual([true, true]);
  });

  it('is waited for and then skipped, for twelve files concurrently', async () => {
    const paths = Array.from({ length: 12 }, (_, index) => write(`${index}.txt`, String(index)));
    const args = [...paths, '--concurrency', '12'];
    const gate = createGate();
    const clock = watchSleep((count) => count === 2 && gate.open());
    let second: Promise<Ran> | undefined;
    const { service, upload, records } = await startUploads(async (request, response, count) => {
      if (count === paths.length) second = upload(args, { clock });
      await gate.pass();
      await accept(request, response, count);
    });
    expect((await upload(args)).code).toBe(0);
    const other = await second;
    expect(other?.code).toBe(0);
    expect(other && statusesOf(other)).toEqual(paths.map(() => 'skipped'));
    expect(service.requests).toHaveLength(12);
    expect(new Set(await records())).toEqual(new Set(['reserved', 'created']));
  });

  it('is no longer waited for after Ctrl-C', async () => {
    const signals = manualSignals();
    const gate = createGate();
    const clock = watchSleep((count) => {
      // A process that kept waiting would find the file uploaded.
      if (count > 1) gate.open();
      else signals.ctrlC();
    });
    let second: Promise<Ran> | undefined;
    const { upload } = await startUploads(async (_, response) => {
      second = upload([path], { signals, clock });
      void second.then(gate.open);
      await gate.pass();
      sendId(response, 'att_1');
    });
    const path = smallFile();
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
    const ran = await second;
    expect(ran?.code).toBe(130);
    expect(ran?.json()).toMatchObject([{ id: null, status: 'failed', error: { type: 'interrupted' } }]);
  });
});
