import { get } from 'node:http';

// The minimal program for the same result.
get(
  `${process.env.PARTNER_BASE_URL}/automation/spaces/`,
  { headers: { authorization: `Bearer ${process.env.PARTNER_TOKEN}` } },
  (response) => {
    let body = '';
    response.on('data', (chunk) => {
      body += chunk;
    });
    response.on('end', () => {
      process.stdout.write(`${JSON.stringify(JSON.parse(body))}\n`);
    });
  },
);
