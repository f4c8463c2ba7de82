import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { tempDirectory } from './run.ts';

/* Random fleets: spaces, agents, chats, and jobs, as manifests describe them. */

interface FleetJob {
  readonly name: string;
  readonly instructions: string;
  readonly schedule: string;
  readonly timezone?: string;
}

interface FleetAgent {
  readonly template_id: string;
  readonly name: string;
  readonly chat?: { readonly name?: string; readonly reply_capable?: boolean; readonly routing_mode?: string };
  readonly cron?: readonly FleetJob[];
}

export interface FleetSpace {
  readonly external_space_id: string;
  readonly space: { readonly name: string; readonly description?: string; readonly is_org_wide?: boolean };
  readonly agents: readonly FleetAgent[];
}

export type Fleet = readonly FleetSpace[];

/** Texts that YAML, a shell, or the tool itself could take for something else. */
const ODD = ['Support', 'null', '0123', '- x: #1', "L'été “neuf”", '日本 👩‍🚀', '${HOME} & $${x}', '*a', '!b', '@c %'];

const text = fc.constantFrom(...ODD);
const names = (most: number, least = 0) =>
  fc
    .uniqueArray(fc.tuple(text, fc.nat(9)), { minLength: least, maxLength: most, selector: String })
    .map((pairs) => pairs.map(([odd, number]) => `${odd} ${number}`));

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 1 });

/** Leaves out what is undefined, as YAML does. */
function record<Fields extends object>(fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) {
  return fc.record(fields).map((made) => JSON.parse(JSON.stringify(made)) as Fields);
}

const jobFields = fc.record({
  instructions: fc.constantFrom('Look.', 'One\nTwo  \n\n# Three\n', 'Say ${NAME}: "yes"', '  indented\n\ttab'),
  schedule: fc.constantFrom('0 9 * * *', '*/15 8-18 * * 1-5', '30 0 * * 0,6', '0 0 * * *'),
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York'),
});

const jobs = names(2).chain((list) =>
  fc.tuple(...list.map((name) => jobFields.map((fields): FleetJob => ({ name, ...fields })))),
);

const chat = record<NonNullable<FleetAgent['chat']>>({
  name: maybe(text),
  reply_capable: maybe(fc.boolean()),
  routing_mode: maybe(fc.constantFrom('agent_inbox', 'session_workflow')),
});

const agents = names(3, 1).chain((list) =>
  fc.tuple(
    ...list.map((name) =>
      record<FleetAgent>({
        template_id: fc.constantFrom('tmpl_support', 'tmpl_sales', 'tmpl_billing'),
        name: fc.constant(name),
        chat: maybe(chat),
        cron: jobs,
      }),
    ),
  ),
);

const space = record<Omit<FleetSpace, 'external_space_id'>>({
  space: record<FleetSpace['space']>({
    name: text,
    description: maybe(fc.constantFrom('', 'Orders: #1', 'Two\nlines\n')),
    is_org_wide: maybe(fc.boolean()),
  }),
  agents,
});

/** One to four spaces. */
export const fleets: fc.Arbitrary<Fleet> = fc
  .array(space, { minLength: 1, maxLength: 4 })
  .map((list) => list.map((each, index) => ({ external_space_id: `customer-${index + 1}`, ...each })));

/** A fleet as YAML that provisions exactly it. */
export function fleetYaml(fleet: Fleet): string {
  const literal = (_: unknown, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('${', () => '$${') : value;
  return fleet.map((each) => stringify(each, literal)).join('---\n');
}

/** Writes a fleet into a file of this test. @returns its path */
export function writeFleet(fleet: Fleet, directory = tempDirectory()): string {
  const path = join(directory, 'fleet.yaml');
  writeFileSync(path, fleetYaml(fleet));
  return path;
}
