import { expect } from 'vitest';
import { type Cron, createCronAgent } from './cron.ts';
import { errorIn, type Ran, run, tempDirectory } from './run.ts';
import { type Service, service } from './service.ts';
import { readJobLog } from './state-file.ts';

/* A service whose jobs several machines create with one shared state. */

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Site {
  readonly sandbox: Service;
  readonly cron: Cron;
  /** Runs a command with the state, on a machine that has not used it before unless HOME says which. */
  run(args: readonly string[], machine?: Variables): Promise<Ran>;
  /** Creates a job. */
  create(name: string, machine?: Variables): Promise<Ran>;
  /** Checks that each job exists once, and that the state has each, and nothing that cannot be read. */
  expectJobs(...names: string[]): Promise<void>;
}

/** A service, and a state for its jobs. */
export async function openSite(address: string, variables: Variables = {}): Promise<Site> {
  const sandbox = await service();
  const cron = await createCronAgent(sandbox);
  const common = { PATH: process.env.PATH, ...variables };
  const act: Site['run'] = (args, machine = {}) =>
    run([...args, '--state', address], { env: { ...sandbox.env, HOME: tempDirectory(), ...common, ...machine } });
  return {
    sandbox,
    cron,
    run: act,
    create: (name, machine) => act(cron.create(name), machine),
    async expectJobs(...names) {
      const jobs = await cron.jobs();
      expect(jobs.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
      const { ids, damage } = await readJobLog(address, common);
      expect(ids.toSorted()).toEqual(jobs.map(({ cron_job_id }) => cron_job_id).toSorted());
      expect(damage).toEqual([]);
    },
  };
}

/** What a command that failed says: its exit code, the message, the reason, and the hint. */
export function failureOf({ code, stderr }: Pick<Ran, 'code' | 'stderr'>): string {
  const error = errorIn(stderr);
  return [code, error.message, Object(error.details).why, error.hint].join(' | ');
}

/** Creates a job where that must be refused before anything is sent. @returns what the command says */
export async function refusalAt(address: string, variables: Variables = {}): Promise<string> {
  const { create, cron } = await openSite(address, variables);
  const ran = await create('daily');
  expect(await cron.posted()).toBe(0);
  return failureOf(ran);
}
