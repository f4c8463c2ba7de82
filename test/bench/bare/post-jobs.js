import { Client } from 'undici';

// Creates that many jobs on one connection, one at a time.
const base = new URL(process.env.PARTNER_BASE_URL);
const client = new Client(base.origin);
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}`, 'content-type': 'application/json' };
const schedule = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' };

for (let number = 0; number < Number(process.argv[2]); number += 1) {
  const body = JSON.stringify({ agent_id: 'agt_0', name: `job${number}`, instructions: 'x', schedule });
  const path = `${base.pathname}/automation/partner-cron-jobs/`;
  const response = await client.request({ path, method: 'POST', headers, body });
  await response.body.json();
}
await client.destroy();
