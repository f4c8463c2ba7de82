import { expect } from 'vitest';
import { testKills } from '../support/kill.ts';
import { fastClock, type Ran, run } from '../support/run.ts';
import { type Service, write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';
import type { Kept, UploadAnswer } from '../support/uploads.ts';

/** More than is read at a time. */
const FILE_BYTES = 600_000;

/** The ids under which the service has a file. */
async function idsOf(sandbox: Service, name: string): Promise<string[]> {
  const uploads: Kept[] = (await sandbox.admin('GET', '/uploads')).json.uploads;
  return uploads.filter(({ filename }) => filename === name).map(({ file_attachment_id: id }) => id ?? '');
}

/** Checks that a run reports the truth, if it got as far as its result. */
function expectReportedIdsExist(stdout: string, ids: readonly string[]): void {
  const [result] = stdout.endsWith(']\n') ? (JSON.parse(stdout) as UploadAnswer[]) : [];
  if (result?.id) expect(ids).toContain(result.id);
}

testKills({
  name: 'upload',
  title: 'leaves no file twice, and none that the next run neither skips nor calls unknown',
  stages: ['nothing yet', 'reserved', 'reserved, and uploaded', 'uploaded and recorded'],
  prepareOn: async (sandbox) => async (label, env) => {
    const name = `${label}.bin`;
    const args = ['upload', write(name, Buffer.alloc(FILE_BYTES, label)), '-o', 'json'];

    const next = async (more: readonly string[], code: number): Promise<Ran> => {
      // Waits for the lease of the run that was killed.
      const ran = await run([...args, ...more], { env, clock: fastClock() });
      expect(ran.code, ran.stderr).toBe(code);
      expectReportedIdsExist(ran.stdout, await idsOf(sandbox, name));
      return ran;
    };

    /** Uploads the file as a person would, who cannot know whether an upload that was killed arrived. */
    const finish = async (stage: string): Promise<number> => {
      const isUnknown = stage.startsWith('reserved');
      await next([], isUnknown ? 9 : 0);
      expect((await idsOf(sandbox, name)).length).toBeLessThanOrEqual(1);
      if (isUnknown) await next(['--retry-unknown'], 0);
      expect((await next([], 0)).json()).toMatchObject([{ status: 'skipped' }]);
      const copies = (await idsOf(sandbox, name)).length;
      expect(copies).toBeGreaterThan(0);
      return Math.max(0, copies - 1 - (isUnknown ? 1 : 0));
    };

    const stageOf = async ({ stdout }: { readonly stdout: string }) => {
      const ids = await idsOf(sandbox, name);
      expectReportedIdsExist(stdout, ids);
      const types = await recordTypes(env.PARTNER_STATE ?? '');
      if (types.includes('upload.created')) return 'uploaded and recorded';
      // A file that has arrived was reserved before.
      if (types.length === 0) expect(ids).toEqual([]);
      if (types.length === 0) return 'nothing yet';
      return ids.length === 0 ? 'reserved' : 'reserved, and uploaded';
    };
    return { args, env, stageOf, finish };
  },
});
