import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { partnerctl, type Ran, type RunOptions, tempDirectory } from '../support/run.ts';
import type { OddService } from './odd-service.ts';

export interface Provisioned {
  results: {
    external_space_id: string;
    space_id: string | null;
    status: string;
    agents: { agent_id: string | null; name: string; status: string }[];
    error?: { type: string; message: string };
  }[];
  summary: Record<string, number>;
}

export const AGENTS = ['Sales', 'Support', 'Triage'];

export function manifest(externalId: string, agents: readonly string[] = AGENTS): string {
  const lines = agents.map((name) => `  - { template_id: tmpl_${name.normalize('NFC').toLowerCase()}, name: ${name} }`);
  return `external_space_id: ${externalId}\nspace: { name: ${externalId}, description: x }\nagents:\n${lines.join('\n')}\n`;
}

/** A separate machine: a home with its state file, and the manifest. */
export function machine(
  text: string,
  options: RunOptions = {},
): (service: { baseUrl: string }, ...flags: string[]) => Promise<Ran> {
  const home = tempDirectory();
  const file = join(home, 'manifest.yaml');
  writeFileSync(file, text);
  return ({ baseUrl }, ...flags) =>
    partnerctl(baseUrl, ['provision', file, '-o', 'json', ...flags], { ...options, env: { HOME: home } });
}

export function expectDone(service: OddService, ran: Ran, externalIds: readonly string[]): void {
  expect({ code: ran.code, stderr: ran.stderr.replace(/^note: .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
  for (const id of externalIds) expect({ id, agents: service.agentNames(id) }).toEqual({ id, agents: AGENTS });
  for (const result of ran.json<Provisioned>().results) {
    const space = service.spaces.get(result.external_space_id);
    expect(result.space_id).toMatch(new RegExp(`${space?.id}$`));
    for (const agent of result.agents) {
      const there = space?.agents.find(({ name }) => name === agent.name);
      expect(agent.agent_id).toMatch(new RegExp(`${there?.id}$`));
    }
  }
}
