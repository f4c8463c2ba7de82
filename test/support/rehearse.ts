import { run } from './run.ts';

/** The JSON of a rehearsal. */
export interface Report {
  readonly seeds: readonly {
    readonly seed: number;
    readonly runs: number;
    readonly killed_at: number | null;
    readonly problems: readonly { readonly kind: string; readonly message: string }[];
  }[];
  readonly summary: Readonly<Record<string, unknown>>;
}

/** A space with one agent, its chat, and two jobs. */
export function space(externalId: string, template = 'tmpl_support'): string {
  const jobs = ['daily', 'nightly'].map(
    (name, hour) => `{ name: ${name}, instructions: Look., schedule: '0 ${hour} * * *' }`,
  );
  const agent = `{ template_id: ${template}, name: Support, chat: {}, cron: [${jobs.join(', ')}] }`;
  return `external_space_id: ${externalId}\nspace: { name: ${externalId} }\nagents: [${agent}]\n`;
}

/** Rehearses a file. */
export const rehearse = (path: string, more: readonly string[], options: Parameters<typeof run>[1] = {}) =>
  run(['sandbox', 'rehearse', path, ...more], options);
