import { toNfc } from '../cron/job.ts';
import { checkSchedule, checkUniqueName } from '../cron/job-document.ts';
import type { YamlDocument } from '../yaml/document.ts';
import { quoted } from '../yaml/quote.ts';
import type { Manifest } from './manifest.ts';

/** Two documents for one space would undo each other's work. @param places where the spaces so far are described */
function checkSpace(document: YamlDocument<Manifest>, places: Map<string, string>): void {
  const path = ['external_space_id'];
  const id = document.value.external_space_id;
  const first = places.get(id);
  if (first === undefined) places.set(id, document.location(path));
  else document.report(path, `the space ${quoted(id)} is described twice, first at ${first}`);
}

/** A repeated run could not tell two agents of the same template and name apart. */
function checkAgents(document: YamlDocument<Manifest>): void {
  const places = new Map<string, string>();
  for (const [index, { template_id, name }] of document.value.agents.entries()) {
    const path = ['agents', index, 'name'];
    const key = JSON.stringify([template_id, toNfc(name)]);
    const first = places.get(key);
    if (first === undefined) places.set(key, document.location(path));
    else {
      const message = `this agent has the same template and name as the one at ${first}`;
      document.report(path, message, 'give each agent of a template a name of its own');
    }
  }
}

function checkJobs(document: YamlDocument<Manifest>): void {
  for (const [index, { cron = [] }] of document.value.agents.entries()) {
    const names = new Map<string, string>();
    for (const number of cron.keys()) {
      const path = ['agents', index, 'cron', number];
      checkSchedule(document, path);
      checkUniqueName(document, path, '', names);
    }
  }
}

/**
 * Checks the rules of a manifest that its schema does not express: spaces, agents, and jobs that would be confused with
 * others, and schedules. Reports each problem at its place in the document.
 * @param places where the spaces of the documents so far are described; its own space is added
 */
export function checkManifest(document: YamlDocument<Manifest>, places: Map<string, string>): void {
  checkSpace(document, places);
  checkAgents(document);
  checkJobs(document);
}
