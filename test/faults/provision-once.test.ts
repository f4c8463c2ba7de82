import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fastClock, tempDirectory } from '../support/run.ts';
import { type Habits, type OddService, oddService } from './odd-service.ts';
import { AGENTS, expectDone, machine, manifest, type Provisioned } from './provisioning.ts';

/* Against a service that installs the named agents again on every POST. */

describe('a document that fails after a lost request had installed some agents', () => {
  it('names only the agents of the last request', async () => {
    const service = await oddService({
      trouble: ({ method }, count) => {
        if (method !== 'POST') return undefined;
        return count === 1 ? 'reset after' : 405;
      },
      // The first request installs one agent only.
      beforeAnswer: async () => void service.spaces.get('acme-1')?.agents.splice(1),
    });
    const ran = await machine(manifest('acme-1'), { clock: fastClock() })(service);
    const [result] = ran.json<Provisioned>().results;
    expect(result?.agents.map(({ status }) => status)).toEqual(['created', 'failed', 'failed']);
    expect(result?.error?.message).toMatch(/^The agents "Support", "Triage" cannot be installed: /);
  });
});

it('A list that fails after a lost request is not said to have come before everything: something may have been sent', async () => {
  let posted = false;
  const service = await oddService({
    trouble: ({ method }) => {
      if (method === 'POST') posted = true;
      else if (posted) return 503;
      return method === 'POST' ? 'reset after' : undefined;
    },
  });
  const ran = await machine(manifest('acme-1'), { clock: fastClock() })(service);
  expect(ran.stderr).toContain('the space may or may not have been provisioned');
  expect(ran.stderr).not.toContain('Nothing was sent');
});

describe('a name in another Unicode form', () => {
  it('does not cause a second installation if the service composes it, even without the state file', async () => {
    const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
    const service = await oddService({
      item: (resource, id, fields) => ({
        [`${resource}_id`]: `${resource}-${id}`,
        ...fields,
        ...(resource === 'agent' && { name: String(Object(fields).name).normalize('NFC') }),
      }),
    });
    for (const names of [[decomposed], [composed], [decomposed, AGENTS[0] ?? '']]) {
      expect((await machine(manifest('acme-1', names))(service)).code).toBe(0);
    }
    expect(service.spaces.get('acme-1')?.agents.map(({ name }) => name)).toEqual([decomposed, AGENTS[0]]);
  });
});

/** Gives the only space of a service another external id. @returns the space */
function renameOnly({ spaces }: OddService, external_space_id: string) {
  const [space] = spaces.values();
  if (!space) throw new Error('no space');
  spaces.clear();
  spaces.set(external_space_id, { ...space, external_space_id });
  return space;
}

describe('an external_space_id that the service lists in another form', () => {
  it.each<[string, (id: unknown) => string | null]>([
    ['in lower case', (id) => String(id).toLowerCase()],
    ['with a prefix', (id) => `partner-7:${id}`],
    ['as null', () => null],
  ])('%s does not cause a second installation: the recorded space_id shows that the space exists', async (_, shown) => {
    const item: Habits['item'] = (resource, id, fields) => ({
      [`${resource}_id`]: `${resource}-${id}`,
      ...fields,
      ...('external_space_id' in fields && { external_space_id: shown(fields.external_space_id) }),
    });
    const service = await oddService({ item });
    const provision = machine(manifest('ACME-1'));
    expectDone(service, await provision(service), ['ACME-1']);
    const again = await provision(service);
    expectDone(service, again, ['ACME-1']);
    expect(again.json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts()).toHaveLength(1);
  });

  it('is shown as a difference, so that the manifest can be corrected', async () => {
    const item: Habits['item'] = (resource, id, fields) => ({
      [`${resource}_id`]: `${resource}-${id}`,
      ...fields,
      ...('external_space_id' in fields && { external_space_id: String(fields.external_space_id).toLowerCase() }),
    });
    const service = await oddService({ item });
    const provision = machine(manifest('ACME-1'));
    expectDone(service, await provision(service), ['ACME-1']);
    const plan = await provision(service, '--dry-run');
    expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([
      { action: 'none', differences: [{ field: 'external_space_id', service: 'acme-1', manifest: 'ACME-1' }] },
    ]);
  });

  it('does not hide that the space now belongs to another document', async () => {
    const service = await oddService();
    const state = join(tempDirectory(), 'state.jsonl');
    expectDone(service, await machine(manifest('acme-1'))(service, '--state', state), ['acme-1']);
    renameOnly(service, 'acme-2');
    const both = machine(`${manifest('acme-1')}---\n${manifest('acme-2')}`, { clock: fastClock() });
    expectDone(service, await both(service, '--state', state), ['acme-1', 'acme-2']);
    expect(service.posts()).toHaveLength(2);
  });

  it('does not hide a new document with the id that a renamed space had', async () => {
    const service = await oddService();
    const state = join(tempDirectory(), 'state.jsonl');
    expectDone(service, await machine(manifest('acme'))(service, '--state', state), ['acme']);
    renameOnly(service, 'acme-old');
    expectDone(service, await machine(manifest('acme-old'))(service, '--state', state), ['acme-old']);
    const again = await machine(manifest('acme'), { clock: fastClock() })(service, '--state', state);
    expectDone(service, again, ['acme-old', 'acme']);
    expect(again.json<Provisioned>().results).toMatchObject([{ status: 'created' }]);
    expect(service.posts()).toHaveLength(2);
  });
});
