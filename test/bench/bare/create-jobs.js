import { readFile } from 'node:fs/promises';
import { forEach, openRecords, postOnce, readDocuments } from './keep-promises.js';

// Creates new jobs, 4 at a time. Arguments: the file of jobs, and the file for the records.
const [file, records] = process.argv.slice(2);
const append = await openRecords(records);

async function create({ agent, name, instructions, schedule }) {
  const [minute, hour, , , day_of_week] = schedule.split(' ');
  const data = { minute, hour, day_of_week };
  const job = { agent_id: agent, name, instructions, schedule: { type: 'cron', data, timezone: 'UTC' } };
  await append({ reserved: job });
  const path = '/automation/partner-cron-jobs/';
  const created = await postOnce(path, 'application/json', JSON.stringify(job));
  await append({ created });
  return created;
}

const documents = readDocuments(await readFile(file, 'utf8'));
const wanted = documents.flatMap(({ agent, jobs }) => jobs.map((job) => ({ agent, ...job })));
process.stdout.write(JSON.stringify(await forEach(wanted, 4, create)));
